#include "viewer/tensor/tensor_figures.h"

#include "engine/base/text.h"
#include "engine/tensor/compare.h"
#include "viewer/bridge/text.h"
#include "viewer/style/theme.h"
#include "viewer/widgets/rows.h"

#include <QHeaderView>

namespace loopscope::viewer {

namespace {

constexpr int kMostRows = 65'536;

QTableWidgetItem* cellItem(const QString& text, bool number, Token color = Token::text)
{
    auto* item = new QTableWidgetItem(text);
    item->setFont(Theme::instance().font(number ? FontUse::value : FontUse::body));
    item->setTextAlignment(number ? Qt::AlignRight | Qt::AlignVCenter : Qt::AlignLeft | Qt::AlignVCenter);
    item->setForeground(themed(color));
    item->setFlags(Qt::ItemIsEnabled | Qt::ItemIsSelectable);
    return item;
}

void dressRows(QTableWidget* table)
{
    dressTensorTable(table);
    table->verticalHeader()->hide();
    table->setSelectionBehavior(QAbstractItemView::SelectRows);
    table->hide();
}

} // namespace

void dressTensorTable(QTableView* table)
{
    table->setFrameShape(QFrame::NoFrame);
    table->setShowGrid(false);
    table->setWordWrap(false);
    followRowHeight(*table);
    table->verticalHeader()->setMinimumSectionSize(12);
    table->horizontalHeader()->setMinimumSectionSize(24);
    table->setEditTriggers(QAbstractItemView::NoEditTriggers);
    table->setHorizontalScrollMode(QAbstractItemView::ScrollPerPixel);
}

StatisticsTable::StatisticsTable(QWidget* parent) : QTableWidget(0, 2, parent)
{
    setObjectName("tensorStats");
    setAccessibleName("Statistics");
    dressRows(this);
    horizontalHeader()->hide();
}

void StatisticsTable::fill(const ValueAnswer& answer)
{
    const TensorStatistics& s = answer.statistics;
    const auto number = [](double v) { return toText(exactNumber(v, DType::f64)); };
    const auto count = [](int64_t n) { return toText(groupThousands(n)); };
    std::vector<std::pair<QString, QString>> rows = {{"elements", count(answer.shape.isStatic() ? answer.shape.elementCount() : 0)},
                                                     {"bytes", toText(formatBytes(answer.bytes))}};
    if (answer.hasStatistics) {
        const bool finite = s.finite > 0;
        const auto bound = [&](const std::string& exact, double value) {
            return !exact.empty() ? onScreen(exact) : finite ? number(value) : QString("\u2013");
        };
        rows.insert(rows.end(), {{"finite", count(s.finite)},
                                 {"min", bound(answer.exactMin, s.min)},
                                 {"max", bound(answer.exactMax, s.max)},
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
    setRowCount(static_cast<int>(rows.size()));
    for (size_t i = 0; i < rows.size(); ++i) {
        setItem(static_cast<int>(i), 0, cellItem(rows[i].first, false, Token::text2));
        setItem(static_cast<int>(i), 1, cellItem(rows[i].second, true));
    }
    setColumnWidth(0, 90);
    setColumnWidth(1, 170);
}

QuantizationTable::QuantizationTable(QWidget* parent) : QTableWidget(0, 6, parent)
{
    setObjectName("tensorQuant");
    setAccessibleName("Quantization by channel");
    setHorizontalHeaderLabels({"channel", "scale", "zero", "min", "max", "saturated"});
    dressRows(this);
    constexpr int widths[] = {58, 88, 44, 76, 76, 104};
    for (int c = 0; c < columnCount(); ++c) setColumnWidth(c, widths[c]);
}

void QuantizationTable::fill(const ValueAnswer& answer)
{
    if (answer.blockScales) return showBlocks(answer);
    const auto count = [](int64_t n) { return toText(groupThousands(n)); };
    setHorizontalHeaderLabels({"channel", "scale", "zero", "min", "max", "saturated"});
    const auto& channels = answer.channels.channels;
    setRowCount(static_cast<int>(std::min<size_t>(channels.size(), kMostRows)));
    for (int i = 0; i < rowCount(); ++i) {
        const ChannelRow& row = channels[static_cast<size_t>(i)];
        setItem(i, 0, cellItem(count(row.channel), true));
        setItem(i, 1, cellItem(toText(exactNumber(row.scale, DType::f32)), true));
        setItem(i, 2, cellItem(count(row.zero), true));
        setItem(i, 3, cellItem(row.elements > 0 ? toText(shortNumber(row.min)) : "\u2013", true));
        setItem(i, 4, cellItem(row.elements > 0 ? toText(shortNumber(row.max)) : "\u2013", true));
        setItem(i, 5, cellItem(count(row.saturated) + " of " + count(row.elements), true, row.saturated > 0 ? Token::warn : Token::text));
    }
}

/// Scales of blocks as the tensors that they are, an element a row.
void QuantizationTable::showBlocks(const ValueAnswer& answer)
{
    setHorizontalHeaderLabels({"block", "scale", "zero", "", "", ""});
    const Grid &scales = *answer.blockScales, *const zeros = answer.blockZeros ? &*answer.blockZeros : nullptr;
    const int64_t count = std::min<int64_t>(scales.rows * scales.cols, kMostRows);
    setRowCount(static_cast<int>(count));
    for (int64_t i = 0; i < count; ++i) {
        const int64_t row = i / scales.cols, col = i % scales.cols;
        const int at = static_cast<int>(i);
        setItem(at, 0, cellItem(toText(elementIndexText(scales.shape, scales.flat(row, col))), true));
        setItem(at, 1, cellItem(toText(cellText(scales.at(row, col), scales.style)), true));
        const bool hasZero = zeros != nullptr && static_cast<size_t>(i) < zeros->cells.size();
        setItem(at, 2, cellItem(hasZero ? toText(cellText(zeros->cells[static_cast<size_t>(i)], zeros->style)) : "0", true));
        for (int c = 3; c < 6; ++c) setItem(at, c, cellItem({}, true));
    }
}

ElementHistory::ElementHistory(QWidget* parent) : QTableWidget(0, 5, parent)
{
    setObjectName("tensorHistory");
    setAccessibleName("Changes of the element");
    setHorizontalHeaderLabels({"iteration", "step", "writer", "before", "after"});
    dressRows(this);
    connect(this, &QTableWidget::itemActivated, this, [this](const QTableWidgetItem* changed) {
        const QString step = item(changed->row(), 1)->data(Qt::UserRole).toString();
        if (!step.isEmpty()) emit stepChosen(step.toLongLong());
    });
}

void ElementHistory::fill(const Grid& all, const ValueSeries& series, int64_t element, const QString& writer)
{
    setRowCount(0);
    QString before;
    for (int64_t c = 0; c < all.cols; ++c) {
        const Cell& cell = all.at(element, c);
        if (!cell.known) continue;
        const QString after = toText(cellText(cell, all.style));
        if (after == before) continue;
        const int row = rowCount();
        insertRow(row);
        const auto iteration = static_cast<size_t>(all.colBegin + c);
        const int64_t step = iteration < series.steps.size() ? series.steps[iteration] : -1;
        setItem(row, 0, cellItem("@" + QString::number(all.colBegin + c), true, Token::accent));
        setItem(row, 1, cellItem(toText(groupThousands(step)), true, Token::accent));
        item(row, 1)->setData(Qt::UserRole, QString::number(step));
        setItem(row, 2, cellItem(writer, false));
        setItem(row, 3, cellItem(before.isEmpty() ? "\u2013" : before, true, Token::text2));
        setItem(row, 4, cellItem(after, true));
        before = after;
    }
}

} // namespace loopscope::viewer
