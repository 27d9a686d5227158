// The window: menus, tool bar with address and search, the panels of a task, status line. Everything it does goes through commands of the
// key table; everything they do goes through the document as a request to the debugger.
#pragma once

#include "viewer/bridge/document.h"
#include "viewer/widgets/panel_area.h"
#include "viewer/window/arrangements.h"
#include "viewer/window/key_bindings.h"
#include "viewer/window/settings.h"
#include "viewer/window/window_services.h"

#include <QMainWindow>
#include <QPointer>

#include <functional>
#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>

class QAction;
class QLabel;
class QLineEdit;
class QStackedWidget;
class QToolButton;

namespace loopscope::viewer {

class AddressBar;
class Banner;
class FilePage;
class StatusLine;
class SessionStore;
class WelcomePage;

class MainWindow : public QMainWindow {
    Q_OBJECT
public:
    struct Folders {
        QString settings; ///< file; empty: nothing is remembered
        QString sessions; ///< folder; empty: nothing is remembered
    };
    /// `services` must outlive the window and what it is opening.
    MainWindow(WindowServices& services, const Folders& folders, QWidget* parent = nullptr);
    ~MainWindow() override;

    /// Opens a model, recording or session in the background and shows it in place of what was open.
    /// `against`: another file that its runs are held against, by cosine similarity if `cosine` > 0.
    void open(const QString& path, std::function<void()> then = {}, const QString& against = {}, double cosine = 0);
    void openSample(int index);
    /// Opens the present file again, held against another model or recording, and compares both with the inputs that it has.
    void compareWith(const QString& other);
    /// Of a document that is held against another: runs both. Inputs without a value are filled.
    void compare();
    /// The other side becomes the file that is open, held against this one.
    bool isRunning(); ///< and says so
    void swapSides();
    void closeDocument();
    Document* document() { return m_document.get(); }
    PanelArea* area() { return m_area; }
    StatusLine* status() { return m_status; }
    AddressBar* addressBar() { return m_address; }
    bool isOpening() const { return m_opening > 0; }
    /// Nothing runs, nothing is being opened or laid out.
    bool settled() const;

    Task task() const { return m_task; }
    void setTask(Task task);
    /// A command of the key table, "stepOver", or one with its number, "gotoBookmark.3". False: it does not apply now.
    bool run(const QString& command);
    /// The same from where its action does not stand in between, the palette and the letters of gdb. False also while the action is
    /// disabled.
    bool runIfEnabled(const QString& command);
    /// The names that run() and the panels know, sorted.
    QStringList commands() const;
    /// In the status line and among the problems.
    void say(const QString& problem);
    QAction* action(const QString& command) const { return m_actions.value(command); }
    const KeyBindings& keys() const { return m_keys; }
    /// The first key of a global command.
    QString keyOf(const QString& command) const;
    /// Changes a key; false if it is in the way of another command, which `clash` then names.
    bool rebind(const KeyPlace& place, const QString& key, QString* clash = nullptr);
    void resetKeys();
    void setWheelZooms(bool zooms);
    /// Exchanges the theme now and remembers it: "light", "dark", "contrast", "system".
    void setTheme(const QString& name);
    void showWelcome();
    Settings& settings() { return m_settings; }

signals:
    void documentOpened();
    void openFailed(const loopscope::Error& error);

protected:
    void closeEvent(QCloseEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void dragEnterEvent(QDragEnterEvent* event) override;
    void dropEvent(QDropEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    // main_window.cpp
    void showDocument(std::unique_ptr<Backend> backend);
    void refuseComparison(const Error& error);
    void showError(const QString& path, const Error& error);
    void stopChanged();
    void noticeTimeline();
    void updateActions();
    void updateAddress();
    void updateTitle();
    void keepArrangement();
    QString taskKey() const;
    bool isDataflow() const;
    void offerSession();
    void restoreSession(const QJsonObject& session);
    void keepGeometry();
    // window_actions.cpp
    QAction* addAction(const QString& command, const QString& label, const QString& tip);
    void applyKeys();
    void makeActions();
    void makeMenus();
    QWidget* makeToolBar();
    // window_commands.cpp
    void makeCommands();
    void perform(Request request);
    bool needsInputs();
    void runOrContinue();
    void move(const request::Move& move);
    void toggleBreakpoint();
    std::string operatorInFocus() const;
    const BreakpointRow* breakpointInFocus() const;
    bool panelCommand(const QString& panel, const QString& command);
    void focusPanel(int number);
    void chooseFile(const QString& title, const QString& filter, std::function<void(const QString&)> then);
    bool changedKey(const QKeyEvent& event);
    void copyText(const QString& text);
    void goToOperator(const QString& address);

    WindowServices& m_services;
    Settings m_settings;
    KeyBindings m_keys{m_settings};
    std::unique_ptr<SessionStore> m_sessions;
    QMap<QString, QAction*> m_actions;
    std::map<QString, std::function<bool()>> m_commands;
    QList<std::pair<QAction*, const KeyPlace*>> m_panelKeys; ///< of menus; the text shows the key
    QLabel* m_file = nullptr;
    QWidget* m_bar = nullptr;
    AddressBar* m_address = nullptr;
    QLineEdit* m_find = nullptr;
    QList<QToolButton*> m_taskButtons;
    Banner* m_banner = nullptr;
    QStackedWidget* m_stack = nullptr;
    WelcomePage* m_welcome = nullptr;
    FilePage* m_filePage = nullptr;
    StatusLine* m_status = nullptr;
    std::unique_ptr<Document> m_document;
    PanelArea* m_area = nullptr; ///< of the document; goes before it
    Task m_task = Task::browse;
    bool m_arrangementTouched = false; ///< by the user, since the task was chosen
    int m_opening = 0;
    std::stop_source m_openingStop;
    quint64 m_openTicket = 0;
    qint64 m_progressFrom = 0;
    size_t m_timelines = 0;          ///< that the run had at the last stop
    QString m_lastLine;              ///< the command that ran last
    QPointer<QWidget> m_focusBefore; ///< Alt+1 again returns there
};

} // namespace loopscope::viewer
