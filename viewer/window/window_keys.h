// Keys that no shortcut of an action takes: those of the panel that has the focus, and those that the user has changed.
#pragma once

#include "viewer/window/key_bindings.h"

class QEvent;
class QKeyEvent;
class QObject;

namespace loopscope::viewer {

class MainWindow;
class Panel;

class WindowKeys {
public:
    WindowKeys(MainWindow& window, const KeyBindings& keys) : m_window(window), m_keys(keys) {}

    /// A key that no widget wanted: of the panel that has the focus. False: it means nothing there.
    bool unwanted(const QKeyEvent& event);
    /// What goes before all widgets. True: it is done.
    bool before(const QObject* watched, QEvent* event);

private:
    Panel* focusPanel();
    bool changed(const QKeyEvent& event);

    MainWindow& m_window;
    const KeyBindings& m_keys;
};

} // namespace loopscope::viewer
