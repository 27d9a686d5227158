#include "viewer/compare/strip_accessible.h"

#include "viewer/compare/error_strip.h"

#include <QAccessible>
#include <QAccessibleWidget>
#include <QPointer>

#include <algorithm>
#include <map>

namespace loopscope::viewer {

namespace {

/// One bar. Lives as long as the strip's interface; a row that is out of view is invalid.
class RowAccessible : public QAccessibleInterface, public QAccessibleActionInterface {
public:
    RowAccessible(ErrorStrip& strip, std::string address) : m_strip(&strip), m_address(std::move(address)) {}

    bool isValid() const override { return row().has_value(); }
    QObject* object() const override { return nullptr; }
    QWindow* window() const override { return m_strip->window()->windowHandle(); }
    QAccessibleInterface* parent() const override { return QAccessible::queryAccessibleInterface(m_strip.data()); }
    QAccessibleInterface* child(int) const override { return nullptr; }
    QAccessibleInterface* childAt(int, int) const override { return nullptr; }
    int childCount() const override { return 0; }
    int indexOfChild(const QAccessibleInterface*) const override { return -1; }
    QString text(QAccessible::Text kind) const override
    {
        const auto found = row();
        return kind == QAccessible::Name && found ? found->text : QString();
    }
    void setText(QAccessible::Text, const QString&) override {}
    QRect rect() const override
    {
        const auto found = row();
        return found ? QRect(m_strip->mapToGlobal(found->box.topLeft()), found->box.size()) : QRect();
    }
    QAccessible::Role role() const override { return QAccessible::Graphic; }
    QAccessible::State state() const override
    {
        QAccessible::State state;
        const auto found = row();
        state.invalid = !found;
        state.focusable = state.selectable = found.has_value();
        state.selected = found && found->selected;
        state.focused = found && found->selected && m_strip->hasFocus();
        return state;
    }
    void* interface_cast(QAccessible::InterfaceType type) override
    {
        return type == QAccessible::ActionInterface ? static_cast<QAccessibleActionInterface*>(this) : nullptr;
    }
    QStringList actionNames() const override { return {pressAction()}; }
    void doAction(const QString&) override
    {
        if (m_strip) m_strip->choose(m_address);
    }
    QStringList keyBindingsForAction(const QString&) const override { return {}; }

private:
    std::optional<ErrorStrip::SpokenRow> row() const
    {
        if (!m_strip) return std::nullopt;
        for (ErrorStrip::SpokenRow& each : m_strip->spokenRows())
            if (each.address == m_address) return std::move(each);
        return std::nullopt;
    }

    QPointer<ErrorStrip> m_strip;
    std::string m_address;
};

class StripAccessible : public QAccessibleWidget {
public:
    explicit StripAccessible(ErrorStrip& strip) : QAccessibleWidget(&strip, QAccessible::Chart), m_strip(strip) {}
    ~StripAccessible() override
    {
        for (const auto& [address, id] : m_rows) QAccessible::deleteAccessibleInterface(id);
    }
    int childCount() const override { return static_cast<int>(m_strip.spokenRows().size()); }
    QAccessibleInterface* child(int index) const override
    {
        const std::vector<ErrorStrip::SpokenRow> rows = m_strip.spokenRows();
        return index >= 0 && static_cast<size_t>(index) < rows.size() ? rowAt(rows[static_cast<size_t>(index)].address) : nullptr;
    }
    QAccessibleInterface* childAt(int x, int y) const override
    {
        const QPoint point = m_strip.mapFromGlobal(QPoint(x, y));
        for (const ErrorStrip::SpokenRow& row : m_strip.spokenRows())
            if (row.box.contains(point)) return rowAt(row.address);
        return nullptr;
    }
    int indexOfChild(const QAccessibleInterface* wanted) const override
    {
        const std::vector<ErrorStrip::SpokenRow> rows = m_strip.spokenRows();
        for (size_t i = 0; i < rows.size(); ++i)
            if (rowAt(rows[i].address) == wanted) return static_cast<int>(i);
        return -1;
    }
    QAccessibleInterface* focusChild() const override
    {
        if (!m_strip.hasFocus()) return nullptr;
        for (const ErrorStrip::SpokenRow& row : m_strip.spokenRows())
            if (row.selected) return rowAt(row.address);
        return nullptr;
    }

private:
    QAccessibleInterface* rowAt(const std::string& address) const
    {
        const auto [entry, isNew] = m_rows.try_emplace(address);
        if (isNew) entry->second = QAccessible::registerAccessibleInterface(new RowAccessible(m_strip, address));
        return QAccessible::accessibleInterface(entry->second);
    }

    ErrorStrip& m_strip;
    mutable std::map<std::string, QAccessible::Id> m_rows;
};

QAccessibleInterface* makeInterface(const QString& className, QObject* object)
{
    auto* const strip = className == QLatin1String("loopscope::viewer::ErrorStrip") ? qobject_cast<ErrorStrip*>(object) : nullptr;
    return strip ? new StripAccessible(*strip) : nullptr;
}

} // namespace

void installStripAccessibility()
{
    static const bool once = (QAccessible::installFactory(makeInterface), true);
    static_cast<void>(once);
}

} // namespace loopscope::viewer
