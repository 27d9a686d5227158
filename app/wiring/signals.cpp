#include "app/wiring/signals.h"

#include <chrono>
#include <csignal>

namespace loopscope::app {

namespace {
extern "C" void requestStop(int) { interruptFlag().request(); }
} // namespace

CancelFlag& interruptFlag()
{
    static CancelFlag flag;
    return flag;
}

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
}

} // namespace loopscope::app
