// Frames, tokens and the operator in view of a TensorFlow 1 graph.
#include "viewer/dataflow/dataflow_panels.h"

#include "engine/api/inspector.h"
#include "engine/ir/ids.h"
#include "engine/observe/address_names.h"
#include "viewer/bridge/text.h"
#include "viewer/dataflow/flow_rows.h"
#include "viewer/widgets/parts.h"
#include "viewer/widgets/rows.h"

#include <QAbstractItemModel>
#include <QHBoxLayout>
#include <QLabel>
#include <QSet>
#include <QVBoxLayout>

namespace loopscope::viewer {

namespace {

class FrameModel : public QAbstractItemModel {
    Q_OBJECT
public:
    explicit FrameModel(QObject* parent) : QAbstractItemModel(parent), m_root(std::make_unique<FlowNode>()) {}
    void setTree(std::unique_ptr<FlowNode> root)
    {
        beginResetModel();
        m_root = std::move(root);
        endResetModel();
    }
    FlowNode& node(const QModelIndex& index) const { return index.isValid() ? *static_cast<FlowNode*>(index.internalPointer()) : *m_root; }
    QModelIndex index(int row, int column, const QModelIndex& parent = {}) const override
    {
        if (column < 0 || column > 1 || (parent.isValid() && parent.column() != 0)) return {};
        const FlowNode& at = node(parent);
        return row >= 0 && row < static_cast<int>(at.children.size())
                   ? createIndex(row, column, at.children[static_cast<size_t>(row)].get())
                   : QModelIndex();
    }
    QModelIndex parent(const QModelIndex& child) const override
    {
        FlowNode* up = child.isValid() ? node(child).parent : nullptr;
        return up == nullptr || up == m_root.get() ? QModelIndex() : createIndex(up->row, 0, up);
    }
    int rowCount(const QModelIndex& parent = {}) const override
    {
        return parent.isValid() && parent.column() != 0 ? 0 : static_cast<int>(node(parent).children.size());
    }
    int columnCount(const QModelIndex& = {}) const override { return 2; }
    QVariant headerData(int section, Qt::Orientation orientation, int role) const override
    {
        if (orientation != Qt::Horizontal) return {};
        if (role == Qt::TextAlignmentRole && section == 1) return static_cast<int>(Qt::AlignRight);
        return role == Qt::DisplayRole ? QVariant(section == 0 ? "Frame and iteration" : "State") : QVariant();
    }
    QVariant data(const QModelIndex& index, int role) const override
    {
        if (!index.isValid()) return {};
        const FlowNode& at = node(index);
        if (index.column() == 1) {
            if (role == Qt::DisplayRole) return at.state;
            if (role == Qt::TextAlignmentRole) return static_cast<int>(Qt::AlignRight | Qt::AlignVCenter);
            return role == toneRole ? QVariant(static_cast<int>(at.isNext ? Tone::text : Tone::text3)) : QVariant();
        }
        switch (role) {
        case Qt::DisplayRole: return at.text;
        case Qt::ToolTipRole: return toText(at.address) + "\n" + at.state;
        case Qt::AccessibleTextRole: return at.text + ", " + at.state + (at.isDead ? ", dead" : "");
        case currentRole: return at.isNext;
        case struckRole: return at.isDead;
        case boldRole: return at.isBold;
        case toneRole: return static_cast<int>(at.isDead ? Tone::dead : at.isQuiet ? Tone::text3 : Tone::text);
        case stripeRole: return at.family >= 0 ? QVariant(at.family) : QVariant();
        default: return {};
        }
    }

private:
    std::unique_ptr<FlowNode> m_root;
};

class FramesPanel : public Panel {
    Q_OBJECT
public:
    explicit FramesPanel(Document& document) : Panel(document, "panelFrames", "Frames"), m_model(this)
    {
        auto* column = new QVBoxLayout(this);
        column->setContentsMargins(0, 0, 0, 0);
        m_view = new RowView("frameTree", "Frames and iterations");
        m_view->setTree(true);
        m_view->setModel(&m_model);
        m_view->setColumnWidths({86}, RowView::kOfNames);
        m_view->hideFiguresBelow(150);
        m_stack = new EmptyStack(m_view, this);
        column->addWidget(m_stack);
        connect(m_view, &QTreeView::collapsed, this,
                [this](const QModelIndex& index) { m_closed.insert(toText(m_model.node(index).address) + m_model.node(index).text); });
        connect(m_view, &QTreeView::expanded, this,
                [this](const QModelIndex& index) { m_closed.remove(toText(m_model.node(index).address) + m_model.node(index).text); });
        connect(m_view->selectionModel(), &QItemSelectionModel::currentRowChanged, this, [this](const QModelIndex& index) {
            if (m_showing || !index.isValid() || !m_model.node(index).isOperator) return;
            const std::string address = m_model.node(index).address;
            if (this->document().select(address)) this->document().reveal(address);
        });
        connect(m_view, &RowView::chosen, this, [this](const QModelIndex& index) {
            const std::string address = m_model.node(index).address;
            if (!address.empty()) this->document().perform(request::GoToPlace{address});
        });
        connect(&document, &Document::stopChanged, this, &FramesPanel::show);
        show();
    }
    QWidget* focusTarget() override { return m_view; }

private:
    void show()
    {
        m_showing = true;
        const auto stop = document().stop();
        m_model.setTree(frameTree(*stop, document().model()));
        if (!stop->started) m_stack->showEmpty("No run yet.", {{"Run (F5)", [this] { document().perform(request::Begin()); }}});
        else if (m_model.rowCount() == 0)
            m_stack->showEmpty("No frame is alive: the graph has finished.",
                               {{"Restart", [this] { document().perform(request::Begin()); }}});
        else m_stack->showContent();
        open({});
        m_showing = false;
    }
    void open(const QModelIndex& parent)
    {
        for (int row = 0; row < m_model.rowCount(parent); ++row) {
            const QModelIndex index = m_model.index(row, 0, parent);
            const FlowNode& node = m_model.node(index);
            if (!m_closed.contains(toText(node.address) + node.text)) m_view->expand(index);
            if (node.isNext) m_view->setCurrentIndex(index);
            open(index);
        }
    }

    FrameModel m_model;
    RowView* m_view = nullptr;
    EmptyStack* m_stack = nullptr;
    QSet<QString> m_closed;
    bool m_showing = false;
};

class TokenModel : public QAbstractTableModel {
    Q_OBJECT
public:
    explicit TokenModel(QObject* parent) : QAbstractTableModel(parent) {}
    void setRows(std::vector<FlowRow> rows)
    {
        beginResetModel();
        m_rows = std::move(rows);
        endResetModel();
    }
    const FlowRow& row(int index) const { return m_rows[static_cast<size_t>(index)]; }
    int rowCount(const QModelIndex& parent = {}) const override { return parent.isValid() ? 0 : static_cast<int>(m_rows.size()); }
    int columnCount(const QModelIndex& parent = {}) const override { return parent.isValid() ? 0 : 3; }
    QVariant data(const QModelIndex& index, int role) const override
    {
        if (!index.isValid()) return {};
        const FlowRow& at = row(index.row());
        const int column = index.column();
        const bool heading = !at.section.isEmpty();
        if (role == sectionRole) return heading;
        if (role == Qt::TextAlignmentRole && column > 0) return static_cast<int>(Qt::AlignRight | Qt::AlignVCenter);
        if (role == monoRole) return column > 0 && !heading;
        if (heading) {
            if (role == Qt::DisplayRole) return column == 0 ? at.section : column == 1 ? QString("Iteration") : at.sectionNote;
            return role == toneRole ? QVariant(static_cast<int>(Tone::text2)) : QVariant();
        }
        switch (role) {
        case Qt::DisplayRole:
            return column == 0 ? (at.number.isEmpty() ? QString() : at.number + "  ") + at.name : column == 1 ? at.iteration : at.has;
        case Qt::ToolTipRole:
            return toText(at.address) + (at.isWaiting ? "\nhas " + at.has + " inputs"
                                         : at.isDead  ? QString("\nready, will be dead")
                                                      : QString("\nready"));
        case Qt::AccessibleTextRole:
            return at.name + " " + at.iteration +
                   (at.isWaiting ? ", waits, has " + at.has
                    : at.isDead  ? QString(", ready, dead")
                                 : QString(", ready"));
        case currentRole: return column == 0 && at.isNext;
        case struckRole: return column == 0 && at.isDead;
        case stripeRole: return column == 0 && at.family >= 0 ? QVariant(at.family) : QVariant();
        case toneRole: return static_cast<int>(at.isDead ? Tone::dead : at.isWaiting || column > 0 ? Tone::text2 : Tone::text);
        default: return {};
        }
    }

private:
    std::vector<FlowRow> m_rows;
};

class TokensPanel : public Panel {
    Q_OBJECT
public:
    explicit TokensPanel(Document& document) : Panel(document, "panelTokens", "Tokens"), m_model(this)
    {
        auto* column = new QVBoxLayout(this);
        column->setContentsMargins(0, 0, 0, 0);
        m_view = new RowView("tokenTable", "Ready and waiting nodes");
        m_view->setModel(&m_model);
        m_view->setHeaderVisible(false);
        m_view->setColumnWidths({76, 64}, 0.5);
        column->setSpacing(0);
        m_stack = new EmptyStack(m_view, this);
        m_orders = new QWidget(this);
        auto* orders = new QHBoxLayout(m_orders);
        orders->setContentsMargins(8, 3, 8, 3);
        orders->setSpacing(6);
        m_label = new QLabel("order", m_orders);
        m_arrival = new Chip("first in, first out", m_orders);
        m_arrival->setObjectName("orderArrival");
        m_seeded = new Chip("seed 7", m_orders);
        m_seeded->setObjectName("orderSeed");
        for (Chip* const chip : {m_arrival, m_seeded}) {
            chip->setCheckable(true);
            chip->setToolTip("Begins the run anew in this order");
        }
        orders->addWidget(m_label);
        orders->addWidget(m_arrival);
        orders->addWidget(m_seeded);
        orders->addStretch(1);
        column->addWidget(m_stack, 1);
        column->addWidget(m_orders);
        connect(m_arrival, &QAbstractButton::clicked, this, [this] { reorder(0); });
        connect(m_seeded, &QAbstractButton::clicked, this, [this] { reorder(nextSeed()); });
        connect(m_view->selectionModel(), &QItemSelectionModel::currentRowChanged, this, [this](const QModelIndex& index) {
            if (m_showing || !index.isValid()) return;
            const std::string address = m_model.row(index.row()).address;
            if (!address.empty() && this->document().select(address)) this->document().reveal(address);
        });
        connect(m_view, &RowView::chosen, this, [this](const QModelIndex& index) {
            const std::string address = m_model.row(index.row()).address;
            if (!address.empty()) this->document().perform(request::Advance{address});
        });
        connect(&document, &Document::stopChanged, this, &TokensPanel::show);
        show();
    }
    QWidget* focusTarget() override { return m_view; }

private:
    /// Another seed each time, so that several orders are a click away each.
    uint64_t nextSeed()
    {
        const uint64_t now = document().stop()->scheduleSeed;
        return now == 0 ? 7 : now + 1;
    }
    void reorder(uint64_t seed)
    {
        document().perform(request::SetOrder{seed});
        document().perform(request::Begin{{}, false});
        showOrder();
    }
    void showOrder()
    {
        const StopSnapshot& stop = *document().stop();
        m_orders->setVisible(stop.isDataflow && !document().backend().isReplay());
        m_arrival->setChecked(stop.scheduleSeed == 0);
        m_seeded->setChecked(stop.scheduleSeed != 0);
        m_seeded->setText(stop.scheduleSeed == 0 ? QString("seed 7") : QString("seed %1, next %2").arg(stop.scheduleSeed).arg(nextSeed()));
        m_seeded->updateGeometry();
        m_label->setFont(Theme::instance().font(FontUse::body));
        m_label->setStyleSheet(QString("color: %1;").arg(themed(Token::text2).name()));
    }
    void show()
    {
        m_showing = true;
        const auto stop = document().stop();
        showOrder();
        m_model.setRows(tokenRows(*stop, document().model()));
        if (m_model.rowCount() > 0) m_stack->showContent();
        else if (!stop->started) m_stack->showEmpty("No run yet.", {{"Run (F5)", [this] { document().perform(request::Begin()); }}});
        else
            m_stack->showEmpty("No token is in flight: the graph has finished.",
                               {{"Restart", [this] { document().perform(request::Begin()); }}});
        m_showing = false;
    }
    TokenModel m_model;
    RowView* m_view = nullptr;
    EmptyStack* m_stack = nullptr;
    QWidget* m_orders = nullptr;
    QLabel* m_label = nullptr;
    Chip *m_arrival = nullptr, *m_seeded = nullptr;
    bool m_showing = false;
};

/// One operand or result of the node in view.
struct PortRow {
    QString port, value, link;
    bool isDead = false, isAbsent = false;
};

class PortModel : public QAbstractTableModel {
    Q_OBJECT
public:
    explicit PortModel(QObject* parent) : QAbstractTableModel(parent) {}
    void setRows(std::vector<PortRow> rows)
    {
        beginResetModel();
        m_rows = std::move(rows);
        endResetModel();
    }
    int rowCount(const QModelIndex& parent = {}) const override { return parent.isValid() ? 0 : static_cast<int>(m_rows.size()); }
    int columnCount(const QModelIndex& parent = {}) const override { return parent.isValid() ? 0 : 2; }
    QVariant data(const QModelIndex& index, int role) const override
    {
        if (!index.isValid()) return {};
        const PortRow& row = m_rows[static_cast<size_t>(index.row())];
        if (index.column() == 1) {
            if (role == Qt::DisplayRole) return toText(withoutRoot(row.link.toStdString()));
            if (role == addressRole && !row.link.isEmpty()) return row.link;
            if (role == Qt::TextAlignmentRole) return static_cast<int>(Qt::AlignRight | Qt::AlignVCenter);
            return role == monoRole ? QVariant(true) : QVariant();
        }
        switch (role) {
        case Qt::DisplayRole: return row.port + "   " + row.value;
        case Qt::ToolTipRole: return row.port + "   " + row.value + "\n" + row.link;
        case monoRole: return true;
        case toneRole: return static_cast<int>(row.isDead ? Tone::dead : row.isAbsent ? Tone::text3 : Tone::text);
        default: return {};
        }
    }

private:
    std::vector<PortRow> m_rows;
};

class OperatorPanel : public Panel {
    Q_OBJECT
public:
    explicit OperatorPanel(Document& document) : Panel(document, "panelOperator", "Operator"), m_model(this)
    {
        auto* column = new QVBoxLayout(this);
        column->setContentsMargins(0, 0, 0, 0);
        m_view = new RowView("operatorTable", "Operands and results of the operator");
        m_view->setModel(&m_model);
        m_view->setHeaderVisible(false);
        m_view->setColumnWidths({170});
        m_stack = new EmptyStack(m_view, this);
        column->addWidget(m_stack);
        connect(m_view, &RowView::linkClicked, this, [this](const QString& address) {
            const std::string at = this->document().atStop(address.toStdString());
            if (this->document().select(at)) this->document().reveal(at);
        });
        connect(&document, &Document::stopChanged, this, &OperatorPanel::show);
        connect(&document, &Document::selectionChanged, this, &OperatorPanel::show);
        connect(&document, &Document::frameChanged, this, &OperatorPanel::show);
        show();
    }
    QWidget* focusTarget() override { return m_view; }

private:
    void show()
    {
        ++m_shows;
        const auto stop = document().stop();
        Selection at = document().selection();
        if (!at.op.valid() && stop->started && !stop->finished) {
            at.graph = stop->position.graph;
            at.op = stop->position.op;
        }
        if (!at.op.valid() || !at.graph.valid()) {
            setTitle("Operator");
            m_stack->showEmpty("Select a node in the graph, the listing or a table.");
            return;
        }
        m_stack->showContent();
        const Graph& graph = document().model().graph(at.graph);
        const Operator& op = graph.op(at.op);
        setTitle(op.name.empty() ? QString("Operator") : toText(op.kind.name + "  " + op.name));
        // The frame that holds the node, if one is open.
        int depth = -1;
        for (int d = static_cast<int>(stop->stack.size()) - 1; d >= 0 && depth < 0; --d)
            if (stop->stack[static_cast<size_t>(d)].info.graph == at.graph) depth = d;
        if (document().frame() >= 0 && document().frame() < static_cast<int>(stop->stack.size()) &&
            stop->stack[static_cast<size_t>(document().frame())].info.graph == at.graph)
            depth = document().frame();
        if (depth < 0 || !stop->started) {
            m_model.setRows(rowsOf(document().model(), at, [](ValueId, PortRow&) {}));
            return;
        }
        document().bridge().ask(
            this, "operator",
            [at, depth, tick = stop->tick](Inspector& inspector) {
                if (inspector.tick() != tick) return std::vector<PortRow>();
                const DataflowView* const dataflow = inspector.dataflow();
                return rowsOf(inspector.model(), at, [&](ValueId id, PortRow& row) {
                    const Tensor* tensor = inspector.value(depth, id);
                    row.isDead = dataflow != nullptr && dataflow->isDead(depth, id);
                    if (tensor != nullptr && tensor->data != nullptr)
                        row.value += " = " + toText(firstElements(*tensor).text).replace('-', QChar(0x2212));
                    else if (row.isDead) row.value += ", dead";
                    else if (row.value.isEmpty() || inspector.model().graph(at.graph).value(id).role != ValueRole::constant) {
                        row.value += ", not yet";
                        row.isAbsent = true;
                    }
                });
            },
            [this, show = m_shows](std::vector<PortRow> rows) {
                if (show == m_shows) m_model.setRows(std::move(rows)); // else another node is in view by now
            });
    }

    template <typename Fill> static std::vector<PortRow> rowsOf(const Model& model, const Selection& at, Fill fill)
    {
        std::vector<PortRow> rows;
        const Graph& graph = model.graph(at.graph);
        const Operator& op = graph.op(at.op);
        const auto add = [&](const QString& port, ValueId id, bool isResult) {
            PortRow row;
            row.port = port;
            if (id.valid()) {
                const Value& value = graph.value(id);
                row.value = toText(std::string(dtypeName(value.type.dtype)) + toString(value.type.dynamicShape()));
                OperatorId other = isResult ? OperatorId() : value.producer;
                for (size_t o = 0; isResult && o < graph.operators.size() && !other.valid(); ++o)
                    for (const ValueId in : graph.operators[o].inputs)
                        if (in == id) other = OperatorId(static_cast<int64_t>(o));
                if (other.valid()) row.link = toText(graph.id + "/" + addressSite(graph.op(other), other.index));
                fill(id, row);
            }
            rows.push_back(std::move(row));
        };
        for (size_t i = 0; i < op.inputs.size(); ++i) add(QString("in %1").arg(i), op.inputs[i], false);
        for (size_t i = 0; i < op.results.size(); ++i) add(QString("out %1").arg(i), op.results[i], true);
        for (const OperatorId control : op.controlInputs)
            rows.push_back({"waits for", "", toText(graph.id + "/" + addressSite(graph.op(control), control.index)), false, false});
        return rows;
    }

    PortModel m_model;
    RowView* m_view = nullptr;
    EmptyStack* m_stack = nullptr;
    uint64_t m_shows = 0; ///< counts what was shown
};

} // namespace

Panel* makeFramesPanel(Document& document) { return new FramesPanel(document); }

Panel* makeTokensPanel(Document& document) { return new TokensPanel(document); }

Panel* makeOperatorPanel(Document& document) { return new OperatorPanel(document); }

} // namespace loopscope::viewer

#include "dataflow_panels.moc"
