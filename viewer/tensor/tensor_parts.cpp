// The parts of the tensor panel: views, what stands beside them, and menus.
#include "engine/base/text.h"
#include "engine/ir/ids.h"
#include "engine/observe/address.h"
#include "engine/ops/catalog.h"
#include "engine/tensor/compare.h"
#include "viewer/bridge/text.h"
#include "viewer/style/icons.h"
#include "viewer/style/theme.h"
#include "viewer/tensor/tensor_panel_impl.h"
#include "viewer/widgets/value_menu.h"

#include <QGuiApplication>
#include <QHeaderView>
#include <QInputDialog>
#include <QMenu>
#include <QScrollBar>
#include <QVBoxLayout>

namespace loopscope::viewer {

namespace {

/// As wide as the widest of the first cells.
void fitColumns(QTableView& table, const GridModel& model, const Grid& grid)
{
    const QFontMetrics metrics(Theme::instance().font(FontUse::value));
    int widest = metrics.horizontalAdvance("0000000");
    for (int64_t at = 0; at < std::min<int64_t>(grid.rows * grid.cols, 400); ++at)
        widest =
            std::max(widest, metrics.horizontalAdvance(model.text(grid.rowBegin + at / grid.cols, grid.colBegin + at % grid.cols, true)));
    table.horizontalHeader()->setDefaultSectionSize(std::min(widest + 14, 320));
}

} // namespace

void TensorPanel::buildViews()
{
    m_pins = new PinnedTensors(document(), this);
    m_bar = new TensorBar(this);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(0);
    m_words = new QLabel(this);
    m_words->setObjectName("tensorScalar");
    m_words->setWordWrap(true);
    m_words->setContentsMargins(10, 8, 10, 4);
    m_words->setTextInteractionFlags(Qt::TextSelectableByMouse);
    m_model = new GridModel(this);
    m_table = new QTableView(this);
    m_table->setObjectName("tensorTable");
    m_table->setAccessibleName("Values");
    m_table->setModel(m_model);
    dressTensorTable(m_table);
    m_table->setItemDelegate(new CellDelegate(m_table));
    m_table->horizontalHeader()->setDefaultSectionSize(84);
    m_heat = new HeatMap(this);
    m_image = new ImageView(this);
    m_histogram = new HistogramView(this);
    m_plot = new GridPlot(this);
    m_stats = new StatisticsTable(this);
    m_quant = new QuantizationTable(this);
    m_history = new ElementHistory(this);
    m_note = new QLabel(this);
    m_note->setObjectName("tensorNote");
    m_note->setContentsMargins(10, 2, 10, 3);
    Theme::instance().wear(*m_note, FontUse::small);
    layout->addWidget(m_pins);
    m_options = new OptionBar(this);
    m_progress = new ProgressLine(this);
    layout->addWidget(m_progress);
    layout->addWidget(m_bar);
    layout->addWidget(m_words);
    layout->addWidget(m_options);
    for (QWidget* view : std::initializer_list<QWidget*>{m_table, m_heat, m_image, m_histogram}) layout->addWidget(view, 5);
    layout->addWidget(m_plot, 4);
    for (QWidget* view : std::initializer_list<QWidget*>{m_stats, m_quant, m_history}) layout->addWidget(view, 5);
    layout->addStretch(0);
    layout->addWidget(m_note);
    setFocusPolicy(Qt::StrongFocus);
    setMinimumSize(m_bar->leastWidth(), Theme::instance().barHeight(96)); // a name that has no room is cut
    m_pinAction = new QAction(themedIcon("pin"), "Pin this tensor (p)", this);
    connect(m_pinAction, &QAction::triggered, this, [this] { m_pins->add(m_selection); });
    m_exportAction = new QAction(themedIcon("export"), "Export npy or csv (Ctrl+E)", this);
    connect(m_exportAction, &QAction::triggered, this, &TensorPanel::askExport);
}

void TensorPanel::connectViews()
{
    connect(m_bar, &TensorBar::modeChosen, this, &TensorPanel::showMode);
    connect(m_bar, &TensorBar::axesWanted, this, &TensorPanel::chooseAxes);
    connect(m_bar, &TensorBar::differenceWanted, this, &TensorPanel::chooseDifference);
    connect(m_bar, &TensorBar::rangeWanted, this, &TensorPanel::chooseRange);
    connect(&m_course, &ValueCourse::changed, this, [this] {
        if (!m_modes.isChosen()) chooseDefaultModes();
        refresh();
    });
    connect(&m_scan, &ElementScan::progressed, this, &TensorPanel::refresh);
    connect(m_heat, &HeatMap::cellChosen, this, [this](qint64 row, qint64 col) {
        const Grid& heat = m_content.heat.grid;
        placeCursor({(heat.rowBegin + row) * heat.blockRows, (heat.colBegin + col) * heat.blockCols},
                    (QGuiApplication::keyboardModifiers() & Qt::ShiftModifier) != 0);
        if (m_modes.overIterations() && (QGuiApplication::keyboardModifiers() & Qt::ControlModifier) != 0)
            document().perform(request::Iterate{request::Iterate::To::number, m_cursor.col}, "scrub");
    });
    connect(m_plot, &GridPlot::columnChosen, this, [this](qint64 col) {
        const Grid& plot = m_content.plot.grid;
        if (plot.overIterations) return document().perform(request::Iterate{request::Iterate::To::number, plot.colBegin + col}, "scrub");
        const bool isTurned = plot.rows == 1 && m_content.plane.grid.cols <= 1;
        placeCursor(isTurned ? CellCursor{plot.colBegin + col, 0} : CellCursor{m_cursor.row, plot.colBegin + col});
    });
    connect(m_image, &ImageView::pixelChosen, this, [this](qint64 row, qint64 col) {
        const int color = std::clamp(m_channel, 0, std::max(0, m_answer.image->channels - 1));
        const int64_t element = m_answer.image->elementAt(m_answer.shape, static_cast<int>(row), static_cast<int>(col), color);
        if (element >= 0) goToElement(QString::number(element));
    });
    connect(m_table->selectionModel(), &QItemSelectionModel::selectionChanged, this, &TensorPanel::followTable);
    connect(m_table->selectionModel(), &QItemSelectionModel::currentChanged, this, &TensorPanel::followTable);
    m_table->installEventFilter(this);
    m_scrolled.setSingleShot(true);
    m_scrolled.setInterval(0);
    connect(&m_scrolled, &QTimer::timeout, this, &TensorPanel::readWhereScrolled);
    for (const QScrollBar* const bar : {m_table->verticalScrollBar(), m_table->horizontalScrollBar()})
        connect(bar, &QScrollBar::valueChanged, &m_scrolled, qOverload<>(&QTimer::start));
    connect(m_histogram, &HistogramView::allWanted, this, &TensorPanel::beginScan);
    connect(m_table, &QTableView::activated, this, &TensorPanel::openItem);
    connect(m_table, &QTableView::doubleClicked, this, [this](const QModelIndex& index) {
        m_model->setEditable(canEdit());
        if (m_model->flags(index).testFlag(Qt::ItemIsEditable)) m_table->edit(index);
    });
    m_table->setContextMenuPolicy(Qt::CustomContextMenu);
    connect(m_table, &QWidget::customContextMenuRequested, this, [this](const QPoint& at) {
        const QModelIndex cell = m_table->indexAt(at);
        if (!cell.isValid() || m_feed || declared() == nullptr) return;
        placeCursor(m_model->cellOf(cell));
        const int64_t flat = flatAtCursor();
        AskedValue value;
        value.expression = toText(document().expressionOf(m_selection));
        if (flat >= 0 && m_answer.shape.rank() > 0) value.expression += toText(elementIndexText(m_answer.shape, flat));
        value.text = m_model->text(m_cursor.row, m_cursor.col, false);
        value.isAbnormal =
            m_answer.hasStatistics && m_answer.statistics.firstAbnormal >= 0 && value.text.contains("nan", Qt::CaseInsensitive);
        if (canEdit())
            value.set = [this, cell] {
                m_model->setEditable(true);
                m_table->edit(cell);
            };
        auto* const menu = new QMenu(this);
        menu->setObjectName("tensorMenu");
        menu->setAttribute(Qt::WA_DeleteOnClose);
        fillValueMenu(*menu, document(), *this, value);
        menu->popup(m_table->viewport()->mapToGlobal(at));
    });
    connect(m_model, &GridModel::typed, this, &TensorPanel::setElement, Qt::QueuedConnection); // the editor closes first
    connect(m_history, &ElementHistory::stepChosen, this, [this](qint64 step) { document().perform(request::GoToStep{step}); });
}

void TensorPanel::say(const QString& text, Token color)
{
    QPalette palette = m_note->palette();
    palette.setColor(QPalette::WindowText, themed(color));
    m_note->setPalette(palette);
    m_note->setText(text);
    m_note->setVisible(!text.isEmpty());
}

void TensorPanel::refreshBar()
{
    const Value* const value = declared();
    m_bar->setVisible(value != nullptr);
    if (value == nullptr) return say({}, Token::text3);
    if (m_modes[TensorMode::table]) fitColumns(*m_table, *m_model, m_content.plane.grid);
    TensorBar::Content bar;
    bar.name = toText(value->id);
    bar.displayName = toText(value->displayName());
    bar.type = toText(dtypeName(m_answer.dtype)) + toText(toString(m_answer.shape));
    if (const int bits = bitWidth(m_answer.dtype); bits > 0 && bits < 8) bar.packed = QString("packed, %1 per byte").arg(8 / bits);
    bar.isImage = isImageShape(m_answer.shape);
    bar.isQuantized = value->type.quantization != nullptr;
    const bool hasAxes = m_answer.shape.hasRank() && m_answer.shape.rank() > 0 && (m_answer.held.empty() || m_item >= 0);
    const bool byAxes =
        m_modes[TensorMode::table] || m_modes[TensorMode::heat] || m_modes[TensorMode::plot]; // the others are of all elements
    if (hasAxes && byAxes) bar.axes = axesText(m_answer, m_modes.overIterations());
    bar.differs = m_compare != CompareWith::nothing;
    if (!m_feed)
        bar.difference = m_compare == CompareWith::nothing     ? QString("\u0394")
                         : m_compare == CompareWith::iteration ? "\u0394 to @" + QString::number(m_compareIteration)
                                                               : QString("\u0394 to reference");
    const bool isColored = m_modes[TensorMode::heat] || m_modes[TensorMode::plot] || m_modes[TensorMode::image];
    if (!m_content.plane.range.isEmpty() && isColored)
        bar.range = toText(rangeText(m_content.plane.range)) + (m_rangeMode == RangeMode::shared ? ", shared" : "");
    m_bar->setContent(bar, m_modes);
    m_bar->fold(width());
    refreshNote();
}

/// The line below the views: what is special about the value.
void TensorPanel::refreshNote()
{
    QStringList notes;
    Token color = Token::text3;
    if (!m_bar->unsaid().isEmpty()) notes << m_bar->unsaid();
    if (!m_feed && document().preview() && m_content.plane.approximate) notes << "\u2248 @" + QString::number(*document().preview());
    else if (m_hasAnswer && m_answer.present && !m_answer.isLive)
        notes << (document().lookedAt().empty() ? QString("of an invocation that was left")
                                                : "looked at: " + toText(document().lookedAt()));
    if (!m_answer.compareProblem.empty()) {
        notes << "no difference: " + toText(m_answer.compareProblem);
        color = Token::warn;
    }
    if (!m_answer.channels.warning.empty()) {
        notes << toText(m_answer.channels.warning);
        color = Token::warn;
    }
    const bool byAxes = m_modes[TensorMode::table] || m_modes[TensorMode::heat] || m_modes[TensorMode::plot];
    const Grid& shown = m_modes[TensorMode::heat] ? m_content.heat.grid : m_content.plane.grid;
    if (const std::string text = shownText(shown, m_answer.axes); !text.empty() && m_answer.present && byAxes) notes << toText(text);
    if (m_answer.isSparse && m_dense) notes << "with the zeros that are not stored";
    if (!m_answer.held.empty() && m_item < 0 && m_answer.grid.rows > 0) notes << "Return opens a tensor";
    if (m_answer.statisticsOnly) notes << "statistics only";
    if (const QString abnormal = abnormalText(m_answer); !abnormal.isEmpty()) {
        notes << abnormal;
        color = Token::err;
    }
    say(notes.join(" \u00b7 "), color);
}

/// Who wrote the element under the cursor, iteration by iteration, where it changed.
void TensorPanel::refreshHistory()
{
    m_history->setRowCount(0);
    const Value* const value = declared();
    if (value == nullptr || !m_course.isKnown()) return;
    const int64_t element = std::max<int64_t>(0, flatAtCursor());
    const Grid all = gridOf(*m_course.series(), value->type.quantization.get(), 0, 0);
    if (element >= all.rows) return;
    QString writer = "carried";
    if (value->role == ValueRole::result)
        writer = toText(operatorLabel(document().model().graph(m_selection.graph).op(value->producer), value->producer.index));
    m_history->fill(all, *m_course.series(), element, writer);
    say("element " + toText(elementIndexText(m_answer.shape, element)) + ": " + toText(groupThousands(m_history->rowCount())) +
            " changes in " + toText(groupThousands(m_course.series()->keptIterations())) + " iterations \u00b7 Return goes there",
        Token::text3);
}

void TensorPanel::toggleHistory()
{
    m_history->setVisible(!m_history->isVisibleTo(this));
    refresh();
    if (m_history->isVisibleTo(this)) {
        refreshHistory();
        m_history->setFocus();
    }
}

void TensorPanel::chooseAxes()
{
    auto* const menu = new QMenu(this);
    menu->setAttribute(Qt::WA_DeleteOnClose);
    const auto add = [&](const QString& text, bool on, const std::function<void()>& act) {
        QAction* const action = menu->addAction(text);
        action->setCheckable(true);
        action->setChecked(on);
        connect(action, &QAction::triggered, this, act);
    };
    if (m_course.isKnown())
        add("columns: iteration", m_modes.overIterations(), [this] {
            m_modes.showIterations();
            rememberModes();
            refresh();
        });
    const auto choose = [this](AxisChoice axes) {
        return [this, axes] {
            m_modes.showPlane();
            m_axes = axes;
            m_window = {};
            rememberModes();
            request();
        };
    };
    const AxisChoice now = m_answer.axes;
    const int rank = m_answer.shape.rank();
    const auto isRow = [](const AxisChoice& axes, int axis) { return std::ranges::find(axes.rows, axis) != axes.rows.end(); };
    for (int column = -1; column < rank; ++column) {
        if (rank > 1 && column < 0) continue;
        AxisChoice axes = now;
        axes.column = column;
        if (rank > 1 && isRow(axes, column)) axes.rows = {now.column >= 0 ? now.column : column == rank - 1 ? column - 1 : rank - 1};
        if (rank == 1) axes.rows = column < 0 ? std::vector<int>{0} : std::vector<int>{};
        add(column < 0 ? QString("rows: dim 0") : "columns: dim " + QString::number(column), !m_modes.overIterations() && axes == now,
            choose(axes));
    }
    if (rank > 2) {
        menu->addSeparator();
        AxisChoice all = now;
        all.rows.clear();
        QStringList names;
        for (int axis = 0; axis < rank; ++axis) {
            if (axis == now.column) continue;
            AxisChoice axes = now;
            axes.rows = {axis};
            add("rows: dim " + QString::number(axis), !m_modes.overIterations() && axes == now, choose(axes));
            all.rows.push_back(axis);
            names << QString::number(axis);
        }
        add("rows: dim " + names.join("\u00d7"), !m_modes.overIterations() && all == now, choose(all));
        menu->addSeparator();
        for (int axis = 0; axis < rank; ++axis) {
            if (axis == now.column || isRow(now, axis) || m_answer.shape[axis] < 2) continue;
            const auto place = static_cast<size_t>(axis);
            menu->addAction(QString("dim %1 = %2 \u2026").arg(axis).arg(now.fixed[place]), this, [this, now, axis, place, choose] {
                bool ok = false;
                const int most = static_cast<int>(std::min<int64_t>(m_answer.shape[axis] - 1, INT_MAX));
                const int at = QInputDialog::getInt(this, "Slice", QString("Index along dim %1, 0 to %2").arg(axis).arg(most),
                                                    static_cast<int>(now.fixed[place]), 0, most, 1, &ok);
                if (!ok) return;
                AxisChoice axes = now;
                axes.fixed[place] = at;
                choose(axes)();
            });
        }
    }
    menu->popup(m_bar->belowAxes());
}

void TensorPanel::chooseDifference()
{
    auto* const menu = new QMenu(this);
    menu->setAttribute(Qt::WA_DeleteOnClose);
    const int64_t now = iterationNow();
    menu->addAction("No difference", this, [this] { compareWith(CompareWith::nothing, -1); });
    if (now > 0)
        menu->addAction("\u0394 to the iteration before, @" + QString::number(now - 1), this,
                        [this, now] { compareWith(CompareWith::iteration, now - 1); });
    if (now >= 0)
        menu->addAction("\u0394 to another iteration \u2026", this, [this, now] {
            bool ok = false;
            const int iteration =
                QInputDialog::getInt(this, "Difference", "Iteration", static_cast<int>(std::max<int64_t>(now - 1, 0)), 0, INT_MAX, 1, &ok);
            if (ok) compareWith(CompareWith::iteration, iteration);
        });
    menu->addAction("\u0394 to the reference run", this, [this] { compareWith(CompareWith::reference, -1); });
    menu->popup(m_bar->belowDifference());
}

void TensorPanel::chooseRange()
{
    auto* const menu = new QMenu(this);
    menu->setAttribute(Qt::WA_DeleteOnClose);
    const auto add = [&](const char* text, RangeMode mode) {
        QAction* const action = menu->addAction(text, this, [this, mode] { setRange(mode); });
        action->setCheckable(true);
        action->setChecked(m_rangeMode == mode);
    };
    add("Automatic", RangeMode::automatic);
    add("Symmetric about 0", RangeMode::symmetric);
    add("Robust, 1st to 99th percentile", RangeMode::robust);
    if (!m_pins->all().empty()) add("Shared with the pinned ones", RangeMode::shared);
    menu->addAction("Typed \u2026", this, [this] {
        bool ok = false;
        const QString text = QInputDialog::getText(this, "Range", "Low and high", QLineEdit::Normal,
                                                   QString("%1 %2").arg(m_content.plane.range.low).arg(m_content.plane.range.high), &ok);
        const QStringList parts = text.split(QRegularExpression("[ ,;]+"), Qt::SkipEmptyParts);
        if (!ok || parts.size() != 2 || !(parts[0].toDouble() < parts[1].toDouble())) return;
        m_typedRange = {parts[0].toDouble(), parts[1].toDouble()};
        m_rangeMode = RangeMode::typed;
        refresh();
    });
    menu->popup(m_bar->belowRange());
}

void TensorPanel::resizeEvent(QResizeEvent*) { refreshBar(); }

} // namespace loopscope::viewer
