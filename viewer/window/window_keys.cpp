#include "viewer/window/window_keys.h"

#include "viewer/window/main_window.h"

#include <QApplication>
#include <QKeyEvent>

namespace loopscope::viewer {

namespace {

/// The context of the key table that a panel is.
QString contextOf(const Panel* panel)
{
    if (!panel) return {};
    const QString name = panel->objectName();
    if (name == "panelGraph" || name == "panelRaised" || name.startsWith("panelCompare")) return "graph";
    if (name == "panelListing" || name == "panelStructured") return "listing";
    if (name == "panelTensor") return "tensor";
    if (name == "panelTimeline") return "timeline";
    if (name == "panelSql") return "sql";
    return {};
}

} // namespace

Panel* WindowKeys::focusPanel() { return m_window.area() ? m_window.area()->focusPanel() : nullptr; }

bool WindowKeys::unwanted(const QKeyEvent& event)
{
    Panel* const panel = focusPanel();
    const QString context = contextOf(panel);
    const QString key = keyText(event.keyCombination());
    const bool letters = context == "graph" || context == "listing"; // of gdb
    if (!context.isEmpty())
        for (const KeyPlace& place : KeyBindings::places()) {
            if (place.context != context && !(letters && place.isSecond)) continue;
            const QString bound = m_keys.keyOf(place);
            const bool hit =
                bound.compare(key, Qt::CaseInsensitive) == 0 || (place.isFixed && keysOf(bound).contains(key, Qt::CaseInsensitive));
            if (hit && ((!place.isSecond && panel->command(place.command)) || m_window.runIfEnabled(place.command))) return true;
        }
    return false;
}

/// Keys that the user has changed go before what a panel's widgets do with them. True: the key was one of these.
bool WindowKeys::changed(const QKeyEvent& event)
{
    Panel* const panel = focusPanel();
    const QString context = contextOf(panel);
    if (context.isEmpty()) return false;
    if (!event.spontaneous()) return false; // delivered below
    QWidget* const focus = QApplication::focusWidget();
    const bool types = focus->testAttribute(Qt::WA_InputMethodEnabled) && !(event.modifiers() & (Qt::ControlModifier | Qt::AltModifier)) &&
                       !event.text().isEmpty();
    if (types) return false;
    const KeyBindings::Meaning meaning = m_keys.changedMeaning(context, keyText(event.keyCombination()));
    if (meaning.command.isEmpty()) return meaning.isVacated;
    if (meaning.delivered.isEmpty()) return panel->command(meaning.command) || m_window.runIfEnabled(meaning.command);
    const QKeyCombination known = QKeySequence(meaning.delivered)[0];
    QKeyEvent press(QEvent::KeyPress, known.key(), known.keyboardModifiers());
    QApplication::sendEvent(focus, &press);
    return true;
}

bool WindowKeys::before(const QObject* watched, QEvent* event)
{
    if ((event->type() != QEvent::ShortcutOverride && event->type() != QEvent::KeyPress) || !m_window.isActiveWindow()) return false;
    const auto* const key = static_cast<QKeyEvent*>(event);
    // Layouts disagree on the symbol of Ctrl+Shift+digit: the physical key counts.
    const quint32 code = key->nativeScanCode();
    if (key->modifiers() == (Qt::ControlModifier | Qt::ShiftModifier) && code >= 10 && code <= 13) {
        if (event->type() == QEvent::ShortcutOverride) {
            event->accept();
            return true;
        }
        return m_window.run(QStringLiteral("task.%1").arg(code - 9));
    }
    return event->type() == QEvent::KeyPress && watched == QApplication::focusWidget() && changed(*key);
}

} // namespace loopscope::viewer
