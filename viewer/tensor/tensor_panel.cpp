#include "viewer/tensor/tensor_panel_impl.h"

#include "engine/base/text.h"
#include "engine/observe/address.h"
#include "viewer/style/icons.h"
#include "viewer/style/theme.h"

#include <QJsonArray>

#include <cmath>

namespace loopscope::viewer {

namespace {

constexpr std::array<const char*, kTensorModes> kModeNames = {"table", "heat", "image", "histogram", "plot", "statistics", "quantization"};
constexpr int64_t kSeriesElements = 256; ///< larger values are not shown over iterations
constexpr int64_t kPlotRows = 16;        ///< of a part of a plane, where its rows are drawn as lines

} // namespace

TensorPanel::TensorPanel(Document& document) : Panel(document, "panelTensor", "Tensor")
{
    buildBar();
    buildViews();
    connect(&document, &Document::selectionChanged, this, &TensorPanel::followSelection);
    connect(&document, &Document::stopChanged, this, [this] {
        request();
        requestPinnedRange();
        requestSeries(false);
    });
    connect(&document, &Document::frameChanged, this, &TensorPanel::request);
    connect(&document, &Document::lookedAtChanged, this, &TensorPanel::request);
    connect(&document, &Document::previewChanged, this, &TensorPanel::refresh);
    connect(&Theme::instance(), &Theme::changed, this, &TensorPanel::refresh);
    followSelection();
}

TensorPanel::TensorPanel(Document& document, const QString& objectName, const QString& title, TensorFeed* feed)
    : Panel(document, objectName, title),
      m_feed(feed)
{
    feed->setParent(this);
    buildBar();
    buildViews();
    connect(feed, &TensorFeed::changed, this, &TensorPanel::followFeed);
    connect(&Theme::instance(), &Theme::changed, this, &TensorPanel::refresh);
    m_fed = feed->now();
    show({});
}

/// The same value at another moment keeps what was chosen for it.
void TensorPanel::followFeed()
{
    const Value* const before = m_fed.declared;
    m_fed = m_feed->now();
    if (m_fed.declared != before) return show({});
    request();
}

const Value* TensorPanel::declared() const
{
    if (m_feed) return m_fed.declared;
    const Model& model =
        const_cast<TensorPanel*>(this)->document().model(); // NOLINT(cppcoreguidelines-pro-type-const-cast): Panel has one accessor
    if (!m_selection.value.valid() || !model.hasGraph(m_selection.graph)) return nullptr;
    return &model.graph(m_selection.graph).value(m_selection.value);
}

void TensorPanel::followSelection()
{
    if (m_tabs->currentIndex() > 0) return; // a pinned value stays in front
    const Selection& selection = document().selection();
    if (selection.graph == m_selection.graph && selection.value == m_selection.value && m_hasAnswer) {
        m_selection = selection;
        return;
    }
    show(selection);
    m_tabs->setTabText(0, title());
}

/// Another value: nothing that was chosen for the one before holds.
void TensorPanel::show(const Selection& selection)
{
    m_selection = selection;
    m_hasAnswer = m_modeChosen = m_useSeries = m_dense = false;
    m_series.reset();
    m_scan.reset();
    m_axes.reset();
    m_item = m_channel = -1;
    m_picture = 0;
    m_window = {};
    m_cursor = {};
    m_anchor.reset();
    m_isPlaced = false;
    m_compare = CompareWith::nothing;
    const Value* const value = declared();
    if (!m_feed) setTitle(value != nullptr ? QString::fromStdString(value->id) : "Tensor");
    request();
    requestSeries(true);
}

ValueRequest TensorPanel::currentRequest() const
{
    auto& doc = const_cast<TensorPanel*>(this)->document(); // NOLINT(cppcoreguidelines-pro-type-const-cast): Panel has one accessor
    ValueRequest request;
    request.address = m_feed ? m_fed.place.toStdString() : doc.valueAddress(m_selection);
    request.fetch = m_fed.fetch;
    request.graph = m_selection.graph;
    request.value = m_selection.value;
    request.frame = doc.frame();
    request.elsewhere = !doc.lookedAt().empty();
    request.axes = m_axes;
    request.window = m_window;
    request.window.rows = shows(TensorMode::plot) ? kPlotRows : Window().rows;
    request.picture = m_picture;
    request.bytes = m_hex;
    request.dense = m_dense;
    request.item = m_item;
    if (m_answer.dtype == DType::string && m_hasAnswer) request.whole = flatAtCursor();
    request.wantsBlocks = shows(TensorMode::heat);
    request.wantsHistogram = shows(TensorMode::histogram);
    request.wantsChannels = shows(TensorMode::quantization);
    request.wantsImage = shows(TensorMode::image);
    request.compare = m_compare;
    request.iteration = m_compareIteration;
    return request;
}

void TensorPanel::request()
{
    const Value* const value = declared();
    m_reading = false;
    if (m_scan && m_scanned != scanSource()) m_scan.reset(); // it counted what is no longer shown
    if (value == nullptr) {
        m_answer = ValueAnswer();
        m_hasAnswer = false;
        return refresh();
    }
    if (value->role == ValueRole::constant && !m_feed) {
        m_reading = true;
        m_reader.run([&model = document().model(), question = currentRequest()](std::stop_token) { return readConstant(model, question); },
                     [this, asked = m_selection](ValueAnswer answer) {
                         m_reading = false;
                         if (asked.graph == m_selection.graph && asked.value == m_selection.value) take(std::move(answer));
                     });
        return;
    }
    if (!document().stop()->started) {
        ValueAnswer answer;
        answer.id = value->id;
        answer.dtype = value->type.dtype;
        answer.shape = value->type.shape;
        answer.why = "nothing has run";
        return take(std::move(answer));
    }
    const Selection asked = m_selection;
    document().bridge().ask(
        this, "value", [question = currentRequest()](Inspector& inspector) { return readValue(inspector, question); },
        [this, asked](ValueAnswer answer) {
            if (asked.graph == m_selection.graph && asked.value == m_selection.value) take(std::move(answer));
        });
}

/// Asks for the value's course over its loop, part after part.
void TensorPanel::requestSeries(bool anew)
{
    const Value* const value = declared();
    if (value == nullptr || m_feed || !document().stop()->started || m_seriesBusy) return;
    if (value->role != ValueRole::result && value->role != ValueRole::input) return;
    const auto elements = checkedElementCount(value->type.shape);
    if (!elements || *elements > kSeriesElements || *elements == 0) return;
    if (m_series && !anew) { // another execution of the loop begins anew; one that is known to its end is done
        const auto& stack = document().stop()->stack;
        for (size_t d = 1; d < stack.size(); ++d)
            if (stack[d].info.graph == m_selection.graph && stack[d].info.iteration >= 0 &&
                stack[d - 1].info.invocation != m_series->caller)
                anew = true;
        if (!anew && m_series->complete && !m_series->isPart) return;
    }
    m_seriesBusy = true;
    std::shared_ptr<const ValueSeries> continued = anew ? nullptr : m_series;
    document().bridge().ask(
        this, "series",
        [question = currentRequest(), continued](Inspector& inspector) { return readSeries(inspector, question, continued); },
        [this, asked = m_selection, went = continued != nullptr](SeriesAnswer answer) {
            m_seriesBusy = false;
            if (asked.graph != m_selection.graph || asked.value != m_selection.value) return requestSeries(true);
            const bool other = answer.run != m_seriesRun || answer.timeline != m_seriesLine;
            m_seriesRun = answer.run;
            m_seriesLine = answer.timeline;
            if (other && went) return requestSeries(true);
            m_series = std::move(answer.series);
            if (m_series && m_series->isPart) requestSeries(false);
            if (!m_modeChosen) chooseDefaultModes();
            refresh();
        });
}

void TensorPanel::take(ValueAnswer answer)
{
    m_answer = std::move(answer);
    if (m_answer.shape.hasRank()) m_answer.axes = fittedAxes(m_answer.axes, m_answer.shape);
    m_hasAnswer = true;
    if (!m_modeChosen) chooseDefaultModes();
    refresh();
    if (m_series && m_answer.run != 0 && (m_answer.run != m_seriesRun || m_answer.timeline != m_seriesLine)) requestSeries(true);
}

/// Its course over a loop is known.
bool TensorPanel::hasSeries() const
{
    return m_series && m_series->keptIterations() > 0 && m_series->iterations > 1 && m_answer.held.empty();
}

/// As values of the kind were looked at last; else a small value of a loop as elements × iterations with the plot below, and the others as
/// a table.
void TensorPanel::chooseDefaultModes()
{
    const bool series = hasSeries();
    const auto before = m_shown;
    if (!recallModes(series)) {
        m_shown.fill(false);
        m_useSeries = series;
        const bool scalar = m_answer.shape.hasRank() && m_answer.shape.elementCount() == 1;
        if (series && !scalar) m_shown[static_cast<size_t>(TensorMode::heat)] = true;
        if (series) m_shown[static_cast<size_t>(TensorMode::plot)] = true;
        if (!series) m_shown[static_cast<size_t>(TensorMode::table)] = true;
    }
    const bool needsMore = (shows(TensorMode::heat) && !m_useSeries) || shows(TensorMode::image) || shows(TensorMode::histogram) ||
                           shows(TensorMode::quantization);
    if (before != m_shown && m_hasAnswer && needsMore) request();
}

/// False: nothing is remembered of which this value has a mode.
bool TensorPanel::recallModes(bool hasSeries)
{
    const Value* const value = declared();
    if (value == nullptr || !m_hasAnswer || !m_answer.shape.hasRank() || !m_answer.held.empty()) return false;
    const std::optional<RememberedModes> kept = m_modes.find(m_answer.dtype, m_answer.shape.rank(), hasSeries);
    if (!kept) return false;
    std::array<bool, kTensorModes> modes{};
    for (size_t i = 0; i < kTensorModes; ++i) {
        const auto mode = static_cast<TensorMode>(i);
        const bool fits = mode == TensorMode::image ? isImageShape(m_answer.shape)
                                                    : mode != TensorMode::quantization || value->type.quantization != nullptr;
        modes[i] = fits && kept->modes.contains(QLatin1String(kModeNames[i]));
    }
    if (std::ranges::count(modes, true) == 0) return false;
    m_shown = modes;
    m_useSeries = hasSeries && kept->overIterations;
    return true;
}

void TensorPanel::rememberModes()
{
    m_modeChosen = true;
    if (!m_hasAnswer || !m_answer.shape.hasRank() || !m_answer.held.empty() || m_answer.dtype == DType::unknown) return;
    RememberedModes modes;
    for (size_t i = 0; i < kTensorModes; ++i)
        if (m_shown[i]) modes.modes.append(QLatin1String(kModeNames[i]));
    modes.overIterations = m_useSeries;
    if (m_modes.remember(m_answer.dtype, m_answer.shape.rank(), hasSeries(), modes) && m_modesChanged) m_modesChanged(m_modes.entries());
}

void TensorPanel::keepModes(const QJsonObject& modes, std::function<void(const QJsonObject&)> changed)
{
    m_modes.setEntries(modes);
    m_modesChanged = std::move(changed);
    if (!m_modeChosen && m_hasAnswer) {
        chooseDefaultModes();
        refresh();
    }
}

int64_t TensorPanel::iterationNow() const
{
    auto& doc = const_cast<TensorPanel*>(this)->document(); // NOLINT(cppcoreguidelines-pro-type-const-cast): Panel has one accessor
    if (doc.preview()) return *doc.preview();
    if (m_answer.iteration >= 0) return m_answer.iteration;
    const Result<Address> address = parseAddress(doc.valueAddress(m_selection));
    if (address.ok())
        for (auto step = address->steps.rbegin(); step != address->steps.rend(); ++step)
            if (step->iteration >= 0) return step->iteration;
    return m_series ? m_series->iterations - 1 : -1;
}

void TensorPanel::refresh()
{
    const Value* const value = declared();
    const bool previewing = !m_feed && document().preview().has_value();
    m_content = m_heatContent = m_plotContent = GridContent();
    Grid series;
    if (value != nullptr && m_series && m_series->keptIterations() > 0) {
        const auto stop = document().stop();
        int64_t trips = 0;
        for (const FrameSnapshot& frame : stop->stack)
            if (frame.info.graph == m_selection.graph && frame.knownTrips) trips = *frame.knownTrips;
        series = gridOf(*m_series, value->type.quantization.get(), iterationNow(), trips);
        if (m_compare == CompareWith::iteration) {
            const int64_t against = m_compareIteration - series.colBegin;
            Grid base = series;
            if (against >= 0 && against < series.cols)
                for (int64_t r = 0; r < series.rows; ++r)
                    for (int64_t c = 0; c < series.cols; ++c) base.cells[static_cast<size_t>(r * series.cols + c)] = series.at(r, against);
            series = difference(series, base);
        }
    }
    const bool overIterations = m_useSeries && series.rows > 0;
    if (overIterations) {
        m_content.grid = series;
        m_content.known = m_series->keptIterations();
        m_content.approximate = previewing;
    } else {
        m_content.grid = m_answer.grid;
        if (m_answer.compared) m_content.grid = difference(m_answer.grid, *m_answer.compared);
        m_content.approximate = !m_answer.isLive;
        const size_t column =
            series.rows > 0 && series.current >= 0 ? static_cast<size_t>(std::max<int64_t>(0, series.current - series.colBegin)) : SIZE_MAX;
        if (previewing && static_cast<int64_t>(column) < series.cols &&
            series.rows == m_content.grid.rows * m_content.grid.cols) { // while scrubbing
            for (size_t i = 0; i < m_content.grid.cells.size(); ++i)
                m_content.grid.cells[i] = series.at(static_cast<int64_t>(i), static_cast<int64_t>(column));
            m_content.approximate = true;
        }
    }
    m_content.grid.style.complex = m_complex;
    if (dtypeClass(m_content.grid.style.dtype) == DTypeClass::complex)
        for (Cell& cell : m_content.grid.cells) cell.real = complexPart(cell, m_complex);
    m_heatContent = m_content;
    if (!overIterations && m_answer.blocks && !m_answer.compared) m_heatContent.grid = *m_answer.blocks;
    m_content.range = m_heatContent.range = shownRange();
    if (series.rows > 0) {
        m_plotContent.grid = series;
        m_plotContent.known = m_series->keptIterations();
    } else {
        m_plotContent = m_content;
        Grid& plot = m_plotContent.grid;
        if (plot.cols <= 1 && plot.rows > 1) { // a vector goes to the right
            std::swap(plot.rows, plot.cols);
            std::swap(plot.allRows, plot.allCols);
            std::swap(plot.rowBegin, plot.colBegin);
            plot.rowNames = {value != nullptr ? value->id : std::string()};
        }
    }
    if (overIterations && !m_isPlaced) m_cursor.col = m_content.grid.current;
    const CellCursor end = planeEnd();
    m_cursor.row = std::clamp<int64_t>(m_cursor.row, 0, std::max<int64_t>(0, end.row - 1));
    m_cursor.col = std::clamp<int64_t>(m_cursor.col, 0, std::max<int64_t>(0, end.col - 1));

    const bool empty = m_hasAnswer && m_answer.shape.isStatic() && m_answer.shape.elementCount() == 0;
    const bool none = value == nullptr || (!m_answer.present && !m_answer.statisticsOnly && !overIterations) || empty;
    const bool scalar =
        !none && m_answer.present && m_answer.shape.isStatic() && m_answer.shape.elementCount() == 1 && m_answer.grid.cells.size() == 1;
    const bool isPacked = !none && m_answer.present && dtypeClass(m_answer.dtype) == DTypeClass::block; // of Circle: only kernels read them
    if (none) {
        QString text = m_feed ? m_fed.why : QString("Select a tensor in the graph, the listing or a table.");
        if (!m_hasAnswer && value != nullptr) text.clear();
        else if (empty) text = "empty: " + m_type->text() + ", no elements";
        else if (value != nullptr) text = "no value: " + QString::fromStdString(m_answer.why);
        m_scalar->setText(text);
    } else if (scalar) {
        CellStyle style = m_answer.grid.style;
        style.raw = m_raw;
        style.hex = m_hex;
        m_scalar->setText(m_answer.grid.texts.empty() ? QString::fromStdString(cellText(m_answer.grid.cells[0], style))
                                                      : QString::fromStdString(m_answer.grid.texts[0]));
    } else if (isPacked)
        m_scalar->setText("blocks of " + QString::fromStdString(std::string(dtypeName(m_answer.dtype))) +
                          " are not unpacked: " + QString::fromStdString(formatBytes(m_answer.bytes)));
    else if (!m_answer.held.empty() && m_item < 0) m_scalar->setText(QString::fromStdString(m_answer.held));
    else if (m_answer.dtype == DType::string) m_scalar->setText(QString::fromStdString(m_answer.whole));
    const bool inWords = (!m_answer.held.empty() && m_item < 0) || (m_answer.dtype == DType::string && !m_answer.whole.empty());
    const bool isNumber = scalar && m_answer.shape.rank() == 0; // large, where a table would have one cell
    m_scalar->setVisible(none || isPacked || (scalar && (isNumber || !shows(TensorMode::table))) || (inWords && !none));
    m_scalar->setFont(Theme::instance().font(scalar ? FontUse::figure : FontUse::body));
    m_model->setContent(&m_content, m_cursor);
    CellStyle style = m_content.grid.style;
    style.raw = m_raw;
    style.hex = m_hex;
    style.complex = m_complex;
    m_model->setStyle(style);
    m_heat->setContent(&m_heatContent, style);
    m_histogram->setHistogram(m_scan && m_scan->done ? std::optional(m_scan->histogram) : m_answer.histogram);
    m_image->setImage(m_answer.image);
    m_histogram->setLogarithmic(m_log);
    m_image->setLook(m_channel, m_gamma, m_rangeMode == RangeMode::shared ? RangeMode::typed : m_rangeMode,
                     m_rangeMode == RangeMode::shared ? m_content.range : m_typedRange);
    if (shows(TensorMode::statistics) || shows(TensorMode::quantization)) refreshStatistics();
    if (m_history->isVisibleTo(this)) refreshHistory();
    const std::array<QWidget*, kTensorModes> views = {m_table, m_heat, m_image, m_histogram, m_plot, m_stats, m_quant};
    for (size_t i = 0; i < kTensorModes; ++i) {
        const bool isOneCell = isNumber && static_cast<TensorMode>(i) == TensorMode::table && !m_useSeries;
        views[i]->setVisible(!none && !isPacked && m_shown[i] && !isOneCell && !m_history->isVisibleTo(this));
    }
    if (m_answer.statisticsOnly && !none) m_stats->setVisible(true);
    refreshOptions();
    showCursor();
}

/// Of the colours.
ValueRange TensorPanel::shownRange() const
{
    if (m_rangeMode == RangeMode::typed) return m_typedRange;
    const ValueRange own = rangeOf(m_heatContent.grid, m_rangeMode);
    if (m_rangeMode != RangeMode::shared || !m_pinnedRange) return own;
    ValueRange all = {std::min(own.low, m_pinnedRange->low), std::max(own.high, m_pinnedRange->high)};
    if (all.low < 0 && all.high > 0) all.low = -(all.high = std::max(all.high, -all.low));
    return all;
}

void TensorPanel::setRange(RangeMode mode)
{
    m_rangeMode = mode;
    requestPinnedRange();
    refresh();
}

/// Smallest and largest of the pinned values at this stop, for colours that mean the same in all of them.
void TensorPanel::requestPinnedRange()
{
    if (m_rangeMode != RangeMode::shared) return;
    std::vector<ValueRequest> questions;
    const bool started = document().stop()->started;
    for (const Selection& each : m_pins) {
        if (document().model().graph(each.graph).value(each.value).role != ValueRole::constant && !started) continue;
        ValueRequest question;
        question.address = document().valueAddress(each);
        question.graph = each.graph;
        question.value = each.value;
        question.frame = document().frame();
        question.elsewhere = !document().lookedAt().empty();
        questions.push_back(std::move(question));
    }
    document().bridge().ask(
        this, "pinned range",
        [questions, &model = document().model()](Inspector& inspector) {
            std::optional<ValueRange> all;
            for (const ValueRequest& question : questions) {
                const bool isConstant = model.graph(question.graph).value(question.value).role == ValueRole::constant;
                const ValueAnswer answer = isConstant ? readConstant(model, question) : readValue(inspector, question);
                if (!answer.present && !answer.statisticsOnly) continue;
                const bool known = answer.hasStatistics && answer.statistics.finite > 0;
                const ValueRange one =
                    known ? ValueRange{answer.statistics.min, answer.statistics.max} : rangeOf(answer.grid, RangeMode::robust);
                all = all ? ValueRange{std::min(all->low, one.low), std::max(all->high, one.high)} : one;
            }
            return all;
        },
        [this](std::optional<ValueRange> range) {
            m_pinnedRange = range;
            refresh();
        });
}

void TensorPanel::compareWith(CompareWith with, int64_t iteration)
{
    m_compare = with;
    m_compareIteration = iteration;
    request();
    refresh();
}

void TensorPanel::addPin(const Selection& selection)
{
    const Model& model = document().model();
    if (!selection.value.valid() || !model.hasGraph(selection.graph)) return;
    m_pins.push_back(selection);
    m_tabs->addTab(QString::fromStdString(model.graph(selection.graph).value(selection.value).id) + " pinned");
    m_tabs->setTabsClosable(true);
    if (auto* const close = m_tabs->tabButton(0, QTabBar::RightSide)) close->hide();
    m_tabs->show();
    requestPinnedRange();
    emit stateChanged();
}

QJsonObject TensorPanel::state() const
{
    auto& doc = const_cast<TensorPanel*>(this)->document(); // NOLINT(cppcoreguidelines-pro-type-const-cast): Panel has one accessor
    QJsonArray pins;
    for (const Selection& each : m_pins) pins.append(QString::fromStdString(staticAddress(doc.valueAddress(each))));
    return pins.isEmpty() ? QJsonObject() : QJsonObject{{"pins", pins}};
}

void TensorPanel::setState(const QJsonObject& state)
{
    while (!m_pins.empty()) emit m_tabs->tabCloseRequested(1);
    for (const QJsonValue& each : state["pins"].toArray())
        if (const std::optional<Selection> found = document().find(each.toString().toStdString())) addPin(*found);
}

void TensorPanel::showMode(int mode, bool beside)
{
    const auto at = static_cast<size_t>(std::clamp(mode, 0, static_cast<int>(kTensorModes) - 1));
    const auto shown = std::ranges::count(m_shown, true);
    if (beside && m_shown[at] && shown > 1) m_shown[at] = false;
    else {
        if (!beside || shown > 1) m_shown.fill(false);
        m_shown[at] = true;
    }
    // The table is of this moment; heat map and plot keep the iterations as columns while that is wanted.
    if (shows(TensorMode::table)) m_useSeries = false;
    rememberModes();
    m_history->hide();
    request();
    refresh();
}

bool TensorPanel::command(const QString& id)
{
    const Value* const value = declared();
    const bool isAboutTheRun = id == "elementHistory" || id == "pin" || id == "difference" || id == "previousWrite" || id == "nextWrite";
    if (m_feed && isAboutTheRun) return false;
    if (id == "gotoElement") askElement();
    else if (id == "copyCells") copyCells();
    else if (id.startsWith("mode ")) {
        const auto mode = std::ranges::find(kModeNames, id.section(' ', 1, 1));
        if (mode == kModeNames.end()) return false;
        showMode(static_cast<int>(mode - kModeNames.begin()), id.endsWith(" beside"));
    } else if (id == "elementHistory") toggleHistory();
    else if (id == "fitRange") setRange(RangeMode::automatic);
    else if (id == "pin") pin();
    else if (id == "difference") chooseDifference();
    else if (id == "exportTensor") askExport();
    else if ((id == "previousWrite" || id == "nextWrite") && value != nullptr)
        document().perform(request::GoToWrite{id == "nextWrite" ? HistoryQuery::nextWrite : HistoryQuery::lastWrite, value->id});
    else return false;
    return true;
}

QJsonObject TensorPanel::describe() const
{
    QJsonObject out;
    QJsonArray modes;
    for (size_t i = 0; i < kTensorModes; ++i)
        if (m_shown[i]) modes.append(kModeNames[i]);
    out["modes"] = modes;
    out["value"] = m_name->text();
    out["type"] = m_type->text();
    out["present"] = m_answer.present;
    out["overIterations"] = m_useSeries;
    out["cursor"] = QJsonArray{static_cast<qint64>(m_cursor.row), static_cast<qint64>(m_cursor.col)};
    out["note"] = m_note->text();
    out["text"] = m_scalar->text();
    out["range"] = m_rangeButton->text();
    out["window"] = QJsonArray{static_cast<qint64>(m_content.grid.rowBegin), static_cast<qint64>(m_content.grid.colBegin),
                               static_cast<qint64>(m_content.grid.rows), static_cast<qint64>(m_content.grid.cols)};
    if (m_anchor) out["anchor"] = QJsonArray{static_cast<qint64>(m_anchor->row), static_cast<qint64>(m_anchor->col)};
    out["approximate"] = m_content.approximate;
    QJsonArray options;
    for (const Chip* const chip : m_options->findChildren<Chip*>())
        if (chip->isVisibleTo(this)) options.append(chip->text());
    out["options"] = options;
    if (m_heat->isVisibleTo(this)) out["heat"] = m_heat->describe();
    if (m_plot->isVisibleTo(this)) out["plot"] = m_plot->describe();
    if (m_histogram->isVisibleTo(this)) out["histogram"] = m_histogram->describe();
    if (m_image->isVisibleTo(this)) out["image"] = m_image->describe();
    return out;
}

QWidget* TensorPanel::focusTarget()
{
    return m_table->isVisibleTo(this) ? static_cast<QWidget*>(m_table) : m_heat->isVisibleTo(this) ? static_cast<QWidget*>(m_heat) : this;
}

Panel* makeTensorPanel(Document& document) { return new TensorPanel(document); }

Panel* makeFedTensorPanel(Document& document, const QString& objectName, const QString& title, TensorFeed* feed)
{
    return new TensorPanel(document, objectName, title, feed);
}

void keepTensorModes(Panel& tensorPanel, const QJsonObject& modes, std::function<void(const QJsonObject&)> changed)
{
    if (auto* const panel = qobject_cast<TensorPanel*>(&tensorPanel)) panel->keepModes(modes, std::move(changed));
}

} // namespace loopscope::viewer
