#include "viewer/canvas/canvas_input.h"

#include "viewer/bridge/text.h"
#include "viewer/canvas/graph_canvas.h"
#include "viewer/canvas/value_marks.h"
#include "viewer/style/theme.h"

#include <QApplication>
#include <QContextMenuEvent>
#include <QHelpEvent>
#include <QKeyEvent>
#include <QLineEdit>
#include <QMenu>
#include <QMouseEvent>
#include <QNativeGestureEvent>
#include <QRegularExpressionValidator>
#include <QToolTip>
#include <QWheelEvent>

#include <algorithm>
#include <cmath>
#include <utility>

namespace loopscope::viewer {

namespace {

constexpr double kReach = 4; ///< pixels around an edge that hit it

} // namespace

CanvasInput::CanvasInput(GraphCanvas& canvas) : m_canvas(canvas), m_picture(canvas.picture()) { canvas.installEventFilter(this); }

bool CanvasInput::eventFilter(QObject* watched, QEvent* event)
{
    if (watched == m_field) {
        if (event->type() != QEvent::KeyPress || static_cast<QKeyEvent*>(event)->key() != Qt::Key_Escape) return false;
        m_field->hide();
        m_canvas.setFocus(Qt::OtherFocusReason);
        return true;
    }
    switch (event->type()) {
    case QEvent::MouseButtonPress: press(*static_cast<QMouseEvent*>(event)); return true;
    case QEvent::MouseMove: move(*static_cast<QMouseEvent*>(event)); return true;
    case QEvent::MouseButtonRelease: release(*static_cast<QMouseEvent*>(event)); return true;
    case QEvent::MouseButtonDblClick: doubleClick(*static_cast<QMouseEvent*>(event)); return true;
    case QEvent::Wheel: wheel(*static_cast<QWheelEvent*>(event)); return true;
    case QEvent::KeyPress: return key(*static_cast<QKeyEvent*>(event));
    case QEvent::ContextMenu: showMenu(*static_cast<QContextMenuEvent*>(event)); return true;
    case QEvent::ToolTip: showTip(*static_cast<QHelpEvent*>(event)); return true;
    case QEvent::Leave: m_canvas.selection().setHover(-1, -1); return false;
    case QEvent::FocusIn: {
        const Qt::FocusReason reason = static_cast<QFocusEvent*>(event)->reason();
        m_canvas.selection().setByKeys(reason == Qt::TabFocusReason || reason == Qt::BacktabFocusReason ||
                                       reason == Qt::ShortcutFocusReason);
        m_canvas.update();
        emit focused();
        return false;
    }
    case QEvent::FocusOut:
        m_canvas.selection().setByKeys(false);
        m_canvas.update();
        return false;
    case QEvent::NativeGesture: {
        const auto& gesture = *static_cast<QNativeGestureEvent*>(event);
        if (gesture.gestureType() != Qt::ZoomNativeGesture) return false;
        m_canvas.camera().zoomAt(gesture.position(), 1 + gesture.value());
        return true;
    }
    default: return false;
    }
}

// --- Pointer --------------------------------------------------------------------------------------------------------------------------

void CanvasInput::wheel(QWheelEvent& event)
{
    event.accept();
    Camera& camera = m_canvas.camera();
    if (event.modifiers().testFlag(Qt::ControlModifier) != m_wheelZooms) {
        camera.zoomAt(event.position(), std::pow(1.2, event.angleDelta().y() / 120.0));
    } else if (m_picture.indexed && !wheelOverSlider(event)) {
        const QPointF delta = event.pixelDelta().isNull() ? QPointF(event.angleDelta()) / 120 * 48 : QPointF(event.pixelDelta());
        const QPointF by = event.modifiers().testFlag(Qt::ShiftModifier) ? QPointF(delta.y(), delta.x()) : delta;
        camera.setViewport(camera.zoom(), camera.origin() - by);
    }
}

/// Over a slider the wheel moves by one, with Shift by ten.
bool CanvasInput::wheelOverSlider(const QWheelEvent& event)
{
    const std::optional<PlacedHead> place = m_canvas.heads().at(event.position());
    if (!place) return false;
    const LoopHead head = m_canvas.heads().partsOf(*place);
    const RegionState& loop = m_picture.stateOfRegion(place->region);
    if (head.slider.width <= 0 || !head.slider.contains(place->at(event.position())) || !loop.iteration) return false;
    const int way = event.angleDelta().y() + event.angleDelta().x() > 0 ? 1 : -1;
    const int64_t to = *loop.iteration + way * (event.modifiers().testFlag(Qt::ShiftModifier) ? 10 : 1);
    const int64_t wanted = std::clamp<int64_t>(to, 0, shareOfKnown(loop) == 1 ? lastIteration(loop) : std::max<int64_t>(to, 0));
    if (wanted != *loop.iteration) emit loopMoved(place->region, wanted, true);
    return true;
}

void CanvasInput::press(const QMouseEvent& event)
{
    m_canvas.selection().setByKeys(false);
    m_pressed = m_dragTo = event.position();
    m_originAtPress = m_canvas.camera().origin();
    m_addAtPress = false;
    if (!m_picture.indexed) return;
    if (event.button() == Qt::MiddleButton) {
        m_drag = Drag::pan;
        m_canvas.setCursor(Qt::ClosedHandCursor);
        return;
    }
    if (event.button() != Qt::LeftButton) return;
    if (const std::string link = m_canvas.cards().linkAt(event.position()); !link.empty()) {
        m_canvas.selection().select({link});
        m_canvas.reveal(link);
        emit m_canvas.selection().edited();
        return;
    }
    if (const std::optional<PlacedHead> head = m_canvas.heads().at(event.position()); head && pressHead(*head, event)) return;
    if (const QString question = questionAt(event.position()); !question.isEmpty()) {
        emit m_canvas.commandRequested(question);
        return;
    }
    if (const auto [edge, atSource] = m_canvas.portalAt(event.position()); edge >= 0) {
        const SceneEdge& one = m_picture.edge(edge);
        if (!atSource) m_canvas.ways().goTo(one.from);
        else if (!m_canvas.ways().showEnds(edge, event.position())) m_canvas.ways().goTo(one.to);
        return;
    }
    if (event.modifiers().testFlag(Qt::ShiftModifier)) {
        m_drag = Drag::rubber;
        return;
    }
    const int node = m_canvas.nodeAt(event.position());
    m_addAtPress = event.modifiers().testFlag(Qt::ControlModifier) && node >= 0;
    if (node >= 0) pressNode(node, event);
    else m_drag = event.modifiers().testFlag(Qt::ControlModifier) ? Drag::zoomRange : Drag::pending;
}

/// False: beside the parts of a head that do something; a click selects it then.
bool CanvasInput::pressHead(const PlacedHead& place, const QMouseEvent& event)
{
    const int region = place.region;
    const Point at = place.at(event.position());
    const SceneRegion& one = m_picture.region(region);
    const RegionState& loop = m_picture.stateOfRegion(region);
    const LoopHead head = m_canvas.heads().partsOf(place);
    if (head.slider.width > 0 && at.x >= head.slider.x - 8 && at.x <= head.slider.right() + 8 &&
        head.slider.contains({head.slider.center().x, at.y})) {
        m_drag = Drag::slider;
        m_sliderRegion = region;
        m_sliderAnchor = iterationAt(head, loop, at.x, 0, at.x, 0);
        m_sliderAnchorX = at.x;
        m_canvas.heads().drag(region, m_sliderAnchor);
        emit loopMoved(region, m_sliderAnchor, false);
        m_canvas.update();
        return true;
    }
    if (head.field.width > 0 && head.field.contains(at)) {
        editIteration(place);
        return true;
    }
    for (size_t i = 0; i < head.chips.size(); ++i)
        if (head.chips[i].contains(at)) {
            emit frameIterationChosen(region, loop.chips[i].iteration);
            return true;
        }
    if (head.condition.width > 0 && head.condition.contains(at)) {
        ViewState view = m_picture.view;
        if (!view.condOpen.insert(one.site).second) view.condOpen.erase(one.site);
        m_canvas.editView(view, one.id);
        return true;
    }
    if (head.why.width > 0 && head.why.contains(at)) {
        emit m_canvas.commandRequested(QStringLiteral("ask why branch ") + toText(one.site));
        return true;
    }
    if (at.x < head.nameX || (one.kind == RegionKind::group && at.x < place.box.x + 18)) {
        m_canvas.commands().foldRegion(region);
        return true;
    }
    if (event.modifiers().testFlag(Qt::AltModifier) && !one.site.empty()) {
        emit m_canvas.openRequested({one.site, one.caller, one.op}, OpenCallee::split);
        return true;
    }
    return false;
}

void CanvasInput::pressNode(int node, const QMouseEvent& event)
{
    const SceneNode& one = m_picture.node(node);
    if (event.modifiers().testFlag(Qt::AltModifier) && one.call) {
        emit m_canvas.openRequested(CallSite::of(one), OpenCallee::split);
        return;
    }
    const Point at = m_canvas.camera().toScene(event.position());
    // The breakpoint's disc at the left edge is its own target once there is one.
    if (m_picture.stateOf(node).breakpoint != BreakpointMark::none && at.x < one.rect.x + 5) {
        emit m_canvas.breakpointRequested(toText(one.id));
        return;
    }
    if (one.kind == NodeKind::group && at.x < one.rect.x + 16 && m_canvas.camera().level() >= 2) {
        m_canvas.commands().toggleGroup(node, true);
        return;
    }
    m_canvas.selection().setCurrent(node, m_addAtPress);
}

void CanvasInput::move(const QMouseEvent& event)
{
    m_dragTo = event.position();
    if (!m_picture.indexed) return;
    if (m_drag == Drag::pending && (m_dragTo - m_pressed).manhattanLength() > QApplication::startDragDistance() / 2.0) {
        m_drag = Drag::pan;
        m_canvas.setCursor(Qt::ClosedHandCursor);
    }
    switch (m_drag) {
    case Drag::pan: m_canvas.camera().setViewport(m_canvas.camera().zoom(), m_originAtPress - (m_dragTo - m_pressed)); break;
    case Drag::rubber:
    case Drag::zoomRange: m_canvas.update(); break;
    case Drag::slider: dragSlider(event.globalPosition().toPoint()); break;
    case Drag::pending:
    case Drag::none:
        if (event.buttons() == Qt::NoButton) hover(m_dragTo);
        break;
    }
}

void CanvasInput::dragSlider(QPoint onScreen)
{
    const RegionState& loop = m_picture.stateOfRegion(m_sliderRegion);
    const PlacedHead place = m_canvas.heads().of(m_sliderRegion);
    const LoopHead head = m_canvas.heads().partsOf(place);
    const Point at = place.at(m_dragTo);
    const double away = std::max({0.0, at.y - head.slider.bottom(), head.slider.y - at.y}) * place.zoom;
    const int64_t wanted = iterationAt(head, loop, at.x, away, m_sliderAnchorX, m_sliderAnchor);
    const QString pace = sliderPace(head, loop, away);
    if (pace.isEmpty()) {
        m_sliderAnchor = wanted;
        m_sliderAnchorX = at.x;
        QToolTip::hideText();
    } else {
        QToolTip::showText(onScreen, tr("@%1 · %2").arg(wanted).arg(pace), &m_canvas);
    }
    if (wanted == m_canvas.heads().draggedTo()) return;
    m_canvas.heads().drag(m_sliderRegion, wanted);
    emit loopMoved(m_sliderRegion, wanted, false);
    m_canvas.update();
}

/// Of the mark under the pointer, which no head covers.
QString CanvasInput::questionAt(QPointF point) const
{
    return m_canvas.heads().covers(point) ? QString() : questionOfMark(m_picture, m_canvas.camera(), point);
}

void CanvasInput::hover(QPointF point)
{
    if (m_canvas.cards().box().contains(point)) {
        m_canvas.setCursor(m_canvas.cards().linkAt(point).empty() ? Qt::ArrowCursor : Qt::PointingHandCursor);
        return; // the card stays while it is read
    }
    m_canvas.unsetCursor();
    if (!questionAt(point).isEmpty()) m_canvas.setCursor(Qt::PointingHandCursor);
    if (const int portal = m_canvas.portalAt(point).first; portal >= 0) {
        m_canvas.setCursor(Qt::PointingHandCursor);
        return m_canvas.selection().setHover(-1, portal);
    }
    const int node = m_canvas.nodeAt(point);
    const Camera& camera = m_canvas.camera();
    const bool isFree = node < 0 && camera.level() >= 1 && !m_canvas.heads().covers(point);
    m_canvas.selection().setHover(node, isFree ? m_picture.index().edgeAt(camera.toScene(point), kReach / camera.zoom()) : -1);
}

void CanvasInput::release(const QMouseEvent& event)
{
    const Drag drag = std::exchange(m_drag, Drag::none);
    m_canvas.unsetCursor();
    if (!m_picture.indexed) return;
    const QRectF box = QRectF(m_pressed, event.position()).normalized();
    switch (drag) {
    case Drag::slider: {
        QToolTip::hideText();
        const int region = std::exchange(m_sliderRegion, -1);
        emit loopMoved(region, m_canvas.heads().draggedTo(), true);
        m_canvas.heads().drag(-1, -1);
        break;
    }
    case Drag::pending: click(event.position()); break;
    case Drag::rubber: selectIn(box); break;
    case Drag::zoomRange: zoomTo(box); break;
    case Drag::pan:
    case Drag::none: break;
    }
    m_canvas.update();
}

/// On a head, on an edge, or beside everything.
void CanvasInput::click(QPointF point)
{
    if (const std::optional<PlacedHead> head = m_canvas.heads().at(point)) return m_canvas.selection().setRegion(head->region);
    const Camera& camera = m_canvas.camera();
    if (const int edge = m_picture.index().edgeAt(camera.toScene(point), kReach / camera.zoom()); edge >= 0)
        m_canvas.selection().setEdge(edge);
    else m_canvas.selection().setCurrent(-1);
}

void CanvasInput::selectIn(const QRectF& box)
{
    const Camera& camera = m_canvas.camera();
    const Point corner = camera.toScene(box.topLeft());
    const Rect area{corner.x, corner.y, box.width() / camera.zoom(), box.height() / camera.zoom()};
    std::vector<int> nodes;
    m_picture.index().nodesIn(area, nodes);
    std::vector<std::string> inside;
    for (const int node : nodes)
        if (m_picture.node(node).rect.intersects(area)) inside.push_back(m_picture.node(node).id);
    m_canvas.selection().setNodes(std::move(inside));
}

void CanvasInput::zoomTo(const QRectF& box)
{
    if (box.width() <= 8 || box.height() <= 8) return;
    Camera& camera = m_canvas.camera();
    const QPointF middle = camera.rect().center();
    camera.zoomAt(box.center(), std::min(camera.width() / box.width(), camera.height() / box.height()));
    camera.setViewport(camera.zoom(), camera.origin() + box.center() - middle);
}

void CanvasInput::doubleClick(const QMouseEvent& event)
{
    if (event.button() != Qt::LeftButton || !m_picture.indexed) return;
    if (const int node = m_canvas.nodeAt(event.position()); node >= 0) {
        const SceneNode& one = m_picture.node(node);
        if (!m_canvas.commands().toggleGroup(node, true) && one.call) emit m_canvas.openDefaultRequested(CallSite::of(one));
    } else if (const std::optional<PlacedHead> head = m_canvas.heads().at(event.position())) {
        m_canvas.commands().foldRegion(head->region);
    }
}

void CanvasInput::dropDrag()
{
    const bool wasSlider = std::exchange(m_drag, Drag::none) == Drag::slider;
    m_sliderRegion = -1;
    m_canvas.heads().drag(-1, -1);
    if (wasSlider) emit loopDropped();
}

std::optional<QRectF> CanvasInput::band() const
{
    if (m_drag != Drag::rubber && m_drag != Drag::zoomRange) return std::nullopt;
    return QRectF(m_pressed, m_dragTo).normalized();
}

// --- Keys -----------------------------------------------------------------------------------------------------------------------------

/// The window binds all other keys to commands; these have no command of their own.
bool CanvasInput::key(const QKeyEvent& event)
{
    CanvasSelection& selection = m_canvas.selection();
    const bool isBack = event.key() == Qt::Key_Backtab;
    if ((event.key() == Qt::Key_Tab && event.modifiers() == Qt::NoModifier) || isBack) {
        selection.setByKeys(true);
        const int before = selection.node();
        m_canvas.ways().step(isBack ? -1 : 1);
        return selection.node() != before; // at the ends the focus moves on: no trap
    }
    if (event.modifiers() != Qt::NoModifier && event.modifiers() != Qt::KeypadModifier) return false;
    switch (event.key()) {
    case Qt::Key_Up:
    case Qt::Key_Down:
    case Qt::Key_Left:
    case Qt::Key_Right:
        selection.setByKeys(true);
        m_canvas.ways().walk(event.key());
        return true;
    case Qt::Key_Escape:
        if (m_drag == Drag::none) return false;
        dropDrag();
        m_canvas.update();
        return true;
    default: return false;
    }
}

/// The number in a loop's head, to be typed: Return goes to that iteration.
void CanvasInput::editIteration(const PlacedHead& place)
{
    const int region = place.region;
    const LoopHead head = m_canvas.heads().partsOf(place);
    const std::optional<int64_t> now = m_picture.stateOfRegion(region).iteration;
    if (!now) return; // it has not run
    if (!m_field) {
        m_field = new QLineEdit(&m_canvas);
        m_field->setObjectName(QStringLiteral("iterationField"));
        m_field->setAccessibleName(tr("Iteration"));
        m_field->setValidator(new QRegularExpressionValidator(QRegularExpression(QStringLiteral("[0-9]{1,18}")), m_field));
        m_field->setAlignment(Qt::AlignHCenter);
        m_field->installEventFilter(this);
    }
    m_field->disconnect(this);
    connect(m_field, &QLineEdit::editingFinished, this, [this] { m_field->hide(); });
    connect(m_field, &QLineEdit::returnPressed, this, [this, region, scene = m_picture.indexed] {
        m_canvas.setFocus(Qt::OtherFocusReason);
        if (scene != m_picture.indexed || m_field->text().isEmpty()) return; // another picture came meanwhile
        const int64_t wanted = m_field->text().toLongLong();
        if (m_picture.region(region).kind == RegionKind::frame) emit frameIterationChosen(region, wanted);
        else emit loopMoved(region, wanted, true);
    });
    m_field->setFont(Theme::instance().font(FontUse::value));
    const QRectF box = place.onScreen(head.field);
    const double wide = std::max(46.0, box.width());
    m_field->setGeometry(QRectF(box.center().x() - wide / 2, box.center().y() - 11, wide, 22).toRect());
    m_field->setText(QString::number(*now));
    m_field->selectAll();
    m_field->show();
    m_field->setFocus(Qt::OtherFocusReason);
}

void CanvasInput::hideField()
{
    if (m_field) m_field->hide();
}

// --- What is asked for ----------------------------------------------------------------------------------------------------------------

void CanvasInput::showTip(const QHelpEvent& event)
{
    if (const QString question = questionAt(event.pos()); !question.isEmpty())
        return QToolTip::showText(event.globalPos(),
                                  question.startsWith(QLatin1String("whyNaN")) ? tr("Why NaN: where it came from") : tr("Who wrote this"),
                                  &m_canvas);
    const int node = m_canvas.nodeAt(event.pos());
    if (node < 0 || m_picture.bindingOf(node).first >= 0) return QToolTip::hideText();
    const SceneNode& one = m_picture.node(node);
    QStringList lines{toText(one.id)};
    if (one.kind == NodeKind::op) lines.append(tr("family: %1").arg(toText(familyName(one.family))));
    if (!one.shape.empty()) lines.append(toText(one.shape));
    if (!one.detail.empty()) lines.append(toText(one.detail));
    QToolTip::showText(event.globalPos(), lines.join(QLatin1Char('\n')), &m_canvas, m_canvas.camera().nodeRect(node).toAlignedRect());
}

void CanvasInput::showMenu(const QContextMenuEvent& event)
{
    if (!m_picture.indexed) return;
    const bool byKey = event.reason() == QContextMenuEvent::Keyboard;
    const int node = byKey ? m_canvas.selection().node() : m_canvas.nodeAt(event.pos());
    if (node >= 0 && !m_canvas.selection().contains(node)) m_canvas.selection().setCurrent(node);
    auto* const menu = new QMenu(&m_canvas);
    menu->setAttribute(Qt::WA_DeleteOnClose);
    m_canvas.commands().fillMenu(*menu, node);
    menu->popup(byKey && node >= 0 ? m_canvas.mapToGlobal(m_canvas.camera().nodeRect(node).bottomLeft().toPoint()) : event.globalPos());
}

} // namespace loopscope::viewer
