#include "viewer/compare/error_strip.h"

#include "viewer/compare/compare_panels.h"
#include "viewer/compare/compare_parts.h"
#include "viewer/compare/strip_accessible.h"
#include "viewer/style/icons.h"
#include "viewer/widgets/panel.h"

#include <QAction>
#include <QHelpEvent>
#include <QJsonArray>
#include <QKeyEvent>
#include <QLabel>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>
#include <QVBoxLayout>
#include <QWheelEvent>

#include <algorithm>
#include <cmath>

namespace loopscope::viewer {

namespace {

constexpr double kLeft = 14, kValueRoom = 54, kMark = 12;
constexpr double kMostBar = 10;
constexpr double kLeastWords = 12; ///< height of a bar with its value beside it
constexpr int kMostPercent = 125;  ///< of text: larger words have no room in the head

/// A bar that goes on behind the axis.
void paintGap(QPainter& painter, const QRectF& bar, Token ground)
{
    painter.setPen(QPen(themed(ground), 2));
    painter.drawLine(bar.topRight() + QPointF(-7, -1), bar.bottomRight() + QPointF(-11, 1));
}

QJsonArray jsonOf(const QRectF& r) { return {r.x(), r.y(), r.width(), r.height()}; }

} // namespace

ErrorStrip::ErrorStrip(CompareDesk& desk, QWidget* parent) : QWidget(parent), m_desk(desk)
{
    setObjectName("compareStrip");
    setAccessibleName(tr("Error strip"));
    setFocusPolicy(Qt::StrongFocus);
    setMouseTracking(true);
    installStripAccessibility();
    const auto repaint = [this] { update(); };
    connect(&m_desk, &CompareDesk::scenesChanged, this, repaint);
    connect(&m_desk, &CompareDesk::judgementChanged, this, repaint);
    connect(&m_desk, &CompareDesk::selectionChanged, this, repaint);
    connect(&m_desk.views(), &LinkedViews::moved, this, repaint);
    connect(&Theme::instance(), &Theme::changed, this, repaint);
}

int ErrorStrip::headHeight() const { return Theme::instance().barHeight(22); } // as the names above the pictures
double ErrorStrip::axisLeft() const { return kLeft; }
double ErrorStrip::axisWidth() const { return std::max(20.0, width() - kLeft - kValueRoom - kMark); }

std::vector<ErrorStrip::Bar> ErrorStrip::barsInView() const
{
    std::vector<Bar> bars;
    const PairedScenes* const scenes = m_desk.scenes();
    if (!scenes || !m_desk.drift()) return bars;
    const LinkedViews::Viewport& viewport = m_desk.views().viewport();
    const MetricScale scale = m_desk.judgement().scale();
    const std::string* last = nullptr;
    for (const PairedRow& pair : scenes->rows) {
        if (last && *last == pair.here) continue; // one bar however many partners
        last = &pair.here;
        const double y = headHeight() + pair.y * viewport.zoom - viewport.top, height = pair.height * viewport.zoom;
        if (y + height < headHeight() || y > this->height()) continue;
        Bar bar;
        bar.pair = &pair;
        bar.box = QRectF(0, y, width(), height);
        for (const int row : m_desk.judgement().rowsAt(pair.here)) {
            const DriftFigures* const figures = m_desk.judgement().figuresOf(row);
            if (!figures) continue;
            if (bar.measured && goodness(*figures, m_desk.judgement().metric()) >=
                                    goodness(*m_desk.judgement().figuresOf(bar.row), m_desk.judgement().metric()))
                continue;
            bar.row = row;
            bar.measured = true;
        }
        if (bar.measured) {
            const DriftFigures& figures = *m_desk.judgement().figuresOf(bar.row);
            bar.verdict = m_desk.judgement().verdictOf(bar.row);
            const double length = bar.verdict == Verdict::equal ? 0 : scale.place(measured(figures, m_desk.judgement().metric()));
            bar.isBeyond = bar.verdict != Verdict::equal && !scale.holds(measured(figures, m_desk.judgement().metric()));
            const double thick = std::max(1.0, std::min(kMostBar, height - 2));
            bar.bar = QRectF(axisLeft(), bar.box.center().y() - thick / 2,
                             std::max(bar.verdict == Verdict::equal ? 0.0 : 1.0, length * axisWidth()), thick);
        }
        bars.push_back(bar);
    }
    return bars;
}

/// What the bars mean.
void ErrorStrip::paintHead(QPainter& painter) const
{
    const Judgement& judgement = m_desk.judgement();
    const Metric metric = judgement.metric();
    painter.fillRect(0, 0, width(), headHeight() - 1, themed(Token::surface));
    painter.setPen(themed(Token::line));
    painter.drawLine(0, headHeight() - 1, width(), headHeight() - 1);
    if (m_desk.drift() != nullptr) {
        const QString bound = QStringLiteral("%1 %2").arg(moreIsBetter(metric) ? QStringLiteral("≥") : QStringLiteral("≤"),
                                                          toText(metricText(metric, judgement.limit())));
        painter.setPen(themed(Token::warn));
        const QRect room(6, 0, width() - 12, headHeight() - 1);
        painter.drawText(room, Qt::AlignVCenter | Qt::AlignRight, bound);
        painter.setFont(Theme::instance().font(FontUse::small));
        painter.setPen(themed(Token::text2));
        const QString name = QString::fromUtf8(metricName(metric));
        const QString axis = QStringLiteral("%1, %2").arg(name, toText(judgement.scale().text(metric)));
        const int free = room.width() - 8 - QFontMetrics(Theme::instance().font(FontUse::value)).horizontalAdvance(bound);
        const bool fits = painter.fontMetrics().horizontalAdvance(axis) <= free;
        painter.drawText(room, Qt::AlignVCenter | Qt::AlignLeft,
                         fits ? axis : painter.fontMetrics().elidedText(name, Qt::ElideRight, std::max(0, free)));
    }
}

void ErrorStrip::paintEvent(QPaintEvent*)
{
    QPainter painter(this);
    painter.fillRect(rect(), themed(Token::surface));
    const Theme& theme = Theme::instance();
    const Metric metric = m_desk.judgement().metric();
    const double limit = m_desk.judgement().limit();
    const MetricScale scale = m_desk.judgement().scale();
    const bool ready = m_desk.drift() != nullptr;
    const double limitX = axisLeft() + scale.place(limit) * axisWidth();
    const int head = headHeight();
    painter.save();
    painter.setClipRect(0, head, width(), height() - head);
    if (ready) {
        painter.setPen(QPen(themed(Token::line), 1));
        painter.drawLine(QPointF(axisLeft() - 0.5, head), QPointF(axisLeft() - 0.5, height()));
        for (const double line : scale.lines()) {
            const double x = std::round(axisLeft() + scale.place(line) * axisWidth()) - 0.5;
            painter.drawLine(QPointF(x, head), QPointF(x, height()));
        }
        QPen dashed(themed(Token::warn), 1);
        dashed.setDashPattern({3, 3});
        painter.setPen(dashed);
        if (scale.holds(limit)) painter.drawLine(QPointF(std::round(limitX) + 0.5, head), QPointF(std::round(limitX) + 0.5, height()));
    }
    const int first = m_desk.judgement().firstOver();
    for (const Bar& bar : barsInView()) {
        const std::vector<std::string>& all = m_desk.selected(CompareSide::here);
        const bool selected = std::ranges::find(all, bar.pair->here) != all.end();
        if (selected) painter.fillRect(bar.box, themed(Token::accentWeak));
        if (bar.measured) painter.fillRect(bar.bar, verdictColor(bar.verdict));
        if (bar.isBeyond) paintGap(painter, bar.bar, selected ? Token::accentWeak : Token::surface);
        if (bar.box.height() >= kLeastWords) { // as large as the row lets them
            QFont face = theme.font(FontUse::value);
            face.setPixelSize(std::min(face.pixelSize(), static_cast<int>(bar.box.height() * 0.7)));
            painter.setFont(face);
            QString text = tr("not run");
            if (bar.measured)
                text = bar.verdict == Verdict::equal ? QStringLiteral("=")
                                                     : toText(metricText(metric, measured(*m_desk.judgement().figuresOf(bar.row), metric)));
            if (bar.measured && !m_desk.judgement().figuresOf(bar.row)->mismatch.empty()) text = tr("unlike");
            painter.setPen(themed(!bar.measured || bar.verdict == Verdict::equal ? Token::text3 : selected ? Token::text : Token::text2));
            const double x = bar.measured ? bar.bar.right() + 5 : axisLeft() + 5;
            const QRectF words(x, bar.box.y(), width() - x, bar.box.height());
            if (!selected) // the line of the limit does not cross them
                painter.fillRect(painter.boundingRect(words, Qt::AlignVCenter | Qt::AlignLeft, text), themed(Token::surface));
            painter.drawText(words, Qt::AlignVCenter | Qt::AlignLeft, text);
        }
        if (bar.row >= 0 && bar.row == first) {
            QPolygonF mark;
            const QPointF tip(width() - kMark, bar.box.center().y());
            mark << tip << tip + QPointF(7, -6) << tip + QPointF(7, 6);
            painter.setRenderHint(QPainter::Antialiasing);
            painter.setPen(Qt::NoPen);
            painter.setBrush(themed(Token::warn));
            painter.drawPolygon(mark);
            painter.setRenderHint(QPainter::Antialiasing, false);
        }
    }
    painter.restore();
    paintHead(painter);
    if (hasFocus()) {
        painter.setPen(QPen(themed(Token::text), 1, Qt::DotLine));
        painter.drawRect(rect().adjusted(1, head + 1, -2, -2));
    }
}

const ErrorStrip::Bar* ErrorStrip::barAt(const std::vector<Bar>& bars, QPointF point) const
{
    if (point.y() < headHeight()) return nullptr;
    for (const Bar& bar : bars)
        if (point.y() >= bar.box.top() - 3 && point.y() < bar.box.bottom() + 3) return &bar;
    return nullptr;
}

void ErrorStrip::mousePressEvent(QMouseEvent* event)
{
    const std::vector<Bar> bars = barsInView();
    const Bar* const bar = event->button() == Qt::LeftButton ? barAt(bars, event->position()) : nullptr;
    if (!bar) return QWidget::mousePressEvent(event);
    choose(*bar);
}

void ErrorStrip::choose(const Bar& bar)
{
    if (bar.row >= 0) m_desk.selectRow(bar.row);
    else m_desk.selectAt(CompareSide::here, bar.pair->here);
}

void ErrorStrip::choose(const std::string& address)
{
    for (const Bar& bar : barsInView())
        if (bar.pair->here == address) return choose(bar);
}

std::vector<ErrorStrip::SpokenRow> ErrorStrip::spokenRows() const
{
    std::vector<SpokenRow> rows;
    const std::vector<std::string>& selected = m_desk.selected(CompareSide::here);
    for (const Bar& bar : barsInView()) {
        SpokenRow row{bar.pair->here, placeText(bar.pair->here).replace('#', ' '), bar.box.toAlignedRect(),
                      std::ranges::find(selected, bar.pair->here) != selected.end()};
        const DriftFigures* const figures = bar.measured ? m_desk.judgement().figuresOf(bar.row) : nullptr;
        if (!figures) row.text += tr(", not run on both sides");
        else if (!figures->mismatch.empty()) row.text += QStringLiteral(", ") + toText(figures->mismatch);
        else if (bar.verdict == Verdict::equal) row.text += tr(", equal");
        else
            row.text += QStringLiteral(", %1 %2, %3")
                            .arg(QString::fromUtf8(metricName(m_desk.judgement().metric())),
                                 toText(metricText(m_desk.judgement().metric(), measured(*figures, m_desk.judgement().metric()))),
                                 QString::fromUtf8(verdictText(bar.verdict)));
        rows.push_back(std::move(row));
    }
    return rows;
}

void ErrorStrip::wheelEvent(QWheelEvent* event)
{
    const QPoint pixels = event->pixelDelta().isNull() ? event->angleDelta() * 60 / 120 : event->pixelDelta();
    m_desk.views().scrollTo(m_desk.views().viewport().top - pixels.y());
    event->accept();
}

void ErrorStrip::keyPressEvent(QKeyEvent* event)
{
    const int by = event->key() == Qt::Key_Down ? 1 : event->key() == Qt::Key_Up ? -1 : 0;
    const int row = m_desk.row() + by;
    if (by == 0 || row < 0 || row >= m_desk.judgement().comparedRows()) return QWidget::keyPressEvent(event);
    m_desk.selectRow(row);
}

bool ErrorStrip::event(QEvent* event)
{
    if (event->type() != QEvent::ToolTip) return QWidget::event(event);
    const auto* const help = static_cast<QHelpEvent*>(event);
    const std::vector<Bar> bars = barsInView();
    const Bar* const bar = barAt(bars, help->pos());
    if (!bar) {
        QToolTip::hideText();
        return true;
    }
    QString text = placeText(bar->pair->here);
    if (bar->pair->there != bar->pair->here) text += QStringLiteral(" ↔ ") + placeText(bar->pair->there);
    text += tr("\nmatched by %1").arg(QString::fromUtf8(pairedByText(bar->pair->how).data()));
    if (bar->measured) {
        const DriftFigures& figures = *m_desk.judgement().figuresOf(bar->row);
        text += QStringLiteral("\n") + (figures.mismatch.empty() ? QString() : toText(figures.mismatch) + QStringLiteral("\n"));
        if (figures.mismatch.empty())
            text += QStringLiteral("%1 %2, %3")
                        .arg(metricName(m_desk.judgement().metric()),
                             toText(metricText(m_desk.judgement().metric(), measured(figures, m_desk.judgement().metric()))),
                             verdictText(bar->verdict));
    } else {
        text += tr("\nnot run on both sides");
    }
    QToolTip::showText(help->globalPos(), text, this);
    return true;
}

QJsonObject ErrorStrip::describe() const
{
    QJsonArray all;
    for (const Bar& bar : barsInView()) {
        QJsonObject one{{"address", toText(bar.pair->here)}, {"box", jsonOf(bar.box)}, {"measured", bar.measured}};
        if (bar.measured) {
            one["bar"] = jsonOf(bar.bar);
            one["verdict"] = verdictText(bar.verdict);
            if (bar.isBeyond) one["beyond"] = true;
            one["value"] = toText(
                metricText(m_desk.judgement().metric(), measured(*m_desk.judgement().figuresOf(bar.row), m_desk.judgement().metric())));
        }
        if (bar.row >= 0 && bar.row == m_desk.judgement().firstOver()) one["first"] = true;
        all.append(one);
    }
    return {{"bars", all},
            {"limit", axisLeft() + m_desk.judgement().scale().place(m_desk.judgement().limit()) * axisWidth()},
            {"axis", toText(m_desk.judgement().scale().text(m_desk.judgement().metric()))},
            {"metric", metricName(m_desk.judgement().metric())}};
}

namespace {

class ErrorStripPanel : public Panel {
    Q_OBJECT
public:
    explicit ErrorStripPanel(Document& document)
        : Panel(document, "panelCompareStrip", tr("Error")),
          m_desk(CompareDesk::of(document)),
          m_strip(new ErrorStrip(m_desk, this))
    {
        auto* const column = new QVBoxLayout(this);
        column->setContentsMargins(0, 0, 0, 0);
        column->addWidget(m_strip);
        m_link = new QAction(tr("Both pictures move together"), this);
        m_link->setObjectName("compareLink");
        m_link->setCheckable(true);
        m_link->setChecked(true);
        m_link->setIcon(themedIcon("follow"));
        connect(m_link, &QAction::toggled, &m_desk.views(), &LinkedViews::setLinked);
        connect(&m_desk.views(), &LinkedViews::linkChanged, this, [this] {
            m_link->setChecked(m_desk.views().isLinked());
            showLink();
        });
        connect(&Theme::instance(), &Theme::changed, this, &ErrorStripPanel::showLink);
    }
    QList<QAction*> headActions() override { return {m_link}; }
    QWidget* headWidget() override
    {
        if (!m_word) {
            m_word = new QLabel;
            m_word->setProperty("type", "small");
            connect(m_word, &QObject::destroyed, this, [this] { m_word = nullptr; });
            showLink();
        }
        return m_word;
    }
    QWidget* focusTarget() override { return m_strip; }
    bool command(const QString& id) override
    {
        if (id != QLatin1String("nextFinding") && id != QLatin1String("previousFinding")) return false;
        return m_desk.goToDifference(id == QLatin1String("nextFinding") ? 1 : -1);
    }

private:
    void showLink()
    {
        if (!m_word) return;
        const bool hasRoom = Theme::instance().textPercent() <= kMostPercent; // else the link alone says it
        m_word->setText(!hasRoom ? QString() : m_desk.views().isLinked() ? tr("synced") : tr("free"));
        m_word->setStyleSheet(QStringLiteral("color: %1;").arg(themed(m_desk.views().isLinked() ? Token::accent : Token::text3).name()));
    }

    CompareDesk& m_desk;
    ErrorStrip* m_strip;
    QAction* m_link;
    QLabel* m_word = nullptr;
};

} // namespace

Panel* makeErrorStripPanel(Document& document) { return new ErrorStripPanel(document); }

} // namespace loopscope::viewer

#include "error_strip.moc"
