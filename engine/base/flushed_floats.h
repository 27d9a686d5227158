// The mode of the processor in which denormal floats are zero, as TensorFlow computes. Switching it for each operator takes longer than an
// operator of scalars: where nothing but operators runs it is switched once.
#pragma once

#if defined(__SSE__)
#include <xmmintrin.h>
#endif

namespace loopscope {

/// While it lives, denormal operands and results of SSE are zero on this thread, if that is wanted. Floats that are computed in the same
/// function may be computed before or after: it belongs around calls.
class FlushedFloats {
public:
#if defined(__SSE__)
    explicit FlushedFloats(bool wanted) : m_switches(wanted && !t_isOn)
    {
        constexpr unsigned kFlushToZero = 0x8000, kDenormalsAreZero = 0x0040;
        if (!m_switches) return;
        m_before = _mm_getcsr();
        _mm_setcsr(m_before | kFlushToZero | kDenormalsAreZero);
        t_isOn = true;
    }
    ~FlushedFloats()
    {
        if (!m_switches) return;
        t_isOn = false;
        _mm_setcsr(m_before);
    }
    static bool isOn() { return t_isOn; }
#else
    explicit FlushedFloats(bool) {}
    ~FlushedFloats() = default;
    static bool isOn() { return true; }
#endif
    FlushedFloats(const FlushedFloats&) = delete;
    FlushedFloats& operator=(const FlushedFloats&) = delete;

private:
#if defined(__SSE__)
    static inline thread_local bool t_isOn = false;
    bool m_switches;
    unsigned m_before = 0;
#endif
};

} // namespace loopscope
