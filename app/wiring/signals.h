// Ctrl-C and time limits: the first signal asks the running work to stop, the second ends the process; so does the first where the work
// looks at no flag for two seconds, such as an operator that multiplies for an hour.
#pragma once

#include "engine/base/cancel.h"
#include "engine/base/result.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

namespace loopscope::app {

/// The flag that SIGINT and SIGTERM set; every long operation reads it.
CancelFlag& interruptFlag();
/// SIGTERM or SIGHUP has come, which set the flag too: a prompt ends as well.
bool terminationRequested();
/// Installs the handlers. A second signal of the same kind has its default effect.
void installSignalHandlers();
/// From now on Ctrl-C sets the flag again and again and never ends the process: for prompts, which pause what runs.
void catchInterrupts();

/// Sets a flag when a time limit passes. One thread looks for all of them: to begin and end one costs a fraction of a microsecond.
class Deadline {
public:
    /// `seconds` ≤ 0: never.
    Deadline(CancelFlag& flag, double seconds);
    ~Deadline();
    Deadline(const Deadline&) = delete;
    Deadline& operator=(const Deadline&) = delete;
    bool passed() const { return m_passed.load(); }

private:
    friend class DeadlineClock;

    CancelFlag& m_flag;
    const double m_seconds;
    std::chrono::steady_clock::time_point m_due;
    std::atomic<bool> m_passed = false;
};

/// How long work may take to notice that it is to stop.
constexpr double kSecondsToStop = 2;

/// "time limit of 2 s reached".
Error timeLimitError(double seconds);
/// Writes an error as the console does and ends the process with its code, from any thread and whatever others do.
[[noreturn]] void endAtOnce(const Error& error, bool json);

/// While one exists, the process ends at once if interruptFlag() stays requested for kSecondsToStop: with the code of a passed Deadline,
/// else 130. For commands without a prompt.
class Watchdog {
public:
    explicit Watchdog(bool json);
    ~Watchdog();
    Watchdog(const Watchdog&) = delete;
    Watchdog& operator=(const Watchdog&) = delete;

private:
    std::mutex m_mutex;
    std::condition_variable m_wake;
    bool m_done = false;
    std::thread m_thread;
};

/// What is done in its scope comes to its end although the process was asked to stop: closing a recording.
class Unhurried {
public:
    Unhurried();
    ~Unhurried();
    Unhurried(const Unhurried&) = delete;
    Unhurried& operator=(const Unhurried&) = delete;
};

} // namespace loopscope::app
