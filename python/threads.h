// What happens while Python's lock is released: Ctrl-C is heard, and no two threads are in one model or session.
#pragma once

#include "engine/base/cancel.h"

#include <atomic>
#include <mutex>
#include <thread>

namespace loopscope {

/// Hears SIGINT while a run goes on; any number of threads may have one at a time, and the last that ends gives the signal back to Python.
class Interruptible {
public:
    explicit Interruptible(CancelFlag& flag);
    ~Interruptible();
    Interruptible(const Interruptible&) = delete;
    Interruptible& operator=(const Interruptible&) = delete;
    /// SIGINT came in this time, and the flag was set for it.
    bool wasHit() const;

private:
    int m_place = -1; ///< −1: there are too many; this one does not hear it
};

/// Holds an object for one thread; whoever comes later waits without Python's lock.
class Turn {
public:
    struct Lock {
        std::mutex mutex;
        std::atomic<std::thread::id> owner{};
    };
    /// Errors: usage, where this thread holds it already (Python code that ran meanwhile called back).
    explicit Turn(Lock& lock);
    ~Turn();
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

private:
    Lock& m_lock;
};

} // namespace loopscope
