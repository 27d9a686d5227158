// What the commands of the key table do. Whatever moves through a run is a request to the debugger.
#pragma once

#include "viewer/bridge/document.h"

#include <QJsonObject>
#include <QPointer>
#include <QString>
#include <QStringList>
#include <QWidget>

#include <functional>
#include <map>
#include <string>

namespace loopscope::viewer {

class MainWindow;
class PanelArea;

class WindowCommands {
public:
    explicit WindowCommands(MainWindow& window);

    /// "stepOver", or one with its number, "gotoBookmark.3". False: it does not apply now.
    bool run(const QString& command) const;
    /// Those that run() and the panels know, sorted.
    QStringList names() const;

    /// Without a document: nothing.
    void perform(Request request);
    /// Opens the inputs panel if the run cannot begin. True: it cannot.
    bool needsInputs();
    /// What was wanted while something else was under way.
    void runIfWanted();
    void forgetWanted() { m_runIsWanted = false; }
    /// A line above the panels says what is remembered of the document.
    void offerSession();
    void restoreSession(const QJsonObject& session);
    /// A run that has not begun begins, instead.
    void move(const request::Move& move);
    /// Before a run only the picture can go there.
    void goTo(const QString& address);

private:
    using Work = std::function<bool()>;
    void addMoves();
    void addMarks();
    void addPlaces();
    void addFiles();
    void addPanels();
    /// A command that applies once a document is open, and one that always does.
    Work with(std::function<void()> work);
    static Work always(std::function<void()> work);

    Document& document() const; ///< there is one
    PanelArea& area() const;
    void runOrContinue();
    void toggleBreakpoint();
    std::string operatorInFocus() const;
    const BreakpointRow* breakpointInFocus() const;
    void focusPanel(int number);
    void chooseFile(const QString& title, const QString& filter, std::function<void(const QString&)> then);
    void chooseTarget(const QString& title, const QString& path, const QString& filter, std::function<void(const QString&)> then);

    MainWindow& m_window;
    std::map<QString, Work> m_commands;
    bool m_runIsWanted = false;      ///< as soon as what is under way has ended
    QPointer<QWidget> m_focusBefore; ///< Alt+1 again returns there
};

} // namespace loopscope::viewer
