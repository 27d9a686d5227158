// What is open held against another model or recording: opening both, giving both the same inputs, exchanging them.
#pragma once

#include "viewer/bridge/document.h"

#include <QString>

namespace loopscope::viewer {

class MainWindow;

class WindowComparison {
public:
    explicit WindowComparison(MainWindow& window) : m_window(window) {}

    /// Opens the present file again, held against another one, and compares both with the inputs that it has.
    /// Of a side that is this model, fused, its rewrites are in front, with `rewrite` selected if ≥ 0.
    void with(const QString& other, int rewrite = 0);
    /// Of a document that is held against another: runs both. Inputs without a value are filled.
    void run();
    /// The other side becomes the file that is open, held against this one.
    void swapSides();
    void refuse(const Error& error);

private:
    Document& document() const; ///< there is one
    bool isRunning();           ///< and says so

    MainWindow& m_window;
};

} // namespace loopscope::viewer
