#include "viewer/canvas/picture_export.h"

#include "viewer/bridge/text.h"
#include "viewer/canvas/canvas_picture.h"
#include "viewer/style/theme.h"

#include <QImage>
#include <QPageSize>
#include <QPainter>
#include <QPdfWriter>
#include <QSvgGenerator>

#include <algorithm>
#include <cmath>

namespace loopscope::viewer {

QString exportPicture(const CanvasPicture& picture, const QString& file)
{
    if (!picture.indexed) return QObject::tr("no graph is shown");
    constexpr double margin = 12;
    constexpr double mostPixels = 120e6; // of a PNG: half a GiB
    const Rect& b = picture.scene()->bounds;
    const QSizeF size(b.width + 2 * margin, b.height + 2 * margin);
    const auto paint = [&](QPainter& painter) {
        painter.fillRect(QRectF(QPointF(0, 0), size), themed(Token::surface));
        painter.translate(margin - b.x, margin - b.y);
        picture.painter().paintStill(painter, {b.x - 400, b.y - 400, b.width + 800, b.height + 800}, {1, 3, 1});
    };
    const QString kind = file.section(QLatin1Char('.'), -1).toLower();
    if (kind == QLatin1String("png")) {
        const double scale = std::min(2.0, std::sqrt(mostPixels / (size.width() * size.height())));
        QImage image((size * scale).toSize().expandedTo({1, 1}), QImage::Format_RGB32);
        QPainter painter(&image);
        painter.scale(scale, scale);
        paint(painter);
        painter.end();
        return image.save(file) ? QString() : QObject::tr("%1 cannot be written").arg(file);
    }
    if (kind == QLatin1String("svg")) {
        QSvgGenerator svg;
        svg.setFileName(file);
        svg.setSize(size.toSize());
        svg.setViewBox(QRectF(QPointF(0, 0), size));
        svg.setTitle(toText(picture.view.root));
        QPainter painter;
        if (!painter.begin(&svg)) return QObject::tr("%1 cannot be written").arg(file);
        paint(painter);
        return {};
    }
    if (kind == QLatin1String("pdf")) {
        QPdfWriter pdf(file);
        pdf.setResolution(72);
        pdf.setPageMargins(QMarginsF());
        pdf.setPageSize(QPageSize(size, QPageSize::Point, QString(), QPageSize::ExactMatch));
        QPainter painter;
        if (!painter.begin(&pdf)) return QObject::tr("%1 cannot be written").arg(file);
        paint(painter);
        return {};
    }
    return QObject::tr("%1: found '.%2', expected .png, .svg or .pdf").arg(file, kind);
}

} // namespace loopscope::viewer
