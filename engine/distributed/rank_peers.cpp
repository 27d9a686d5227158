#include "engine/distributed/rank_peers.h"

#include "engine/base/clock.h"
#include "engine/distributed/bytes.h"

#include <algorithm>

namespace loopscope {

namespace {

enum Tag : int32_t { token = 30, standing, probe, answer, stuck, outcome, stop, over };

struct TokenHead {
    int64_t run = 0;
    int32_t channel = 0, isLive = 0;
};

constexpr int64_t kPatienceNs = 1'000'000;     ///< without a token, before a rank says that it waits
constexpr int64_t kLookForLostNs = 20'000'000; ///< between looks

} // namespace

RankPeers::RankPeers(Transport& transport, const CutPlan& plan, const CancelFlag& cancel)
    : m_transport(transport),
      m_plan(plan),
      m_cancel(cancel),
      m_standings(static_cast<size_t>(transport.size())),
      m_own(&m_standings[static_cast<size_t>(transport.rank())]),
      m_outcomes(static_cast<size_t>(transport.size()))
{
}

int32_t RankPeers::channel(std::string_view sendDevice, std::string_view recvDevice, std::string_view tensorName) const
{
    const auto found = m_plan.numberOf.find(channelKey(sendDevice, recvDevice, tensorName));
    if (found == m_plan.numberOf.end()) return -1;
    const CutPlan::Channel& channel = m_plan.channels[static_cast<size_t>(found->second)];
    return channel.fromRank == channel.toRank ? -1 : found->second;
}

Status RankPeers::send(int32_t channel, std::span<const int64_t> iterations, const Tensor* value)
{
    MessageWriter message(m_room, Transport::kHeader);
    message.number(TokenHead{m_run, channel, value ? 1 : 0});
    message.numbers(iterations);
    if (value) message.whole(*value);
    ++own().sent;
    ++m_messages;
    return m_transport.sendInPlace(m_plan.channels[static_cast<size_t>(channel)].toRank, Tag::token, message.withHeader());
}

/// Whether m_message is a token of this run, which `arrival` then shows.
Result<bool> RankPeers::take(Arrival& arrival)
{
    MessageReader reader(m_message.bytes);
    const auto head = reader.number<TokenHead>();
    if (head.run > m_run) {
        m_early.push_back(std::move(m_message));
        m_message = {};
        return false;
    }
    if (head.run < m_run) return false;
    ++own().received;
    arrival.channel = head.channel;
    arrival.isDead = head.isLive == 0;
    reader.numbers(arrival.iterations);
    if (!arrival.isDead) reader.tensor(arrival.value);
    if (!reader.isWhole()) return Error(ErrorCode::execution, "a value came that is not whole").at(m_plan.nameOf(m_message.from));
    return true;
}

Result<bool> RankPeers::receive(Arrival& arrival, bool waits)
{
    for (;;) {
        if (!m_stopped.empty()) return Error(ErrorCode::cancelled, m_stopped);
        if (m_isStuck) return false;
        bool hasCome = false;
        if (!m_early.empty()) {
            m_message = std::move(m_early.front());
            m_early.pop_front();
            hasCome = true;
        } else {
            LS_TRY(hasCome, waits ? m_transport.wait(m_message, kPatienceNs) : m_transport.receive(m_message));
        }
        if (hasCome && m_message.tag == Tag::token) {
            LS_TRY(const bool isOurs, take(arrival));
            if (!isOurs) continue;
            own().state = State::running;
            return true;
        }
        if (hasCome) {
            LS_CHECK_OK(handle(m_message));
            continue;
        }
        if (!waits) return false;
        if (m_cancel.requested()) return Error(ErrorCode::cancelled, "cancelled");
        own().state = State::waiting;
        LS_CHECK_OK(tellStanding());
        LS_CHECK_OK(lookForLost());
    }
}

void RankPeers::begin()
{
    ++m_run;
    std::ranges::fill(m_standings, Standing());
    std::ranges::fill(m_outcomes, std::nullopt);
    m_told = {};
    m_isProbing = m_isStuck = m_isOver = false;
    m_stopped.clear();
}

/// Rank 0 hears where this rank stands, if it has not heard so.
Status RankPeers::tellStanding()
{
    if (isFirst()) return lookForEnd();
    if (m_told == own()) return {};
    m_told = own();
    MessageWriter message(m_room);
    message.number(m_run);
    message.number(static_cast<uint8_t>(own().state));
    message.number(own().sent);
    message.number(own().received);
    return m_transport.send(0, Tag::standing, message.bytes());
}

Status RankPeers::standingOf(const RankMessage& message, bool isAnswer)
{
    MessageReader reader(message.bytes);
    if (reader.number<int64_t>() != m_run) return {};
    Standing& standing = m_standings[static_cast<size_t>(message.from)];
    standing.state = static_cast<State>(reader.number<uint8_t>());
    standing.sent = reader.number<int64_t>();
    standing.received = reader.number<int64_t>();
    if (isAnswer) standing.hasAnswered = true;
    return lookForEnd();
}

/// Rank 0: when all wait or are done and nothing is under way, they are asked again. What they said may be of different moments; if all say
/// the same twice, with nothing under way in between, nothing will happen any more (the method of the four counters).
Status RankPeers::lookForEnd()
{
    if (m_isProbing) return std::ranges::all_of(m_standings, &Standing::hasAnswered) ? endWave() : Status();
    int64_t underWay = 0;
    bool anyWaits = false;
    for (const Standing& standing : m_standings) {
        if (standing.state == State::running) return {};
        anyWaits = anyWaits || standing.state == State::waiting;
        underWay += standing.sent - standing.received;
    }
    if (!anyWaits || underWay != 0 || m_isStuck) return {};
    m_isProbing = true;
    m_before = m_standings;
    for (Standing& standing : m_standings) standing.hasAnswered = &standing == &own();
    return toOthers(Tag::probe);
}

Status RankPeers::endWave()
{
    m_isProbing = false;
    const bool isSame = std::ranges::equal(
        m_before, m_standings, {}, [](Standing s) { return (s.hasAnswered = true, s); },
        [](Standing s) { return (s.hasAnswered = true, s); });
    if (!isSame) return lookForEnd();
    m_isStuck = true;
    return toOthers(Tag::stuck);
}

Status RankPeers::handle(const RankMessage& message)
{
    MessageReader reader(message.bytes);
    switch (message.tag) {
    case Tag::standing: return standingOf(message, false);
    case Tag::answer: return standingOf(message, true);
    case Tag::probe: {
        if (reader.number<int64_t>() != m_run) return {};
        MessageWriter reply(m_room);
        reply.number(m_run);
        reply.number(static_cast<uint8_t>(own().state));
        reply.number(own().sent);
        reply.number(own().received);
        return m_transport.send(0, Tag::answer, reply.bytes());
    }
    case Tag::stuck: m_isStuck = reader.number<int64_t>() == m_run || m_isStuck; return {};
    case Tag::stop:
        if (reader.number<int64_t>() == m_run) m_stopped = "another rank has failed";
        return {};
    case Tag::over: m_isOver = reader.number<int64_t>() == m_run || m_isOver; return {};
    case Tag::outcome: {
        PartOutcome of;
        if (const auto code = reader.number<int32_t>(); code != 0) of.failure = static_cast<ErrorCode>(code);
        of.message = reader.text();
        of.steps = reader.number<int64_t>();
        const auto count = reader.number<uint64_t>();
        for (uint64_t k = 0; k < count && reader.isWhole(); ++k) {
            std::string name = reader.text();
            const Tensor value = reader.tensor();
            if (reader.isWhole()) of.outputs.emplace_back(std::move(name), copyOf(value));
        }
        return ended(message.from, std::move(of));
    }
    default: return {};
    }
}

/// Rank 0: a part has ended. One that failed ends the others.
Status RankPeers::ended(int32_t rank, PartOutcome outcome)
{
    std::optional<PartOutcome>& known = m_outcomes[static_cast<size_t>(rank)];
    if (known) return {};
    const bool isFirstFailure =
        outcome.failure && std::ranges::none_of(m_outcomes, [](const auto& other) { return other && other->failure.has_value(); });
    known = std::move(outcome);
    m_standings[static_cast<size_t>(rank)].state = State::done;
    if (isFirstFailure && !m_isStuck) { // of those that wait for nothing each says so itself
        if (rank != 0 && !m_outcomes[0]) m_stopped = "another rank has failed";
        LS_CHECK_OK(toOthers(Tag::stop));
    }
    return lookForEnd();
}

Status RankPeers::lookForLost()
{
    const int64_t now = nowNs();
    if (now - m_lookedAt < kLookForLostNs) return {};
    m_lookedAt = now;
    if (!isFirst()) {
        if (m_transport.isLost(0)) return Error(ErrorCode::execution, "ended without a word").at(m_plan.nameOf(0));
        return {};
    }
    for (int32_t rank = 1; rank < m_transport.size(); ++rank) {
        if (m_outcomes[static_cast<size_t>(rank)] || !m_transport.isLost(rank)) continue;
        PartOutcome lost;
        lost.failure = ErrorCode::execution;
        lost.message = m_plan.nameOf(rank) + ": ended without a word";
        LS_CHECK_OK(ended(rank, std::move(lost)));
    }
    return {};
}

Status RankPeers::toOthers(int32_t tag)
{
    MessageWriter message(m_room);
    message.number(m_run);
    for (int32_t rank = 1; rank < m_transport.size(); ++rank)
        if (!m_transport.isLost(rank)) LS_CHECK_OK(m_transport.send(rank, tag, message.bytes()));
    return {};
}

Result<std::vector<PartOutcome>> RankPeers::finish(PartOutcome outcome)
{
    own().state = State::done;
    if (isFirst()) {
        LS_CHECK_OK(ended(0, std::move(outcome)));
    } else {
        LS_CHECK_OK(tellStanding());
        MessageWriter message(m_room);
        message.number(static_cast<int32_t>(outcome.failure.value_or(ErrorCode())));
        message.text(outcome.message);
        message.number(outcome.steps);
        message.number(static_cast<uint64_t>(outcome.outputs.size()));
        for (const auto& [name, value] : outcome.outputs) {
            message.text(name);
            message.whole(value.view());
        }
        LS_CHECK_OK(m_transport.send(0, Tag::outcome, message.bytes()));
    }
    Arrival ignored;
    const auto isOver = [&] {
        return isFirst() ? std::ranges::all_of(m_outcomes, [](const auto& of) { return of.has_value(); }) : m_isOver;
    };
    while (!isOver()) {
        LS_TRY(const bool hasCome, m_transport.wait(m_message, kPatienceNs));
        if (hasCome && m_message.tag != Tag::token) LS_CHECK_OK(handle(m_message));
        if (hasCome && m_message.tag == Tag::token) {
            LS_TRY([[maybe_unused]] const bool isOurs, take(ignored));
        }
        LS_CHECK_OK(tellStanding());
        LS_CHECK_OK(lookForLost());
    }
    std::vector<PartOutcome> all;
    if (!isFirst()) return all;
    LS_CHECK_OK(toOthers(Tag::over));
    for (auto& of : m_outcomes) all.push_back(std::move(*of));
    return all;
}

} // namespace loopscope
