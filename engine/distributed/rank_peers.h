// One rank's part of a run that is cut over ranks: tokens to and from the others, and how all of them end together. docs/distributed.md
// says how it is noticed that nobody will send any more.
#pragma once

#include "engine/base/cancel.h"
#include "engine/distributed/cut_plan.h"
#include "engine/distributed/transport.h"
#include "engine/exec/peers.h"
#include "engine/tensor/npy.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace loopscope {

/// What a rank's part came to.
struct PartOutcome {
    std::optional<ErrorCode> failure;
    std::string message; ///< of the failure
    int64_t steps = 0;
    std::vector<std::pair<std::string, Array>> outputs; ///< by name
};

/// Not thread-safe. Lives as long as the ranks' runs; begin() and finish() enclose each.
class RankPeers final : public Peers {
public:
    RankPeers(Transport& transport, const CutPlan& plan, const CancelFlag& cancel);

    // Peers
    int32_t channel(std::string_view sendDevice, std::string_view recvDevice, std::string_view tensorName) const override;
    Status send(int32_t channel, std::span<const int64_t> iterations, const Tensor* value) override;
    Result<bool> receive(Arrival& arrival, bool waits) override;

    void begin();
    /// Tells rank 0 what came of this part, and waits until all have ended. On rank 0: what came of all, by rank.
    Result<std::vector<PartOutcome>> finish(PartOutcome own);
    int64_t messagesSent() const { return m_messages; }

private:
    enum class State : uint8_t { running, waiting, done };
    struct Standing {
        State state = State::running;
        int64_t sent = 0, received = 0; ///< tokens
        bool hasAnswered = true;        ///< the last probe
        bool operator==(const Standing&) const = default;
    };

    Result<bool> take(Arrival& arrival);
    Status handle(const RankMessage& message);
    Status tellStanding();
    Status standingOf(const RankMessage& message, bool isAnswer);
    Status lookForEnd();
    Status endWave();
    Status lookForLost();
    Status ended(int32_t rank, PartOutcome outcome);
    Status toOthers(int32_t tag);
    bool isFirst() const { return m_transport.rank() == 0; }
    Standing& own() { return *m_own; }

    Transport& m_transport;
    const CutPlan& m_plan;
    const CancelFlag& m_cancel;
    int64_t m_run = 0;
    int64_t m_messages = 0;
    RankMessage m_message;
    std::deque<RankMessage> m_early; ///< tokens of the next run
    std::vector<std::byte> m_room;
    std::vector<Standing> m_standings; ///< rank 0: of all; others: only their own is kept
    Standing* const m_own;
    std::vector<Standing> m_before;                     ///< rank 0: when the probe began
    std::vector<std::optional<PartOutcome>> m_outcomes; ///< rank 0
    Standing m_told;
    bool m_isProbing = false, m_isStuck = false, m_isOver = false;
    std::string m_stopped; ///< why this rank need not go on; empty: it does
    int64_t m_lookedAt = 0;
};

} // namespace loopscope
