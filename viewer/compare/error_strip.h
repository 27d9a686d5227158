// Between the two pictures: one bar for each pair of rows, at their height, as long as they are apart; a line at the limit, a mark at the
// first row over it. A click goes there.
#pragma once

#include "viewer/compare/compare_desk.h"

#include <QJsonObject>
#include <QWidget>

#include <string>
#include <vector>

namespace loopscope::viewer {

class ErrorStrip : public QWidget {
    Q_OBJECT
public:
    explicit ErrorStrip(CompareDesk& desk, QWidget* parent = nullptr);
    /// The bars in view: address, rectangle, value, verdict; the limit's place; the marked row.
    Q_INVOKABLE QJsonObject describe() const;

    /// A row in view, as a screen reader finds it.
    struct SpokenRow {
        std::string address; ///< of this side
        QString text;        ///< "conv_2d 26, cosine 0.8768, far over the limit"
        QRect box;
        bool selected = false;
    };
    std::vector<SpokenRow> spokenRows() const;
    /// As a click on the row does.
    void choose(const std::string& address);

protected:
    void paintEvent(QPaintEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void wheelEvent(QWheelEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    bool event(QEvent* event) override;

private:
    void paintHead(QPainter& painter) const;
    struct Bar {
        int row = -1; ///< of the drift
        const PairedRow* pair = nullptr;
        QRectF box; ///< the whole row
        QRectF bar;
        Verdict verdict = Verdict::equal;
        bool measured = false; ///< else: not run on both sides
        bool isBeyond = false; ///< its value lies behind the end of the axis
    };
    std::vector<Bar> barsInView() const;
    double axisLeft() const;
    double axisWidth() const;
    int headHeight() const;
    void choose(const Bar& bar);
    const Bar* barAt(const std::vector<Bar>& bars, QPointF point) const;

    CompareDesk& m_desk;
};

} // namespace loopscope::viewer
