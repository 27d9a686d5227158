#include "viewer/trace/result_panels.h"

#include "engine/base/text.h"
#include "engine/tensor/value_text.h"
#include "viewer/style/icons.h"
#include "viewer/style/theme.h"
#include "viewer/widgets/rows.h"

#include <QFileDialog>
#include <QHeaderView>
#include <QSaveFile>
#include <QVBoxLayout>

#include <cmath>
#include <map>
#include <numeric>

namespace loopscope::viewer {

namespace {

constexpr size_t kMostText = 300;
constexpr size_t kSortedAtOnce = 10'000; ///< rows

QString cellOfSql(const SqlValue& value)
{
    if (const auto* const real = std::get_if<double>(&value)) return QString::fromStdString(realText(*real, 6));
    if (std::holds_alternative<std::monostate>(value)) return {};
    const std::string text = sqlText(value);
    return QString::fromStdString(text.substr(0, kMostText));
}

bool less(const SqlValue& a, const SqlValue& b)
{
    if (isNumber(a) && isNumber(b)) {
        const auto* const i = std::get_if<int64_t>(&a);
        const auto* const j = std::get_if<int64_t>(&b);
        return i != nullptr && j != nullptr ? *i < *j : numberOf(a) < numberOf(b);
    }
    if (a.index() != b.index()) return a.index() < b.index();
    return sqlText(a) < sqlText(b);
}

} // namespace

ResultModel::ResultModel(TraceDesk& desk, QObject* parent) : QAbstractTableModel(parent), m_desk(desk), m_answer(desk.answer()) {}

void ResultModel::setAnswer(std::shared_ptr<const TraceAnswer> answer)
{
    m_sorter.run([](std::stop_token) { return 0; }, [](int) {}); // an order of other rows is void
    beginResetModel();
    m_answer = std::move(answer);
    m_order.resize(m_answer->result.rows.size());
    std::iota(m_order.begin(), m_order.end(), 0);
    endResetModel();
}

int ResultModel::rowCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : static_cast<int>(m_order.size()); }

int ResultModel::columnCount(const QModelIndex& parent) const
{
    return parent.isValid() ? 0 : static_cast<int>(m_answer->result.columns.size());
}

QVariant ResultModel::data(const QModelIndex& index, int role) const
{
    if (!index.isValid() || index.row() >= rowCount() || index.column() >= columnCount()) return {};
    const int row = m_order[static_cast<size_t>(index.row())];
    const SqlValue& value = m_answer->result.rows[static_cast<size_t>(row)][static_cast<size_t>(index.column())];
    switch (role) {
    case Qt::DisplayRole: return cellOfSql(value);
    case Qt::ToolTipRole: {
        const TraceLink link = m_desk.linkOf(row, index.column());
        return link.command.isEmpty() ? QVariant() : QVariant(link.command + " (Return)");
    }
    case Qt::TextAlignmentRole: return QVariant(isNumber(value) ? Qt::AlignRight | Qt::AlignVCenter : Qt::AlignLeft | Qt::AlignVCenter);
    case Qt::FontRole: return Theme::instance().font(FontUse::value);
    case Qt::ForegroundRole: return themed(m_desk.linkOf(row, index.column()).command.isEmpty() ? Token::text : Token::accent);
    default: return {};
    }
}

QVariant ResultModel::headerData(int section, Qt::Orientation orientation, int role) const
{
    if (orientation != Qt::Horizontal || section >= columnCount()) return {};
    if (role == Qt::DisplayRole) return QString::fromStdString(m_answer->result.columns[static_cast<size_t>(section)]);
    if (role == Qt::TextAlignmentRole && rowCount() > 0)
        return QVariant(isNumber(m_answer->result.rows[0][static_cast<size_t>(section)]) ? Qt::AlignRight | Qt::AlignVCenter
                                                                                         : Qt::AlignLeft | Qt::AlignVCenter);
    return {};
}

void ResultModel::sort(int column, Qt::SortOrder order)
{
    if (column < 0 || column >= columnCount()) return;
    const auto take = [this](std::vector<int> sorted) {
        emit layoutAboutToBeChanged();
        m_order = std::move(sorted);
        emit layoutChanged();
    };
    const auto work = [answer = m_answer, before = m_order, at = static_cast<size_t>(column), order](std::stop_token) {
        std::vector<int> sorted = before;
        const auto& rows = answer->result.rows;
        std::ranges::stable_sort(sorted, [&](int a, int b) {
            const SqlValue &va = rows[static_cast<size_t>(a)][at], &vb = rows[static_cast<size_t>(b)][at];
            return order == Qt::AscendingOrder ? less(va, vb) : less(vb, va);
        });
        return sorted;
    };
    if (m_order.size() > kSortedAtOnce) return m_sorter.run(work, take);
    take(work({}));
}

ResultPanel::ResultPanel(Document& document) : Panel(document, "panelResult", "Result")
{
    TraceDesk& desk = TraceDesk::of(document);
    m_model = new ResultModel(desk, this);
    m_table = new QTableView(this);
    m_table->setObjectName("resultTable");
    m_table->setAccessibleName("Result");
    m_table->setModel(m_model);
    m_table->setFrameShape(QFrame::NoFrame);
    m_table->setShowGrid(false);
    m_table->setWordWrap(false);
    m_table->setSelectionBehavior(QAbstractItemView::SelectRows);
    m_table->setSelectionMode(QAbstractItemView::SingleSelection);
    m_table->setEditTriggers(QAbstractItemView::NoEditTriggers);
    m_table->verticalHeader()->hide();
    followRowHeight(*m_table);
    m_table->horizontalHeader()->setMinimumSectionSize(48);
    m_table->horizontalHeader()->setSortIndicatorShown(true);
    m_table->horizontalHeader()->setSortIndicator(-1, Qt::AscendingOrder);
    m_summary = new QLabel(this);
    Theme::instance().wear(*m_summary, FontUse::small);
    m_summary->setObjectName("resultSummary");
    m_export = new QAction(themedIcon("export"), "Export csv", this);
    connect(&Theme::instance(), &Theme::changed, this, [this] {
        m_export->setIcon(themedIcon("export"));
        fitColumns();
    });
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    m_stack = new EmptyStack(m_table, this);
    layout->addWidget(m_stack);
    connect(&desk, &TraceDesk::answered, this, &ResultPanel::refresh);
    connect(&desk, &TraceDesk::rowSelected, this, &ResultPanel::follow);
    connect(m_table->horizontalHeader(), &QHeaderView::sectionClicked, this,
            [this](int section) { m_model->sort(section, m_table->horizontalHeader()->sortIndicatorOrder()); });
    connect(m_table->selectionModel(), &QItemSelectionModel::currentRowChanged, this, [this, &desk](const QModelIndex& index) {
        if (index.isValid()) desk.selectRow(m_model->order()[static_cast<size_t>(index.row())]);
    });
    connect(m_table, &QTableView::activated, this, [this, &desk](const QModelIndex& index) {
        const int row = m_model->order()[static_cast<size_t>(index.row())];
        TraceLink link = desk.linkOf(row, index.column());
        for (int c = 0; c < m_model->columnCount() && link.command.isEmpty(); ++c) link = desk.linkOf(row, c);
        if (link.move) desk.goTo(*link.move);
    });
    connect(m_export, &QAction::triggered, this, [this] {
        auto* const dialog = new QFileDialog(this, "Export", "result.csv", "Comma-separated values (*.csv)");
        dialog->setAttribute(Qt::WA_DeleteOnClose);
        dialog->setAcceptMode(QFileDialog::AcceptSave);
        connect(dialog, &QFileDialog::fileSelected, this, [this](const QString& path) {
            const QString problem = exportTo(path);
            if (!problem.isEmpty())
                this->document().report({Problem::Severity::error, problem.toStdString(), path.toStdString(), "choose another file"});
        });
        dialog->open();
    });
    refresh();
}

bool ResultPanel::command(const QString& id)
{
    if (!id.startsWith("row ")) return false;
    m_table->selectRow(id.mid(4).toInt());
    return true;
}

/// The row that the plot or another panel has selected.
void ResultPanel::follow()
{
    const int row = TraceDesk::of(document()).selectedRow();
    const auto at = std::ranges::find(m_model->order(), row);
    if (row < 0 || at == m_model->order().end()) return;
    const int shown = static_cast<int>(at - m_model->order().begin());
    if (m_table->currentIndex().row() != shown) m_table->selectRow(shown);
}

void ResultPanel::fitColumns()
{
    for (int c = 0; c < m_model->columnCount(); ++c) {
        m_table->resizeColumnToContents(c);
        const Theme& theme = Theme::instance();
        m_table->setColumnWidth(c, std::clamp(m_table->columnWidth(c) + 12, theme.barHeight(60), theme.barHeight(320)));
    }
}

void ResultPanel::refresh()
{
    const auto answer = TraceDesk::of(document()).answer();
    m_model->setAnswer(answer);
    if (answer->sql.isEmpty()) m_stack->showEmpty("No query yet. Choose a recipe, or write SQL above and press Ctrl+Return.");
    else m_stack->showContent();
    fitColumns();
    m_table->horizontalHeader()->setStretchLastSection(m_model->columnCount() == 1);
    QString text = answer->problem;
    if (text.isEmpty() && !answer->sql.isEmpty()) {
        const QString rows = QString::fromStdString(groupThousands(m_model->rowCount()));
        text = answer->result.more ? "first " + rows + " rows" : rows + " of " + rows + " rows";
        text += answer->seconds > 0 ? QString(", read only, limit %1 s").arg(answer->seconds) : QString(", read only, no limit");
    }
    m_summary->setText(text);
    if (m_model->rowCount() > 0) m_table->selectRow(0); // its value is shown beside
}

QString ResultPanel::exportTo(const QString& path)
{
    QSaveFile file(path);
    const QByteArray bytes = csvOf(TraceDesk::of(document()).answer()->result, m_model->order());
    if (!file.open(QIODevice::WriteOnly) || file.write(bytes) != bytes.size() || !file.commit()) return path + ": " + file.errorString();
    return {};
}

PlanPanel::PlanPanel(Document& document) : Panel(document, "panelPlan", "Plan")
{
    m_tree = new QTreeWidget(this);
    m_tree->setObjectName("planTree");
    m_tree->setAccessibleName("Plan of the query");
    m_tree->setHeaderHidden(true);
    m_tree->setFrameShape(QFrame::NoFrame);
    m_empty = new QLabel("Run a query to see how its rows are found.", this);
    m_empty->setContentsMargins(10, 8, 10, 8);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->addWidget(m_empty);
    layout->addWidget(m_tree, 1);
    layout->addStretch(0);
    connect(&TraceDesk::of(document), &TraceDesk::answered, this, &PlanPanel::refresh);
    connect(&Theme::instance(), &Theme::changed, this, &PlanPanel::refresh);
    refresh();
}

void PlanPanel::refresh()
{
    const QueryResult& plan = TraceDesk::of(document()).answer()->plan;
    m_tree->clear();
    std::map<int64_t, QTreeWidgetItem*> items; // by id
    for (const std::vector<SqlValue>& row : plan.rows) {
        if (row.size() < 4 || !std::holds_alternative<int64_t>(row[0]) || !std::holds_alternative<int64_t>(row[1])) continue;
        const auto parent = items.find(std::get<int64_t>(row[1]));
        auto* item = parent == items.end() ? new QTreeWidgetItem(m_tree) : new QTreeWidgetItem(parent->second);
        const QString detail = QString::fromStdString(sqlText(row[3]));
        item->setText(0, detail);
        item->setFont(0, Theme::instance().font(FontUse::value));
        if (detail.startsWith("SCAN ")) {
            item->setForeground(0, themed(Token::warn));
            item->setToolTip(0, "looks at every row");
        }
        items[std::get<int64_t>(row[0])] = item;
    }
    m_tree->expandAll();
    m_tree->setVisible(m_tree->topLevelItemCount() > 0);
    m_empty->setVisible(m_tree->topLevelItemCount() == 0);
}

Panel* makeResultPanel(Document& document) { return new ResultPanel(document); }

Panel* makePlanPanel(Document& document) { return new PlanPanel(document); }

} // namespace loopscope::viewer
