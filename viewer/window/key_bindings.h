// The keys that commands really have: those of the key table, and what the user has changed. A command of a panel counts while the panel
// has the focus; a global one always, so that its key is taken in every panel.
#pragma once

#include "viewer/window/key_table.h"

#include <QJsonObject>
#include <QKeyCombination>
#include <QString>

#include <vector>

namespace loopscope::viewer {

class Settings;

/// One key that can be changed.
struct KeyPlace {
    QString context; ///< of the key table
    QString command; ///< "stepOver", "gotoBookmark.3"
    QString label;
    QString key; ///< as delivered
    bool isSecond = false;
    bool isFixed = false; ///< digits that type a number: shown, not changed
    bool isOfMany =
        false;          ///< one of the keys of a panel's row (arrows, modes): its widgets listen to the delivered key, not to the command
    QString id() const; ///< in the settings: "stepOver", "stepOver/2", "graph.fit"
};

class KeyBindings {
public:
    explicit KeyBindings(Settings& settings) : m_settings(settings) {}

    /// Every key of the table in its order; a row of ten keys of ten commands ("Ctrl+1..Ctrl+0") as ten ("gotoBookmark.1"). Of each global
    /// command also the place of its second key, which may be empty.
    static const std::vector<KeyPlace>& places();
    static const KeyPlace* find(const QString& context, const QString& command, bool second = false);

    QString keyOf(const KeyPlace& place) const;
    bool isChanged(const KeyPlace& place) const { return keyOf(place) != place.key; }
    /// Who has a key that `place` is about to get; null: nobody whom it would be in the way of.
    const KeyPlace* holder(const KeyPlace& place, const QString& key) const;
    void set(const KeyPlace& place, const QString& key);

    /// What a pressed key means in a panel's context after changes.
    struct Meaning {
        QString command;        ///< of the context; empty: none
        QString delivered;      ///< of a key of many: that as which widgets are to get it
        bool isVacated = false; ///< the key was that of a command that has another one now, and means nothing
    };
    Meaning changedMeaning(const QString& context, const QString& key) const;

private:
    Settings& m_settings;
};

/// A pressed key as the table writes it. Of a symbol only which it is counts: "+" is one key on a keypad, and Shift with another on many
/// layouts.
QString keyText(QKeyCombination pressed);

/// A single letter, or Shift with one: works in graph and listing only, where nobody types.
bool isLetterKey(const QString& key);

} // namespace loopscope::viewer
