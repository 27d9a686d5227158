#include "app/wiring/signals.h"

#include "app/output/console.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <unistd.h>
#include <vector>

namespace loopscope::app {

namespace {
constexpr std::chrono::milliseconds kLookEvery(100);

std::atomic<bool> terminates = false;
std::atomic<double> passedLimit = 0; ///< seconds of the Deadline that has passed; 0: none
std::atomic<int> unhurried = 0;
extern "C" void requestStop(int signal)
{
    if (signal != SIGINT) terminates.store(true);
    interruptFlag().request();
}
} // namespace

CancelFlag& interruptFlag()
{
    static CancelFlag flag;
    return flag;
}

bool terminationRequested() { return terminates.load(); }

void installSignalHandlers()
{
    interruptFlag(); // constructed before a handler can run
    struct sigaction action = {};
    action.sa_handler = requestStop;
    sigemptyset(&action.sa_mask);
    action.sa_flags = static_cast<int>(SA_RESETHAND);
    sigaction(SIGINT, &action, nullptr);
    sigaction(SIGTERM, &action, nullptr);
    sigaction(SIGHUP, &action, nullptr); // the terminal is gone: files are closed properly
    // A limit on the size of files is met where they are written, as a full disk is.
    std::signal(SIGXFSZ, SIG_IGN);
}

void catchInterrupts()
{
    struct sigaction action = {};
    action.sa_handler = requestStop;
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, nullptr); // no SA_RESTART: a read at the prompt ends
}

/// The deadlines that there are, and the thread that waits for the next of them. A deadline that ends does not wake it: it looks again when
/// that would have passed.
class DeadlineClock {
public:
    static DeadlineClock& ofProcess()
    {
        static DeadlineClock clock;
        return clock;
    }
    ~DeadlineClock()
    {
        {
            const std::lock_guard lock(m_mutex);
            m_ending = true;
        }
        m_wake.notify_one();
        if (m_thread.joinable()) m_thread.join();
    }
    void add(Deadline& deadline)
    {
        const std::lock_guard lock(m_mutex);
        m_deadlines.push_back(&deadline);
        if (!m_thread.joinable()) m_thread = std::thread([this] { serve(); });
        else if (deadline.m_due < m_wakes) m_wake.notify_one();
    }
    void remove(Deadline& deadline)
    {
        const std::lock_guard lock(m_mutex);
        std::erase(m_deadlines, &deadline);
    }

private:
    using Time = std::chrono::steady_clock::time_point;

    void serve()
    {
        std::unique_lock lock(m_mutex);
        while (!m_ending) {
            const Time now = std::chrono::steady_clock::now();
            m_wakes = Time::max();
            for (Deadline* const deadline : m_deadlines) {
                if (deadline->passed()) continue;
                if (deadline->m_due > now) {
                    m_wakes = std::min(m_wakes, deadline->m_due);
                    continue;
                }
                deadline->m_passed.store(true);
                passedLimit.store(deadline->m_seconds);
                deadline->m_flag.request();
            }
            if (m_wakes == Time::max()) m_wake.wait(lock);
            else m_wake.wait_until(lock, m_wakes);
        }
    }

    std::mutex m_mutex;
    std::condition_variable m_wake;
    std::vector<Deadline*> m_deadlines;
    Time m_wakes = Time::max(); ///< when the thread looks again
    bool m_ending = false;
    std::thread m_thread;
};

Deadline::Deadline(CancelFlag& flag, double seconds) : m_flag(flag), m_seconds(seconds)
{
    constexpr double kLongest = 1e9; // what a clock of nanoseconds can count to is ten times that
    if (!(seconds > 0)) return;
    m_due = std::chrono::steady_clock::now() +
            std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>(std::min(seconds, kLongest)));
    DeadlineClock::ofProcess().add(*this);
}

Deadline::~Deadline()
{
    if (!(m_seconds > 0)) return;
    DeadlineClock::ofProcess().remove(*this);
    if (m_passed.load()) passedLimit.store(0);
}

Error timeLimitError(double seconds)
{
    std::array<char, 32> text = {};
    std::snprintf(text.data(), text.size(), "%g", seconds);
    return Error(ErrorCode::execution, std::string("time limit of ") + text.data() + " s reached");
}

void endAtOnce(const Error& error, bool json)
{
    const std::string text = (json ? errorJson(error) : "error: " + error.message()) + "\n";
    [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
    _exit(static_cast<int>(error.code()));
}

Watchdog::Watchdog(bool json)
{
    m_thread = std::thread([this, json] {
        std::unique_lock lock(m_mutex);
        double waited = 0;
        while (!m_wake.wait_for(lock, kLookEvery, [this] { return m_done; })) {
            waited = interruptFlag().requested() && unhurried.load() == 0 ? waited + std::chrono::duration<double>(kLookEvery).count() : 0;
            if (waited < kSecondsToStop) continue;
            const double limit = passedLimit.load();
            Error error = limit > 0 ? timeLimitError(limit) : Error(ErrorCode::cancelled, "cancelled");
            endAtOnce(std::move(error).note("what ran looked at no clock; nothing was stored"), json);
        }
    });
}

Watchdog::~Watchdog()
{
    {
        const std::lock_guard lock(m_mutex);
        m_done = true;
    }
    m_wake.notify_all();
    m_thread.join();
}

Unhurried::Unhurried() { ++unhurried; }
Unhurried::~Unhurried() { --unhurried; }

} // namespace loopscope::app
