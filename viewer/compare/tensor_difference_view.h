// The difference of two tensors, drawn: both planes and what lies between them, the largest differences, how all of them are spread,
// figures.
#pragma once

#include "viewer/compare/tensor_difference.h"
#include "viewer/tensor/color_map.h"

#include <QJsonObject>
#include <QWidget>

#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace loopscope::viewer {

class TensorDifferenceView : public QWidget {
    Q_OBJECT
public:
    explicit TensorDifferenceView(QWidget* parent = nullptr);
    /// `facts` come before those of the tensors. Null: nothing.
    void show(std::shared_ptr<const TensorDifference> difference, std::vector<std::pair<QString, QString>> facts);
    const TensorDifference* difference() const { return m_difference.get(); }
    /// Flat index of the element that is marked in all three planes; −1: none.
    int64_t marked() const { return m_marked; }
    void mark(int64_t flat);
    /// Rectangles and ranges of the planes, the list, the bars.
    Q_INVOKABLE QJsonObject describe() const;

signals:
    /// An element outside of the plane that is shown.
    void planeWanted(const loopscope::viewer::AxisChoice& axes);

protected:
    void paintEvent(QPaintEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void wheelEvent(QWheelEvent* event) override;
    bool event(QEvent* event) override;

private:
    struct Places {
        QRectF planes[3];              ///< A, B, B − A
        QRectF list, histogram, facts; ///< empty: no room
        double rowHeight = 14, top = 0, numberWidth = 0;
    };
    Places places() const;
    QString listTitle() const;
    const Grid& grid(int plane) const;
    ValueRange rangeOf(int plane) const;
    void paintPlane(QPainter& painter, const Places& places, int plane) const;
    void paintList(QPainter& painter, const Places& places) const;
    void paintHistogram(QPainter& painter, const Places& places) const;
    void paintFacts(QPainter& painter, const Places& places) const;
    /// The element at a point of a plane or of the list; −1: none.
    int64_t elementAt(QPointF point) const;
    /// Its cell in the plane that is shown; none: it lies in another.
    std::optional<std::pair<int64_t, int64_t>> cellOf(int64_t flat) const;

    std::shared_ptr<const TensorDifference> m_difference;
    std::vector<std::pair<QString, QString>> m_facts;
    int64_t m_marked = -1;
};

} // namespace loopscope::viewer
