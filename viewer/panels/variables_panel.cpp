// Variables: what the frame in view holds, or what the invocation held that is looked at.
#include "engine/ir/ids.h"
#include "engine/observe/address_names.h"
#include "viewer/bridge/elsewhere.h"
#include "viewer/panels/common.h"
#include "viewer/panels/panels.h"
#include "viewer/panels/value_cell.h"
#include "viewer/widgets/parts.h"
#include "viewer/widgets/value_menu.h"

#include <QAbstractItemModel>
#include <QMenu>
#include <QTimer>
#include <QVBoxLayout>

#include <algorithm>
#include <map>
#include <optional>

namespace loopscope::viewer {

namespace {

constexpr size_t kMostVariables = 2000;

class VariableModel : public QAbstractTableModel {
    Q_OBJECT
public:
    struct Row {
        QString section; ///< a heading; the rest is empty
        GraphId graph;
        ValueId value;
        OperatorId op;
        QString name, type;
        ValueCell shown;
    };
    explicit VariableModel(QObject* parent) : QAbstractTableModel(parent) {}
    /// `moment`: of which they are; empty: of the present stop.
    void setRows(std::vector<Row> rows, const QString& moment)
    {
        if (moment.isEmpty()) {
            std::map<std::pair<int32_t, int32_t>, QString> now;
            for (Row& row : rows) {
                if (!row.value.valid()) continue;
                const std::pair key(row.graph.index, row.value.index);
                now[key] = row.shown.text;
                if (const auto old = m_last.find(key); old != m_last.end()) row.shown.changed = old->second != row.shown.text;
            }
            m_last = std::move(now);
        }
        for (Row& row : rows) row.shown.elsewhere = !moment.isEmpty();
        beginResetModel();
        m_rows = std::move(rows);
        m_moment = moment;
        endResetModel();
        emit headerDataChanged(Qt::Horizontal, 1, 1);
    }
    const Row& row(int index) const { return m_rows[static_cast<size_t>(index)]; }
    int rowCount(const QModelIndex& parent = {}) const override { return parent.isValid() ? 0 : static_cast<int>(m_rows.size()); }
    int columnCount(const QModelIndex& parent = {}) const override { return parent.isValid() ? 0 : 2; }
    Qt::ItemFlags flags(const QModelIndex& index) const override
    {
        if (index.isValid() && !row(index.row()).section.isEmpty()) return Qt::ItemIsEnabled;
        const bool isValue = index.isValid() && index.column() == 1 && m_moment.isEmpty() && !row(index.row()).shown.absent;
        return QAbstractTableModel::flags(index) | (isValue ? Qt::ItemIsEditable : Qt::NoItemFlags);
    }
    bool setData(const QModelIndex& index, const QVariant& value, int role) override
    {
        const QString text = value.toString().trimmed();
        if (role != Qt::EditRole || index.column() != 1 || text.isEmpty() || text == row(index.row()).shown.exact) return false;
        emit typed(index.row(), text);
        return true;
    }
    QVariant headerData(int section, Qt::Orientation orientation, int role) const override
    {
        if (orientation != Qt::Horizontal) return {};
        if (role == Qt::TextAlignmentRole && section == 1) return static_cast<int>(Qt::AlignRight);
        return role == Qt::DisplayRole ? QVariant(section == 0 ? QString("Name") : valueHead(m_moment)) : QVariant();
    }
    QVariant data(const QModelIndex& index, int role) const override
    {
        if (!index.isValid()) return {};
        const Row& at = row(index.row());
        if (!at.section.isEmpty()) {
            if (role == sectionRole) return true;
            if (index.column() != 0) return {};
            return role == Qt::DisplayRole ? QVariant(at.section) : role == boldRole ? QVariant(true) : QVariant();
        }
        if (index.column() == 1) return cellData(at.shown, role);
        switch (role) {
        case Qt::DisplayRole: return at.name + "  " + at.type;
        case Qt::ToolTipRole: return at.name + "  " + at.type + "\n" + at.shown.text;
        case monoRole: return true;
        case toneRole: return static_cast<int>(at.shown.absent ? Tone::text3 : Tone::text);
        default: return {};
        }
    }

signals:
    /// A person typed another value; the row keeps what it has until the next stop.
    void typed(int row, const QString& expression);

private:
    std::vector<Row> m_rows;
    QString m_moment;
    std::map<std::pair<int32_t, int32_t>, QString> m_last; ///< at the stop before, by graph and value
};

class VariablesPanel : public Panel {
    Q_OBJECT
public:
    explicit VariablesPanel(Document& document) : Panel(document, "panelVariables", "Variables"), m_model(this)
    {
        auto* column = new QVBoxLayout(this);
        column->setContentsMargins(0, 0, 0, 0);
        m_view = new RowView("variableTable", "Variables");
        m_view->setModel(&m_model);
        m_view->setColumnWidths({130});
        m_stack = new EmptyStack(m_view, this);
        column->addWidget(m_stack);
        connect(m_view->selectionModel(), &QItemSelectionModel::currentRowChanged, this, [this](const QModelIndex& index) {
            if (index.isValid() && !m_showing) select(index.row());
        });
        // The row that is highlighted already may show what is not selected any more.
        connect(m_view, &QTreeView::clicked, this, [this](const QModelIndex& index) { select(index.row()); });
        connect(m_view, &RowView::chosen, this, [this](const QModelIndex& index) {
            const QModelIndex cell = index.siblingAtColumn(1);
            if (this->document().canSetValues() && m_model.flags(cell).testFlag(Qt::ItemIsEditable)) m_view->edit(cell);
        });
        m_view->setContextMenuPolicy(Qt::CustomContextMenu);
        connect(m_view, &QWidget::customContextMenuRequested, this,
                [this](const QPoint& at) { showMenu(m_view->indexAt(at), m_view->viewport()->mapToGlobal(at)); });
        connect(
            &m_model, &VariableModel::typed, this,
            [this](int row, const QString& expression) {
                if (const std::optional<Selection> selection = selectionOf(row)) this->document().setValue(*selection, {}, expression);
            },
            Qt::QueuedConnection); // the editor closes first
        connect(&document, &Document::stopChanged, this, &VariablesPanel::refresh);
        connect(&document, &Document::frameChanged, this, &VariablesPanel::refresh);
        connect(&document, &Document::lookedAtChanged, this, &VariablesPanel::refresh);
        m_scrubbed.setSingleShot(true);
        m_scrubbed.setInterval(0); // where scrubbing ends, the run is about to move
        connect(&m_scrubbed, &QTimer::timeout, this, [this] {
            if (!this->document().bridge().busy()) refresh();
        });
        connect(&document, &Document::previewChanged, &m_scrubbed, qOverload<>(&QTimer::start));
        refresh();
    }
    QWidget* focusTarget() override { return m_view; }

private:
    std::optional<Selection> selectionOf(int number)
    {
        const ValuePlace place = document().valuePlace();
        if (number < 0 || number >= m_model.rowCount() || (place.depth < 0 && !place.isElsewhere())) return std::nullopt;
        const VariableModel::Row& row = m_model.row(number);
        if (!row.value.valid()) return std::nullopt;
        Selection selection;
        selection.graph = row.graph;
        selection.op = row.op;
        selection.value = row.value;
        const std::string frame =
            place.isElsewhere() ? place.invocation : document().stop()->stack[static_cast<size_t>(place.depth)].address;
        selection.address = row.op.valid() ? frame + "/" + siteOf(row) : frame;
        return selection;
    }

    void showMenu(const QModelIndex& index, const QPoint& at)
    {
        const std::optional<Selection> selection = index.isValid() ? selectionOf(index.row()) : std::nullopt;
        if (!selection) return;
        const VariableModel::Row& row = m_model.row(index.row());
        AskedValue value;
        value.expression = toText(document().expressionOf(*selection));
        value.text = row.shown.exact.isEmpty() ? row.shown.text : row.shown.exact;
        value.isAbnormal = row.shown.text.contains(QLatin1String("nan"), Qt::CaseInsensitive);
        const QModelIndex cell = index.siblingAtColumn(1);
        if (document().canSetValues() && m_model.flags(cell).testFlag(Qt::ItemIsEditable)) value.set = [this, cell] { m_view->edit(cell); };
        auto* const menu = new QMenu(this);
        menu->setObjectName("variableMenu");
        menu->setAttribute(Qt::WA_DeleteOnClose);
        fillValueMenu(*menu, document(), *this, value);
        menu->popup(at);
    }

    void select(int row)
    {
        if (const std::optional<Selection> selection = selectionOf(row)) document().select(*selection);
    }

    std::string siteOf(const VariableModel::Row& row)
    {
        return operatorLabel(document().model().graph(row.graph).op(row.op), row.op.index);
    }

    struct Answer {
        std::vector<VariableModel::Row> rows;
        QString moment;
        std::string why;
    };

    void refresh()
    {
        const ValuePlace place = document().valuePlace();
        if (place.depth < 0 && !place.isElsewhere()) {
            m_stack->showEmpty("No run yet.", {{"Run (F5)", [this] { document().perform(request::Begin()); }}});
            return;
        }
        document().bridge().ask(
            this, "variables", [place, stop = document().stop()](Inspector& inspector) { return answerOf(inspector, place, *stop); },
            [this](Answer answer) {
                m_showing = true;
                const int selected = m_view->currentIndex().row();
                const int count = m_model.rowCount();
                m_model.setRows(std::move(answer.rows), answer.moment);
                if (count == m_model.rowCount() && selected >= 0) m_view->setCurrentIndex(m_model.index(selected, 0));
                if (m_model.rowCount() > 0) m_stack->showContent();
                else if (answer.why.empty()) m_stack->showEmpty("This frame has no values.");
                else m_stack->showEmpty(toText(answer.why));
                m_showing = false;
            });
    }

    static Answer answerOf(Inspector& inspector, const ValuePlace& place, const StopSnapshot& stop)
    {
        Answer answer;
        if (inspector.tick() != stop.tick) return answer;
        if (!place.isElsewhere()) {
            if (place.depth >= inspector.position().depth) return answer;
            const FrameInfo frame = inspector.frame(place.depth);
            const auto cell = [&](ValueId id) {
                const Tensor* const tensor = inspector.value(place.depth, id);
                if (tensor != nullptr && tensor->data != nullptr) return cellOf(*tensor);
                return absentCell(inspector.isRecorded(place.depth, id) ? "no value" : "not recorded");
            };
            const auto count = std::ssize(inspector.model().graph(frame.graph).operators);
            answer.rows =
                rowsOf(inspector.model(), frame, !frame.next.valid() || stop.isDataflow ? count : frame.next.index, stop.isDataflow, cell);
            return answer;
        }
        const ReadElsewhere read = readElsewhere(inspector, place, [&](const EndedInvocation& end) {
            const auto cell = [&](ValueId id) {
                const Tensor* const tensor = end.value(id);
                if (tensor != nullptr && tensor->data != nullptr) return cellOf(*tensor);
                return absentCell(inspector.isRecorded(end.depth(), id) ? "no value" : "not recorded");
            };
            const FrameInfo frame = end.frame();
            answer.rows = rowsOf(inspector.model(), frame, std::ssize(inspector.model().graph(frame.graph).operators), false, cell);
        });
        answer.moment = momentText(read);
        answer.why = read.why;
        return answer;
    }

    /// Its inputs, and the results of the first `ran` operators, the newest first. `onlyPresent`: those that have none are left out.
    static std::vector<VariableModel::Row> rowsOf(const Model& model, const FrameInfo& frame, int64_t ran, bool onlyPresent,
                                                  const std::function<ValueCell(ValueId)>& cell)
    {
        std::vector<VariableModel::Row> rows;
        const Graph& graph = model.graph(frame.graph);
        const auto add = [&](ValueId id, OperatorId op) {
            const Value& value = graph.value(id);
            VariableModel::Row row;
            row.graph = frame.graph;
            row.value = id;
            row.op = op;
            row.name = toText(value.id);
            row.type = toText(shortType(value.type));
            row.shown = cell(id);
            if (op.valid() && onlyPresent && row.shown.absent) return;
            rows.push_back(std::move(row));
        };
        const auto heading = [&](const QString& text) {
            VariableModel::Row row;
            row.section = text;
            rows.push_back(row);
        };
        if (!graph.inputs.empty()) heading(frame.role == CallRole::loop ? "Loop variables" : "Inputs");
        for (const ValueId id : graph.inputs) add(id, {});
        const size_t before = rows.size();
        if (ran > 0) heading("Results");
        size_t left = 0;
        for (int64_t o = std::min(ran, std::ssize(graph.operators)); o-- > 0;) {
            for (const ValueId id : graph.operators[static_cast<size_t>(o)].results) {
                if (rows.size() - before < kMostVariables) add(id, OperatorId(o));
                else ++left;
            }
        }
        if (left > 0) heading(QString("%1 of %2 results shown").arg(kMostVariables).arg(kMostVariables + left));
        return rows;
    }

    VariableModel m_model;
    RowView* m_view = nullptr;
    EmptyStack* m_stack = nullptr;
    bool m_showing = false;
    QTimer m_scrubbed;
};

} // namespace

Panel* makeVariablesPanel(Document& document) { return new VariablesPanel(document); }

} // namespace loopscope::viewer

#include "variables_panel.moc"
