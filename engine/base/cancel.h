// Cooperative cancellation: one flag that a signal handler, a window or another thread sets and long work reads.
#pragma once

#include <atomic>

namespace loopscope {

/// Safe to request from a signal handler or any thread.
class CancelFlag {
public:
    void request() { m_requested.store(true, std::memory_order_relaxed); }
    void clear() { m_requested.store(false, std::memory_order_relaxed); }
    bool requested() const { return m_requested.load(std::memory_order_relaxed); }

private:
    std::atomic<bool> m_requested = false;
};

} // namespace loopscope
