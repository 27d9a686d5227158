// Structure and subgraphs: the operators of a graph by groups, and the graphs of the model.
#include "engine/base/text.h"
#include "engine/ir/ids.h"
#include "viewer/panels/common.h"
#include "viewer/panels/panels.h"
#include "viewer/scene/op_groups.h"
#include "viewer/scene/search.h"
#include "viewer/style/icons.h"
#include "viewer/widgets/parts.h"

#include <QVBoxLayout>

#include <algorithm>

namespace loopscope::viewer {

namespace {

OpGroups groupsOf(const Graph& graph)
{
    OpGroups groups;
    groups.groupOf.assign(graph.operators.size(), -1);
    if (hasFramesOrSwitches(graph)) groups = frameGroups(graph, analyzeFrames(graph));
    addNameGroups(graph, groups);
    return groups;
}

/// Groups and operators of one graph, as the canvas folds them.
class StructureModel : public QAbstractItemModel {
    Q_OBJECT
public:
    StructureModel(const Model& model, QObject* parent) : QAbstractItemModel(parent), m_model(model) {}

    void setGraph(GraphId graph, const std::string& address)
    {
        beginResetModel();
        m_graph = graph;
        m_address = address;
        m_nodes.clear();
        m_nodeOf.clear();
        if (m_model.hasGraph(graph)) {
            const Graph& of = m_model.graph(graph);
            const OpGroups groups = groupsOf(of);
            m_nodes.push_back({-1, -1, OperatorId(), toText(address), {}, static_cast<int64_t>(of.operators.size()), ""});
            for (const OpGroup& group : groups.groups) {
                const int parent = group.parent < 0 ? 0 : group.parent + 1;
                m_nodes.push_back(
                    {parent, 0, OperatorId(), toText(group.name), {}, static_cast<int64_t>(group.members.size()), group.note});
            }
            m_nodeOf.resize(of.operators.size());
            const auto first = static_cast<int>(m_nodes.size());
            for (size_t o = 0; o < of.operators.size(); ++o) {
                const int group = o < groups.groupOf.size() ? groups.groupOf[o] : -1;
                m_nodeOf[o] = static_cast<int>(m_nodes.size());
                m_nodes.push_back({group < 0 ? 0 : group + 1,
                                   0,
                                   OperatorId(static_cast<int64_t>(o)),
                                   toText(operatorLabel(of.operators[o], static_cast<int64_t>(o))),
                                   {},
                                   0,
                                   ""});
            }
            // In order of the first operator that lies in them.
            std::vector<bool> placed(m_nodes.size());
            for (int node = first; node < static_cast<int>(m_nodes.size()); ++node) {
                std::vector<int> way;
                for (int at = node; at > 0 && !placed[static_cast<size_t>(at)]; at = m_nodes[static_cast<size_t>(at)].parent)
                    way.push_back(at);
                for (size_t i = way.size(); i-- > 0;) {
                    Node& one = m_nodes[static_cast<size_t>(way[i])];
                    placed[static_cast<size_t>(way[i])] = true;
                    one.row = static_cast<int>(m_nodes[static_cast<size_t>(one.parent)].children.size());
                    m_nodes[static_cast<size_t>(one.parent)].children.push_back(way[i]);
                }
            }
        }
        endResetModel();
    }
    GraphId graph() const { return m_graph; }
    const std::string& address() const { return m_address; }
    std::string addressOf(const QModelIndex& index) const
    {
        const Node& node = at(index);
        return node.op.valid() ? m_address + "/" + addressSite(m_model.graph(m_graph).op(node.op), node.op.index) : std::string();
    }
    QModelIndex indexOf(OperatorId op) const
    {
        if (!op.valid() || static_cast<size_t>(op.index) >= m_nodeOf.size()) return {};
        const int node = m_nodeOf[static_cast<size_t>(op.index)];
        return createIndex(m_nodes[static_cast<size_t>(node)].row, 0, static_cast<quintptr>(node));
    }

    QModelIndex index(int row, int column, const QModelIndex& parent = {}) const override
    {
        if (row < 0 || column < 0 || column > 1 || m_nodes.empty()) return {};
        if (!parent.isValid()) return row == 0 ? createIndex(0, column, quintptr{0}) : QModelIndex();
        const Node& node = at(parent);
        if (parent.column() != 0 || row >= static_cast<int>(node.children.size())) return {};
        return createIndex(row, column, static_cast<quintptr>(node.children[static_cast<size_t>(row)]));
    }
    QModelIndex parent(const QModelIndex& child) const override
    {
        if (!child.isValid() || at(child).parent < 0) return {};
        const int up = at(child).parent;
        return createIndex(m_nodes[static_cast<size_t>(up)].row < 0 ? 0 : m_nodes[static_cast<size_t>(up)].row, 0,
                           static_cast<quintptr>(up));
    }
    int rowCount(const QModelIndex& parent = {}) const override
    {
        if (!parent.isValid()) return m_nodes.empty() ? 0 : 1;
        return parent.column() == 0 ? static_cast<int>(at(parent).children.size()) : 0;
    }
    int columnCount(const QModelIndex& = {}) const override { return 2; }
    QVariant headerData(int section, Qt::Orientation orientation, int role) const override
    {
        if (orientation != Qt::Horizontal) return {};
        if (role == Qt::TextAlignmentRole && section == 1) return static_cast<int>(Qt::AlignRight);
        return role == Qt::DisplayRole ? QVariant(section == 0 ? "Group" : "Ops") : QVariant();
    }
    QVariant data(const QModelIndex& index, int role) const override
    {
        if (!index.isValid()) return {};
        const Node& node = at(index);
        const bool top = node.parent < 0;
        if (index.column() == 1) {
            if (role == Qt::DisplayRole)
                return node.op.valid() ? QString()
                                       : toText(groupThousands(node.operators)) + (!top                  ? ""
                                                                                   : node.operators == 1 ? " op"
                                                                                                         : " ops");
            if (role == Qt::TextAlignmentRole) return static_cast<int>(Qt::AlignRight | Qt::AlignVCenter);
            return role == monoRole ? QVariant(true) : role == toneRole ? QVariant(static_cast<int>(Tone::text3)) : QVariant();
        }
        switch (role) {
        case Qt::DisplayRole: return node.name;
        case boldRole: return top;
        case stripeRole:
            return node.op.valid() ? QVariant(static_cast<int>(familyOf(m_model.graph(m_graph).op(node.op).kind))) : QVariant();
        case Qt::ToolTipRole: {
            if (node.op.valid()) {
                const std::string_view family = familyName(familyOf(m_model.graph(m_graph).op(node.op).kind));
                return toText(addressOf(index)) + "\n" + toText(family);
            }
            return node.name + ", " + counted(node.operators, "operator") + (node.note.empty() ? QString() : ", " + toText(node.note));
        }
        default: return {};
        }
    }

private:
    struct Node {
        int parent = -1, row = 0;
        OperatorId op;
        QString name;
        std::vector<int> children;
        int64_t operators = 0;
        std::string note;
    };
    const Node& at(const QModelIndex& index) const { return m_nodes[index.internalId()]; }

    const Model& m_model;
    GraphId m_graph;
    std::string m_address;
    std::vector<Node> m_nodes; ///< the graph, its groups, its operators
    std::vector<int> m_nodeOf; ///< operator → node
};

class StructurePanel : public Panel {
    Q_OBJECT
public:
    explicit StructurePanel(Document& document) : Panel(document, "panelStructure", "Structure"), m_model(document.model(), this)
    {
        auto* column = new QVBoxLayout(this);
        column->setContentsMargins(0, 0, 0, 0);
        m_view = new RowView("structureTree", "Structure");
        m_view->setTree(true);
        m_view->setModel(&m_model);
        m_view->setColumnWidths({76}, RowView::kOfNames);
        m_stack = new EmptyStack(m_view, this);
        column->addWidget(m_stack);
        connect(m_view->selectionModel(), &QItemSelectionModel::currentRowChanged, this, [this](const QModelIndex& index) {
            if (m_own || !index.isValid()) return;
            const std::string address = m_model.addressOf(index);
            if (address.empty()) return;
            m_own = true;
            this->document().select(address);
            m_own = false;
        });
        connect(m_view, &RowView::chosen, this, [this](const QModelIndex& index) {
            const std::string address = m_model.addressOf(index);
            if (address.empty()) m_view->setExpanded(index, !m_view->isExpanded(index));
            else this->document().reveal(address);
        });
        connect(&document, &Document::viewChanged, this, &StructurePanel::show);
        connect(&document, &Document::selectionChanged, this, &StructurePanel::follow);
        show();
        follow();
    }
    QWidget* focusTarget() override { return m_view; }

private:
    void show()
    {
        const Result<Address> root = parseAddress(document().view().root);
        const Result<ResolvedAddress> place =
            root.ok() ? resolveAddress(document().model(), *root) : Result<ResolvedAddress>(ResolvedAddress());
        GraphId graph = place.ok() ? place->graph : GraphId();
        std::string address = document().view().root;
        if (!graph.valid() && !document().model().graphs.empty()) {
            graph = GraphId(0);
            address = document().model().graphs.front().id;
        }
        load(graph, address);
    }

    void load(GraphId graph, const std::string& address)
    {
        if (graph == m_model.graph() && address == m_model.address() && m_model.rowCount() > 0) return;
        m_model.setGraph(graph, address);
        m_view->expand(m_model.index(0, 0));
        if (!graph.valid() || document().model().graph(graph).operators.empty())
            m_stack->showEmpty("This subgraph has no operators; it returns its arguments.");
        else m_stack->showContent();
    }

    void follow()
    {
        const Selection& selection = document().selection();
        if (m_own || !selection.op.valid() || selection.graph != m_model.graph()) return;
        m_own = true;
        const QModelIndex index = m_model.indexOf(selection.op);
        m_view->setCurrentIndex(index);
        m_view->scrollTo(index);
        m_own = false;
    }

    StructureModel m_model;
    RowView* m_view = nullptr;
    EmptyStack* m_stack = nullptr;
    bool m_own = false;
};

class SubgraphModel : public QAbstractTableModel {
    Q_OBJECT
public:
    SubgraphModel(const Model& model, QObject* parent) : QAbstractTableModel(parent), m_model(model) {}
    int rowCount(const QModelIndex& parent = {}) const override { return parent.isValid() ? 0 : static_cast<int>(m_model.graphs.size()); }
    int columnCount(const QModelIndex& parent = {}) const override { return parent.isValid() ? 0 : 2; }
    QVariant headerData(int section, Qt::Orientation orientation, int role) const override
    {
        if (orientation != Qt::Horizontal) return {};
        if (role == Qt::TextAlignmentRole && section == 1) return static_cast<int>(Qt::AlignRight);
        return role == Qt::DisplayRole ? QVariant(section == 0 ? "Subgraph" : "Ops") : QVariant();
    }
    QVariant data(const QModelIndex& index, int role) const override
    {
        if (!index.isValid()) return {};
        const Graph& graph = m_model.graphs[static_cast<size_t>(index.row())];
        if (index.column() == 1) {
            if (role == Qt::DisplayRole) return toText(groupThousands(static_cast<int64_t>(graph.operators.size())));
            if (role == Qt::TextAlignmentRole) return static_cast<int>(Qt::AlignRight | Qt::AlignVCenter);
            return role == monoRole ? QVariant(true) : role == toneRole ? QVariant(static_cast<int>(Tone::text3)) : QVariant();
        }
        switch (role) {
        case Qt::DisplayRole: return toText(graph.id);
        case chipRole: {
            for (const Signature& signature : m_model.signatures)
                if (signature.graph.index == index.row()) return toText(signature.key);
            return {};
        }
        case Qt::ToolTipRole:
            return QString("%1, %2 in, %3 out%4")
                .arg(counted(static_cast<qint64>(graph.operators.size()), "operator"))
                .arg(graph.inputs.size())
                .arg(graph.outputs.size())
                .arg(graph.name.empty() ? QString() : "\n" + toText(graph.name));
        case iconRole: return "graph";
        case iconToneRole: return static_cast<int>(Tone::text2);
        case toneRole: return static_cast<int>(graph.operators.empty() ? Tone::text3 : Tone::text);
        default: return {};
        }
    }

private:
    const Model& m_model;
};

class SubgraphsPanel : public Panel {
    Q_OBJECT
public:
    explicit SubgraphsPanel(Document& document)
        : Panel(document, "panelSubgraphs", QString("Subgraphs %1").arg(document.model().graphs.size())),
          m_model(document.model(), this)
    {
        auto* column = new QVBoxLayout(this);
        column->setContentsMargins(0, 0, 0, 0);
        m_view = new RowView("subgraphTable", "Subgraphs");
        m_view->setModel(&m_model);
        m_view->setColumnWidths({60}, RowView::kOfNames);
        column->addWidget(m_view);
        connect(m_view, &RowView::chosen, this, &SubgraphsPanel::open);
        connect(m_view, &QAbstractItemView::clicked, this, &SubgraphsPanel::open);
        const Model& model = document.model();
        m_work.run([&model](std::stop_token stop) { return SearchIndex::build(model, stop); },
                   [this](std::shared_ptr<const SearchIndex> index) {
                       m_index = std::move(index);
                       open(std::exchange(m_chosen, QPersistentModelIndex()));
                   });
    }
    QWidget* focusTarget() override { return m_view; }

private:
    void open(const QModelIndex& index)
    {
        if (!m_index) m_chosen = index;
        if (!m_index || !index.isValid()) return;
        ViewState view = document().view();
        view.root = m_index->addressOf(GraphId(index.row()));
        document().setView(std::move(view));
    }
    SubgraphModel m_model;
    RowView* m_view = nullptr;
    std::shared_ptr<const SearchIndex> m_index; ///< knows the way to each graph
    QPersistentModelIndex m_chosen;             ///< before the index was there
    Background m_work;
};

} // namespace

Panel* makeStructurePanel(Document& document) { return new StructurePanel(document); }

Panel* makeSubgraphsPanel(Document& document) { return new SubgraphsPanel(document); }

} // namespace loopscope::viewer

#include "structure_panel.moc"
