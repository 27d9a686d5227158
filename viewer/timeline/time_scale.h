// Where a step lies on the screen, and how a drag along a bar becomes a position, slower the farther the pointer is from the bar.
#pragma once

#include <algorithm>
#include <cstdint>

namespace loopscope::viewer {

/// Steps from left to right over `width` pixels that begin at `left`.
class TimeScale {
public:
    void setArea(double left, double width)
    {
        m_left = left;
        m_width = std::max(width, 1.0);
    }
    /// Shows steps 0 to `end`; the end of all there is.
    void setEnd(double end)
    {
        const bool whole = isFitted();
        m_end = std::max(end, 1.0);
        if (whole) fit();
        clamp();
    }
    void fit()
    {
        m_first = 0;
        m_span = m_end;
    }
    void show(double first, double last)
    {
        m_first = first;
        m_span = last - first;
        clamp();
    }
    /// The step under `x` stays there. `factor` > 1 shows more detail.
    void zoomAt(double x, double factor)
    {
        const double step = toStep(x);
        m_span = std::clamp(m_span / factor, std::min(4.0, m_end), m_end);
        m_first = step - (x - m_left) / m_width * m_span;
        clamp();
    }
    void pan(double pixels)
    {
        m_first -= pixels * m_span / m_width;
        clamp();
    }
    double toX(double step) const { return m_left + (step - m_first) * m_width / m_span; }
    double toStep(double x) const { return m_first + (x - m_left) * m_span / m_width; }
    double pixelsPerStep() const { return m_width / m_span; }
    double left() const { return m_left; }
    double right() const { return m_left + m_width; }
    double first() const { return m_first; }
    double last() const { return m_first + m_span; }
    bool isFitted() const { return m_first <= 0 && m_span >= m_end; }

private:
    void clamp()
    {
        m_span = std::clamp(m_span, std::min(4.0, m_end), m_end);
        m_first = std::clamp(m_first, 0.0, m_end - m_span);
    }
    double m_left = 0, m_width = 1, m_end = 1, m_first = 0, m_span = 1;
};

/// A drag over `count` positions. With more positions than pixels it slows down away from the bar.
class SlowDrag {
public:
    void begin(double x, int64_t position)
    {
        m_x = x;
        m_position = static_cast<double>(position);
    }
    /// 1, 10 or 1000: by how much the drag is slowed at this distance from the bar.
    static int slowness(double distance, double positionsPerPixel)
    {
        if (positionsPerPixel <= 1) return 1;
        return distance > 120 ? 1000 : distance > 40 ? 10 : 1;
    }
    /// The pointer is at `x` now, `distance` above or below the bar. Which position is meant, 0 to count − 1.
    int64_t moveTo(double x, double distance, double positionsPerPixel, int64_t count)
    {
        m_position += (x - m_x) * positionsPerPixel / slowness(distance, positionsPerPixel);
        m_x = x;
        m_position = std::clamp(m_position, 0.0, std::max(0.0, static_cast<double>(count - 1)));
        return static_cast<int64_t>(m_position + 0.5);
    }

private:
    double m_x = 0, m_position = 0;
};

} // namespace loopscope::viewer
