#include "viewer/tensor/tensor_panel_impl.h"

#include "engine/base/text.h"
#include "engine/observe/address.h"
#include "viewer/bridge/text.h"
#include "viewer/style/icons.h"
#include "viewer/style/theme.h"

#include <QInputDialog>
#include <QJsonArray>

#include <algorithm>

namespace loopscope::viewer {

namespace {

constexpr int64_t kCourseElements = 256; ///< larger values are not shown over iterations
constexpr int64_t kPlotRows = 16;        ///< of a part of a plane, where its rows are drawn as lines

} // namespace

TensorPanel::TensorPanel(Document& document, const QString& objectName, const QString& title, TensorFeed* feed)
    : Panel(document, objectName, title),
      m_feed(feed),
      m_course(document, [this] { return courseRequest(); }),
      m_scan([this](const HistogramScan& scan, const ElementScan::Taken& taken) { countNext(scan, taken); })
{
    buildViews();
    connectViews();
    connect(&Theme::instance(), &Theme::changed, this, [this] {
        m_pinAction->setIcon(themedIcon("pin"));
        m_exportAction->setIcon(themedIcon("export"));
        setMinimumSize(m_bar->leastWidth(), Theme::instance().barHeight(96));
        refresh();
    });
    if (feed) {
        feed->setParent(this);
        connect(feed, &TensorFeed::changed, this, &TensorPanel::followFeed);
        m_fed = feed->now();
        show({});
        return;
    }
    connect(&document, &Document::selectionChanged, this, &TensorPanel::followSelection);
    connect(&document, &Document::stopChanged, this, [this] {
        request();
        if (m_rangeMode == RangeMode::shared) m_pins->askRange();
        m_course.follow(false);
    });
    connect(&document, &Document::frameChanged, this, &TensorPanel::request);
    connect(&document, &Document::lookedAtChanged, this, &TensorPanel::request);
    connect(&document, &Document::previewChanged, this, &TensorPanel::refresh);
    connect(m_pins, &PinnedTensors::chosen, this, &TensorPanel::show);
    connect(m_pins, &PinnedTensors::rangeChanged, this, &TensorPanel::refresh);
    connect(m_pins, &PinnedTensors::edited, this, [this] {
        setRange(m_pins->all().empty() && m_rangeMode == RangeMode::shared ? RangeMode::automatic : m_rangeMode);
        emit stateChanged();
    });
    followSelection();
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
    if (m_pins->isPinnedShown()) return; // a pinned value stays in front
    const Selection& selection = document().selection();
    if (selection.graph == m_selection.graph && selection.value == m_selection.value && m_hasAnswer) {
        m_selection = selection;
        return;
    }
    show(selection);
    m_pins->setTitle(title());
}

/// Another value: nothing that was chosen for the one before holds.
void TensorPanel::show(const Selection& selection)
{
    m_selection = selection;
    m_hasAnswer = m_dense = false;
    m_modes.forget();
    m_course.forget();
    m_scan.keepIf({});
    m_axes.reset();
    m_item = m_channel = -1;
    m_picture = 0;
    m_window = {};
    m_cursor = {};
    m_anchor.reset();
    m_isPlaced = false;
    m_compare = CompareWith::nothing;
    const Value* const value = declared();
    if (!m_feed) setTitle(value != nullptr ? toText(value->id) : "Tensor");
    request();
    m_course.follow(true);
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
    request.window.rows = m_modes[TensorMode::plot] ? kPlotRows : Window().rows;
    request.picture = m_picture;
    request.channel = m_channel;
    request.bytes = m_hex;
    request.dense = m_dense;
    request.item = m_item;
    if (m_answer.dtype == DType::string && m_hasAnswer) request.whole = flatAtCursor();
    request.wantsBlocks = m_modes[TensorMode::heat];
    request.wantsHistogram = m_modes[TensorMode::histogram];
    request.wantsChannels = m_modes[TensorMode::quantization];
    request.wantsImage = m_modes[TensorMode::image];
    request.compare = m_compare;
    request.iteration = m_compareIteration;
    return request;
}

/// What is asked for the value's course; none: it has none, or is too large.
std::optional<ValueRequest> TensorPanel::courseRequest() const
{
    const Value* const value = declared();
    if (value == nullptr || m_feed || (value->role != ValueRole::result && value->role != ValueRole::input)) return std::nullopt;
    const auto elements = checkedElementCount(value->type.shape);
    if (!elements || *elements > kCourseElements || *elements == 0) return std::nullopt;
    return currentRequest();
}

void TensorPanel::request()
{
    const Value* const value = declared();
    m_reading = false;
    if (m_scan.isThere()) m_scan.keepIf(scanSource()); // it may have counted what is no longer shown
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

void TensorPanel::take(ValueAnswer answer)
{
    m_answer = std::move(answer);
    if (m_answer.shape.hasRank()) m_answer.axes = fittedAxes(m_answer.axes, m_answer.shape);
    m_hasAnswer = true;
    if (!m_modes.isChosen()) chooseDefaultModes();
    refresh();
    m_course.check(m_answer.run, m_answer.timeline);
}

void TensorPanel::chooseDefaultModes()
{
    const bool isOther = m_modes.chooseFor(declared(), m_hasAnswer ? &m_answer : nullptr, m_course.isLoop());
    if (isOther && m_hasAnswer && m_modes.needsMore()) request();
}

void TensorPanel::rememberModes()
{
    if (m_modes.remember(m_hasAnswer ? &m_answer : nullptr, m_course.isLoop()) && m_modesChanged)
        m_modesChanged(m_modes.memory().entries());
}

void TensorPanel::keepModes(const QJsonObject& modes, std::function<void(const QJsonObject&)> changed)
{
    m_modes.memory().setEntries(modes);
    m_modesChanged = std::move(changed);
    if (!m_modes.isChosen() && m_hasAnswer) {
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
    return m_course.series() ? m_course.series()->iterations - 1 : -1;
}

/// Elements × iterations; empty: the course is not known.
Grid TensorPanel::courseGrid() const
{
    const Value* const value = declared();
    if (value == nullptr || !m_course.isKnown()) return {};
    auto& doc = const_cast<TensorPanel*>(this)->document(); // NOLINT(cppcoreguidelines-pro-type-const-cast): Panel has one accessor
    int64_t trips = 0;
    for (const FrameSnapshot& frame : doc.stop()->stack)
        if (frame.info.graph == m_selection.graph && frame.knownTrips) trips = *frame.knownTrips;
    return gridOf(*m_course.series(), value->type.quantization.get(), iterationNow(), trips);
}

void TensorPanel::refresh()
{
    const Value* const value = declared();
    const Grid course = courseGrid();
    const ContentChoice choice = {m_modes.overIterations(), !m_feed && document().preview().has_value(), m_compare, m_compareIteration,
                                  m_complex};
    m_content = composeContent(m_answer, course, m_course.isKnown() ? m_course.series()->keptIterations() : 0, choice, value);
    if (course.rows > 0 && course.cols < course.allCols) m_content.plot.overview = overviewOf(*m_course.series(), course.allCols);
    m_content.plane.range = m_content.heat.range = colorRange(m_content.heat.grid, m_rangeMode, m_typedRange, m_pins->range());
    if (course.rows == 0) m_content.plot.range = m_content.plane.range;
    const bool overIterations = m_modes.overIterations() && course.rows > 0;
    if (overIterations && !m_isPlaced) m_cursor.col = m_content.plane.grid.current;
    const CellCursor end = planeEnd(m_content.plane.grid);
    m_cursor.row = std::clamp<int64_t>(m_cursor.row, 0, std::max<int64_t>(0, end.row - 1));
    m_cursor.col = std::clamp<int64_t>(m_cursor.col, 0, std::max<int64_t>(0, end.col - 1));

    CellStyle style = m_content.plane.grid.style;
    style.raw = m_raw;
    style.hex = m_hex;
    style.complex = m_complex;
    m_model->setContent(&m_content.plane, m_cursor);
    m_model->setStyle(style);
    m_heat->setContent(&m_content.heat, style);
    m_histogram->setHistogram(m_scan.histogram() != nullptr ? std::optional(*m_scan.histogram()) : m_answer.histogram);
    m_image->setImage(m_answer.image);
    m_histogram->setLogarithmic(m_log);
    m_image->setLook(m_channel, m_gamma, m_rangeMode == RangeMode::shared ? RangeMode::typed : m_rangeMode,
                     m_rangeMode == RangeMode::shared ? m_content.plane.range : m_typedRange);
    if (m_modes[TensorMode::statistics] || m_answer.statisticsOnly) m_stats->fill(m_answer);
    if (m_modes[TensorMode::quantization]) m_quant->fill(m_answer);
    if (m_history->isVisibleTo(this)) refreshHistory();
    showViews(overIterations);
    refreshOptions();
    showCursor();
}

/// The modes that are chosen, or words where there is nothing to be seen in them.
void TensorPanel::showViews(bool overIterations)
{
    const Value* const value = declared();
    const bool isStatic = m_answer.shape.isStatic(), isHeld = !m_answer.held.empty() && m_item < 0;
    const bool isEmpty = m_hasAnswer && isStatic && m_answer.shape.elementCount() == 0;
    const bool none = value == nullptr || (!m_answer.present && !m_answer.statisticsOnly && !overIterations) || isEmpty;
    const bool isThere = !none && m_answer.present;
    const bool isScalar = isThere && isStatic && m_answer.shape.elementCount() == 1 && m_answer.grid.cells.size() == 1;
    const bool isPacked = isThere && dtypeClass(m_answer.dtype) == DTypeClass::block; // of Circle: only kernels read them
    if (none) {
        QString text = m_feed ? m_fed.why : QString("Select a tensor in the graph, the listing or a table.");
        if (!m_hasAnswer && value != nullptr) text.clear();
        else if (isEmpty) text = "empty: " + m_bar->type() + ", no elements";
        else if (value != nullptr) text = "no value: " + toText(m_answer.why);
        m_words->setText(text);
    } else if (isScalar) {
        CellStyle style = m_answer.grid.style;
        style.raw = m_raw;
        style.hex = m_hex;
        const std::vector<std::string>& texts = m_answer.grid.texts;
        m_words->setText(toText(texts.empty() ? cellText(m_answer.grid.cells[0], style) : texts[0]));
    } else if (isPacked) {
        m_words->setText("blocks of " + toText(dtypeName(m_answer.dtype)) + " are not unpacked: " + toText(formatBytes(m_answer.bytes)));
    } else if (isHeld) {
        m_words->setText(toText(m_answer.held));
    } else if (m_answer.dtype == DType::string) {
        m_words->setText(toText(m_answer.whole));
    }
    const bool inWords = isHeld || (m_answer.dtype == DType::string && !m_answer.whole.empty());
    const bool isNumber = isScalar && m_answer.shape.rank() == 0; // large, where a table would have one cell
    m_words->setVisible(none || isPacked || (isScalar && (isNumber || !m_modes[TensorMode::table])) || inWords);
    m_words->setFont(Theme::instance().font(isScalar ? FontUse::figure : FontUse::body));
    const std::array<QWidget*, kTensorModes> views = {m_table, m_heat, m_image, m_histogram, m_plot, m_stats, m_quant};
    for (size_t i = 0; i < kTensorModes; ++i) {
        const bool isOneCell = isNumber && static_cast<TensorMode>(i) == TensorMode::table && !m_modes.overIterations();
        views[i]->setVisible(!none && !isPacked && m_modes.at(i) && !isOneCell && !m_history->isVisibleTo(this));
    }
    if (m_answer.statisticsOnly && !none) m_stats->setVisible(true);
}

void TensorPanel::setRange(RangeMode mode)
{
    m_rangeMode = mode;
    // Smallest and largest of the pinned values at this stop, for colours that mean the same in all of them.
    if (mode == RangeMode::shared) m_pins->askRange();
    refresh();
}

void TensorPanel::compareWith(CompareWith with, int64_t iteration)
{
    m_compare = with;
    m_compareIteration = iteration;
    request();
    refresh();
}

QJsonObject TensorPanel::state() const
{
    const QJsonArray pins = m_pins->entries();
    return pins.isEmpty() ? QJsonObject() : QJsonObject{{"pins", pins}};
}

void TensorPanel::setState(const QJsonObject& state) { m_pins->restore(state["pins"].toArray()); }

void TensorPanel::showMode(int mode, bool beside)
{
    m_modes.show(static_cast<TensorMode>(std::clamp(mode, 0, static_cast<int>(kTensorModes) - 1)), beside);
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
    if (id == "gotoElement") {
        bool ok = false;
        const QString text = QInputDialog::getText(this, "Go to element", "Index, as 3,7,0 or flat", QLineEdit::Normal, {}, &ok);
        if (ok && !goToElement(text)) say("no element " + text + " in " + m_bar->type(), Token::err);
    } else if (id == "copyCells") copyCells();
    else if (id.startsWith("mode ")) {
        const auto mode = std::ranges::find(kModeNames, id.section(' ', 1, 1));
        if (mode == kModeNames.end()) return false;
        showMode(static_cast<int>(mode - kModeNames.begin()), id.endsWith(" beside"));
    } else if (id == "elementHistory") toggleHistory();
    else if (id == "fitRange") setRange(RangeMode::automatic);
    else if (id == "pin") m_pins->add(m_selection);
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
        if (m_modes.at(i)) modes.append(kModeNames[i]);
    out["modes"] = modes;
    out["value"] = m_bar->name();
    out["type"] = m_bar->type();
    out["present"] = m_answer.present;
    out["overIterations"] = m_modes.overIterations();
    out["cursor"] = QJsonArray{static_cast<qint64>(m_cursor.row), static_cast<qint64>(m_cursor.col)};
    out["note"] = m_note->text();
    out["text"] = m_words->text();
    out["range"] = m_bar->range();
    out["window"] = QJsonArray{static_cast<qint64>(m_content.plane.grid.rowBegin), static_cast<qint64>(m_content.plane.grid.colBegin),
                               static_cast<qint64>(m_content.plane.grid.rows), static_cast<qint64>(m_content.plane.grid.cols)};
    if (m_anchor) out["anchor"] = QJsonArray{static_cast<qint64>(m_anchor->row), static_cast<qint64>(m_anchor->col)};
    out["approximate"] = m_content.plane.approximate;
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

Panel* makeTensorPanel(Document& document) { return new TensorPanel(document, "panelTensor", "Tensor", nullptr); }

Panel* makeFedTensorPanel(Document& document, const QString& objectName, const QString& title, TensorFeed* feed)
{
    return new TensorPanel(document, objectName, title, feed);
}

void keepTensorModes(Panel& tensorPanel, const QJsonObject& modes, std::function<void(const QJsonObject&)> changed)
{
    if (auto* const panel = qobject_cast<TensorPanel*>(&tensorPanel)) panel->keepModes(modes, std::move(changed));
}

} // namespace loopscope::viewer
