// The window: menus, tool bar with address and search, the panels of a task, status line. Everything it does goes through commands of the
// key table; everything they do goes through the document as a request to the debugger.
#pragma once

#include "viewer/bridge/document.h"
#include "viewer/widgets/panel_area.h"
#include "viewer/window/arrangements.h"
#include "viewer/window/document_tabs.h"
#include "viewer/window/file_opener.h"
#include "viewer/window/key_bindings.h"
#include "viewer/window/settings.h"
#include "viewer/window/window_keys.h"
#include "viewer/window/window_services.h"

#include <QMainWindow>

#include <functional>
#include <memory>
#include <utility>

class QAction;
class QLabel;
class QLineEdit;

namespace loopscope::viewer {

class AddressBar;
class Banner;
class FilePage;
class RunBar;
class StatusLine;
class SessionStore;
class ResultStrip;
class WelcomePage;
class WindowActions;
class WindowCommands;
class WindowComparison;

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

    /// Opens a model, recording or session in the background and shows it in place of the document that is in front now.
    /// `against`: another file that its runs are held against, by cosine similarity if `cosine` > 0.
    void open(const QString& path, std::function<void()> then = {}, const QString& against = {}, double cosine = 0);
    /// Opens them one after the other, each in a tab of its own; one that is open already comes to the front.
    void openBeside(QStringList paths);
    void openSample(int index);
    /// Opens the present file again, held against another model or recording, and compares both with the inputs that it has.
    void compareWith(const QString& other);
    /// Of a document that is held against another: runs both. Inputs without a value are filled.
    void compare();
    /// Of the tabs, the one in front: a document or a page.
    void closeFile();
    Document* document() { return m_document; }
    DocumentTabs& tabs() { return *m_tabs; }
    PanelArea* area() { return m_area; }
    StatusLine* status() { return m_status; }
    AddressBar* addressBar();
    QLineEdit* findField();
    Banner& banner() { return m_sheet->banner(); }           ///< there is a document
    SessionStore& sessions() { return m_sheet->sessions(); } ///< there is a document
    bool isOpening() const { return m_opener.isBusy() || m_coming; }
    /// Gives up what is being opened; false: nothing is.
    bool cancelOpening();
    /// Opens again what is open, with its session, or what could not be opened; false: neither is there.
    bool reload();
    /// Nothing runs, nothing is being opened or laid out.
    bool settled() const;

    Task task() const { return m_sheet ? m_sheet->task : Task::browse; }
    void setTask(Task task);
    /// As drawn, whatever its user has moved.
    void resetArrangement();
    /// False: no panel of this name knows the command.
    bool panelCommand(const QString& panel, const QString& command);
    /// A command of the key table, "stepOver", or one with its number, "gotoBookmark.3". False: it does not apply now.
    bool run(const QString& command);
    /// The same from where its action does not stand in between, the palette and the letters of gdb. False also while the action is
    /// disabled.
    bool runIfEnabled(const QString& command);
    /// The names that run() and the panels know, sorted.
    QStringList commands() const;
    /// In the status line and among the problems.
    void say(const QString& problem);
    QAction* action(const QString& command) const;
    const KeyBindings& keys() const { return m_keys; }
    /// The first key of a global command.
    QString keyOf(const QString& command) const;
    /// Changes a key; false if it is in the way of another command, which `clash` then names.
    bool rebind(const KeyPlace& place, const QString& key, QString* clash = nullptr);
    void resetKeys();
    void setWheelZooms(bool zooms);
    /// Exchanges the theme now and remembers it: "light", "dark", "contrast", "system".
    void setTheme(const QString& name);
    void toggleDensity();
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
    void makePages();
    void followBars();
    void followDocument(DocumentSheet& sheet);
    void openInstead(DocumentSheet* before, const QString& path, std::function<void()> then, const QString& against, double cosine);
    void openPart(const QString& path);
    void showDocument(std::unique_ptr<Backend> backend, DocumentSheet* before, std::function<void()> then);
    void leaveDocument();
    void frontChanged();
    void showError(const QString& path, const Error& error);
    void stopChanged();
    void updateActions();
    void updateAddress();
    void keepArrangement();
    void applyKeys();

    WindowServices& m_services;
    FileOpener m_opener;
    Settings m_settings;
    KeyBindings m_keys{m_settings};
    WindowKeys m_panelKeys{*this, m_keys};
    QString m_sessionFolder;
    std::unique_ptr<WindowComparison> m_comparison;
    std::unique_ptr<WindowCommands> m_commands;
    std::unique_ptr<WindowActions> m_actions;
    QLabel* m_file = nullptr;
    RunBar* m_bar = nullptr;
    DocumentTabs* m_tabs = nullptr;
    WelcomePage* m_welcome = nullptr;
    FilePage* m_filePage = nullptr;
    StatusLine* m_status = nullptr;
    ResultStrip* m_results = nullptr;
    std::unique_ptr<DocumentSheet> m_coming; ///< its panels are being made; then it comes to the front
    // Of the document in front; null: there is none.
    DocumentSheet* m_sheet = nullptr;
    Document* m_document = nullptr;
    PanelArea* m_area = nullptr;
};

} // namespace loopscope::viewer
