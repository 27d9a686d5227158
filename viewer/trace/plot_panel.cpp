// The plot of a query's result: own painting, at most four series.
#include "viewer/style/theme.h"
#include "viewer/trace/result_panels.h"

#include <QHBoxLayout>
#include <QJsonArray>
#include <QMenu>
#include <QMouseEvent>
#include <QPainter>
#include <QToolButton>
#include <QVBoxLayout>

#include <cmath>
#include <functional>
#include <numeric>

namespace loopscope::viewer {

namespace {

constexpr size_t kMostSeries = 4;
constexpr int kMostPoints = 10'000; ///< beyond, a column of pixels shows its smallest and largest value
constexpr std::array<Token, kMostSeries> kColors = {Token::sideA, Token::sideB, Token::ok, Token::text2};
constexpr std::array kShapes = {"Lines", "Points", "Bars", "Band"}; ///< ResultPlot::Shape
constexpr std::array<Qt::PenStyle, kMostSeries> kDashes = {Qt::DashLine, Qt::SolidLine, Qt::DotLine, Qt::DashDotLine};

QString numberText(double number) { return QString::number(number, 'g', 8).replace('-', QChar(0x2212)); }

double niceStep(double span, int most)
{
    if (!(span > 0)) return 1;
    const double raw = span / most, decade = std::pow(10.0, std::floor(std::log10(raw)));
    for (const double n : {1.0, 2.0, 5.0})
        if (raw <= n * decade) return n * decade;
    return 10 * decade;
}

/// Numbers that say which thing a row is about: their course means nothing.
bool namesThings(const std::string& column)
{
    constexpr std::array kNames = {"id", "step", "event", "iteration", "run", "timeline", "depth", "graph", "node", "op", "invocation"};
    return std::ranges::any_of(kNames, [&](const char* name) {
        return column == name || column.ends_with(std::string("_") + name) || column == std::string(name) + "s";
    });
}

} // namespace

ResultPlot::ResultPlot(QWidget* parent) : QWidget(parent), m_answer(std::make_shared<TraceAnswer>())
{
    setObjectName("resultPlot");
    setAccessibleName("Plot of the result");
    setMinimumSize(160, 96);
    connect(&Theme::instance(), &Theme::changed, this, qOverload<>(&QWidget::update));
}

std::vector<int> ResultPlot::numericColumns() const
{
    std::vector<int> columns;
    const auto& rows = m_answer->result.rows;
    for (size_t c = 0; c < m_answer->result.columns.size(); ++c)
        for (size_t r = 0; r < std::min<size_t>(rows.size(), 50); ++r)
            if (isNumber(rows[r][c])) {
                columns.push_back(static_cast<int>(c));
                break;
            }
    return columns;
}

/// x: the first column of moments, else the row number; y: minimum, maximum and mean, else the last two others that measure something. A
/// result that only lists things has no plot.
void ResultPlot::setAnswer(std::shared_ptr<const TraceAnswer> answer)
{
    const bool sameColumns = answer->result.columns == m_answer->result.columns;
    m_answer = std::move(answer);
    m_selected = -1;
    if (!sameColumns) {
        m_x = -1;
        m_ys.clear();
        const std::vector<int> numeric = numericColumns();
        for (const int c : numeric) {
            const std::string& name = m_answer->result.columns[static_cast<size_t>(c)];
            if (m_x < 0 && (name == "iteration" || name == "step" || name == "event" || name == "at_step")) m_x = c;
        }
        for (const int c : numeric) // a range is what its ends are
            if (const std::string& name = m_answer->result.columns[static_cast<size_t>(c)];
                name == "min" || name == "max" || name == "mean")
                m_ys.push_back(c);
        if (m_ys.size() < 2) m_ys.clear();
        for (auto c = numeric.rbegin(); c != numeric.rend() && m_ys.size() < 2; ++c)
            if (*c != m_x && !namesThings(m_answer->result.columns[static_cast<size_t>(*c)])) m_ys.insert(m_ys.begin(), *c);
    }
    measure();
}

void ResultPlot::setColumns(int x, const std::vector<int>& ys)
{
    m_x = x;
    m_ys = ys;
    if (m_ys.size() > kMostSeries) m_ys.resize(kMostSeries);
    measure();
}

void ResultPlot::setShape(Shape shape)
{
    m_shape = shape;
    measure();
}

void ResultPlot::setSelected(int row)
{
    m_selected = row;
    update();
}

double ResultPlot::xOf(int row) const
{
    return m_x < 0 ? row : numberOf(m_answer->result.rows[static_cast<size_t>(row)][static_cast<size_t>(m_x)]);
}

double ResultPlot::yOf(int row, int column) const
{
    return numberOf(m_answer->result.rows[static_cast<size_t>(row)][static_cast<size_t>(column)]);
}

/// Order of the rows by x, and the ranges that hold them.
ResultPlot::Measured ResultPlot::measured(const TraceAnswer& answer, int x, const std::vector<int>& ys, Shape shape)
{
    const auto& rows = answer.result.rows;
    const auto at = [&](int row, int column) {
        return column < 0 ? row : numberOf(rows[static_cast<size_t>(row)][static_cast<size_t>(column)]);
    };
    Measured found;
    found.byX.resize(rows.size());
    std::iota(found.byX.begin(), found.byX.end(), 0);
    if (x >= 0)
        std::ranges::stable_sort(found.byX, {}, [&](int row) {
            const double place = at(row, x);
            return std::isnan(place) ? -INFINITY : place;
        });
    Range &xs = found.x, &values = found.y;
    xs = values = {INFINITY, -INFINITY, true};
    const auto take = [](Range& range, double number) {
        range = {std::min(range.low, number), std::max(range.high, number), range.isWhole && number == std::floor(number)};
    };
    for (const int row : found.byX) {
        const double place = at(row, x);
        if (!std::isfinite(place)) continue;
        take(xs, place);
        for (const int c : ys)
            if (const double y = at(row, c); std::isfinite(y)) take(values, y);
    }
    if (shape == Shape::bars && values.low <= values.high) values = {std::min(values.low, 0.0), std::max(values.high, 0.0), values.isWhole};
    const auto widen = [](Range& range) {
        if (range.low > range.high) range = {0, 1};
        else if (range.low == range.high) range = {range.low - 0.5, range.high + 0.5, range.isWhole};
    };
    widen(xs);
    widen(values);
    const double step = values.step(6);
    values = {std::floor(values.low / step) * step, std::ceil(values.high / step) * step, values.isWhole};
    return found;
}

double ResultPlot::Range::step(int most) const
{
    const double step = niceStep(high - low, most);
    return isWhole ? std::max(1.0, step) : step;
}

std::vector<double> ResultPlot::Range::ticks(int most) const
{
    std::vector<double> all;
    const double by = step(most);
    for (double k = std::ceil(low / by - 1e-9); k * by <= high + by / 1e6; ++k) all.push_back(k * by + 0.0); // no "−0"
    return all;
}

/// Many rows are sorted on another thread; until then nothing is drawn.
void ResultPlot::measure()
{
    const auto take = [this](Measured found) {
        m_byX = std::move(found.byX);
        m_xRange = found.x;
        m_yRange = found.y;
        update();
    };
    m_byX.clear();
    update();
    const auto work = [answer = m_answer, x = m_x, ys = m_ys, shape = m_shape](std::stop_token) { return measured(*answer, x, ys, shape); };
    if (m_answer->result.rows.size() > kMostPoints) return m_background.run(work, take);
    m_background.run([](std::stop_token) { return 0; }, [](int) {}); // what is under way is void
    take(work({}));
}

QRectF ResultPlot::area() const
{
    const double left = Theme::instance().barHeight(52), below = Theme::instance().barHeight(40); // of the labels
    return {left, 14, std::max(20.0, width() - left - 14), std::max(20.0, height() - below - 14)};
}

/// Paints one plot; what was measured holds while it does.
class ResultPlot::Painting {
public:
    Painting(QPainter& painter, const ResultPlot& plot)
        : m_painter(painter),
          m_plot(plot),
          m_box(plot.area()),
          m_series(plot.m_ys.size()),
          m_isDense(plot.m_byX.size() > kMostPoints)
    {
    }
    void axes();
    void series();
    void band();
    void selection();
    void legend();

private:
    double px(double x) const
    {
        return m_box.left() + (x - m_plot.m_xRange.low) / (m_plot.m_xRange.high - m_plot.m_xRange.low) * m_box.width();
    }
    double py(double y) const
    {
        return m_box.bottom() - (y - m_plot.m_yRange.low) / (m_plot.m_yRange.high - m_plot.m_yRange.low) * m_box.height();
    }
    double value(int row, size_t series) const { return m_plot.yOf(row, m_plot.m_ys[series]); }
    QPointF point(int row, size_t series) const { return {px(m_plot.xOf(row)), py(value(row, series))}; }
    QString columnName(int column) const { return QString::fromStdString(m_plot.m_answer->result.columns[static_cast<size_t>(column)]); }
    void envelope(size_t series);
    void bars(size_t series);
    void line(size_t series);
    QRectF freestCorner(const QSizeF& size) const;

    QPainter& m_painter;
    const ResultPlot& m_plot;
    const QRectF m_box;
    const double m_line = Theme::instance().barHeight(16); ///< of text
    const size_t m_series;
    const bool m_isDense; ///< more points than columns of pixels
};

void ResultPlot::Painting::axes()
{
    const Range &xs = m_plot.m_xRange, &ys = m_plot.m_yRange;
    for (const double y : ys.ticks(6)) {
        m_painter.setPen(QPen(themed(Token::line), 1));
        m_painter.drawLine(QPointF(m_box.left(), py(y)), QPointF(m_box.right(), py(y)));
        m_painter.setPen(themed(Token::text2));
        m_painter.drawText(QRectF(0, py(y) - m_line / 2, m_box.left() - 6, m_line), Qt::AlignRight | Qt::AlignVCenter, numberText(y));
    }
    for (const double x : xs.ticks(m_plot.xTicks())) {
        m_painter.setPen(themed(Token::text2));
        m_painter.drawText(QRectF(px(x) - 2.5 * m_line, m_box.bottom() + 4, 5 * m_line, m_line - 2), Qt::AlignCenter, numberText(x));
    }
    m_painter.drawText(QRectF(m_box.left(), m_box.bottom() + 4 + m_line, m_box.width(), m_line), Qt::AlignCenter,
                       m_plot.m_x < 0 ? QString("row") : columnName(m_plot.m_x));
}

void ResultPlot::Painting::series()
{
    for (size_t s = 0; s < m_series; ++s) {
        if (m_isDense) envelope(s);
        else if (m_plot.m_shape == Shape::bars) bars(s);
        else line(s);
    }
}

/// The smallest and the largest value under each column of pixels.
void ResultPlot::Painting::envelope(size_t series)
{
    const std::vector<int>& rows = m_plot.m_byX;
    m_painter.setPen(QPen(themed(kColors[series]), 1));
    size_t at = 0;
    for (int column = 0; column < static_cast<int>(m_box.width()) && at < rows.size(); ++column) {
        double low = INFINITY, high = -INFINITY;
        for (; at < rows.size() && px(m_plot.xOf(rows[at])) < m_box.left() + column + 1; ++at)
            if (const double y = value(rows[at], series); std::isfinite(y)) {
                low = std::min(low, y);
                high = std::max(high, y);
            }
        if (low > high) continue;
        const double x = m_box.left() + column + 0.5;
        m_painter.drawLine(QPointF(x, py(low)), QPointF(x, py(high) - 0.5));
    }
}

/// Beside each other where there are several series.
void ResultPlot::Painting::bars(size_t series)
{
    const auto count = static_cast<double>(m_series);
    const double pitch = m_box.width() / static_cast<double>(m_plot.m_byX.size()), wide = std::max(1.0, pitch * 0.7 / count);
    const double offset = static_cast<double>(series) - count / 2;
    for (const int row : m_plot.m_byX) {
        const double x = px(m_plot.xOf(row)), y = value(row, series);
        if (std::isfinite(y))
            m_painter.fillRect(
                QRectF(QPointF(x + wide * offset, py(std::max(y, 0.0))), QPointF(x + wide * (offset + 1), py(std::min(y, 0.0)))),
                themed(kColors[series]));
    }
}

void ResultPlot::Painting::line(size_t series)
{
    const QColor color = themed(kColors[series]);
    QPolygonF line;
    const auto flush = [&] {
        if (m_plot.m_shape == Shape::points || line.size() == 1) { // a line of one point would not be seen
            m_painter.setPen(Qt::NoPen);
            m_painter.setBrush(color);
            for (const QPointF& p : line) m_painter.drawEllipse(p, 2, 2);
        } else {
            m_painter.setPen(QPen(color, 1.6, kDashes[series]));
            m_painter.setBrush(Qt::NoBrush);
            m_painter.drawPolyline(line);
        }
        line.clear();
    };
    for (const int row : m_plot.m_byX) {
        if (std::isfinite(m_plot.xOf(row)) && std::isfinite(value(row, series))) line << point(row, series);
        else flush();
    }
    flush();
}

/// Between the first two series.
void ResultPlot::Painting::band()
{
    if (m_plot.m_shape != Shape::band || m_series < 2 || m_isDense) return;
    QPolygonF band;
    for (const int row : m_plot.m_byX) band << point(row, 0);
    for (auto row = m_plot.m_byX.rbegin(); row != m_plot.m_byX.rend(); ++row) band << point(*row, 1);
    QColor fill = themed(Token::accent);
    fill.setAlpha(40);
    m_painter.setPen(Qt::NoPen);
    m_painter.setBrush(fill);
    m_painter.drawPolygon(band);
}

void ResultPlot::Painting::selection()
{
    const int row = m_plot.m_selected;
    if (row < 0 || static_cast<size_t>(row) >= m_plot.m_byX.size()) return;
    const double x = px(m_plot.xOf(row));
    m_painter.setPen(QPen(themed(Token::curLine), 1.5, Qt::DashLine));
    m_painter.drawLine(QPointF(x, m_box.top() - 8), QPointF(x, m_box.bottom()));
    m_painter.setPen(Qt::NoPen);
    for (size_t s = 0; s < m_series; ++s)
        if (std::isfinite(value(row, s))) {
            m_painter.setBrush(themed(kColors[s]));
            m_painter.drawEllipse(point(row, s), 3.5, 3.5);
        }
}

/// The corner that covers the fewest points.
QRectF ResultPlot::Painting::freestCorner(const QSizeF& size) const
{
    const double left = m_box.left() + 8, right = m_box.right() - size.width() - 6;
    const double top = m_box.top() + 2, bottom = m_box.bottom() - size.height() - 6;
    const std::array<QRectF, 4> corners = {QRectF(QPointF(left, bottom), size), QRectF(QPointF(left, top), size),
                                           QRectF(QPointF(right, top), size), QRectF(QPointF(right, bottom), size)};
    std::array<int, 4> covered{};
    const std::vector<int>& rows = m_plot.m_byX;
    const size_t every = std::max<size_t>(1, rows.size() / 500);
    const bool hasLines = m_plot.m_shape == Shape::line || m_plot.m_shape == Shape::band; // which lie between points, too
    for (size_t i = 0; i < rows.size(); i += every)
        for (size_t s = 0; s < m_series; ++s) {
            const QPointF from = point(rows[i], s), to = hasLines && i + every < rows.size() ? point(rows[i + every], s) : from;
            for (const double way : {0.0, 0.25, 0.5, 0.75})
                for (size_t k = 0; k < corners.size(); ++k) covered[k] += corners[k].contains(from + way * (to - from));
        }
    return corners[static_cast<size_t>(std::ranges::min_element(covered) - covered.begin())];
}

void ResultPlot::Painting::legend()
{
    m_painter.setFont(Theme::instance().font(FontUse::small));
    const QFontMetrics metrics(m_painter.font());
    int widest = 0;
    for (const int c : m_plot.m_ys) widest = std::max(widest, metrics.horizontalAdvance(columnName(c)));
    const QRectF legend = freestCorner({widest + 42.0, m_line * static_cast<double>(m_series) + 8});
    m_painter.setPen(QPen(themed(Token::line), 1));
    m_painter.setBrush(themed(Token::surface));
    m_painter.drawRoundedRect(legend, 3, 3);
    for (size_t s = 0; s < m_series; ++s) {
        const double y = legend.top() + 4 + m_line * (static_cast<double>(s) + 0.5);
        m_painter.setPen(QPen(themed(kColors[s]), 1.6, kDashes[s]));
        m_painter.drawLine(QPointF(legend.left() + 8, y), QPointF(legend.left() + 26, y));
        m_painter.setPen(themed(Token::text));
        m_painter.drawText(QRectF(legend.left() + 32, y - m_line / 2, widest + 6, m_line), Qt::AlignVCenter, columnName(m_plot.m_ys[s]));
    }
}

void ResultPlot::paintEvent(QPaintEvent*)
{
    QPainter painter(this);
    painter.fillRect(rect(), themed(Token::surface));
    painter.setFont(Theme::instance().font(FontUse::tiny));
    if (m_ys.empty() || m_byX.empty()) {
        painter.setPen(themed(Token::text3));
        painter.setFont(Theme::instance().font(FontUse::body));
        painter.drawText(rect(), Qt::AlignCenter, "Nothing in this result is measured: there is no course to draw.");
        return;
    }
    Painting painting(painter, *this);
    painting.axes();
    painter.setRenderHint(QPainter::Antialiasing);
    painting.series();
    painting.band();
    painting.selection();
    painting.legend();
}

void ResultPlot::mousePressEvent(QMouseEvent* event)
{
    const QRectF box = area();
    if (m_byX.empty() || m_ys.empty()) return;
    const double x = m_xRange.low + (event->position().x() - box.left()) / box.width() * (m_xRange.high - m_xRange.low);
    const auto after = std::ranges::lower_bound(m_byX, x, {}, [this](int row) { return xOf(row); });
    const auto at = after == m_byX.end()                                                     ? std::prev(after)
                    : after != m_byX.begin() && x - xOf(*std::prev(after)) < xOf(*after) - x ? std::prev(after)
                                                                                             : after;
    emit rowChosen(*at);
}

QJsonObject ResultPlot::describe() const
{
    QJsonArray ys;
    for (const int c : m_ys) ys.append(QString::fromStdString(m_answer->result.columns[static_cast<size_t>(c)]));
    const auto numbers = [](const std::vector<double>& ticks) {
        QJsonArray all;
        for (const double tick : ticks) all.append(tick);
        return all;
    };
    return {{"xTicks", m_byX.empty() ? QJsonArray() : numbers(m_xRange.ticks(xTicks()))},
            {"yTicks", m_byX.empty() ? QJsonArray() : numbers(m_yRange.ticks(6))},
            {"x", m_x < 0 ? QString("row") : QString::fromStdString(m_answer->result.columns[static_cast<size_t>(m_x)])},
            {"ys", ys},
            {"shape", kShapes[static_cast<size_t>(m_shape)]},
            {"rows", static_cast<qint64>(m_byX.size())},
            {"selected", m_selected},
            {"yRange", QJsonArray{m_yRange.low, m_yRange.high}}};
}

PlotPanel::PlotPanel(Document& document) : Panel(document, "panelPlot", "Plot")
{
    TraceDesk& desk = TraceDesk::of(document);
    m_plot = new ResultPlot(this);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->addWidget(m_plot);
    auto* button = new QToolButton(this);
    button->setObjectName("plotColumns");
    button->setAutoRaise(true);
    Theme::instance().wear(*button, FontUse::small);
    button->setToolTip("Columns and form of the plot");
    m_columns = button;
    connect(button, &QToolButton::clicked, this, &PlotPanel::choose);
    connect(&desk, &TraceDesk::answered, this, [this, &desk] {
        m_plot->setAnswer(desk.answer());
        apply();
        refresh();
    });
    connect(&desk, &TraceDesk::rowSelected, this, [this, &desk] { m_plot->setSelected(desk.selectedRow()); });
    connect(m_plot, &ResultPlot::rowChosen, &desk, &TraceDesk::selectRow);
    m_plot->setAnswer(desk.answer());
    refresh();
}

void PlotPanel::refresh()
{
    const auto answer = TraceDesk::of(document()).answer();
    QStringList ys;
    for (const int c : m_plot->ys()) ys << QString::fromStdString(answer->result.columns[static_cast<size_t>(c)]);
    static_cast<QToolButton*>(m_columns)->setText(
        ys.isEmpty()
            ? QString("columns")
            : "x " + (m_plot->x() < 0 ? QString("row") : QString::fromStdString(answer->result.columns[static_cast<size_t>(m_plot->x())])) +
                  "   y " + ys.join(", "));
}

void PlotPanel::choose()
{
    const auto answer = TraceDesk::of(document()).answer();
    auto* const menu = new QMenu(this);
    menu->setAttribute(Qt::WA_DeleteOnClose);
    // Columns are those of this answer: another one may come while the menu is open.
    const auto change = [this, answer](QMenu* in, const QString& name, const std::function<void(bool)>& work) {
        return in->addAction(name, this, [this, answer, work](bool on) {
            if (TraceDesk::of(document()).answer() != answer) return;
            work(on);
            keep();
            refresh();
        });
    };
    QMenu* const xs = menu->addMenu("x");
    QMenu* const ys = menu->addMenu("y");
    change(xs, "row", [this](bool) { m_plot->setColumns(-1, m_plot->ys()); });
    for (const int c : m_plot->numericColumns()) {
        const QString name = QString::fromStdString(answer->result.columns[static_cast<size_t>(c)]);
        change(xs, name, [this, c](bool) { m_plot->setColumns(c, m_plot->ys()); });
        QAction* const y = change(ys, name, [this, c](bool on) {
            std::vector<int> chosen = m_plot->ys();
            if (on && chosen.size() < kMostSeries) chosen.push_back(c);
            else std::erase(chosen, c);
            m_plot->setColumns(m_plot->x(), chosen);
        });
        y->setCheckable(true);
        y->setChecked(std::ranges::find(m_plot->ys(), c) != m_plot->ys().end());
    }
    menu->addSeparator();
    for (size_t i = 0; i < kShapes.size(); ++i)
        change(menu, kShapes[i], [this, i](bool) { m_plot->setShape(static_cast<ResultPlot::Shape>(i)); });
    menu->popup(m_columns->mapToGlobal(QPoint(0, m_columns->height())));
}

QString PlotPanel::columnNames() const
{
    QStringList names;
    auto& desk =
        TraceDesk::of(const_cast<PlotPanel*>(this)->document()); // NOLINT(cppcoreguidelines-pro-type-const-cast): Panel has one accessor
    for (const std::string& name : desk.answer()->result.columns) names << QString::fromStdString(name);
    return names.join(' ');
}

void PlotPanel::keep()
{
    const QJsonObject drawn = m_plot->describe();
    m_choices[columnNames()] = QJsonObject{{"x", drawn["x"]}, {"ys", drawn["ys"]}, {"shape", drawn["shape"]}};
    emit stateChanged();
}

/// What was chosen before for answers of these columns.
void PlotPanel::apply()
{
    const QJsonObject choice = m_choices.value(columnNames()).toObject();
    if (choice.isEmpty()) return;
    const auto& columns = TraceDesk::of(document()).answer()->result.columns;
    const auto columnOf = [&](const QJsonValue& name) {
        const auto at = std::ranges::find(columns, name.toString().toStdString());
        return at == columns.end() ? -1 : static_cast<int>(at - columns.begin());
    };
    std::vector<int> ys;
    for (const QJsonValue& name : choice["ys"].toArray())
        if (const int column = columnOf(name); column >= 0) ys.push_back(column);
    m_plot->setColumns(columnOf(choice["x"]), ys);
    for (size_t i = 0; i < kShapes.size(); ++i)
        if (choice["shape"].toString() == kShapes[i]) m_plot->setShape(static_cast<ResultPlot::Shape>(i));
    refresh();
}

void PlotPanel::setState(const QJsonObject& state)
{
    m_choices = state["plots"].toObject();
    apply();
}

Panel* makePlotPanel(Document& document) { return new PlotPanel(document); }

} // namespace loopscope::viewer
