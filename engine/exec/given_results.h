// Results that somebody gives in the place of operators for which there is no kernel, so that a run goes on behind them: kernels like any
// others, which take what is given.
#pragma once

#include "engine/base/result.h"
#include "engine/ir/model.h"
#include "engine/kernels/registry.h"
#include "engine/tensor/npy.h"

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

namespace loopscope {

/// What a result is when its operator runs at an address ("main/while#0@3:body/sinh#1"): the same each time it is asked about one.
using GivenResult = std::function<Result<Array>(const std::string& address)>;

/// Belongs to the thread that runs the executor of which it is the registry; outlives it.
class GivenResults : public KernelRegistry {
public:
    /// Whether the model has operators that nothing can run.
    static bool areNeeded(const Model& model);
    /// All built-in kernels, and one for each kind of `model` that has none. The model outlives it.
    explicit GivenResults(const Model& model);

    /// Whether the operator has no kernel of its own.
    bool standsIn(const Operator& op) const;
    /// `op` is one of the model. It counts from the operator's next execution on. Errors: usage, if the operator has a kernel, or ran
    /// with another result in this run: what was computed with that would not hold any more.
    Status give(const Operator& op, int slot, GivenResult result);
    /// A run begins: nothing has been taken in it.
    void begin();

private:
    struct Given {
        GivenResult result;
        bool isTaken = false; ///< in this run
    };
    using Table = std::map<std::pair<const Operator*, int>, Given>;
    static Result<PreparedKernel> prepare(const KernelSetup& setup);
    static Status take(const KernelArgs& args);

    std::unique_ptr<Table> m_table = std::make_unique<Table>(); ///< kernels, which see a registry that is const, note what they take
};

} // namespace loopscope
