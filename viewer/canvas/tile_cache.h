// Squares of the still picture at one zoom, so that panning and steps paint little.
#pragma once

#include <QHash>
#include <QPixmap>
#include <QPoint>
#include <QRectF>

#include <functional>

namespace loopscope::viewer {

class TileCache {
public:
    static constexpr int kSize = 512; ///< pixels, not device pixels

    /// The tile at column and row, painted by `paint(painter, area)` if it is not there; `area` is in pixels of the whole picture.
    const QPixmap& tile(QPoint at, double ratio, const std::function<void(QPainter&, const QRectF&)>& paint);
    bool has(QPoint at) const { return m_tiles.contains(at); }
    void clear() { m_tiles.clear(); }
    void drop(const QRectF& area); ///< what touches it
    qsizetype count() const { return m_tiles.size(); }

private:
    struct Tile {
        QPixmap pixmap;
        quint64 used = 0;
    };
    QHash<QPoint, Tile> m_tiles;
    quint64 m_clock = 0;
};

} // namespace loopscope::viewer
