#include "viewer/canvas/canvas_accessible.h"

#include "viewer/canvas/canvas_description.h"
#include "viewer/canvas/graph_canvas.h"

#include <QAccessible>
#include <QAccessibleWidget>

#include <algorithm>

namespace loopscope::viewer {

namespace {

class CanvasAccessible;

/// One painted node. Lives as long as the canvas' interface; a node that a new scene lacks is invalid.
class NodeAccessible : public QAccessibleInterface, public QAccessibleActionInterface {
public:
    NodeAccessible(GraphCanvas& canvas, std::string id) : m_canvas(&canvas), m_id(std::move(id)) {}

    int node() const { return m_canvas && m_canvas->scene() ? m_canvas->scene()->findNode(m_id) : -1; }
    bool isValid() const override { return node() >= 0; }
    QObject* object() const override { return nullptr; }
    QWindow* window() const override { return m_canvas ? m_canvas->window()->windowHandle() : nullptr; }
    QAccessibleInterface* parent() const override { return QAccessible::queryAccessibleInterface(m_canvas.data()); }
    QAccessibleInterface* child(int) const override { return nullptr; }
    QAccessibleInterface* childAt(int, int) const override { return nullptr; }
    int childCount() const override { return 0; }
    int indexOfChild(const QAccessibleInterface*) const override { return -1; }
    QString text(QAccessible::Text kind) const override
    {
        return kind == QAccessible::Name && isValid() ? accessibleText(*m_canvas, node()) : QString();
    }
    void setText(QAccessible::Text, const QString&) override {}
    QRect rect() const override
    {
        if (!isValid()) return {};
        const QRect box = m_canvas->camera().nodeRect(node()).toAlignedRect();
        return {m_canvas->mapToGlobal(box.topLeft()), box.size()};
    }
    QAccessible::Role role() const override { return QAccessible::Graphic; }
    QAccessible::State state() const override
    {
        QAccessible::State state;
        if (!isValid()) {
            state.invalid = true;
            return state;
        }
        state.focusable = state.selectable = true;
        state.selected = m_canvas->selection().node() == node();
        state.focused = state.selected && m_canvas->hasFocus();
        return state;
    }
    QList<std::pair<QAccessibleInterface*, QAccessible::Relation>> relations(QAccessible::Relation match) const override;
    void* interface_cast(QAccessible::InterfaceType type) override
    {
        return type == QAccessible::ActionInterface ? static_cast<QAccessibleActionInterface*>(this) : nullptr;
    }
    QStringList actionNames() const override { return {QStringLiteral("open"), QStringLiteral("break"), QStringLiteral("inspect")}; }
    void doAction(const QString& name) override
    {
        const int at = node();
        if (at < 0) return;
        m_canvas->selection().select({m_id});
        emit m_canvas->selection().edited();
        if (name == QLatin1String("open")) m_canvas->commands().perform(QStringLiteral("drillIn"));
        if (name == QLatin1String("break")) emit m_canvas->breakpointRequested(QString::fromStdString(m_id));
    }
    QStringList keyBindingsForAction(const QString& name) const override
    {
        if (name == QLatin1String("open")) return {QStringLiteral("Return")};
        if (name == QLatin1String("break")) return {QStringLiteral("F9")};
        return {};
    }

private:
    QPointer<GraphCanvas> m_canvas;
    std::string m_id;
};

class CanvasAccessible : public QAccessibleWidget {
public:
    explicit CanvasAccessible(GraphCanvas* canvas)
        : QAccessibleWidget(canvas, QAccessible::Graphic, canvas->accessibleName()),
          m_canvas(canvas)
    {
    }
    ~CanvasAccessible() override
    {
        for (const auto& [id, key] : m_children) QAccessible::deleteAccessibleInterface(key);
    }

    int childCount() const override { return static_cast<int>(nodes().size()); }
    QAccessibleInterface* child(int index) const override
    {
        const std::vector<int> all = nodes();
        return index >= 0 && static_cast<size_t>(index) < all.size() ? childFor(all[static_cast<size_t>(index)]) : nullptr;
    }
    QAccessibleInterface* childAt(int x, int y) const override
    {
        const int node = m_canvas->nodeAt(m_canvas->mapFromGlobal(QPoint(x, y)));
        return node < 0 ? nullptr : childFor(node);
    }
    int indexOfChild(const QAccessibleInterface* child) const override
    {
        const std::vector<int> all = nodes();
        for (size_t i = 0; i < all.size(); ++i)
            if (childFor(all[i]) == child) return static_cast<int>(i);
        return -1;
    }
    QAccessibleInterface* focusChild() const override
    {
        return m_canvas->selection().node() < 0 ? nullptr : childFor(m_canvas->selection().node());
    }
    int indexOfNode(int node) const
    {
        const std::vector<int> all = nodes();
        const auto it = std::ranges::find(all, node);
        return it == all.end() ? -1 : static_cast<int>(it - all.begin());
    }
    QAccessibleInterface* childFor(int node) const
    {
        const std::string& id = m_canvas->scene()->nodes[static_cast<size_t>(node)].id;
        const auto it = m_children.find(id);
        if (it != m_children.end()) return QAccessible::accessibleInterface(it->second);
        auto* made = new NodeAccessible(*m_canvas, id);
        m_children.emplace(id, QAccessible::registerAccessibleInterface(made));
        return made;
    }

private:
    /// In view, and the current one wherever it is.
    std::vector<int> nodes() const
    {
        std::vector<int> all = m_canvas->camera().visibleNodes();
        const int current = m_canvas->selection().node();
        if (current >= 0 && std::ranges::find(all, current) == all.end()) all.push_back(current);
        return all;
    }
    GraphCanvas* m_canvas;
    mutable std::unordered_map<std::string, QAccessible::Id> m_children;
};

QList<std::pair<QAccessibleInterface*, QAccessible::Relation>> NodeAccessible::relations(QAccessible::Relation match) const
{
    QList<std::pair<QAccessibleInterface*, QAccessible::Relation>> found;
    auto* parent = dynamic_cast<CanvasAccessible*>(this->parent());
    const int at = node();
    if (!parent || at < 0) return found;
    const Scene& scene = *m_canvas->scene();
    for (const SceneEdge& edge : scene.edges) {
        // Data flows: what comes before controls, what comes after is controlled.
        if (edge.to == at && edge.from >= 0 && (match & QAccessible::Controlled))
            found.append({parent->childFor(edge.from), QAccessible::Controlled});
        if (edge.from == at && edge.to >= 0 && (match & QAccessible::Controller))
            found.append({parent->childFor(edge.to), QAccessible::Controller});
    }
    return found;
}

QAccessibleInterface* make(const QString&, QObject* object)
{
    auto* canvas = qobject_cast<GraphCanvas*>(object);
    return canvas ? new CanvasAccessible(canvas) : nullptr;
}

} // namespace

void installCanvasAccessibility(GraphCanvas& canvas)
{
    static const bool once = (QAccessible::installFactory(make), true);
    Q_UNUSED(once)
    if (!QAccessible::isActive()) return;
    QAccessibleInterface* const known = QAccessible::queryAccessibleInterface(&canvas);
    if (known != nullptr && dynamic_cast<CanvasAccessible*>(known) == nullptr)
        QAccessible::deleteAccessibleInterface(QAccessible::uniqueId(known));
}

void announceFocus(GraphCanvas& canvas, int node)
{
    if (!QAccessible::isActive()) return;
    auto* parent = dynamic_cast<CanvasAccessible*>(QAccessible::queryAccessibleInterface(&canvas));
    if (!parent) return;
    QAccessibleEvent event(&canvas, QAccessible::Focus);
    event.setChild(parent->indexOfNode(node));
    QAccessible::updateAccessibility(&event);
}

} // namespace loopscope::viewer
