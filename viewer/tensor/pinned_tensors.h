// Values that are kept in tabs beside the one that is selected, and the range of colours that means the same in all of them.
#pragma once

#include "viewer/bridge/document.h"
#include "viewer/tensor/value_source.h"

#include <QJsonArray>
#include <QTabBar>

#include <optional>
#include <vector>

namespace loopscope::viewer {

class PinnedTensors : public QTabBar {
    Q_OBJECT
public:
    PinnedTensors(Document& document, QWidget* parent);

    void add(const Selection& selection);
    void clear();
    const std::vector<Selection>& all() const { return m_pins; }
    bool isPinnedShown() const { return currentIndex() > 0; }
    /// Of the tab that follows the selection.
    void setTitle(const QString& title) { setTabText(0, title); }
    /// Static addresses.
    QJsonArray entries() const;
    void restore(const QJsonArray& entries);
    /// Smallest and largest of the pinned values, once askRange() was answered.
    const std::optional<ValueRange>& range() const { return m_range; }
    void askRange();

signals:
    void chosen(const loopscope::viewer::Selection& selection);
    void edited(); ///< other pins
    void rangeChanged();

private:
    void remove(int index);

    Document& m_document;
    std::vector<Selection> m_pins;
    std::optional<ValueRange> m_range;
};

} // namespace loopscope::viewer
