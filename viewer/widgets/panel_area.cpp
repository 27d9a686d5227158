#include "viewer/widgets/panel_area.h"

#include "viewer/widgets/panel_strip.h"
#include "viewer/widgets/turns.h"

#include <QApplication>
#include <QCloseEvent>
#include <QJsonArray>
#include <QMenu>
#include <QSplitter>
#include <QVBoxLayout>

#include <algorithm>
#include <numeric>

namespace loopscope::viewer {

namespace {

constexpr int kGap = 4;

/// A strip in a window of its own. Closing it brings its panels home.
class StripWindow : public QWidget {
public:
    StripWindow(QWidget* parent, PanelStrip* strip) : QWidget(parent, Qt::Window)
    {
        auto* const column = new QVBoxLayout(this);
        column->setContentsMargins(kGap, kGap, kGap, kGap);
        column->addWidget(strip);
    }
    std::function<void()> closing;

protected:
    void closeEvent(QCloseEvent* event) override
    {
        event->accept();
        if (closing) closing();
    }
};

/// The first "tabs" node that contains the name, depth first; empty: none.
QJsonArray tabsWith(const QJsonObject& node, const QString& name)
{
    const QJsonArray tabs = node["tabs"].toArray();
    if (tabs.contains(name)) return tabs;
    for (const QJsonValue& part : node["parts"].toArray())
        if (const QJsonArray found = tabsWith(part.toObject(), name); !found.isEmpty()) return found;
    return {};
}

/// All panels that an arrangement names.
QStringList panelsOf(const QJsonObject& node)
{
    QStringList names;
    const QJsonArray tabs = node["tabs"].toArray(), parts = node["parts"].toArray();
    for (const auto& name : tabs) names.append(name.toString());
    for (const auto& part : parts) names.append(panelsOf(part.toObject()));
    return names;
}

/// Where the panel wants the keyboard; of one that shows only why it is empty: what that offers, else the panel itself.
void focusInto(Panel& panel)
{
    QWidget* target = panel.focusTarget();
    if (!target->isVisible() || !target->isEnabled()) {
        target = &panel;
        for (QWidget* const each : panel.findChildren<QWidget*>())
            if (each->isVisible() && each->isEnabled() && (each->focusPolicy() & Qt::TabFocus)) {
                target = each;
                break;
            }
    }
    if (target == &panel && panel.focusPolicy() == Qt::NoFocus) panel.setFocusPolicy(Qt::ClickFocus);
    target->setFocus(Qt::ShortcutFocusReason);
}

} // namespace

PanelArea::PanelArea(Factory factory, QWidget* parent) : QWidget(parent), m_factory(std::move(factory))
{
    auto* const column = new QVBoxLayout(this);
    column->setContentsMargins(kGap, kGap, kGap, kGap);
    column->setSpacing(0);
}

PanelArea::~PanelArea()
{
    const Before before = clear();
    for (const auto& [name, panel] : m_panels) delete PanelStrip::seatOf(panel);
    remove(before);
}

Panel* PanelArea::panel(const QString& name)
{
    Panel* const found = made(name);
    if (!found || found->parentWidget()) return found;
    found->setParent(this);
    found->hide();
    return found;
}

/// Without a parent if it is new: the first one that it gets should be its strip's.
Panel* PanelArea::made(const QString& name)
{
    if (const auto found = m_panels.find(name); found != m_panels.end()) return found->second;
    Panel* const made = m_factory(name);
    if (!made) return nullptr;
    m_panels[name] = made;
    connect(made, &Panel::stateChanged, this, &PanelArea::stateChanged);
    return made;
}

QList<Panel*> PanelArea::panels() const
{
    QList<Panel*> all;
    for (const auto& [name, panel] : m_panels) all.append(panel);
    return all;
}

PanelStrip* PanelArea::newStrip()
{
    auto* const strip = new PanelStrip;
    connect(strip, &PanelStrip::menuRequested, this, &PanelArea::showMenu);
    connect(strip, &PanelStrip::closeRequested, this, [this](Panel* panel) { close(panel->objectName()); });
    connect(strip, &PanelStrip::currentChanged, this, &PanelArea::arrangementChanged);
    return strip;
}

/// Strips and splitters without their panels: these follow once all is in its place, since moving them costs most.
QWidget* PanelArea::build(const QJsonObject& node, std::vector<Filling>& fillings)
{
    if (node.contains("tabs")) {
        Filling filling;
        for (const QJsonValue& name : node["tabs"].toArray()) {
            Panel* const tab = made(name.toString());
            const auto holds = [&](const Filling& other) { return std::ranges::find(other.panels, tab) != other.panels.end(); };
            if (tab && !holds(filling) && std::ranges::none_of(fillings, holds)) filling.panels.push_back(tab);
        }
        if (filling.panels.empty()) return nullptr;
        filling.strip = newStrip();
        filling.front = made(node["current"].toString());
        return fillings.emplace_back(std::move(filling)).strip;
    }
    QList<QWidget*> parts;
    QList<int> indices;
    const QJsonArray wanted = node["parts"].toArray(), drawn = node["sizes"].toArray(); // a file may give sizes for some
    for (int i = 0; i < wanted.size(); ++i)
        if (QWidget* const part = build(wanted[i].toObject(), fillings)) {
            parts.append(part);
            indices.append(i);
        }
    if (parts.size() < 2) return parts.value(0);
    auto* const splitter = new QSplitter(node["split"].toString() == "v" ? Qt::Vertical : Qt::Horizontal);
    splitter->setHandleWidth(kGap);
    splitter->setChildrenCollapsible(false);
    const int stretch = node["stretch"].toInt(0);
    QVariantList sizes;
    int stretched = 0;
    for (int i = 0; i < parts.size(); ++i) {
        splitter->addWidget(parts[i]);
        splitter->setStretchFactor(i, indices[i] == stretch ? 1 : 0);
        if (indices[i] == stretch) stretched = i;
        sizes.append(drawn.at(indices[i]).toInt(160));
    }
    splitter->setProperty("wanted", sizes);
    splitter->setProperty("stretch", stretched);
    connect(splitter, &QSplitter::splitterMoved, this, &PanelArea::arrangementChanged);
    return splitter;
}

/// Panels are in no strip then; they are still children of what is returned.
PanelArea::Before PanelArea::clear()
{
    const Before before = {std::exchange(m_root, nullptr), std::exchange(m_windows, {})};
    if (before.root) before.root->hide();
    for (const auto& [name, panel] : m_panels)
        if (PanelStrip* const strip = stripOf(panel)) strip->takeAll();
    return before;
}

void PanelArea::remove(const Before& before)
{
    for (QWidget* const window : before.windows) window->deleteLater();
    delete before.root;
}

void PanelArea::arrange(const QJsonObject& arrangement, const QJsonObject& home)
{
    const QSignalBlocker quiet(this);
    const Before before = clear();
    m_home = home;
    Frame frame = std::exchange(m_prepared, {});
    if (!frame.root || frame.arrangement != arrangement) frame = frameOf(arrangement);
    if (!frame.root) frame = frameOf(home);
    m_root = frame.root.release();
    if (m_root) layout()->addWidget(m_root);
    for (const Filling& filling : frame.fillings) {
        for (Panel* const each : filling.panels) filling.strip->add(each);
        if (filling.front) filling.strip->setCurrent(filling.front);
    }
    for (const auto& [name, closed] : m_panels)
        if (QWidget* const seat = PanelStrip::seatOf(closed); !stripOf(closed) && seat->parentWidget() != this) {
            seat->setParent(this);
            seat->hide();
        }
    remove(before);
    if (m_root) m_root->show();
    m_spread = false;
    spread(m_root, size() - QSize(2 * kGap, 2 * kGap));
    for (const QJsonValue& value : arrangement["windows"].toArray()) {
        const QJsonObject window = value.toObject();
        const QJsonArray tabs = window["tabs"].toArray(), rect = window["rect"].toArray();
        for (const QJsonValue& name : tabs) {
            if (!panel(name.toString())) continue;
            openWindow(name.toString());
            if (rect.size() == 4 && !m_windows.isEmpty())
                m_windows.last()->setGeometry(rect[0].toInt(), rect[1].toInt(), rect[2].toInt(), rect[3].toInt());
        }
    }
}

PanelArea::Frame PanelArea::frameOf(const QJsonObject& arrangement)
{
    Frame frame{arrangement, nullptr, {}};
    frame.root.reset(build(arrangement, frame.fillings));
    return frame;
}

void PanelArea::prepare(const QJsonObject& arrangement, std::function<void()> then)
{
    make(panelsOf(arrangement), [this, arrangement, then = std::move(then)] {
        m_prepared = frameOf(arrangement);
        afterThisTurn(this, then);
    });
}

void PanelArea::make(QStringList names, std::function<void()> then)
{
    while (!names.isEmpty() && m_panels.contains(names.front())) names.removeFirst();
    const QString name = names.isEmpty() ? QString() : names.takeFirst();
    afterThisTurn(this, [this, name, names, then = std::move(then)] {
        if (name.isEmpty()) return then();
        made(name);
        make(names, then);
    });
}

void PanelArea::draw(const QJsonObject& drawn)
{
    const auto adopt = [](auto&& self, QWidget* node, const QJsonObject& part) -> void {
        auto* const splitter = qobject_cast<QSplitter*>(node);
        const QJsonArray parts = part["parts"].toArray();
        if (!splitter || parts.size() != splitter->count()) return; // somebody has moved things there
        splitter->setProperty("wanted", part["sizes"].toArray().toVariantList());
        for (int i = 0; i < splitter->count(); ++i) self(self, splitter->widget(i), parts[i].toObject());
    };
    adopt(adopt, m_root, drawn);
    spread(m_root, size() - QSize(2 * kGap, 2 * kGap));
}

/// Gives every part the size that it was drawn with, and the rest to the part that stretches. Where that would be less than half of what
/// was drawn for it, all parts shrink alike.
void PanelArea::spread(QWidget* node, QSize size)
{
    auto* const splitter = qobject_cast<QSplitter*>(node);
    if (!splitter || size.width() <= 0 || size.height() <= 0) return;
    const bool across = splitter->orientation() == Qt::Horizontal;
    const QVariantList drawn = splitter->property("wanted").toList();
    const int stretch = splitter->property("stretch").toInt();
    QList<int> sizes;
    int rest = (across ? size.width() : size.height()) - kGap * (splitter->count() - 1);
    for (int i = 0; i < splitter->count(); ++i) {
        sizes.append(drawn.value(i, 160).toInt());
        if (i != stretch) rest -= sizes.back();
    }
    const int least = across ? 160 : 96;
    if (stretch < sizes.size() && rest < sizes[stretch] / 2) {
        const double total = std::accumulate(sizes.begin(), sizes.end(), 0), room = total - sizes[stretch] + rest;
        for (int& part : sizes) part = std::max(least, static_cast<int>(part * room / total));
    } else if (stretch < sizes.size()) {
        sizes[stretch] = std::max(rest, least);
    }
    splitter->resize(size);
    splitter->setSizes(sizes);
    for (int i = 0; i < splitter->count(); ++i)
        spread(splitter->widget(i), across ? QSize(sizes[i], size.height()) : QSize(size.width(), sizes[i]));
}

void PanelArea::resizeEvent(QResizeEvent* event)
{
    QWidget::resizeEvent(event);
    // Splitters share out what they get in proportion when they are laid out first; ours have exact sizes.
    if (!m_spread) spread(m_root, size() - QSize(2 * kGap, 2 * kGap));
    if (isVisible()) m_spread = true;
}

QJsonObject PanelArea::describe(QWidget* node) const
{
    QJsonObject result;
    if (const auto* const strip = qobject_cast<PanelStrip*>(node)) {
        QJsonArray tabs;
        for (int i = 0; i < strip->count(); ++i) tabs.append(strip->panel(i)->objectName());
        result["tabs"] = tabs;
        if (strip->current()) result["current"] = strip->current()->objectName();
    } else if (const auto* const splitter = qobject_cast<QSplitter*>(node)) {
        QJsonArray parts, sizes;
        for (int i = 0; i < splitter->count(); ++i) {
            parts.append(describe(splitter->widget(i)));
            sizes.append(splitter->sizes()[i]);
        }
        result["split"] = splitter->orientation() == Qt::Vertical ? "v" : "h";
        result["parts"] = parts;
        result["sizes"] = sizes;
        result["stretch"] = splitter->property("stretch").toInt();
    }
    return result;
}

QJsonObject PanelArea::arrangement() const
{
    QJsonObject result = m_root ? describe(m_root) : QJsonObject();
    QJsonArray windows;
    for (QWidget* const window : m_windows) {
        QJsonObject one = describe(window->findChild<PanelStrip*>());
        const QRect r = window->geometry();
        one["rect"] = QJsonArray{r.x(), r.y(), r.width(), r.height()};
        windows.append(one);
    }
    if (!windows.isEmpty()) result["windows"] = windows;
    return result;
}

bool PanelArea::isCovering(const QString& front, const QString& behind) const
{
    const auto over = m_panels.find(front), under = m_panels.find(behind);
    if (over == m_panels.end() || under == m_panels.end()) return false;
    const PanelStrip* const strip = stripOf(over->second);
    return strip != nullptr && strip == stripOf(under->second) && strip->current() == over->second;
}

PanelStrip* PanelArea::stripOf(const Panel* panel) const
{
    for (QWidget* up = panel->parentWidget(); up; up = up->parentWidget())
        if (auto* const strip = qobject_cast<PanelStrip*>(up)) return strip->indexOf(panel) < 0 ? nullptr : strip;
    return nullptr;
}

QList<PanelStrip*> PanelArea::strips() const { return m_root ? findChildren<PanelStrip*>() : QList<PanelStrip*>(); }

bool PanelArea::isOpen(const QString& name) const
{
    const auto found = m_panels.find(name);
    return found != m_panels.end() && stripOf(found->second) != nullptr;
}

PanelStrip* PanelArea::homeStrip(const QString& name)
{
    // Where its neighbours of the drawing lie, else the last strip of the area.
    for (const QJsonValue& other : tabsWith(m_home, name))
        if (isOpen(other.toString())) return stripOf(m_panels[other.toString()]);
    const QList<PanelStrip*> all = strips();
    if (!all.isEmpty()) return all.last();
    PanelStrip* const strip = newStrip();
    m_root = strip;
    layout()->addWidget(strip);
    return strip;
}

Panel* PanelArea::show(const QString& name, bool focus)
{
    Panel* const shown = panel(name);
    if (!shown) return nullptr;
    PanelStrip* strip = stripOf(shown);
    if (!strip) {
        strip = homeStrip(name);
        strip->add(shown);
        emit arrangementChanged();
    }
    strip->setCurrent(shown);
    if (strip->window() != window()) strip->window()->raise();
    if (focus) {
        strip->window()->activateWindow();
        focusInto(*shown);
    }
    return shown;
}

void PanelArea::takeOut(Panel* panel)
{
    PanelStrip* const strip = stripOf(panel);
    if (!strip) return;
    strip->take(panel);
    QWidget* const seat = PanelStrip::seatOf(panel);
    seat->setParent(this);
    seat->hide();
    prune(strip);
}

void PanelArea::prune(PanelStrip* strip)
{
    if (strip->count() > 0) return;
    for (QWidget* const window : m_windows)
        if (window->isAncestorOf(strip)) {
            m_windows.removeOne(window);
            window->hide();
            window->deleteLater();
            return;
        }
    auto* splitter = qobject_cast<QSplitter*>(strip->parentWidget());
    if (strip == m_root) m_root = nullptr;
    strip->hide();
    strip->setParent(nullptr);
    strip->deleteLater();
    // A splitter with one part is that part.
    while (splitter && splitter->count() == 1) {
        QWidget* const only = splitter->widget(0);
        auto* const outer = qobject_cast<QSplitter*>(splitter->parentWidget());
        if (outer) {
            const QList<int> sizes = outer->sizes();
            outer->replaceWidget(outer->indexOf(splitter), only);
            outer->setSizes(sizes);
        } else {
            layout()->replaceWidget(splitter, only);
            m_root = only;
        }
        only->show();
        splitter->deleteLater();
        splitter = outer;
    }
}

void PanelArea::close(const QString& name)
{
    const auto found = m_panels.find(name);
    if (found == m_panels.end() || !stripOf(found->second)) return;
    if (strips().size() == 1 && strips().front()->count() == 1) return; // the last one stays
    takeOut(found->second);
    emit arrangementChanged();
}

PanelStrip* PanelArea::neighbour(PanelStrip* strip, Side side) const
{
    const auto rectOf = [this](QWidget* widget) { return QRect(widget->mapTo(this, QPoint(0, 0)), widget->size()); };
    const QRect from = rectOf(strip);
    PanelStrip* best = nullptr;
    int nearest = INT_MAX;
    for (PanelStrip* const other : strips()) {
        if (other == strip || other->window() != window()) continue;
        const QRect to = rectOf(other);
        const bool across = side == Side::left || side == Side::right;
        const int shared = across ? std::min(from.bottom(), to.bottom()) - std::max(from.top(), to.top())
                                  : std::min(from.right(), to.right()) - std::max(from.left(), to.left());
        const int gap = side == Side::left    ? from.left() - to.right()
                        : side == Side::right ? to.left() - from.right()
                        : side == Side::up    ? from.top() - to.bottom()
                                              : to.top() - from.bottom();
        if (gap < 0 || shared <= 0) continue;
        const int cost = gap * 4 - shared;
        if (cost < nearest) {
            nearest = cost;
            best = other;
        }
    }
    return best;
}

PanelStrip* PanelArea::splitAt(Side side)
{
    const bool across = side == Side::left || side == Side::right;
    const Qt::Orientation orientation = across ? Qt::Horizontal : Qt::Vertical;
    auto* splitter = qobject_cast<QSplitter*>(m_root);
    if (!splitter || splitter->orientation() != orientation) {
        auto* const outer = new QSplitter(orientation);
        outer->setHandleWidth(kGap);
        outer->setChildrenCollapsible(false);
        connect(outer, &QSplitter::splitterMoved, this, &PanelArea::arrangementChanged);
        layout()->replaceWidget(m_root, outer);
        outer->addWidget(m_root);
        outer->setStretchFactor(0, 1);
        m_root = splitter = outer;
    }
    PanelStrip* const strip = newStrip();
    QList<int> sizes = splitter->sizes();
    const bool first = side == Side::left || side == Side::up;
    splitter->insertWidget(first ? 0 : splitter->count(), strip);
    sizes.insert(first ? 0 : sizes.size(), across ? 240 : 132);
    splitter->setSizes(sizes);
    splitter->show();
    return strip;
}

void PanelArea::move(const QString& name, Side side)
{
    const auto found = m_panels.find(name);
    if (found == m_panels.end()) return;
    Panel* const moved = found->second;
    PanelStrip* const from = stripOf(moved);
    if (!from) return;
    PanelStrip* to = from->window() == window() ? neighbour(from, side) : homeStrip(name);
    if (!to) {
        if (from->count() == 1 && strips().size() == 1) return;
        to = splitAt(side);
    }
    from->take(moved);
    to->add(moved);
    to->setCurrent(moved);
    prune(from);
    moved->focusTarget()->setFocus(Qt::ShortcutFocusReason);
    emit arrangementChanged();
}

void PanelArea::openWindow(const QString& name)
{
    Panel* const moved = panel(name);
    if (!moved) return;
    const QSize before = moved->size();
    PanelStrip* const from = stripOf(moved);
    if (from) {
        if (from->window() != window()) return;
        from->take(moved);
    }
    PanelStrip* const strip = newStrip();
    auto* const own = new StripWindow(window(), strip);
    own->setAttribute(Qt::WA_DeleteOnClose, false);
    own->setWindowTitle(moved->title() + QStringLiteral(" · Loopscope"));
    own->resize(before.expandedTo(QSize(480, 320)));
    strip->add(moved);
    if (from) prune(from);
    own->closing = [this, strip] {
        while (strip->count() > 0) {
            Panel* const panel = strip->panel(0);
            const QString back = panel->objectName();
            takeOut(panel);
            show(back, false);
        }
    };
    m_windows.append(own);
    own->show();
    emit arrangementChanged();
}

void PanelArea::showWindows(bool shown)
{
    for (QWidget* const window : m_windows) window->setVisible(shown);
}

Panel* PanelArea::focusPanel() const
{
    for (QWidget* up = QApplication::focusWidget(); up; up = up->parentWidget())
        if (auto* const panel = qobject_cast<Panel*>(up)) return panel;
    return nullptr;
}

void PanelArea::nextTab(int offset)
{
    PanelStrip* strip = nullptr;
    for (QWidget* up = QApplication::focusWidget(); up && !strip; up = up->parentWidget()) strip = qobject_cast<PanelStrip*>(up);
    if (!strip && !strips().isEmpty()) strip = strips().front();
    if (!strip) return;
    strip->nextTab(offset);
    if (strip->current()) strip->current()->focusTarget()->setFocus(Qt::TabFocusReason);
}

void PanelArea::setProgress(const QString& name, double done)
{
    const auto found = m_panels.find(name);
    if (found == m_panels.end()) return;
    PanelStrip* const own = stripOf(found->second);
    for (PanelStrip* const strip : strips()) // the panel may have moved since
        if (strip != own) strip->setProgress(-1);
    if (own) own->setProgress(done);
}

void PanelArea::showMenu(Panel* panel, const QPoint& global)
{
    const QString name = panel->objectName();
    auto* const menu = new QMenu(this); // a file that is opened meanwhile takes the area with it
    menu->setAttribute(Qt::WA_DeleteOnClose);
    menu->setObjectName("tabMenu");
    menu->addAction(tr("Move &left"), this, [this, name] { move(name, Side::left); });
    menu->addAction(tr("Move &right"), this, [this, name] { move(name, Side::right); });
    menu->addAction(tr("Move &up"), this, [this, name] { move(name, Side::up); });
    menu->addAction(tr("Move &down"), this, [this, name] { move(name, Side::down); });
    menu->addSeparator();
    menu->addAction(tr("Open in own &window"), this, [this, name] { openWindow(name); });
    menu->addAction(tr("&Close"), this, [this, name] { close(name); });
    menu->addSeparator();
    menu->addAction(tr("Re&set arrangement"), this, [this] {
        reset();
        emit arrangementChanged();
    });
    menu->popup(global);
}

} // namespace loopscope::viewer
