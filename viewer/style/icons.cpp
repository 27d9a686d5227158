// Icons are cut out of icons.svg by id, coloured by replacing currentColor and rendered once.
#include "viewer/style/icons.h"

#include "viewer/style/resources.h"
#include "viewer/style/theme.h"

#include <QFile>
#include <QHash>
#include <QIconEngine>
#include <QPainter>
#include <QRegularExpression>
#include <QSvgRenderer>

namespace loopscope::viewer {

namespace {

const QHash<QString, QByteArray>& drawings()
{
    static const QHash<QString, QByteArray> all = [] {
        QHash<QString, QByteArray> found;
        loadStyleResources();
        QFile file(QStringLiteral(":/style/icons.svg"));
        if (!file.open(QIODevice::ReadOnly)) return found;
        const QString text = QString::fromUtf8(file.readAll());
        static const QRegularExpression group(QStringLiteral("<g id=\"([^\"]+)\">(.*?)</g>"),
                                              QRegularExpression::DotMatchesEverythingOption);
        for (auto match = group.globalMatch(text); match.hasNext();) {
            const auto one = match.next();
            found.insert(one.captured(1), one.captured(2).toUtf8());
        }
        return found;
    }();
    return all;
}

QPixmap rendered(const QByteArray& body, int size, const QColor& color, double ratio)
{
    QByteArray svg = "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 16 16\"><g fill=\"none\" stroke=\"currentColor\" "
                     "stroke-width=\"1.5\" stroke-linecap=\"round\" stroke-linejoin=\"round\">" +
                     body + "</g></svg>";
    svg.replace("currentColor", color.name().toUtf8());
    QSvgRenderer renderer(svg);
    QPixmap pixmap(QSize(qRound(size * ratio), qRound(size * ratio)));
    pixmap.setDevicePixelRatio(ratio);
    pixmap.fill(Qt::transparent);
    QPainter painter(&pixmap);
    painter.setOpacity(color.alphaF());
    renderer.render(&painter, QRectF(0, 0, size, size));
    return pixmap;
}

/// Draws at the size and ratio asked for, in the colours of the moment.
class ThemedEngine : public QIconEngine {
public:
    explicit ThemedEngine(QString id) : m_id(std::move(id)) {}
    void paint(QPainter* painter, const QRect& rect, QIcon::Mode mode, QIcon::State state) override
    {
        const int size = std::min(rect.width(), rect.height());
        const QPixmap pixmap = iconPixmap(m_id, size, color(mode, state), painter->device()->devicePixelRatioF());
        painter->drawPixmap(rect.x() + (rect.width() - size) / 2, rect.y() + (rect.height() - size) / 2, pixmap);
    }
    QPixmap pixmap(const QSize& size, QIcon::Mode mode, QIcon::State state) override { return scaledPixmap(size, mode, state, 1); }
    /// `size` is in device pixels.
    QPixmap scaledPixmap(const QSize& size, QIcon::Mode mode, QIcon::State state, qreal ratio) override
    {
        const int device = std::min(size.width(), size.height());
        QPixmap found = iconPixmap(m_id, device, color(mode, state), 1);
        found.setDevicePixelRatio(ratio);
        return found;
    }
    QSize actualSize(const QSize& size, QIcon::Mode, QIcon::State) override { return size; }
    bool isNull() override { return !drawings().contains(m_id); }
    QIconEngine* clone() const override { return new ThemedEngine(m_id); }
    QString key() const override { return QStringLiteral("loopscope"); }

private:
    static QColor color(QIcon::Mode mode, QIcon::State state)
    {
        QColor color = themed(state == QIcon::On ? Token::accent : Token::text2);
        if (mode == QIcon::Disabled) {
            color = themed(Token::text2);
            color.setAlphaF(0.38F);
        }
        return color;
    }
    QString m_id;
};

} // namespace

QPixmap iconPixmap(const QString& id, int size, const QColor& color, double devicePixelRatio)
{
    static QHash<QString, QPixmap> cache;
    const QString key = QStringLiteral("%1/%2/%3/%4").arg(id).arg(size).arg(color.rgba()).arg(devicePixelRatio);
    if (const auto it = cache.constFind(key); it != cache.constEnd()) return *it;
    const auto drawing = drawings().constFind(id);
    if (drawing == drawings().constEnd() || size <= 0) return {};
    const QPixmap pixmap = rendered(*drawing, size, color, devicePixelRatio);
    cache.insert(key, pixmap);
    return pixmap;
}

QIcon themedIcon(const QString& id) { return QIcon(new ThemedEngine(id)); }

QIcon applicationIcon()
{
    loadStyleResources();
    QSvgRenderer renderer(QStringLiteral(":/style/app-icon.svg"));
    QIcon icon;
    for (const int size : {16, 24, 32, 48, 64, 128, 256}) {
        QPixmap pixmap(size, size);
        pixmap.fill(Qt::transparent);
        QPainter painter(&pixmap);
        renderer.render(&painter);
        painter.end();
        icon.addPixmap(pixmap);
    }
    return icon;
}

} // namespace loopscope::viewer
