#include "viewer/widgets/panel_strip.h"

#include "viewer/style/icons.h"
#include "viewer/style/theme.h"
#include "viewer/widgets/closing_tabs.h"

#include <QAbstractItemView>
#include <QApplication>
#include <QHBoxLayout>
#include <QLabel>
#include <QMenu>
#include <QProgressBar>
#include <QScrollArea>
#include <QSignalBlocker>
#include <QStackedWidget>
#include <QStyle>
#include <QToolButton>

#include <algorithm>

namespace loopscope::viewer {

PanelStrip::PanelStrip(QWidget* parent) : QFrame(parent)
{
    setProperty("frame", "panel");
    setMinimumSize(160, 96);
    auto* const column = new QVBoxLayout(this);
    column->setContentsMargins(1, 1, 1, 1);
    column->setSpacing(0);

    auto* const tabs = new ClosingTabs(this);
    m_tabs = tabs;
    m_tabs->setDrawBase(false);
    m_tabs->setExpanding(false);
    m_tabs->setElideMode(Qt::ElideNone); // what does not fit scrolls
    m_tabs->setUsesScrollButtons(true);
    m_tabs->setMovable(true);
    m_tabs->setFocusPolicy(Qt::TabFocus);
    m_tabs->setContextMenuPolicy(Qt::CustomContextMenu);
    m_headArea = new QWidget(this);
    m_head = new QHBoxLayout(m_headArea);
    m_head->setContentsMargins(4, 0, 4, 0);
    m_head->setSpacing(2);
    auto* const head = new QWidget(this);
    head->setObjectName("panelHead");
    auto* const row = new QHBoxLayout(head);
    row->setContentsMargins(0, 0, 0, 0);
    row->setSpacing(0);
    row->addWidget(m_tabs, 0);
    row->addStretch(1);
    row->addWidget(m_headArea, 0);
    column->addWidget(head);
    m_progress = new QProgressBar(this);
    m_progress->setTextVisible(false);
    m_progress->setFixedHeight(2);
    m_progress->hide();
    column->addWidget(m_progress);
    m_stack = new QStackedWidget(this);
    m_stack->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Ignored);
    column->addWidget(m_stack, 1);

    const auto restyle = [head] {
        head->setFixedHeight(Theme::instance().barHeight(24));
        head->setStyleSheet(QStringLiteral("#panelHead { background: %1; border-bottom: 1px solid %2; }")
                                .arg(themed(Token::window).name(), themed(Token::line).name()));
    };
    restyle();
    connect(&Theme::instance(), &Theme::changed, head, restyle);
    connect(qApp, &QApplication::focusChanged, this, [this](QWidget*, const QWidget* now) { markFocus(now); });
    connect(&Theme::instance(), &Theme::changed, this, &PanelStrip::showHead);
    connect(m_tabs, &QTabBar::currentChanged, this, [this](int index) {
        if (index >= 0) m_stack->setCurrentIndex(index);
        showHead();
        emit currentChanged();
    });
    connect(m_tabs, &QTabBar::tabMoved, this, [this](int from, int to) {
        QWidget* const moved = m_stack->widget(from);
        m_stack->removeWidget(moved);
        m_stack->insertWidget(to, moved);
        m_stack->setCurrentIndex(m_tabs->currentIndex());
        emit currentChanged(); // their order is remembered, too
    });
    connect(m_tabs, &QWidget::customContextMenuRequested, this, [this](const QPoint& at) {
        const int index = m_tabs->tabAt(at) >= 0 ? m_tabs->tabAt(at) : m_tabs->currentIndex();
        if (index >= 0) emit menuRequested(panel(index), m_tabs->mapToGlobal(at));
    });
    tabs->closing = [this](int at) { emit closeRequested(panel(at)); };
}

// The focus moves on while what the strip holds is destroyed; a style that knows the strip anew then would know it for ever.
PanelStrip::~PanelStrip() { disconnect(qApp, nullptr, this, nullptr); }

/// Whatever of a panel has the keyboard, one sees which panel that is.
void PanelStrip::markFocus(const QWidget* now)
{
    const bool has = now != nullptr && isAncestorOf(now);
    if (has == property("focused").toBool()) return;
    setProperty("focused", has);
    style()->unpolish(this);
    style()->polish(this);
}

QWidget* PanelStrip::seatOf(Panel* panel)
{
    QWidget* const viewport = panel->parentWidget();
    auto* const area = viewport ? qobject_cast<QScrollArea*>(viewport->parentWidget()) : nullptr;
    return area && area->widget() == panel ? area : static_cast<QWidget*>(panel);
}

/// Into the stack, first of all: whatever changes its parent is styled anew, with all that it holds.
void PanelStrip::takeSeat(Panel* panel, int at)
{
    if (QWidget* const seat = seatOf(panel); seat != panel) {
        m_stack->insertWidget(at, seat);
        return;
    }
    // A panel that needs more room than there is can be scrolled; nothing in it is squeezed.
    auto* const area = new QScrollArea;
    area->setObjectName("panelScroll");
    area->setFrameShape(QFrame::NoFrame);
    area->setWidgetResizable(true);
    area->setFocusPolicy(Qt::NoFocus);
    for (QAbstractScrollArea* const list : panel->findChildren<QAbstractScrollArea*>())
        if (list->minimumHeight() == 0 && !qobject_cast<QAbstractItemView*>(list->parentWidget()))
            list->setMinimumSize(48, 32); // what scrolls by itself gives way first
    m_stack->insertWidget(at, area);
    area->setWidget(panel);
    panel->setAutoFillBackground(false);
    panel->show();
}

void PanelStrip::add(Panel* panel, int at)
{
    if (at < 0 || at > count()) at = count();
    takeSeat(panel, at);
    m_tabs->insertTab(at, panel->title());
    m_tabs->updateGeometry(); // a tab bar that is not seen yet does not say that it has grown
    connect(panel, &Panel::titleChanged, this, [this, panel](const QString& title) {
        const int index = indexOf(panel);
        if (index < 0) return;
        m_tabs->setTabText(index, title);
        m_tabs->updateGeometry();
    });
    m_stack->setCurrentIndex(m_tabs->currentIndex());
    showHead();
}

void PanelStrip::leaveSeat(Panel* panel)
{
    panel->disconnect(this);
    if (QWidget* const widget = panel->headWidget(); widget && widget->parentWidget() != panel) widget->setParent(panel);
    QWidget* const seat = seatOf(panel);
    seat->hide();
    m_stack->removeWidget(seat);
}

void PanelStrip::take(Panel* panel)
{
    const int index = indexOf(panel);
    if (index < 0) return;
    leaveSeat(panel);
    m_tabs->removeTab(index);
    showHead();
}

void PanelStrip::takeAll()
{
    const QSignalBlocker quiet(m_tabs); // none of the others comes to the front in between
    while (count() > 0) {
        leaveSeat(panel(count() - 1));
        m_tabs->removeTab(count());
    }
    showHead();
}

int PanelStrip::count() const { return m_stack->count(); }

Panel* PanelStrip::panel(int index) const
{
    const auto* const area = qobject_cast<QScrollArea*>(m_stack->widget(index));
    return area ? qobject_cast<Panel*>(area->widget()) : nullptr;
}

int PanelStrip::indexOf(const Panel* wanted) const
{
    for (int i = 0; i < count(); ++i)
        if (panel(i) == wanted) return i;
    return -1;
}

Panel* PanelStrip::current() const { return panel(m_stack->currentIndex()); }

void PanelStrip::setCurrent(Panel* panel)
{
    const int index = indexOf(panel);
    if (index >= 0) m_tabs->setCurrentIndex(index);
}

void PanelStrip::nextTab(int offset)
{
    if (count() > 1) m_tabs->setCurrentIndex((m_tabs->currentIndex() + offset + count()) % count());
}

void PanelStrip::setProgress(double done)
{
    m_progress->setVisible(done >= 0);
    m_progress->setRange(0, done > 1 ? 0 : 1000);
    if (done >= 0 && done <= 1) m_progress->setValue(static_cast<int>(done * 1000));
}

void PanelStrip::showHead()
{
    // Widgets of panels go back to their panels, buttons were made here.
    while (m_head->count() > 0) {
        QLayoutItem* const item = m_head->takeAt(0);
        QWidget* const widget = item->widget();
        delete item;
        if (!widget) continue;
        if (widget->property("ofStrip").toBool()) {
            widget->deleteLater();
            widget->hide();
        } else {
            widget->hide();
            for (int i = 0; i < count(); ++i)
                if (panel(i)->headWidget() == widget) widget->setParent(panel(i));
        }
    }
    Panel* const front = current();
    if (!front) return;
    if (QWidget* const widget = front->headWidget()) {
        m_head->addWidget(widget);
        widget->show();
    }
    for (QAction* const action : front->headActions()) {
        auto* const button = new QToolButton(m_headArea);
        button->setProperty("place", "head");
        button->setProperty("ofStrip", true);
        button->setDefaultAction(action);
        button->setAutoRaise(true);
        if (action->menu()) button->setPopupMode(QToolButton::InstantPopup);
        button->setIconSize(QSize(16, 16) * (100 + std::max(100, Theme::instance().textPercent())) / 200);
        button->setFocusPolicy(Qt::TabFocus);
        if (action->icon().isNull()) button->setMinimumWidth(button->sizeHint().width()); // tabs scroll before a word is cut
        m_head->addWidget(button);
    }
}

} // namespace loopscope::viewer
