// The bar below the menus: buttons that move the run, the address, the field to find something, and the tasks.
#pragma once

#include "viewer/window/arrangements.h"
#include "viewer/window/tool_row.h"

#include <QList>
#include <QMap>
#include <QString>

#include <functional>

class QLineEdit;
class QToolButton;

namespace loopscope::viewer {

class AddressBar;
class WindowActions;

class RunBar : public ToolRow {
    Q_OBJECT
public:
    /// `run`: a command of the window.
    RunBar(const WindowActions& actions, std::function<void(const QString&)> run, QWidget* parent);

    AddressBar* address() { return m_address; }
    QLineEdit* findField() { return m_find; }
    void showTask(Task task);
    void showKeys(const WindowActions& actions);
    /// Nothing to find and no task without a document.
    void setDocumentOpen(bool open);

private:
    void addButtons(const WindowActions& actions);
    void addLine();
    void addFindField();
    void addTasks();
    void restyle();

    std::function<void(const QString&)> m_run;
    AddressBar* m_address = nullptr;
    QLineEdit* m_find = nullptr;
    QList<QToolButton*> m_tasks;
};

} // namespace loopscope::viewer
