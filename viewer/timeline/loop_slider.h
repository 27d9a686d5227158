// The slider of a loop: press goes there, drag shows what is known at once, release is exact (docs/desktop.md, "Timeline and loop slider").
#pragma once

#include "viewer/timeline/time_scale.h"

#include <QWidget>

#include <algorithm>
#include <optional>

namespace loopscope::viewer {

class LoopSlider : public QWidget {
    Q_OBJECT
public:
    explicit LoopSlider(QWidget* parent = nullptr);
    /// `count` iterations are known; `open`: the loop has not ended, dragging to the right end runs on. position −1: not in the loop.
    void setLoop(int64_t position, int64_t count, bool open);
    int64_t position() const { return m_dragged.value_or(m_position); }
    int64_t count() const { return m_count; }
    QString valueText() const;
    QSize sizeHint() const override { return {150, 20}; }
    QSize minimumSizeHint() const override { return {80, 20}; }

signals:
    void pressed(qint64 iteration);
    void dragged(qint64 iteration, int slowness);
    void released(qint64 iteration);
    void wheeled(int by);
    void beyondEndChosen();

protected:
    void paintEvent(QPaintEvent*) override;
    void mousePressEvent(QMouseEvent*) override;
    void mouseMoveEvent(QMouseEvent*) override;
    void mouseReleaseEvent(QMouseEvent*) override;
    void wheelEvent(QWheelEvent*) override;
    void keyPressEvent(QKeyEvent*) override;

private:
    double groove() const { return std::max(1.0, width() - 14.0); }
    double knobX() const;
    int64_t positionAt(double x) const;

    int64_t m_position = -1, m_count = 0;
    bool m_isOpen = false;
    std::optional<int64_t> m_dragged;
    SlowDrag m_drag;
};

} // namespace loopscope::viewer
