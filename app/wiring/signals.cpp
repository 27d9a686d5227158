#include "app/wiring/signals.h"

#include "app/output/console.h"

#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <unistd.h>

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

Deadline::Deadline(CancelFlag& flag, double seconds)
{
    if (seconds <= 0) return;
    m_thread = std::thread([this, &flag, seconds] {
        std::unique_lock lock(m_mutex);
        if (!m_wake.wait_for(lock, std::chrono::duration<double>(seconds), [this] { return m_done; })) {
            m_passed.store(true);
            passedLimit.store(seconds);
            flag.request();
        }
    });
}

Deadline::~Deadline()
{
    if (!m_thread.joinable()) return;
    {
        const std::lock_guard lock(m_mutex);
        m_done = true;
    }
    m_wake.notify_all();
    m_thread.join();
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
