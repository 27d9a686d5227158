// The parts of the tensor panel: bar, views, menus, element history.
#include "engine/base/text.h"
#include "engine/observe/address.h"
#include "engine/ops/catalog.h"
#include "engine/tensor/compare.h"
#include "viewer/style/icons.h"
#include "viewer/style/theme.h"
#include "viewer/tensor/tensor_panel_impl.h"

#include <QClipboard>
#include <QGuiApplication>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QInputDialog>
#include <QMenu>
#include <QScrollBar>
#include <QVBoxLayout>

namespace loopscope::viewer {

namespace {

constexpr int kMostHistoryRows = 65'536;

QTableWidgetItem* cellItem(const QString& text, bool number, Token color = Token::text)
{
    auto* item = new QTableWidgetItem(text);
    item->setFont(Theme::instance().font(number ? FontUse::value : FontUse::body));
    item->setTextAlignment(number ? Qt::AlignRight | Qt::AlignVCenter : Qt::AlignLeft | Qt::AlignVCenter);
    item->setForeground(themed(color));
    item->setFlags(Qt::ItemIsEnabled | Qt::ItemIsSelectable);
    return item;
}

void dressTable(QTableView* table)
{
    table->setFrameShape(QFrame::NoFrame);
    table->setShowGrid(false);
    table->setWordWrap(false);
    table->verticalHeader()->setDefaultSectionSize(Theme::instance().rowHeight());
    table->verticalHeader()->setMinimumSectionSize(12);
    table->horizontalHeader()->setMinimumSectionSize(24);
    table->setEditTriggers(QAbstractItemView::NoEditTriggers);
    table->setHorizontalScrollMode(QAbstractItemView::ScrollPerPixel);
}

QPushButton* chip(QWidget* parent, const QString& name)
{
    auto* button = new QPushButton(parent);
    button->setProperty("chip", true);
    button->setAccessibleName(name);
    button->setToolTip(name);
    return button;
}

QString onScreen(const std::string& integer) { return QString::fromStdString(integer).replace('-', QChar(0x2212)); }

} // namespace

void TensorPanel::buildBar()
{
    m_tabs = new QTabBar(this);
    m_tabs->setObjectName("tensorPins");
    m_tabs->addTab("Tensor");
    m_tabs->setDrawBase(false);
    m_tabs->hide();
    connect(m_tabs, &QTabBar::currentChanged, this,
            [this](int index) { show(index > 0 ? m_pins[static_cast<size_t>(index) - 1] : document().selection()); });
    connect(m_tabs, &QTabBar::tabCloseRequested, this, [this](int index) {
        if (index <= 0) return;
        m_pins.erase(m_pins.begin() + index - 1);
        m_tabs->removeTab(index);
        m_tabs->setVisible(!m_pins.empty());
        if (m_pins.empty() && m_rangeMode == RangeMode::shared) m_rangeMode = RangeMode::automatic;
        requestPinnedRange();
        emit stateChanged();
    });
    m_bar = new QWidget(this);
    m_bar->setObjectName("tensorBar");
    auto* row = new QHBoxLayout(m_bar);
    row->setContentsMargins(6, 2, 6, 2);
    row->setSpacing(0);
    constexpr std::array<const char*, kTensorModes> icons = {"table", "heat-map", "image", "histogram", "plot", "", ""};
    constexpr std::array<const char*, kTensorModes> names = {"Table", "Heat map",   "Image",       "Histogram",
                                                             "Plot",  "Statistics", "Quantization"};
    constexpr std::array<const char*, kTensorModes> texts = {"", "", "", "", "", "\u03a3", "q"};
    for (size_t i = 0; i < kTensorModes; ++i) {
        auto* button = new QToolButton(m_bar);
        button->setProperty("place", "head");
        const auto grow = [button] { button->setFixedSize(Theme::instance().barHeight(24), Theme::instance().barHeight(22)); };
        grow();
        connect(&Theme::instance(), &Theme::changed, button, grow);
        button->setCheckable(true);
        button->setAutoRaise(true);
        button->setIconSize({16, 16});
        if (icons[i][0] != '\0') button->setIcon(themedIcon(icons[i]));
        else button->setText(texts[i]);
        button->setToolTip(QString("%1 (%2), with Shift beside what is shown").arg(names[i]).arg(i + 1));
        button->setAccessibleName(names[i]);
        button->setObjectName("tensorMode" + QString::number(i + 1));
        connect(button, &QToolButton::clicked, this,
                [this, i] { showMode(static_cast<int>(i), (QGuiApplication::keyboardModifiers() & Qt::ShiftModifier) != 0); });
        m_modeButtons[i] = button;
        row->addWidget(button);
    }
    connect(&Theme::instance(), &Theme::changed, this, [this, icons] {
        for (size_t i = 0; i < kTensorModes; ++i)
            if (icons[i][0] != '\0') m_modeButtons[i]->setIcon(themedIcon(icons[i]));
        m_pinAction->setIcon(themedIcon("pin"));
        m_exportAction->setIcon(themedIcon("export"));
    });
    row->addSpacing(6);
    m_name = new QLabel(m_bar);
    m_type = new QLabel(m_bar);
    m_packed = new QLabel(m_bar);
    m_packed->setFont(Theme::instance().font(FontUse::small));
    m_packed->setContentsMargins(6, 0, 0, 0);
    m_name->setFont(Theme::instance().font(FontUse::value, true));
    m_type->setFont(Theme::instance().font(FontUse::value));
    m_axesChip = chip(m_bar, "Which axes go down and to the right");
    m_differenceChip = chip(m_bar, "Difference to another iteration or run (d)");
    m_rangeButton = new QToolButton(m_bar);
    m_rangeButton->setProperty("place", "head");
    m_rangeButton->setAccessibleName("Range of the colours");
    m_rangeButton->setToolTip("Range of the colours");
    m_rangeButton->setFont(Theme::instance().font(FontUse::small));
    row->addWidget(m_name);
    row->addSpacing(4);
    row->addWidget(m_type);
    row->addWidget(m_packed);
    row->addSpacing(4);
    row->addWidget(m_axesChip);
    row->addSpacing(4);
    row->addWidget(m_differenceChip);
    row->addStretch(1);
    row->addWidget(m_rangeButton);
    connect(m_axesChip, &QPushButton::clicked, this, &TensorPanel::chooseAxes);
    connect(m_differenceChip, &QPushButton::clicked, this, &TensorPanel::chooseDifference);
    connect(m_rangeButton, &QToolButton::clicked, this, &TensorPanel::chooseRange);
    m_pinAction = new QAction(themedIcon("pin"), "Pin this tensor (p)", this);
    connect(m_pinAction, &QAction::triggered, this, &TensorPanel::pin);
    m_exportAction = new QAction(themedIcon("export"), "Export npy or csv (Ctrl+E)", this);
    connect(m_exportAction, &QAction::triggered, this, &TensorPanel::askExport);
}

void TensorPanel::buildViews()
{
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(0);
    m_scalar = new QLabel(this);
    m_scalar->setObjectName("tensorScalar");
    m_scalar->setWordWrap(true);
    m_scalar->setContentsMargins(10, 8, 10, 4);
    m_scalar->setTextInteractionFlags(Qt::TextSelectableByMouse);
    m_model = new GridModel(this);
    m_table = new QTableView(this);
    m_table->setObjectName("tensorTable");
    m_table->setAccessibleName("Values");
    m_table->setModel(m_model);
    dressTable(m_table);
    m_table->setItemDelegate(new CellDelegate(m_table));
    m_table->horizontalHeader()->setDefaultSectionSize(84);
    m_heat = new HeatMap(this);
    m_image = new ImageView(this);
    m_histogram = new HistogramView(this);
    m_plot = new GridPlot(this);
    m_stats = new QTableWidget(0, 2, this);
    m_stats->setObjectName("tensorStats");
    m_stats->setAccessibleName("Statistics");
    m_quant = new QTableWidget(0, 6, this);
    m_quant->setObjectName("tensorQuant");
    m_quant->setAccessibleName("Quantization by channel");
    m_quant->setHorizontalHeaderLabels({"channel", "scale", "zero", "min", "max", "saturated"});
    m_history = new QTableWidget(0, 5, this);
    m_history->setObjectName("tensorHistory");
    m_history->setAccessibleName("Changes of the element");
    m_history->setHorizontalHeaderLabels({"iteration", "step", "writer", "before", "after"});
    for (QTableWidget* table : {m_stats, m_quant, m_history}) {
        dressTable(table);
        table->verticalHeader()->hide();
        table->setSelectionBehavior(QAbstractItemView::SelectRows);
        table->hide();
    }
    m_stats->horizontalHeader()->hide();
    constexpr std::array<int, 6> widths = {58, 88, 44, 76, 76, 104};
    for (size_t c = 0; c < widths.size(); ++c) m_quant->setColumnWidth(static_cast<int>(c), widths[c]);
    m_note = new QLabel(this);
    m_note->setObjectName("tensorNote");
    m_note->setContentsMargins(10, 2, 10, 3);
    m_note->setFont(Theme::instance().font(FontUse::small));
    layout->addWidget(m_tabs);
    m_options = new OptionBar(this);
    m_progress = new ProgressLine(this);
    layout->addWidget(m_progress);
    layout->addWidget(m_bar);
    layout->addWidget(m_scalar);
    layout->addWidget(m_options);
    for (QWidget* view : std::initializer_list<QWidget*>{m_table, m_heat, m_image, m_histogram}) layout->addWidget(view, 5);
    layout->addWidget(m_plot, 4);
    for (QWidget* view : std::initializer_list<QWidget*>{m_stats, m_quant, m_history}) layout->addWidget(view, 5);
    layout->addStretch(0);
    layout->addWidget(m_note);
    setFocusPolicy(Qt::StrongFocus);
    setMinimumSize(m_bar->minimumSizeHint().width() + 96, 96); // with room for chips: a narrow column scrolls, it does not squeeze
    connect(m_heat, &HeatMap::cellChosen, this, [this](qint64 row, qint64 col) {
        const Grid& heat = m_heatContent.grid;
        placeCursor({(heat.rowBegin + row) * heat.blockRows, (heat.colBegin + col) * heat.blockCols},
                    (QGuiApplication::keyboardModifiers() & Qt::ShiftModifier) != 0);
        if (m_useSeries && (QGuiApplication::keyboardModifiers() & Qt::ControlModifier) != 0)
            document().perform(request::Iterate{request::Iterate::To::number, m_cursor.col}, "scrub");
    });
    connect(m_plot, &GridPlot::columnChosen, this, [this](qint64 col) {
        const Grid& plot = m_plotContent.grid;
        if (plot.overIterations) return document().perform(request::Iterate{request::Iterate::To::number, plot.colBegin + col}, "scrub");
        const bool isTurned = plot.rows == 1 && m_content.grid.cols <= 1;
        placeCursor(isTurned ? CellCursor{plot.colBegin + col, 0} : CellCursor{m_cursor.row, plot.colBegin + col});
    });
    connect(m_image, &ImageView::pixelChosen, this, [this](qint64 row, qint64 col) {
        const int rank = m_answer.shape.rank();
        const int64_t pixel = (m_answer.image->picture * m_answer.shape[rank - 3] + row) * m_answer.shape[rank - 2] + col;
        goToElement(QString::number(pixel * m_answer.shape[rank - 1] + std::max(m_channel, 0)));
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
    connect(m_model, &GridModel::typed, this, &TensorPanel::setElement, Qt::QueuedConnection); // the editor closes first
    connect(m_history, &QTableWidget::itemActivated, this, [this](const QTableWidgetItem* item) {
        const QString step = m_history->item(item->row(), 1)->data(Qt::UserRole).toString();
        if (!step.isEmpty()) document().perform(request::GoToStep{step.toLongLong()});
    });
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
    m_name->setText(QString::fromStdString(value->id));
    const QString type = QString::fromStdString(std::string(dtypeName(m_answer.dtype)) + toString(m_answer.shape));
    m_type->setText(type);
    const int width8 = bitWidth(m_answer.dtype);
    m_packed->setText(width8 > 0 && width8 < 8 ? QString("packed, %1 per byte").arg(8 / width8) : QString());
    m_packed->setVisible(!m_packed->text().isEmpty());
    m_type->setToolTip(m_packed->text());
    for (size_t i = 0; i < kTensorModes; ++i) m_modeButtons[i]->setChecked(m_shown[i]);
    if (shows(TensorMode::table)) { // as wide as the widest of the first cells
        const QFontMetrics metrics(Theme::instance().font(FontUse::value));
        int widest = metrics.horizontalAdvance("0000000");
        const Grid& grid = m_content.grid;
        for (int64_t at = 0; at < std::min<int64_t>(grid.rows * grid.cols, 400); ++at)
            widest = std::max(
                widest, metrics.horizontalAdvance(m_model->text(grid.rowBegin + at / grid.cols, grid.colBegin + at % grid.cols, true)));
        m_table->horizontalHeader()->setDefaultSectionSize(std::min(widest + 14, 320));
    }
    m_modeButtons[static_cast<size_t>(TensorMode::image)]->setEnabled(isImageShape(m_answer.shape));
    m_modeButtons[static_cast<size_t>(TensorMode::quantization)]->setEnabled(value->type.quantization != nullptr);
    QString axes = "rows: dim 0";
    if (m_useSeries) {
        axes = "columns: iteration";
    } else if (m_answer.shape.hasRank() && m_answer.shape.rank() > 0) {
        QStringList rows;
        for (const int axis : m_answer.axes.rows) rows << QString::number(axis);
        axes = m_answer.axes.column >= 0 ? "dim " + rows.join("×") + " by dim " + QString::number(m_answer.axes.column)
                                         : "rows: dim " + rows.join("×");
        for (int axis = 0; axis < m_answer.shape.rank(); ++axis)
            if (axis != m_answer.axes.column && std::ranges::find(m_answer.axes.rows, axis) == m_answer.axes.rows.end() &&
                m_answer.shape[axis] > 1)
                axes += ", dim " + QString::number(axis) + " = " + QString::number(m_answer.axes.fixed[static_cast<size_t>(axis)]);
    }
    m_axesChip->setText(axes);
    const bool byAxes = shows(TensorMode::table) || shows(TensorMode::heat) || shows(TensorMode::plot); // the others are of all elements
    m_axesChip->setVisible(byAxes && m_answer.shape.hasRank() && m_answer.shape.rank() > 0 && (m_answer.held.empty() || m_item >= 0));
    m_differenceChip->setText(m_compare == CompareWith::nothing     ? QString("\u0394")
                              : m_compare == CompareWith::iteration ? "\u0394 to @" + QString::number(m_compareIteration)
                                                                    : QString("\u0394 to reference"));
    m_differenceChip->setCheckable(true);
    m_differenceChip->setChecked(m_compare != CompareWith::nothing);
    const bool ranged = !m_content.range.isEmpty() && (shows(TensorMode::heat) || shows(TensorMode::plot) || shows(TensorMode::image));
    m_rangeButton->setText(
        ranged ? QString::fromStdString(rangeText(m_content.range)) + (m_rangeMode == RangeMode::shared ? ", shared" : "") : QString());
    // What does not fit folds from the right: the range, then the difference.
    const int room = width() - 12;
    const auto wanted = [this] { return m_bar->layout()->sizeHint().width(); };
    m_rangeButton->setVisible(ranged);
    m_differenceChip->setVisible(!m_feed);
    if (wanted() > room) m_packed->hide();
    if (wanted() > room) m_rangeButton->hide();
    if (wanted() > room && m_compare == CompareWith::nothing) m_differenceChip->hide();
    if (const int over = wanted() - room; over > 0) {
        const QFontMetrics metrics(m_name->font());
        const int least = metrics.horizontalAdvance("mmmm"), now = metrics.horizontalAdvance(m_name->text());
        m_name->setText(metrics.elidedText(m_name->text(), Qt::ElideMiddle, std::max(least, now - over)));
    }
    m_name->setToolTip(QString::fromStdString(value->displayName()));

    QStringList notes;
    Token color = Token::text3;
    if (m_packed->isHidden() && !m_packed->text().isEmpty()) notes << m_packed->text(); // the bar has no room for it
    if (!m_feed && document().preview() && m_content.approximate) notes << "\u2248 @" + QString::number(*document().preview());
    else if (m_hasAnswer && m_answer.present && !m_answer.isLive)
        notes << (document().lookedAt().empty() ? QString("of an invocation that was left")
                                                : "looked at: " + QString::fromStdString(document().lookedAt()));
    if (!m_answer.compareProblem.empty()) {
        notes << "no difference: " + QString::fromStdString(m_answer.compareProblem);
        color = Token::warn;
    }
    if (!m_answer.channels.warning.empty()) {
        notes << QString::fromStdString(m_answer.channels.warning);
        color = Token::warn;
    }
    const Grid& shown = shows(TensorMode::heat) ? m_heatContent.grid : m_content.grid;
    if (const std::string text = shownText(shown, m_answer.axes); !text.empty() && m_answer.present && byAxes)
        notes << QString::fromStdString(text);
    if (m_answer.isSparse && m_dense) notes << "with the zeros that are not stored";
    if (!m_answer.held.empty() && m_item < 0 && m_answer.grid.rows > 0) notes << "Return opens a tensor";
    if (m_answer.statisticsOnly) notes << "statistics only";
    if (m_answer.hasStatistics && m_answer.statistics.firstAbnormal >= 0) {
        const TensorStatistics& s = m_answer.statistics;
        QStringList counts;
        for (const auto& [name, n] :
             std::initializer_list<std::pair<const char*, int64_t>>{{"NaN", s.nan}, {"Inf", s.positiveInf}, {"\u2212Inf", s.negativeInf}})
            if (n > 0) counts << QString(name) + " " + QString::fromStdString(groupThousands(n));
        notes << counts.join(", ") + " of " + QString::fromStdString(groupThousands(s.elements)) + ", first at " +
                     QString::fromStdString(elementIndexText(m_answer.shape, s.firstAbnormal));
        color = Token::err;
    }
    say(notes.join(" · "), color);
}

void TensorPanel::refreshStatistics()
{
    const TensorStatistics& s = m_answer.statistics;
    const auto number = [](double v) { return QString::fromStdString(exactNumber(v, DType::f64)); };
    const auto count = [](int64_t n) { return QString::fromStdString(groupThousands(n)); };
    std::vector<std::pair<QString, QString>> rows = {{"elements", count(m_answer.shape.isStatic() ? m_answer.shape.elementCount() : 0)},
                                                     {"bytes", QString::fromStdString(formatBytes(m_answer.bytes))}};
    if (m_answer.hasStatistics) {
        const bool finite = s.finite > 0;
        const auto bound = [&](const std::string& exact, double value) {
            return !exact.empty() ? onScreen(exact) : finite ? number(value) : QString("\u2013");
        };
        rows.insert(rows.end(), {{"finite", count(s.finite)},
                                 {"min", bound(m_answer.exactMin, s.min)},
                                 {"max", bound(m_answer.exactMax, s.max)},
                                 {"mean", finite ? number(s.mean) : "\u2013"},
                                 {"std", finite ? number(s.std) : "\u2013"},
                                 {"zeros", count(s.zeros)}});
        for (const auto& [name, n] : std::initializer_list<std::pair<const char*, int64_t>>{{"NaN", s.nan},
                                                                                            {"Inf", s.positiveInf},
                                                                                            {"\u2212Inf", s.negativeInf},
                                                                                            {"denormal", s.denormal},
                                                                                            {"saturated", s.saturated}})
            if (n > 0) rows.emplace_back(name, count(n));
    }
    m_stats->setRowCount(static_cast<int>(rows.size()));
    for (size_t i = 0; i < rows.size(); ++i) {
        m_stats->setItem(static_cast<int>(i), 0, cellItem(rows[i].first, false, Token::text2));
        m_stats->setItem(static_cast<int>(i), 1, cellItem(rows[i].second, true));
    }
    m_stats->setColumnWidth(0, 90);
    m_stats->setColumnWidth(1, 170);
    if (m_answer.blockScales) return refreshBlockScales();
    m_quant->setHorizontalHeaderLabels({"channel", "scale", "zero", "min", "max", "saturated"});
    const auto& channels = m_answer.channels.channels;
    m_quant->setRowCount(static_cast<int>(std::min<size_t>(channels.size(), kMostHistoryRows)));
    for (int i = 0; i < m_quant->rowCount(); ++i) {
        const ChannelRow& row = channels[static_cast<size_t>(i)];
        m_quant->setItem(i, 0, cellItem(count(row.channel), true));
        m_quant->setItem(i, 1, cellItem(QString::fromStdString(exactNumber(row.scale, DType::f32)), true));
        m_quant->setItem(i, 2, cellItem(count(row.zero), true));
        m_quant->setItem(i, 3, cellItem(row.elements > 0 ? QString::fromStdString(shortNumber(row.min)) : "\u2013", true));
        m_quant->setItem(i, 4, cellItem(row.elements > 0 ? QString::fromStdString(shortNumber(row.max)) : "\u2013", true));
        m_quant->setItem(
            i, 5, cellItem(count(row.saturated) + " of " + count(row.elements), true, row.saturated > 0 ? Token::warn : Token::text));
    }
}

/// Scales of blocks as the tensors that they are, an element a row.
void TensorPanel::refreshBlockScales()
{
    m_quant->setHorizontalHeaderLabels({"block", "scale", "zero", "", "", ""});
    const Grid &scales = *m_answer.blockScales, *const zeros = m_answer.blockZeros ? &*m_answer.blockZeros : nullptr;
    const int64_t count = std::min<int64_t>(scales.rows * scales.cols, kMostHistoryRows);
    m_quant->setRowCount(static_cast<int>(count));
    for (int64_t i = 0; i < count; ++i) {
        const int64_t row = i / scales.cols, col = i % scales.cols;
        const int at = static_cast<int>(i);
        m_quant->setItem(at, 0, cellItem(QString::fromStdString(elementIndexText(scales.shape, scales.flat(row, col))), true));
        m_quant->setItem(at, 1, cellItem(QString::fromStdString(cellText(scales.at(row, col), scales.style)), true));
        const bool hasZero = zeros != nullptr && static_cast<size_t>(i) < zeros->cells.size();
        m_quant->setItem(
            at, 2, cellItem(hasZero ? QString::fromStdString(cellText(zeros->cells[static_cast<size_t>(i)], zeros->style)) : "0", true));
        for (int c = 3; c < 6; ++c) m_quant->setItem(at, c, cellItem({}, true));
    }
}

/// Who wrote the element under the cursor, iteration by iteration, where it changed.
void TensorPanel::refreshHistory()
{
    m_history->setRowCount(0);
    const Value* const value = declared();
    if (value == nullptr || !m_series || m_series->keptIterations() == 0) return;
    const int64_t element = std::max<int64_t>(0, flatAtCursor());
    const Grid all = gridOf(*m_series, value->type.quantization.get(), 0, 0);
    if (element >= all.rows) return;
    QString writer = "carried";
    if (value->role == ValueRole::result)
        writer =
            QString::fromStdString(operatorLabel(document().model().graph(m_selection.graph).op(value->producer), value->producer.index));
    QString before;
    for (int64_t c = 0; c < all.cols; ++c) {
        const Cell& cell = all.at(element, c);
        if (!cell.known) continue;
        const QString after = QString::fromStdString(cellText(cell, all.style));
        if (after == before) continue;
        const int row = m_history->rowCount();
        m_history->insertRow(row);
        const auto iteration = static_cast<size_t>(all.colBegin + c);
        const int64_t step = iteration < m_series->steps.size() ? m_series->steps[iteration] : -1;
        m_history->setItem(row, 0, cellItem("@" + QString::number(all.colBegin + c), true, Token::accent));
        m_history->setItem(row, 1, cellItem(QString::fromStdString(groupThousands(step)), true, Token::accent));
        m_history->item(row, 1)->setData(Qt::UserRole, QString::number(step));
        m_history->setItem(row, 2, cellItem(writer, false));
        m_history->setItem(row, 3, cellItem(before.isEmpty() ? "\u2013" : before, true, Token::text2));
        m_history->setItem(row, 4, cellItem(after, true));
        before = after;
    }
    say("element " + QString::fromStdString(elementIndexText(m_answer.shape, element)) + ": " +
            QString::fromStdString(groupThousands(m_history->rowCount())) + " changes in " +
            QString::fromStdString(groupThousands(m_series->keptIterations())) + " iterations · Return goes there",
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
    if (m_series && m_series->keptIterations() > 0)
        add("columns: iteration", m_useSeries, [this] {
            m_useSeries = true;
            m_shown.fill(false);
            m_shown[static_cast<size_t>(TensorMode::heat)] = m_shown[static_cast<size_t>(TensorMode::plot)] = true;
            rememberModes();
            refresh();
        });
    const auto choose = [this](AxisChoice axes) {
        return [this, axes] {
            m_useSeries = false;
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
        add(column < 0 ? QString("rows: dim 0") : "columns: dim " + QString::number(column), !m_useSeries && axes == now, choose(axes));
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
            add("rows: dim " + QString::number(axis), !m_useSeries && axes == now, choose(axes));
            all.rows.push_back(axis);
            names << QString::number(axis);
        }
        add("rows: dim " + names.join("\u00d7"), !m_useSeries && all == now, choose(all));
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
    menu->popup(m_axesChip->mapToGlobal(QPoint(0, m_axesChip->height())));
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
    menu->popup(m_differenceChip->mapToGlobal(QPoint(0, m_differenceChip->height())));
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
    if (!m_pins.empty()) add("Shared with the pinned ones", RangeMode::shared);
    menu->addAction("Typed \u2026", this, [this] {
        bool ok = false;
        const QString text = QInputDialog::getText(this, "Range", "Low and high", QLineEdit::Normal,
                                                   QString("%1 %2").arg(m_content.range.low).arg(m_content.range.high), &ok);
        const QStringList parts = text.split(QRegularExpression("[ ,;]+"), Qt::SkipEmptyParts);
        if (!ok || parts.size() != 2 || !(parts[0].toDouble() < parts[1].toDouble())) return;
        m_typedRange = {parts[0].toDouble(), parts[1].toDouble()};
        m_rangeMode = RangeMode::typed;
        refresh();
    });
    menu->popup(m_rangeButton->mapToGlobal(QPoint(0, m_rangeButton->height())));
}

void TensorPanel::askElement()
{
    bool ok = false;
    const QString text = QInputDialog::getText(this, "Go to element", "Index, as 3,7,0 or flat", QLineEdit::Normal, {}, &ok);
    if (ok && !goToElement(text)) say("no element " + text + " in " + m_type->text(), Token::err);
}

void TensorPanel::resizeEvent(QResizeEvent*) { refreshBar(); }

} // namespace loopscope::viewer
