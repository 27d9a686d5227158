// Widgets beside each other, in as many lines as the width wants: what a row of chips needs in a narrow panel or with large text.
#pragma once

#include <QLayout>
#include <QList>

namespace loopscope::viewer {

class FlowLayout : public QLayout {
public:
    explicit FlowLayout(int spacing) : m_gap(spacing) { setContentsMargins(0, 0, 0, 0); }
    ~FlowLayout() override { qDeleteAll(m_items); }

    void addItem(QLayoutItem* item) override { m_items.append(item); }
    int count() const override { return static_cast<int>(m_items.size()); }
    QLayoutItem* itemAt(int index) const override { return m_items.value(index); }
    QLayoutItem* takeAt(int index) override { return index >= 0 && index < m_items.size() ? m_items.takeAt(index) : nullptr; }
    Qt::Orientations expandingDirections() const override { return {}; }
    bool hasHeightForWidth() const override { return true; }
    int heightForWidth(int width) const override { return place(QRect(0, 0, width, 0), false); }
    QSize sizeHint() const override { return minimumSize(); }
    QSize minimumSize() const override;
    void setGeometry(const QRect& rect) override
    {
        QLayout::setGeometry(rect);
        place(rect, true);
    }

private:
    int place(const QRect& whole, bool moves) const; ///< the height

    QList<QLayoutItem*> m_items;
    int m_gap;
};

} // namespace loopscope::viewer
