#include "viewer/canvas/labels.h"

#include "viewer/style/theme.h"

#include <QFontMetricsF>
#include <QTextLayout>

#include <memory>
#include <mutex>

namespace loopscope::viewer {

namespace {

// Glyphs are shaped at twice their size, so that 9.5 px can be said in whole pixels and widths hardly depend on rounding.
constexpr double kShape = 2;
constexpr int kMostLabels = 20000;

QFont shapedFont(Face face)
{
    struct Type {
        double size;
        bool bold, fixed, italic;
    };
    static constexpr Type types[] = {{11, false, false, false}, {10, false, false, false}, {10, false, true, false},
                                     {9.5, false, true, false}, {12, true, false, false},  {10, true, false, false},
                                     {11, true, false, false},  {11, false, false, true},  {10, false, true, true}};
    const Type& type = types[static_cast<size_t>(face)];
    QFont font = Theme::instance().font(type.fixed ? FontUse::value : FontUse::small, type.bold);
    font.setItalic(type.italic);
    font.setPixelSize(qRound(type.size * kShape));
    font.setHintingPreference(QFont::PreferNoHinting);
    font.setStyleStrategy(QFont::PreferAntialias);
    return font;
}

Face faceOf(TextStyle style)
{
    switch (style) {
    case TextStyle::name: return Face::name;
    case TextStyle::index: return Face::index;
    case TextStyle::mono: return Face::mono;
    case TextStyle::monoSmall: return Face::monoSmall;
    case TextStyle::head: return Face::head;
    }
    return Face::name;
}

struct SharedMeasure {
    std::mutex mutex;
    std::array<std::unique_ptr<QFontMetricsF>, 5> metrics;
    std::array<std::unordered_map<std::string, double>, 5> widths;

    double operator()(std::string_view text, TextStyle style)
    {
        const auto index = static_cast<size_t>(style);
        const std::lock_guard lock(mutex);
        std::string key(text);
        if (const auto it = widths[index].find(key); it != widths[index].end()) return it->second;
        const double width =
            metrics[index]->horizontalAdvance(QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size()))) / kShape;
        widths[index].emplace(std::move(key), width);
        return width;
    }
};

Label shaped(const QString& text, Face face)
{
    Label label;
    const QFont font = shapedFont(face);
    QTextLayout layout(text, font);
    layout.setCacheEnabled(true);
    layout.beginLayout();
    QTextLine line = layout.createLine();
    if (line.isValid()) {
        line.setLineWidth(1e6);
        label.width = line.naturalTextWidth() / kShape;
        label.ascent = line.ascent() / kShape;
        label.height = line.height() / kShape;
    }
    layout.endLayout();
    label.runs = layout.glyphRuns();
    return label;
}

/// "resize_neare…neighbor": both ends carry meaning.
QString middleElided(const QString& text, Face face, double room)
{
    const QFontMetricsF metrics(shapedFont(face));
    return metrics.elidedText(text, Qt::ElideMiddle, room * kShape);
}

} // namespace

TextMeasure fontTextMeasure()
{
    auto shared = std::make_shared<SharedMeasure>();
    for (size_t i = 0; i < shared->metrics.size(); ++i)
        shared->metrics[i] = std::make_unique<QFontMetricsF>(shapedFont(faceOf(static_cast<TextStyle>(i))));
    return [shared](std::string_view text, TextStyle style) { return (*shared)(text, style); };
}

Label LabelCache::label(const QString& text, Face face, double room)
{
    const QString key =
        QChar(u'a' + static_cast<char16_t>(face)) + (room > 0 ? QString::number(qRound(room * 2)) : QString()) + QLatin1Char('|') + text;
    if (const auto it = m_labels.constFind(key); it != m_labels.constEnd()) return *it;
    if (m_labels.size() > kMostLabels) m_labels.clear();
    Label label = shaped(text, face);
    if (room > 0 && label.width > room) {
        label = shaped(middleElided(text, face, room), face);
        label.isElided = true;
    }
    m_labels.insert(key, label);
    return label;
}

void drawLabel(QPainter& painter, const Label& label, QPointF at, const QColor& color, double scale)
{
    if (label.runs.isEmpty()) return;
    const QTransform before = painter.transform();
    painter.setPen(color);
    QTransform scaled = before;
    scaled.translate(at.x(), at.y() - label.ascent * scale);
    scaled.scale(scale / kShape, scale / kShape);
    painter.setTransform(scaled);
    for (const QGlyphRun& run : label.runs) painter.drawGlyphRun(QPointF(0, 0), run);
    painter.setTransform(before);
}

void drawLabelIn(QPainter& painter, const Label& label, const QRectF& box, Qt::Alignment alignment, const QColor& color, double scale)
{
    double x = box.left();
    if (alignment & Qt::AlignHCenter) x = box.center().x() - label.width * scale / 2;
    if (alignment & Qt::AlignRight) x = box.right() - label.width * scale;
    drawLabel(painter, label, {x, box.center().y() + (label.ascent - label.height / 2) * scale}, color, scale);
}

} // namespace loopscope::viewer
