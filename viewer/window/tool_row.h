// A row of tools that always fits: where there is no room for all, those that can be missed most easily go into a menu at its end of the
// run buttons ("▾"). Nothing is ever cut.
#pragma once

#include <QList>
#include <QWidget>

class QHBoxLayout;
class QMenu;
class QToolButton;

namespace loopscope::viewer {

class ToolRow : public QWidget {
    Q_OBJECT
public:
    explicit ToolRow(QWidget* parent = nullptr);

    QHBoxLayout* row() { return m_row; }
    /// Places the menu's button here, hidden while everything fits.
    void addMenuButton();
    /// `widgets` go together, and the earlier the call the earlier they go. Tool buttons with an action come back in the menu.
    void fold(const QList<QWidget*>& widgets) { m_folds.append(widgets); }
    void refold();
    /// Buttons that are in the menu now.
    QStringList folded() const;

protected:
    void resizeEvent(QResizeEvent* event) override;
    QSize minimumSizeHint() const override { return {0, height()}; } // it folds instead

private:
    QHBoxLayout* m_row;
    QToolButton* m_more = nullptr;
    QMenu* m_menu = nullptr;
    QList<QList<QWidget*>> m_folds;
};

} // namespace loopscope::viewer
