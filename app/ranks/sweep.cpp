#include "app/ranks/sweep.h"

#include "engine/base/clock.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <numeric>
#include <set>

namespace loopscope::app {

namespace {

enum Tag : int32_t { wants = 10, jobsToRun, result, over, cannot };

constexpr size_t kSpare = 1;                   ///< jobs that wait on a rank, so that none of its processes waits for an answer
constexpr size_t kMostAtOnce = 16;             ///< jobs in one answer
constexpr int64_t kLookForLostNs = 20'000'000; ///< between looks

std::span<const std::byte> bytesOf(const std::vector<uint32_t>& numbers) { return std::as_bytes(std::span(numbers)); }

std::vector<uint32_t> numbersOf(std::span<const std::byte> bytes)
{
    std::vector<uint32_t> numbers(bytes.size() / sizeof(uint32_t));
    std::memcpy(numbers.data(), bytes.data(), numbers.size() * sizeof(uint32_t));
    return numbers;
}

/// Another rank than 0.
class Helper final : public JobSource {
public:
    explicit Helper(Ranks& ranks) : m_ranks(ranks) {}

    Status look(std::deque<size_t>& queue, const Finished&) override
    {
        for (;;) {
            LS_TRY(const bool hasCome, m_ranks.transport().receive(m_message));
            if (!hasCome) break;
            if (m_message.tag == Tag::over) m_isOver = true;
            if (m_message.tag != Tag::jobsToRun) continue;
            for (const uint32_t job : numbersOf(m_message.bytes)) queue.push_back(job);
            m_hasAsked = false;
        }
        if (m_ranks.transport().isLost(0)) return Error(ErrorCode::execution, "rank 0 ended without a word");
        if (m_hasAsked || m_isOver || queue.size() > kSpare) return {};
        m_hasAsked = true;
        return m_ranks.transport().send(0, Tag::wants, {});
    }

    Status ended(size_t job, const CaseResult& result) override
    {
        const std::string text = encode(result);
        const auto number = static_cast<uint32_t>(job);
        std::vector<std::byte> bytes(sizeof(number) + text.size());
        std::memcpy(bytes.data(), &number, sizeof(number));
        std::memcpy(bytes.data() + sizeof(number), text.data(), text.size());
        return m_ranks.transport().send(0, Tag::result, bytes);
    }

    bool isOver() const override { return m_isOver; }
    Status end() override { return {}; }

private:
    Ranks& m_ranks;
    RankMessage m_message;
    bool m_hasAsked = false, m_isOver = false;
};

/// Rank 0, which runs jobs like any other.
class Distributor final : public JobSource {
public:
    Distributor(Ranks& ranks, const std::vector<CaseJob>& jobs, std::function<void(const std::string&)> lost)
        : m_ranks(ranks),
          m_jobs(jobs),
          m_tellLost(std::move(lost)),
          m_waiting(jobs.size()),
          m_isDone(jobs.size(), false),
          m_given(static_cast<size_t>(ranks.size())),
          m_isGone(static_cast<size_t>(ranks.size()), false),
          m_left(jobs.size())
    {
        std::iota(m_waiting.begin(), m_waiting.end(), size_t{0});
        std::ranges::stable_sort(m_waiting, [&](size_t a, size_t b) { return jobs[a].cost > jobs[b].cost; });
        for (const CaseJob& job : jobs) m_waitingCost += job.cost;
    }

    Status look(std::deque<size_t>& queue, const Finished& finished) override
    {
        for (;;) {
            LS_TRY(const bool hasCome, m_ranks.transport().receive(m_message));
            if (!hasCome) break;
            take(finished);
        }
        lookForLost();
        for (size_t rank = 1; rank < m_given.size(); ++rank)
            if (m_wants.contains(rank)) LS_CHECK_OK(answer(rank));
        if (queue.size() <= kSpare)
            for (const size_t job : next(0)) queue.push_back(job);
        return {};
    }

    Status ended(size_t job, const CaseResult&) override
    {
        m_given[0].erase(job);
        if (!m_isDone[job]) --m_left;
        m_isDone[job] = true;
        return {};
    }

    bool isOver() const override { return m_left == 0; }

    Status end() override
    {
        for (size_t rank = 1; rank < m_given.size(); ++rank)
            if (!m_isGone[rank]) LS_CHECK_OK(m_ranks.transport().send(static_cast<int32_t>(rank), Tag::over, {}));
        return {};
    }

private:
    void take(const Finished& finished)
    {
        const auto from = static_cast<size_t>(m_message.from);
        const std::string text(reinterpret_cast<const char*>(m_message.bytes.data()), m_message.bytes.size());
        if (m_message.tag == Tag::wants) {
            m_wants.insert(from);
        } else if (m_message.tag == Tag::cannot) {
            forget(from, "takes no part: " + text);
        } else if (m_message.tag == Tag::result && text.size() >= sizeof(uint32_t)) {
            const size_t job = numbersOf(m_message.bytes).front();
            CaseResult result;
            if (job >= m_jobs.size() || m_isDone[job]) return; // of a rank that was given up
            result.id = m_jobs[job].id;
            if (!decode(text.substr(sizeof(uint32_t)), result)) result.message = "ended without a result";
            m_given[from].erase(job);
            m_isDone[job] = true;
            --m_left;
            finished(job, std::move(result));
        }
    }

    void lookForLost()
    {
        const int64_t now = nowNs();
        if (now - m_lookedAt < kLookForLostNs) return;
        m_lookedAt = now;
        for (size_t rank = 1; rank < m_given.size(); ++rank)
            if (!m_isGone[rank] && m_ranks.transport().isLost(static_cast<int32_t>(rank))) forget(rank, "is lost");
    }

    void forget(size_t rank, const std::string& why)
    {
        m_isGone[rank] = true;
        m_wants.erase(rank);
        const size_t count = m_given[rank].size();
        m_waiting.insert(m_waiting.begin(), m_given[rank].begin(), m_given[rank].end());
        for (const size_t job : m_given[rank]) m_waitingCost += m_jobs[job].cost;
        m_given[rank].clear();
        m_tellLost("rank " + std::to_string(rank) + " " + why +
                   (count > 0 ? "; its cases (" + std::to_string(count) + ") are run again" : ""));
    }

    /// A part of what is left, by cost: a dear job goes alone, cheap ones together.
    std::vector<uint32_t> next(size_t rank)
    {
        const uint64_t share = m_waitingCost / (4 * m_given.size());
        std::vector<uint32_t> jobs;
        for (uint64_t taken = 0; jobs.size() < kMostAtOnce && !m_waiting.empty();) {
            const size_t job = m_waiting.front();
            taken += m_jobs[job].cost;
            if (!jobs.empty() && taken > share) break;
            jobs.push_back(static_cast<uint32_t>(job));
            m_given[rank].insert(job);
            m_waiting.pop_front();
            m_waitingCost -= m_jobs[job].cost;
        }
        return jobs;
    }

    Status answer(size_t rank)
    {
        const std::vector<uint32_t> jobs = next(rank);
        if (jobs.empty()) return {}; // what it asks for may still come, of a rank that is lost
        m_wants.erase(rank);
        if (m_ranks.transport().send(static_cast<int32_t>(rank), Tag::jobsToRun, bytesOf(jobs)).ok()) return {};
        forget(rank, "is lost");
        return {};
    }

    Ranks& m_ranks;
    const std::vector<CaseJob>& m_jobs;
    std::function<void(const std::string&)> m_tellLost;
    std::deque<size_t> m_waiting; ///< nobody runs them
    uint64_t m_waitingCost = 0;   ///< of all of them
    std::vector<bool> m_isDone;
    std::vector<std::set<size_t>> m_given; ///< by rank: what it runs
    std::vector<bool> m_isGone;
    std::set<size_t> m_wants; ///< ranks that wait for jobs
    size_t m_left;
    int64_t m_lookedAt = 0;
    RankMessage m_message;
};

} // namespace

std::unique_ptr<JobSource> sharedJobs(Ranks& ranks, const std::vector<CaseJob>& jobs, std::function<void(const std::string&)> lost)
{
    if (!ranks.isFirst()) return std::make_unique<Helper>(ranks);
    return std::make_unique<Distributor>(ranks, jobs, std::move(lost));
}

void leaveSweep(Ranks& ranks, const Error& why)
{
    const std::string text = why.message();
    static_cast<void>(ranks.transport().send(0, Tag::cannot, std::as_bytes(std::span(text))));
}

} // namespace loopscope::app
