// The whole graph as a picture file, as it is drawn at 100 percent.
#include "viewer/canvas/graph_canvas.h"

#include "viewer/style/theme.h"

#include <QImage>
#include <QPageSize>
#include <QPainter>
#include <QPdfWriter>
#include <QSvgGenerator>

#include <algorithm>
#include <cmath>

namespace loopscope::viewer {

QString GraphCanvas::exportPicture(const QString& file) const
{
    if (!m_scene) return tr("no graph is shown");
    constexpr double margin = 12;
    constexpr double mostPixels = 120e6; // of a PNG: half a GiB
    const Rect& b = scene()->bounds;
    const QSizeF size(b.width + 2 * margin, b.height + 2 * margin);
    const auto paint = [&](QPainter& painter) {
        painter.fillRect(QRectF(QPointF(0, 0), size), themed(Token::surface));
        painter.translate(margin - b.x, margin - b.y);
        painterFor().paintStill(painter, {b.x - 400, b.y - 400, b.width + 800, b.height + 800}, {1, 3, 1});
    };
    const QString kind = file.section(QLatin1Char('.'), -1).toLower();
    if (kind == QLatin1String("png")) {
        const double scale = std::min(2.0, std::sqrt(mostPixels / (size.width() * size.height())));
        QImage image((size * scale).toSize().expandedTo({1, 1}), QImage::Format_RGB32);
        QPainter painter(&image);
        painter.scale(scale, scale);
        paint(painter);
        painter.end();
        return image.save(file) ? QString() : tr("%1 cannot be written").arg(file);
    }
    if (kind == QLatin1String("svg")) {
        QSvgGenerator svg;
        svg.setFileName(file);
        svg.setSize(size.toSize());
        svg.setViewBox(QRectF(QPointF(0, 0), size));
        svg.setTitle(QString::fromStdString(m_view.root));
        QPainter painter;
        if (!painter.begin(&svg)) return tr("%1 cannot be written").arg(file);
        paint(painter);
        return {};
    }
    if (kind == QLatin1String("pdf")) {
        QPdfWriter pdf(file);
        pdf.setResolution(72);
        pdf.setPageMargins(QMarginsF());
        pdf.setPageSize(QPageSize(size, QPageSize::Point, QString(), QPageSize::ExactMatch));
        QPainter painter;
        if (!painter.begin(&pdf)) return tr("%1 cannot be written").arg(file);
        paint(painter);
        return {};
    }
    return tr("%1: found '.%2', expected .png, .svg or .pdf").arg(file, kind);
}

} // namespace loopscope::viewer
