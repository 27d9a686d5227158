// `trace|debug --distributed` under mpirun: rank 0 drives the run that everything is asked of, the others run the operators of their
// devices.
#pragma once

#include "app/ranks/ranks.h"
#include "engine/distributed/cut_plan.h"
#include "engine/exec/execution_options.h"
#include "engine/ir/model.h"

#include <memory>
#include <optional>

namespace loopscope {
class RankKernels;
}

namespace loopscope::app {

class Arguments;

class DrivenRanks {
public:
    /// Joins the ranks if `--distributed` asks for them and there are several. Errors: of Ranks::join.
    static Result<std::unique_ptr<DrivenRanks>> join(const Arguments& arguments);
    ~DrivenRanks();

    /// Other ranks than 0 only serve: the exit code of their process, when rank 0 has ended. None: this is rank 0, or there are no ranks.
    std::optional<int> serve(const Arguments& arguments);
    /// The executor that is made with these options asks the ranks. `model` is cut, and outlives the executor, which must be gone before
    /// this is.
    void drive(const Model& model, GraphId root, ExecutionOptions& options);
    /// Which ranks run what; null: this is the only one.
    const CutPlan* plan() const { return m_kernels ? &m_plan : nullptr; }

private:
    DrivenRanks() = default;
    std::unique_ptr<Ranks> m_ranks; ///< null: there are none
    CutPlan m_plan;
    std::unique_ptr<RankKernels> m_kernels;
};

} // namespace loopscope::app
