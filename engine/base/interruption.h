// How work that may take long is ended from outside. Whoever starts it says which flag counts for its thread; loops look at the flag
// between pieces and leave by an exception, as an allocation that fails does, so that no loop needs to know who runs it.
#pragma once

#include "engine/base/cancel.h"

#include <cstdint>

namespace loopscope {

/// Thrown by interruptionPoint(); who made the scope makes an error of it.
struct Interrupted {};

/// While one exists, its thread heeds a flag. Scopes nest: the innermost counts.
class InterruptionScope {
public:
    using MayStop = bool (*)(const void* whom);
    /// `flag` null: nothing is heeded. `mayStop`, where given, is asked before anything ends.
    explicit InterruptionScope(const CancelFlag* flag, MayStop mayStop = nullptr, const void* whom = nullptr)
        : m_flag(flag),
          m_mayStop(mayStop),
          m_whom(whom),
          m_outer(s_innermost)
    {
        s_innermost = this;
    }
    ~InterruptionScope() { s_innermost = m_outer; }
    InterruptionScope(const InterruptionScope&) = delete;
    InterruptionScope& operator=(const InterruptionScope&) = delete;

    static void look()
    {
        if (s_innermost && s_innermost->wantsToStop()) throw Interrupted();
    }

private:
    bool wantsToStop() const { return m_flag && m_flag->requested() && (!m_mayStop || m_mayStop(m_whom)); }

    static constinit inline thread_local const InterruptionScope* s_innermost = nullptr;
    const CancelFlag* const m_flag;
    const MayStop m_mayStop;
    const void* const m_whom;
    const InterruptionScope* const m_outer;
};

/// Ends the work of this thread by an exception, if somebody asked for that and waits for it.
inline void interruptionPoint() { InterruptionScope::look(); }

/// Of loops whose rounds are too short to look in each: looks once so many elements are done that it costs nothing.
class LoopPace {
public:
    static constexpr int64_t kElements = int64_t{1} << 18;
    void did(int64_t elements)
    {
        if ((m_left -= elements) > 0) return;
        m_left = kElements;
        interruptionPoint();
    }

private:
    int64_t m_left = kElements;
};

} // namespace loopscope
