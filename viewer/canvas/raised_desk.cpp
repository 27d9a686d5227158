#include "viewer/canvas/raised_desk.h"

#include "engine/ir/frames.h"
#include "engine/observe/address_origin.h"
#include "viewer/bridge/text.h"
#include "viewer/canvas/raised_state.h"

#include <algorithm>
#include <limits>

namespace loopscope::viewer {

namespace {

constexpr size_t kAtOnce = 20'000; ///< nodes of a graph that is raised without being asked for

} // namespace

RaisedDesk& RaisedDesk::of(Document& document)
{
    if (auto* const made = document.findChild<RaisedDesk*>({}, Qt::FindDirectChildrenOnly)) return *made;
    return *new RaisedDesk(document);
}

RaisedDesk::RaisedDesk(Document& document) : QObject(&document), m_document(document)
{
    const Model& model = document.model();
    if (model.dialect != Dialect::tf || document.bridge().isReplay() || std::ranges::none_of(model.graphs, hasFramesOrSwitches)) return;
    m_stage = Stage::waiting;
    size_t nodes = 0;
    for (const Graph& graph : model.graphs) nodes += graph.operators.size();
    if (nodes <= kAtOnce) raise();
}

void RaisedDesk::raise()
{
    if (m_stage != Stage::waiting) return;
    m_stage = Stage::working;
    m_work.run([backend = &m_document.backend()](const std::stop_token&) { return backend->raised(); },
               [this](const Result<std::shared_ptr<const RaisedModel>>& raised) {
                   m_stage = raised.ok() ? Stage::ready : Stage::failed;
                   if (raised.ok()) m_raised = *raised;
                   else m_problem = toText(raised.error().message());
                   tell();
                   emit changed();
               });
    emit changed();
}

/// Everything that stays is a problem with its node and the rule that it breaks.
void RaisedDesk::tell()
{
    if (!m_raised) return m_document.report({Problem::Severity::warning, "not raised: " + m_problem.toStdString(), {}, {}});
    for (const RaisedModel::Left& left : m_raised->left())
        m_document.report({Problem::Severity::warning, "not raised: " + left.reason, left.address.empty() ? left.node : left.address,
                           "it runs as it is; what is around it is raised"});
}

std::string RaisedDesk::raisedAddress(const std::string& node) const
{
    if (!m_raised) return {};
    const Result<Address> address = parseAddress(staticAddress(node));
    const std::optional<Address> there = address.ok() ? throughOrigin(m_raised->model(), *address) : std::nullopt;
    return there ? staticAddress(toString(*there)) : std::string();
}

void RaisedDesk::follow(QPointer<GraphCanvas>& which, GraphCanvas* canvas)
{
    which = canvas;
    connect(canvas, &GraphCanvas::viewportChanged, this, [this, canvas] {
        GraphCanvas* const other = canvas == m_dataflow ? m_picture : m_dataflow;
        if (other != nullptr && other->isVisible() && canvas->isVisible()) place(*canvas, *other);
    });
}

int RaisedDesk::partnerIn(const GraphCanvas& from, int node, const GraphCanvas& to) const
{
    const SceneNode& shown = from.scene()->nodes[static_cast<size_t>(node)];
    const bool fromV1 = &from == m_dataflow;
    if (shown.kind == NodeKind::op) {
        const std::optional<ModelPlace> place =
            fromV1 ? m_raised->raisedOf(shown.graph, shown.op) : m_raised->nodeOf({shown.graph, shown.op, shown.value});
        return place ? nodeOfPlace(*to.scene(), *place) : -1;
    }
    return -1;
}

/// The node nearest to the middle of one picture that has a partner in the other: the partner comes to the same place.
void RaisedDesk::place(const GraphCanvas& from, GraphCanvas& to)
{
    if (!m_isLinked || m_isPlacing || !m_raised || !from.scene() || !to.scene() || from.camera().isFitted()) return;
    const QPointF middle = QRectF(from.rect()).center();
    int best = -1, partner = -1;
    double least = std::numeric_limits<double>::max();
    for (const int node : from.camera().visibleNodes()) {
        const QPointF away = from.camera().nodeRect(node).center() - middle;
        const double distance = away.x() * away.x() + away.y() * away.y();
        if (distance >= least) continue;
        if (const int other = partnerIn(from, node, to); other >= 0) {
            least = distance;
            best = node;
            partner = other;
        }
    }
    if (best < 0) return;
    m_isPlacing = true;
    const QPointF shift = from.camera().nodeRect(best).center() - middle; // as far from the middle there as here
    const Rect& there = to.scene()->nodes[static_cast<size_t>(partner)].rect;
    const double zoom = to.camera().zoom();
    const QPointF wanted = QPointF(there.x + there.width / 2, there.y + there.height / 2) * zoom - shift - QRectF(to.rect()).center();
    to.camera().setViewport(zoom, wanted);
    m_isPlacing = false;
}

} // namespace loopscope::viewer
