// Pointer and keyboard.
#include "viewer/canvas/graph_canvas.h"

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

void GraphCanvas::wheelEvent(QWheelEvent* event)
{
    const bool zooms = event->modifiers().testFlag(Qt::ControlModifier) != m_wheelZooms;
    const QPointF delta = event->pixelDelta().isNull() ? QPointF(event->angleDelta()) / 120 * 48 : QPointF(event->pixelDelta());
    if (zooms) {
        zoomAt(event->position(), std::pow(1.2, event->angleDelta().y() / 120.0));
    } else if (m_scene) {
        // Over a slider the wheel moves by one, with Shift by ten.
        if (const std::optional<HeadPlace> place = headAt(event->position())) {
            const int region = place->region;
            const LoopHead head = partsOf(*place);
            const RegionState& loop = m_state.regions[static_cast<size_t>(region)];
            if (head.slider.width > 0 && head.slider.contains(place->at(event->position())) && loop.iteration) {
                const int way = event->angleDelta().y() + event->angleDelta().x() > 0 ? 1 : -1;
                const int64_t by = way * (event->modifiers().testFlag(Qt::ShiftModifier) ? 10 : 1);
                const int64_t wanted =
                    std::clamp<int64_t>(*loop.iteration + by, 0, shareOfKnown(loop) == 1 ? lastIteration(loop) : *loop.iteration + by);
                if (wanted != *loop.iteration) emit loopMoved(region, wanted, true);
                event->accept();
                return;
            }
        }
        const QPointF by = event->modifiers().testFlag(Qt::ShiftModifier) ? QPointF(delta.y(), delta.x()) : delta;
        setViewport(m_zoom, m_origin - by);
    }
    event->accept();
}

void GraphCanvas::mousePressEvent(QMouseEvent* event)
{
    m_keyboardFocus = false;
    m_pressed = m_dragTo = event->position();
    m_originAtPress = m_origin;
    m_addAtPress = false;
    if (!m_scene) return;
    if (event->button() == Qt::MiddleButton) {
        m_drag = Drag::pan;
        setCursor(Qt::ClosedHandCursor);
        return;
    }
    if (event->button() != Qt::LeftButton) return;
    if (const QString link = cardLinkAt(event->position()); !link.isEmpty()) {
        select({link.toStdString()});
        reveal(link.toStdString());
        emit selectionEdited();
        return;
    }
    if (const std::optional<HeadPlace> place = headAt(event->position())) {
        const int region = place->region;
        const Point at = place->at(event->position());
        const SceneRegion& one = scene()->regions[static_cast<size_t>(region)];
        const RegionState& loop = m_state.regions[static_cast<size_t>(region)];
        const LoopHead head = partsOf(*place);
        if (head.slider.width > 0 && at.x >= head.slider.x - 8 && at.x <= head.slider.right() + 8 &&
            head.slider.contains({head.slider.center().x, at.y})) {
            m_drag = Drag::slider;
            m_sliderRegion = region;
            m_sliderAnchor = m_sliderIteration = iterationAt(head, loop, at.x, 0, at.x, 0);
            m_sliderAnchorX = at.x;
            emit loopMoved(region, m_sliderIteration, false);
            update();
            return;
        }
        if (head.field.width > 0 && head.field.contains(at)) {
            editIteration(region);
            return;
        }
        for (size_t i = 0; i < head.chips.size(); ++i)
            if (head.chips[i].contains(at)) {
                emit frameIterationChosen(region, loop.chips[i].iteration);
                return;
            }
        if (head.condition.width > 0 && head.condition.contains(at)) {
            ViewState view = m_view;
            if (!view.condOpen.insert(one.site).second) view.condOpen.erase(one.site);
            editView(view, one.id);
            return;
        }
        if (at.x < head.nameX || (one.kind == RegionKind::group && at.x < place->box.x + 18)) {
            collapseRegion(region);
            return;
        }
        if (event->modifiers().testFlag(Qt::AltModifier) && !one.site.empty()) {
            emit openRequested({one.site, one.caller, one.op}, OpenCallee::split);
            return;
        }
    }
    if (const auto [edge, atSource] = portalAt(event->position()); edge >= 0) {
        const SceneEdge& one = scene()->edges[static_cast<size_t>(edge)];
        if (!atSource) return goToNode(one.from);
        if (!showEnds(edge, event->position())) goToNode(one.to);
        return;
    }
    if (event->modifiers().testFlag(Qt::ShiftModifier)) {
        m_drag = Drag::rubber;
        return;
    }
    const int node = nodeAt(event->position());
    if (event->modifiers().testFlag(Qt::ControlModifier) && node < 0) {
        m_drag = Drag::zoomRange;
        return;
    }
    m_addAtPress = event->modifiers().testFlag(Qt::ControlModifier);
    if (node < 0) {
        m_drag = Drag::pending;
        return;
    }
    if (event->modifiers().testFlag(Qt::AltModifier) && scene()->nodes[static_cast<size_t>(node)].call) {
        emit openRequested(callOf(scene()->nodes[static_cast<size_t>(node)]), OpenCallee::split);
        return;
    }
    const Point at = toScene(event->position());
    // The breakpoint's disc at the left edge is its own target once there is one.
    const SceneNode& one = scene()->nodes[static_cast<size_t>(node)];
    if (m_state.nodes[static_cast<size_t>(node)].breakpoint != BreakpointMark::none && at.x < one.rect.x + 5) {
        emit breakpointRequested(QString::fromStdString(one.id));
        return;
    }
    if (one.kind == NodeKind::group && at.x < one.rect.x + 16 && m_level >= 2) {
        toggleGroup(node, true);
        return;
    }
    setCurrent(node, m_addAtPress);
}

void GraphCanvas::mouseMoveEvent(QMouseEvent* event)
{
    m_dragTo = event->position();
    if (!m_scene) return;
    if (m_drag == Drag::pending && (m_dragTo - m_pressed).manhattanLength() > QApplication::startDragDistance() / 2.0) {
        m_drag = Drag::pan;
        setCursor(Qt::ClosedHandCursor);
    }
    switch (m_drag) {
    case Drag::pan: setViewport(m_zoom, m_originAtPress - (m_dragTo - m_pressed)); return;
    case Drag::rubber:
    case Drag::zoomRange: update(); return;
    case Drag::slider: {
        const RegionState& loop = m_state.regions[static_cast<size_t>(m_sliderRegion)];
        const HeadPlace place = headPlace(m_sliderRegion);
        const LoopHead head = partsOf(place);
        const Point at = place.at(m_dragTo);
        const double away = std::max({0.0, at.y - head.slider.bottom(), head.slider.y - at.y}) * place.zoom;
        const int64_t wanted = iterationAt(head, loop, at.x, away, m_sliderAnchorX, m_sliderAnchor);
        const QString pace = sliderPace(head, loop, away);
        if (pace.isEmpty()) {
            m_sliderAnchor = wanted;
            m_sliderAnchorX = at.x;
            QToolTip::hideText();
        } else {
            QToolTip::showText(event->globalPosition().toPoint(), tr("@%1 · %2").arg(wanted).arg(pace), this);
        }
        if (wanted == m_sliderIteration) return;
        m_sliderIteration = wanted;
        emit loopMoved(m_sliderRegion, wanted, false);
        update();
        return;
    }
    case Drag::pending:
    case Drag::none: break;
    }
    if (event->buttons() != Qt::NoButton) return;
    if (m_cardBox.contains(m_dragTo)) {
        setCursor(cardLinkAt(m_dragTo).isEmpty() ? Qt::ArrowCursor : Qt::PointingHandCursor);
        return; // the card stays while it is read
    }
    unsetCursor();
    if (const int portal = portalAt(m_dragTo).first; portal >= 0) {
        setCursor(Qt::PointingHandCursor);
        return setHover(-1, portal);
    }
    const int node = nodeAt(m_dragTo);
    const bool isFree = node < 0 && m_level >= 1 && !isUnderStuckHead(m_dragTo);
    const int edge = isFree ? m_scene->index.edgeAt(toScene(m_dragTo), kReach / m_zoom) : -1;
    setHover(node, edge);
}

/// The number in a loop's head, to be typed: Return goes to that iteration.
void GraphCanvas::editIteration(int region)
{
    const HeadPlace place = headPlace(region);
    const LoopHead head = partsOf(place);
    const std::optional<int64_t> now = m_state.regions[static_cast<size_t>(region)].iteration;
    if (!now) return; // it has not run
    if (!m_iterationField) {
        m_iterationField = new QLineEdit(this);
        m_iterationField->setObjectName(QStringLiteral("iterationField"));
        m_iterationField->setAccessibleName(tr("Iteration"));
        m_iterationField->setValidator(
            new QRegularExpressionValidator(QRegularExpression(QStringLiteral("[0-9]{1,18}")), m_iterationField));
        m_iterationField->setAlignment(Qt::AlignHCenter);
        m_iterationField->installEventFilter(this);
    }
    m_iterationField->disconnect(this);
    connect(m_iterationField, &QLineEdit::editingFinished, this, [this] { m_iterationField->hide(); });
    connect(m_iterationField, &QLineEdit::returnPressed, this, [this, region, scene = m_scene] {
        setFocus(Qt::OtherFocusReason);
        if (scene != m_scene || m_iterationField->text().isEmpty()) return; // another picture came meanwhile
        const int64_t wanted = m_iterationField->text().toLongLong();
        if (scene->scene->regions[static_cast<size_t>(region)].kind == RegionKind::frame) emit frameIterationChosen(region, wanted);
        else emit loopMoved(region, wanted, true);
    });
    m_iterationField->setFont(Theme::instance().font(FontUse::value));
    const QRectF box = place.onScreen(head.field);
    m_iterationField->setGeometry(
        QRectF(box.center().x() - std::max(46.0, box.width()) / 2, box.center().y() - 11, std::max(46.0, box.width()), 22).toRect());
    m_iterationField->setText(QString::number(*now));
    m_iterationField->selectAll();
    m_iterationField->show();
    m_iterationField->setFocus(Qt::OtherFocusReason);
}

bool GraphCanvas::eventFilter(QObject* watched, QEvent* event)
{
    if (watched == m_iterationField && event->type() == QEvent::KeyPress && static_cast<QKeyEvent*>(event)->key() == Qt::Key_Escape) {
        m_iterationField->hide();
        setFocus(Qt::OtherFocusReason);
        return true;
    }
    return QWidget::eventFilter(watched, event);
}

void GraphCanvas::dropDrag()
{
    const bool wasSlider = std::exchange(m_drag, Drag::none) == Drag::slider;
    m_sliderRegion = -1;
    m_sliderIteration = -1;
    if (wasSlider) emit loopDropped();
}

void GraphCanvas::mouseReleaseEvent(QMouseEvent* event)
{
    const Drag drag = std::exchange(m_drag, Drag::none);
    unsetCursor();
    if (!m_scene) return;
    const QRectF box = QRectF(m_pressed, event->position()).normalized();
    switch (drag) {
    case Drag::slider:
        QToolTip::hideText();
        emit loopMoved(m_sliderRegion, m_sliderIteration, true);
        m_sliderRegion = -1;
        m_sliderIteration = -1;
        break;
    case Drag::pending: { // a click on a head, on an edge, or beside everything
        if (const std::optional<HeadPlace> head = headAt(event->position())) {
            selectRegion(head->region);
            break;
        }
        const int edge = m_scene->index.edgeAt(toScene(event->position()), kReach / m_zoom);
        if (edge >= 0) {
            m_selectedEdge = edge;
            m_selected.clear();
            m_selectedNodes.clear();
            const int from = scene()->edges[static_cast<size_t>(edge)].from;
            if (from >= 0) {
                setCurrent(from);
                m_selectedEdge = edge;
            }
        } else if (!m_addAtPress) {
            setCurrent(-1);
        }
        break;
    }
    case Drag::rubber: {
        const Point a = toScene(box.topLeft());
        std::vector<int> nodes;
        const Rect area{a.x, a.y, box.width() / m_zoom, box.height() / m_zoom};
        m_scene->index.nodesIn(area, nodes);
        m_selected.clear();
        for (const int node : nodes)
            if (scene()->nodes[static_cast<size_t>(node)].rect.intersects(area))
                m_selected.push_back(scene()->nodes[static_cast<size_t>(node)].id);
        resolveSelection();
        emit selectionEdited();
        break;
    }
    case Drag::zoomRange:
        if (box.width() > 8 && box.height() > 8) {
            const double zoom = m_zoom * std::min(width() / box.width(), height() / box.height());
            const Point middle = toScene(box.center());
            const double clamped = std::clamp(zoom, 0.02, 4.0);
            setViewport(clamped, QPointF(middle.x * clamped - width() / 2.0, middle.y * clamped - height() / 2.0));
        }
        break;
    case Drag::pan:
    case Drag::none: break;
    }
    update();
}

void GraphCanvas::mouseDoubleClickEvent(QMouseEvent* event)
{
    if (event->button() != Qt::LeftButton || !m_scene) return;
    const int node = nodeAt(event->position());
    if (node >= 0) {
        const SceneNode& one = scene()->nodes[static_cast<size_t>(node)];
        if (one.kind == NodeKind::group) toggleGroup(node, true);
        else if (one.call) emit openDefaultRequested(callOf(one));
        return;
    }
    if (const std::optional<HeadPlace> head = headAt(event->position())) collapseRegion(head->region);
}

void GraphCanvas::leaveEvent(QEvent*) { setHover(-1, -1); }

void GraphCanvas::focusInEvent(QFocusEvent* event)
{
    m_keyboardFocus =
        event->reason() == Qt::TabFocusReason || event->reason() == Qt::BacktabFocusReason || event->reason() == Qt::ShortcutFocusReason;
    update();
    emit focused();
}

void GraphCanvas::focusOutEvent(QFocusEvent*)
{
    m_keyboardFocus = false;
    update();
}

void GraphCanvas::keyPressEvent(QKeyEvent* event)
{
    // The window binds all other keys to commands; these have no command of their own.
    if (event->modifiers() == Qt::NoModifier || event->modifiers() == Qt::KeypadModifier) {
        switch (event->key()) {
        case Qt::Key_Up:
        case Qt::Key_Down:
        case Qt::Key_Left:
        case Qt::Key_Right:
            m_keyboardFocus = true;
            walk(event->key());
            return;
        case Qt::Key_Escape:
            if (m_drag != Drag::none) {
                dropDrag();
                update();
                return;
            }
            break;
        default: break;
        }
    }
    QWidget::keyPressEvent(event);
}

bool GraphCanvas::event(QEvent* event)
{
    switch (event->type()) {
    case QEvent::KeyPress: {
        auto* key = static_cast<QKeyEvent*>(event);
        const bool back = key->key() == Qt::Key_Backtab;
        if ((key->key() == Qt::Key_Tab && key->modifiers() == Qt::NoModifier) || back) {
            m_keyboardFocus = true;
            const int before = currentNode();
            stepNode(back ? -1 : 1);
            if (currentNode() != before) return true; // at the ends the focus moves on: no trap
        }
        break;
    }
    case QEvent::NativeGesture: {
        auto* gesture = static_cast<QNativeGestureEvent*>(event);
        if (gesture->gestureType() == Qt::ZoomNativeGesture) {
            zoomAt(gesture->position(), 1 + gesture->value());
            return true;
        }
        break;
    }
    case QEvent::ToolTip: {
        auto* help = static_cast<QHelpEvent*>(event);
        const int node = nodeAt(help->pos());
        if (node < 0 || bindingOf(node).first >= 0) {
            QToolTip::hideText();
            return true;
        }
        const SceneNode& one = scene()->nodes[static_cast<size_t>(node)];
        QStringList lines{QString::fromStdString(one.id)};
        const std::string_view family = familyName(one.family);
        if (one.kind == NodeKind::op)
            lines.append(tr("family: %1").arg(QString::fromUtf8(family.data(), static_cast<qsizetype>(family.size()))));
        if (!one.shape.empty()) lines.append(QString::fromStdString(one.shape));
        if (!one.detail.empty()) lines.append(QString::fromStdString(one.detail));
        QToolTip::showText(help->globalPos(), lines.join(QLatin1Char('\n')), this, nodeRect(node).toAlignedRect());
        return true;
    }
    default: break;
    }
    return QWidget::event(event);
}

void GraphCanvas::contextMenuEvent(QContextMenuEvent* event)
{
    if (!m_scene) return;
    int node = event->reason() == QContextMenuEvent::Keyboard ? currentNode() : nodeAt(event->pos());
    if (node >= 0 && std::ranges::find(m_selectedNodes, node) == m_selectedNodes.end()) setCurrent(node);
    auto* const menu = new QMenu(this);
    menu->setAttribute(Qt::WA_DeleteOnClose);
    fillContextMenu(*menu, node);
    const QPoint at = event->reason() == QContextMenuEvent::Keyboard && node >= 0 ? mapToGlobal(nodeRect(node).bottomLeft().toPoint())
                                                                                  : event->globalPos();
    menu->popup(at);
}

} // namespace loopscope::viewer
