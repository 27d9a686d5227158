#include "viewer/window/tool_row.h"

#include <QAction>
#include <QHBoxLayout>
#include <QMenu>
#include <QToolButton>

namespace loopscope::viewer {

ToolRow::ToolRow(QWidget* parent) : QWidget(parent), m_row(new QHBoxLayout(this))
{
    m_row->setSizeConstraint(QLayout::SetNoConstraint); // a row that is too long folds, the window does not grow
}

void ToolRow::addMenuButton()
{
    m_more = new QToolButton(this);
    m_more->setObjectName("toolMore");
    m_more->setText(QStringLiteral("▾"));
    m_more->setToolTip(tr("More commands"));
    m_more->setAccessibleName(tr("More commands"));
    m_more->setFixedSize(28, 28);
    m_more->setFocusPolicy(Qt::TabFocus);
    m_more->setPopupMode(QToolButton::InstantPopup);
    m_menu = new QMenu(m_more);
    m_more->setMenu(m_menu);
    m_row->addWidget(m_more);
    m_more->hide();
}

void ToolRow::refold()
{
    for (const QList<QWidget*>& widgets : std::as_const(m_folds))
        for (QWidget* const widget : widgets) widget->show();
    m_more->hide();
    m_menu->clear();
    const auto fits = [this] {
        m_row->invalidate();
        return m_row->minimumSize().width() <= width();
    };
    QList<QAction*> hidden;
    for (const QList<QWidget*>& widgets : std::as_const(m_folds)) {
        if (fits()) break;
        m_more->show();
        for (QWidget* const widget : widgets) {
            widget->hide();
            if (const auto* const button = qobject_cast<QToolButton*>(widget); button && button->defaultAction())
                hidden.append(button->defaultAction());
        }
    }
    m_menu->addActions(hidden);
    m_row->activate();
}

QStringList ToolRow::folded() const
{
    QStringList names;
    for (const QAction* const action : m_menu->actions()) names.append(action->objectName());
    return names;
}

void ToolRow::resizeEvent(QResizeEvent* event)
{
    QWidget::resizeEvent(event);
    refold();
}

} // namespace loopscope::viewer
