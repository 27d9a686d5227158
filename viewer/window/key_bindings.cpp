#include "viewer/window/key_bindings.h"

#include "viewer/window/arrangements.h"
#include "viewer/window/settings.h"

#include <QKeySequence>

#include <algorithm>

namespace loopscope::viewer {

namespace {

bool isGlobal(const KeyPlace& place) { return place.context == QLatin1String("global"); }

/// Letters of global commands are free wherever a panel does not listen to letters.
bool reaches(const KeyPlace& global, const QString& key, const QString& context)
{
    return !(global.isSecond && isLetterKey(key)) || context == QLatin1String("graph") || context == QLatin1String("listing");
}

std::vector<KeyPlace> allPlaces()
{
    std::vector<KeyPlace> all;
    for (const KeyRow& row : keyTable()) {
        const QString context(row.context), command(row.command), label = QString::fromUtf8(row.label), key(row.key);
        const bool global = context == QLatin1String("global");
        if (global && key.contains(QLatin1String(".."))) {
            const QStringList keys = keysOf(key);
            for (qsizetype i = 0; i < keys.size(); ++i) {
                const QString number = QString::number(i + 1);
                const QString name = command == QLatin1String("task")           ? QObject::tr("Task %1").arg(taskName(static_cast<Task>(i)))
                                     : command == QLatin1String("gotoBookmark") ? QObject::tr("Go to bookmark %1").arg(number)
                                                                                : QObject::tr("Focus panel %1").arg(number);
                all.push_back({context, command + '.' + number, name, keys[i]});
            }
            continue;
        }
        const QStringList keys = keysOf(key);
        if (keys.size() > 1 && command != QLatin1String("typeIteration")) {
            const QStringList names = label.split(QStringLiteral(", ")); // "Table, heat map, …": one for each key, else one for all
            for (qsizetype i = 0; i < keys.size(); ++i)
                all.push_back({context, command + '.' + QString::number(i + 1),
                               names.size() == keys.size() ? names[i] : label + QStringLiteral(": ") + keys[i], keys[i], false, false,
                               true});
            continue;
        }
        all.push_back({context, command, label, key, false, keys.size() > 1});
        if (global) all.push_back({context, command, label, QString(row.second), true});
    }
    return all;
}

} // namespace

bool isLetterKey(const QString& key)
{
    const QString last = key.startsWith(QLatin1String("Shift+")) ? key.mid(6) : key;
    return last.size() == 1 && last[0].isLetter();
}

QString keyText(QKeyCombination pressed)
{
    const int key = pressed.key();
    Qt::KeyboardModifiers modifiers = pressed.keyboardModifiers() & ~(Qt::KeypadModifier | Qt::GroupSwitchModifier);
    const bool isLetter = key >= Qt::Key_A && key <= Qt::Key_Z, isDigit = key >= Qt::Key_0 && key <= Qt::Key_9;
    const bool isSymbol = key > Qt::Key_Space && key <= Qt::Key_AsciiTilde && !isLetter && !isDigit;
    const bool isShiftedDigit = isDigit && !(modifiers & (Qt::ControlModifier | Qt::AltModifier)); // of layouts with symbols below
    if (isSymbol || isShiftedDigit) modifiers &= ~Qt::ShiftModifier;
    return QKeySequence(QKeyCombination(modifiers, pressed.key())).toString(QKeySequence::PortableText);
}

QString KeyPlace::id() const
{
    return (context == QLatin1String("global") ? QString() : context + '.') + command + (isSecond ? QStringLiteral("/2") : QString());
}

const std::vector<KeyPlace>& KeyBindings::places()
{
    static const std::vector<KeyPlace> all = allPlaces();
    return all;
}

const KeyPlace* KeyBindings::find(const QString& context, const QString& command, bool second)
{
    const auto found = std::ranges::find_if(
        places(), [&](const KeyPlace& place) { return place.context == context && place.command == command && place.isSecond == second; });
    return found == places().end() ? nullptr : &*found;
}

QString KeyBindings::keyOf(const KeyPlace& place) const
{
    const QJsonValue changed = m_settings.value("keys").toObject()[place.id()];
    return changed.isString() ? changed.toString() : place.key;
}

const KeyPlace* KeyBindings::holder(const KeyPlace& place, const QString& key) const
{
    if (key.isEmpty()) return nullptr;
    for (const KeyPlace& other : places()) {
        if (other.id() == place.id()) continue;
        const bool same = other.context == place.context || (isGlobal(other) && reaches(other, key, place.context)) ||
                          (isGlobal(place) && reaches(place, key, other.context));
        if (!same) continue;
        const QString theirs = keyOf(other);
        if (theirs.compare(key, Qt::CaseInsensitive) == 0 || (other.isFixed && keysOf(theirs).contains(key, Qt::CaseInsensitive)))
            return &other;
    }
    return nullptr;
}

void KeyBindings::set(const KeyPlace& place, const QString& key)
{
    QJsonObject all = m_settings.value("keys").toObject();
    if (key == place.key) all.remove(place.id());
    else all[place.id()] = key;
    m_settings.set("keys", all);
}

KeyBindings::Meaning KeyBindings::changedMeaning(const QString& context, const QString& key) const
{
    Meaning meaning;
    if (context.isEmpty() || m_settings.value("keys").toObject().isEmpty()) return meaning;
    for (const KeyPlace& place : places()) {
        const bool letters =
            isGlobal(place) && place.isSecond && (context == QLatin1String("graph") || context == QLatin1String("listing"));
        if ((place.context != context && !letters) || !isChanged(place)) continue;
        if (keyOf(place).compare(key, Qt::CaseInsensitive) == 0) return {place.command, place.isOfMany ? place.key : QString(), false};
        if (place.key.compare(key, Qt::CaseInsensitive) == 0) meaning.isVacated = true;
    }
    return meaning;
}

} // namespace loopscope::viewer
