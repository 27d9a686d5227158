// Where both pictures of a comparison are scrolled to: one follows the other while they are linked, and the strip between stands beside A.
#pragma once

#include <QObject>

#include <cstdint>

namespace loopscope::viewer {

enum class CompareSide : uint8_t { here, there };

class LinkedViews : public QObject {
    Q_OBJECT
public:
    /// Where a picture stands: zoom, and the height of its widget's top in pixels.
    struct Viewport {
        double zoom = 1, top = 0;
        bool fitted = true; ///< nobody scrolled or zoomed yet
    };

    bool isLinked() const { return m_linked; }
    void setLinked(bool linked)
    {
        if (linked == m_linked) return;
        m_linked = linked;
        emit linkChanged();
    }
    const Viewport& viewport() const { return m_viewport; } ///< of A
    void move(CompareSide side, const Viewport& viewport)
    {
        if (m_linked || side == CompareSide::here) m_viewport = viewport;
        emit moved(side, viewport);
    }
    void scrollTo(double top) { emit scrollWanted(top); }

signals:
    void linkChanged();
    void scrollWanted(double top); ///< of A
    /// The other side follows if they are linked.
    void moved(loopscope::viewer::CompareSide side, const loopscope::viewer::LinkedViews::Viewport& viewport);

private:
    Viewport m_viewport;
    bool m_linked = true;
};

} // namespace loopscope::viewer
