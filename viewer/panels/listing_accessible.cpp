#include "viewer/panels/listing_accessible.h"

#include <QAccessible>
#include <QAccessibleWidget>
#include <QPointer>
#include <QWindow>

#include <vector>

namespace loopscope::viewer {

namespace {

/// One line in sight, for screen readers.
class LineAccessible : public QAccessibleInterface {
public:
    LineAccessible(ListingView& view, int inSight) : m_view(&view), m_inSight(inSight) {}
    bool isValid() const override { return line() >= 0; }
    QObject* object() const override { return nullptr; }
    QWindow* window() const override { return m_view ? m_view->window()->windowHandle() : nullptr; }
    QAccessibleInterface* parent() const override { return QAccessible::queryAccessibleInterface(m_view.data()); }
    QAccessibleInterface* child(int) const override { return nullptr; }
    QAccessibleInterface* childAt(int, int) const override { return nullptr; }
    int childCount() const override { return 0; }
    int indexOfChild(const QAccessibleInterface*) const override { return -1; }
    QString text(QAccessible::Text kind) const override
    {
        return kind == QAccessible::Name && isValid() ? m_view->spokenLine(line()) : QString();
    }
    void setText(QAccessible::Text, const QString&) override {}
    QRect rect() const override
    {
        if (!isValid()) return {};
        const QRect box = m_view->lineRect(m_inSight);
        return {m_view->viewport()->mapToGlobal(box.topLeft()), box.size()};
    }
    QAccessible::Role role() const override { return QAccessible::ListItem; }
    QAccessible::State state() const override
    {
        QAccessible::State state;
        state.invalid = !isValid();
        state.focusable = state.selectable = isValid();
        state.selected = isValid() && line() == m_view->cursorLine();
        state.focused = state.selected && m_view->hasFocus();
        return state;
    }

private:
    int line() const
    {
        const std::vector<int> lines = m_view ? m_view->linesInSight() : std::vector<int>();
        return static_cast<size_t>(m_inSight) < lines.size() ? lines[static_cast<size_t>(m_inSight)] : -1;
    }
    QPointer<ListingView> m_view;
    int m_inSight;
};

class ListingAccessible : public QAccessibleWidget {
public:
    explicit ListingAccessible(ListingView& view) : QAccessibleWidget(&view, QAccessible::List), m_view(view) {}
    ~ListingAccessible() override
    {
        for (const QAccessible::Id id : m_lines) QAccessible::deleteAccessibleInterface(id);
    }
    int childCount() const override { return static_cast<int>(m_view.linesInSight().size()); }
    QAccessibleInterface* child(int index) const override
    {
        if (index < 0 || index >= childCount()) return nullptr;
        while (static_cast<int>(m_lines.size()) <= index)
            m_lines.push_back(QAccessible::registerAccessibleInterface(new LineAccessible(m_view, static_cast<int>(m_lines.size()))));
        return QAccessible::accessibleInterface(m_lines[static_cast<size_t>(index)]);
    }
    QAccessibleInterface* childAt(int x, int y) const override
    {
        for (int i = 0; i < childCount(); ++i)
            if (child(i)->rect().contains(x, y)) return child(i);
        return nullptr;
    }
    int indexOfChild(const QAccessibleInterface* wanted) const override
    {
        for (int i = 0; i < childCount(); ++i)
            if (child(i) == wanted) return i;
        return -1;
    }

private:
    ListingView& m_view;
    mutable std::vector<QAccessible::Id> m_lines; ///< by place in sight
};

QAccessibleInterface* makeListingInterface(const QString&, QObject* object)
{
    auto* const view = qobject_cast<ListingView*>(object);
    return view ? new ListingAccessible(*view) : nullptr;
}

} // namespace

void installListingAccessibility(ListingView& view)
{
    static const bool once = (QAccessible::installFactory(makeListingInterface), true);
    static_cast<void>(once);
    if (!QAccessible::isActive()) return;
    QAccessibleInterface* const known = QAccessible::queryAccessibleInterface(&view);
    if (known != nullptr && dynamic_cast<ListingAccessible*>(known) == nullptr)
        QAccessible::deleteAccessibleInterface(QAccessible::uniqueId(known));
}

} // namespace loopscope::viewer
