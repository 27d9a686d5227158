// The norm of a gradient in each iteration of a loop that it came through, over the iterations: where it vanishes and where it explodes.
#pragma once

#include "engine/api/inspector.h"

#include <QWidget>

namespace loopscope::viewer {

/// Nothing to see until it has a course of two iterations or more.
class NormChart : public QWidget {
    Q_OBJECT
public:
    explicit NormChart(QWidget* parent);

    void setCourse(IterationCourse course);
    const IterationCourse& course() const { return m_course; }
    QSize sizeHint() const override;

signals:
    /// A press on an iteration.
    void iterationChosen(const QString& address);

protected:
    bool event(QEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void paintEvent(QPaintEvent* event) override;

private:
    QRectF area() const;
    QPointF placeOf(const IterationCourse::Point& point) const;
    const IterationCourse::Point* pointAt(double x) const;

    IterationCourse m_course;
    double m_least = 1, m_most = 1; ///< powers of ten around the norms
};

} // namespace loopscope::viewer
