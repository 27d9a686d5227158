// A run that is stepped through while its parts stand on ranks: rank 0 moves the tokens of all parts in the documented order, and each
// operator that computes from its operands alone runs on the rank of its device. Large results stay there, for the run and for its saved
// states.
#pragma once

#include "engine/base/cancel.h"
#include "engine/distributed/cut_plan.h"
#include "engine/distributed/transport.h"
#include "engine/exec/execution_options.h"
#include "engine/exec/remote_kernels.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace loopscope {

/// Rank 0's end. Not thread-safe.
class RankKernels final : public RemoteKernels {
public:
    RankKernels(Transport& transport, const CutPlan& plan, const Model& model, GraphId root, const CancelFlag* cancel);
    ~RankKernels() override; ///< the others stop serving

    int32_t rankOf(OperatorId outermost, GraphId graph, OperatorId op) override;
    bool isThere(int32_t rank, const RemoteValue& value) const override;
    Status run(int32_t rank, GraphId graph, OperatorId op, const KernelArgs& args, const Values& values) override;

private:
    class Keeping;
    class KeptValue;
    Status call(int32_t rank, std::span<const std::byte> message);
    Status bring(const KeptValue& value, std::span<std::byte> into);
    Status take(int32_t rank, const KernelArgs& args, const Values& values);

    Transport& m_transport;
    const CutPlan& m_plan;
    const Model& m_model;
    const GraphId m_root;
    const CancelFlag* const m_cancel;
    std::vector<int32_t> m_rankOf;                ///< by operator of the root
    std::vector<std::vector<int8_t>> m_isMovable; ///< by graph and operator; −1: not looked at
    std::vector<std::byte> m_room;
    RankMessage m_message;
    int64_t m_number = 0;               ///< of the last call: an answer to an earlier one, which was given up, is left aside
    std::shared_ptr<Keeping> m_keeping; ///< what the others keep; saved states may outlive this
};

/// Other ranks: run what rank 0 asks for until it stops asking. Errors: execution, if rank 0 is lost.
Status serveKernels(Transport& transport, const Model& model, const ExecutionOptions& options);

} // namespace loopscope
