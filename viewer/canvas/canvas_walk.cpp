#include "viewer/canvas/canvas_walk.h"

#include "viewer/bridge/text.h"
#include "viewer/canvas/graph_canvas.h"

#include <QMenu>

#include <algorithm>
#include <cmath>

namespace loopscope::viewer {

CanvasWalk::CanvasWalk(GraphCanvas& canvas) : m_canvas(canvas), m_picture(canvas.picture()) {}

void CanvasWalk::walk(int key)
{
    if (!m_picture.indexed || m_picture.scene()->nodes.empty()) return;
    const int node = m_canvas.selection().node();
    if (node < 0) return step(1);
    if (m_picture.view.leftToRight) // the flow goes right, siblings lie above and below
        key = key == Qt::Key_Right ? Qt::Key_Down : key == Qt::Key_Left ? Qt::Key_Up : key == Qt::Key_Down ? Qt::Key_Right : Qt::Key_Left;
    const bool isAlong = key == Qt::Key_Up || key == Qt::Key_Down;
    arriveAt(isAlong ? alongFlow(node, key == Qt::Key_Down) : beside(node, key == Qt::Key_Right));
}

/// The nearest producer or consumer; −1: none.
int CanvasWalk::alongFlow(int node, bool down) const
{
    const Rect& at = m_picture.node(node).rect;
    int best = -1;
    double least = 1e300;
    for (const int edge : down ? m_picture.index().outOf(node) : m_picture.index().into(node)) {
        const SceneEdge& one = m_picture.edge(edge);
        const int other = down ? one.to : one.from;
        if (other < 0 || other == node) continue;
        const Rect& r = m_picture.node(other).rect;
        const double distance = std::abs(r.center().x - at.center().x) + 0.5 * std::abs(r.center().y - at.center().y);
        if (distance >= least) continue;
        least = distance;
        best = other;
    }
    return best;
}

/// The nearest node at the same height; −1: none.
int CanvasWalk::beside(int node, bool right) const
{
    const Rect& at = m_picture.node(node).rect;
    int best = -1;
    double least = 1e300;
    for (size_t i = 0; i < m_picture.scene()->nodes.size(); ++i) {
        const SceneNode& one = m_picture.scene()->nodes[i];
        if (static_cast<int>(i) == node || one.kind == NodeKind::actual) continue;
        const double dx = one.rect.center().x - at.center().x;
        const double dy = std::abs(one.rect.center().y - at.center().y);
        if ((right ? dx : -dx) <= 0 || dy > at.height) continue;
        const double distance = std::abs(dx) + 4 * dy;
        if (distance >= least) continue;
        least = distance;
        best = static_cast<int>(i);
    }
    return best;
}

void CanvasWalk::arriveAt(int node)
{
    if (node < 0) return;
    m_canvas.selection().setCurrent(node);
    m_canvas.reveal(m_picture.node(node).id);
}

void CanvasWalk::step(int by)
{
    if (!m_picture.indexed || m_picture.scene()->nodes.empty()) return;
    const int count = static_cast<int>(m_picture.scene()->nodes.size());
    int node = m_canvas.selection().node();
    if (node < 0 && m_canvas.selection().region() >= 0) {
        node = firstNodeOf(m_canvas.selection().region());
        if (node < 0) return;
    } else if (node < 0) {
        node = by > 0 ? 0 : count - 1;
    } else {
        do node += by;
        while (node >= 0 && node < count && m_picture.node(node).kind == NodeKind::actual);
        if (node < 0 || node >= count) return;
    }
    arriveAt(node);
}

/// The first node in the head's region, in listing order: where keys go on from a head.
int CanvasWalk::firstNodeOf(int region) const
{
    for (size_t i = 0; i < m_picture.scene()->nodes.size(); ++i) {
        if (m_picture.scene()->nodes[i].kind == NodeKind::actual) continue;
        for (int around = m_picture.scene()->nodes[i].region; around >= 0; around = m_picture.region(around).parent)
            if (around == region) return static_cast<int>(i);
    }
    return -1;
}

void CanvasWalk::follow(bool toConsumer)
{
    const int node = m_canvas.selection().node();
    if (node < 0) return;
    if (!toConsumer) {
        const std::vector<int>& into = m_picture.index().into(node);
        const auto found = std::ranges::find_if(into, [&](int e) { return m_picture.edge(e).from >= 0; });
        if (found == into.end()) return;
        m_consumerFrom.clear();
        arriveAt(m_picture.edge(*found).from);
    } else {
        // Again from a consumer reached this way: the next one of the same producer.
        int from = node;
        const int before = m_consumerFrom.empty() ? -1 : m_picture.scene()->findNode(m_consumerFrom);
        if (before >= 0) {
            const std::vector<int>& out = m_picture.index().outOf(before);
            const bool cameFromThere = std::ranges::any_of(out, [&](int e) { return m_picture.edge(e).to == node; });
            if (cameFromThere && out.size() > 1) from = before;
        }
        if (from == node) {
            m_consumerFrom = m_picture.node(node).id;
            m_consumerIndex = 0;
        } else {
            ++m_consumerIndex;
        }
        const std::vector<int>& out = m_picture.index().outOf(from);
        if (out.empty()) return;
        arriveAt(m_picture.edge(out[m_consumerIndex % out.size()]).to);
    }
}

void CanvasWalk::goTo(int node)
{
    if (node < 0) return;
    m_canvas.selection().setCurrent(node);
    m_canvas.reveal(m_picture.node(node).id, true);
}

int CanvasWalk::portalOf(int node) const
{
    if (node < 0) return -1;
    for (const auto* edges : {&m_picture.index().outOf(node), &m_picture.index().into(node)})
        for (const int edge : *edges)
            if (m_picture.edge(edge).portal) return edge;
    return -1;
}

bool CanvasWalk::showEnds(int edge, QPointF at)
{
    const std::vector<int> net = m_picture.index().netOf(edge);
    if (net.size() < 2) return false;
    auto* const menu = new QMenu(&m_canvas);
    menu->setObjectName(QStringLiteral("portalEnds"));
    menu->setAttribute(Qt::WA_DeleteOnClose);
    const auto add = [&](int node, const QString& what) {
        const SceneNode& one = m_picture.node(node);
        const std::string id = one.id;
        const QString text = shownName(one) + toText(one.index) + QLatin1Char('\t') + what;
        connect(menu->addAction(text), &QAction::triggered, this, [this, id] { goTo(m_picture.scene()->findNode(id)); });
    };
    const SceneEdge& first = m_picture.edge(edge);
    if (first.from >= 0) add(first.from, tr("from"));
    menu->addSeparator();
    for (const int other : net) add(m_picture.edge(other).to, tr("to"));
    menu->popup(m_canvas.mapToGlobal(at.toPoint()));
    return true;
}

} // namespace loopscope::viewer
