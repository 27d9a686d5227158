// The window's actions, one for each command of the key table that works everywhere: their icons, their keys and when they apply.
#pragma once

#include "viewer/window/key_bindings.h"

#include <QList>
#include <QMap>
#include <QMenu>
#include <QString>

#include <initializer_list>
#include <utility>

class QAction;

namespace loopscope::viewer {

class Document;
class MainWindow;

class WindowActions {
public:
    explicit WindowActions(MainWindow& window);

    /// Null if there is none.
    QAction* of(const QString& command) const { return m_actions.value(command); }
    QString keyOf(const QString& command) const;
    /// The entry of a menu for a command of `panel`, whatever has the focus. `place` is one of KeyBindings::places().
    QAction* addTo(QMenu& menu, const QString& panel, const KeyPlace& place);
    void applyKeys(const KeyBindings& keys);
    /// Enables what applies to the document now. Null: none is open.
    void update(Document* document, bool canReload);

private:
    void add(const QString& command, const QString& label, const QString& tip);
    void showIcons();
    void enable(bool on, std::initializer_list<const char*> names);

    MainWindow& m_window;
    QMap<QString, QAction*> m_actions;
    QList<std::pair<QAction*, const KeyPlace*>> m_panelKeys; ///< of menus; the text shows the key
};

/// Keys that have no console text need the word to be found in the palette.
inline QString tipWithKey(const QString& label, const QString& key) { return key.isEmpty() ? label : label + QStringLiteral(" · ") + key; }

} // namespace loopscope::viewer
