#include "viewer/canvas/tile_cache.h"

#include <QPainter>

#include <cmath>

namespace loopscope::viewer {

namespace {

constexpr qsizetype kMostTiles = 64; ///< 64 MiB at ratio 1

} // namespace

const QPixmap& TileCache::tile(QPoint at, double ratio, const std::function<void(QPainter&, const QRectF&)>& paint)
{
    const auto found = m_tiles.find(at);
    if (found != m_tiles.end()) {
        found->used = ++m_clock;
        return found->pixmap;
    }
    if (m_tiles.size() >= kMostTiles) {
        auto oldest = m_tiles.begin();
        for (auto it = m_tiles.begin(); it != m_tiles.end(); ++it)
            if (it->used < oldest->used) oldest = it;
        m_tiles.erase(oldest);
    }
    Tile tile;
    const int device = static_cast<int>(std::ceil(kSize * ratio));
    tile.pixmap = QPixmap(device, device);
    tile.pixmap.setDevicePixelRatio(ratio);
    tile.used = ++m_clock;
    QPainter painter(&tile.pixmap);
    const QRectF area(at.x() * kSize, at.y() * kSize, kSize, kSize);
    painter.translate(-area.topLeft());
    paint(painter, area);
    painter.end();
    return m_tiles.insert(at, tile)->pixmap;
}

void TileCache::drop(const QRectF& area)
{
    if (area.width() > 16 * kSize || area.height() > 16 * kSize) return clear();
    const auto cell = [](double v) { return static_cast<int>(std::floor(v / kSize)); };
    for (int y = cell(area.top()); y <= cell(area.bottom()); ++y)
        for (int x = cell(area.left()); x <= cell(area.right()); ++x) m_tiles.remove(QPoint(x, y));
}

} // namespace loopscope::viewer
