// Ctrl-C: the first asks the running work to stop, the second ends the process.
#pragma once

#include "engine/base/cancel.h"

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

namespace loopscope::app {

/// The flag that SIGINT and SIGTERM set; every long operation reads it.
CancelFlag& interruptFlag();
/// Installs the handlers. A second signal of the same kind has its default effect.
void installSignalHandlers();
/// From now on Ctrl-C sets the flag again and again and never ends the process: for prompts, which pause what runs.
void catchInterrupts();

/// Sets a flag when a time limit passes, on a thread of its own, which ends with the object.
class Deadline {
public:
    /// `seconds` ≤ 0: never.
    Deadline(CancelFlag& flag, double seconds);
    ~Deadline();
    Deadline(const Deadline&) = delete;
    Deadline& operator=(const Deadline&) = delete;
    bool passed() const { return m_passed.load(); }

private:
    std::mutex m_mutex;
    std::condition_variable m_wake;
    bool m_done = false;
    std::atomic<bool> m_passed = false;
    std::thread m_thread;
};

} // namespace loopscope::app
