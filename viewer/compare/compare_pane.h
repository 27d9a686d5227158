// One side of a comparison: its name and its graph, one operator a row, in step with the other side.
#pragma once

#include "viewer/canvas/graph_canvas.h"
#include "viewer/compare/compare_desk.h"
#include "viewer/widgets/panel.h"

class QLabel;

namespace loopscope::viewer {

/// The letter of a side in its colour, its file, and what kind of model that is.
class NameLine : public QWidget {
    Q_OBJECT
public:
    explicit NameLine(QWidget* parent = nullptr);
    void show(bool here, const QString& name, const QString& detail);

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    bool m_here = true;
    QString m_name, m_detail;
};

class ComparePane : public Panel {
    Q_OBJECT
public:
    ComparePane(Document& document, CompareSide side);

    GraphCanvas& canvas() { return *m_canvas; }
    QList<QAction*> headActions() override { return m_swap ? QList{m_swap, m_fit} : QList{m_fit}; }
    QWidget* headWidget() override;
    QWidget* focusTarget() override { return m_canvas; }
    bool settled() const override { return !m_desk.isBusy(); }
    QJsonObject state() const override { return m_side == CompareSide::here ? m_desk.places() : QJsonObject(); }
    void setState(const QJsonObject& state) override { m_desk.restorePlaces(state); }
    /// "toggleAB": the other side in place, again for this one; "nextFinding", "previousFinding"; the rest is the canvas's.
    bool command(const QString& id) override;

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    void connectCanvas();
    void connectViews();
    CanvasState stateOf(const Scene& scene) const;
    void showNames();
    void showScene();
    void showMarks();
    void showSelection();
    void adoptSelection();
    void adoptView();
    void chooseIteration(int region, qint64 iteration);
    void fitWidth();
    CompareSide shown() const { return m_swapped ? (m_side == CompareSide::here ? CompareSide::there : CompareSide::here) : m_side; }

    CompareDesk& m_desk;
    CompareSide m_side;
    bool m_swapped = false; ///< `a`: the other side in place
    bool m_fitted = true;   ///< nobody scrolled or zoomed yet
    bool m_placing = false, m_following = false, m_adopting = false;
    GraphCanvas* m_canvas;
    EmptyStack* m_stack;
    NameLine* m_name;
    QLabel* m_zoom = nullptr;
    QAction* m_fit;
    QAction* m_swap = nullptr; ///< of B
};

} // namespace loopscope::viewer
