// What is written at nodes: cards with the value of the selected operator and the ways of a loop variable with links along them, what went
// wrong, figures.
#pragma once

#include "viewer/canvas/camera.h"
#include "viewer/canvas/canvas_heads.h"
#include "viewer/canvas/canvas_selection.h"
#include "viewer/canvas/node_overlay.h"

#include <QStringList>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace loopscope::viewer {

/// What is written beside the selected node.
struct ValueCard {
    std::string address; ///< of the operator or the graph's input, without iterations
    QString title, type;
    QStringList lines;
    QString moment = {}; ///< of another one than the present stop: "@10", "≈ @10"
    bool operator==(const ValueCard&) const = default;
};

/// What is said beside an operator that failed.
struct Callout {
    std::string address; ///< static; empty: nothing is said
    QString title, text;
    bool operator==(const Callout&) const = default;
};

class CanvasCards {
public:
    CanvasCards(const CanvasPicture& picture, const Camera& camera, const CanvasSelection& selection, const CanvasHeads& heads,
                QWidget& canvas)
        : m_picture(picture),
          m_camera(camera),
          m_selection(selection),
          m_heads(heads),
          m_canvas(canvas)
    {
    }

    void setValueCard(const ValueCard& card);
    const ValueCard& valueCard() const { return m_valueCard; }
    void setCallout(const Callout& callout);
    const Callout& callout() const { return m_callout; }
    /// Figures over operators; null: none.
    void setOverlay(std::shared_ptr<const NodeOverlay> overlay);
    const NodeOverlay* overlay() const { return m_overlay.get(); }
    /// Where what went wrong is said; empty: nothing is in view that did.
    QRectF calloutBox() const;
    /// Where the card of a loop variable was painted; empty: there is none.
    QRectF box() const { return m_box; }
    /// Id of what a click there selects; empty: nothing.
    std::string linkAt(QPointF point) const;
    void hide(); ///< while something is dragged, or too small
    void paint(QPainter& painter);

private:
    struct Row {
        QString name, text;
        std::string target; ///< id of what a click selects; empty: nothing
    };
    std::vector<Row> bindingRows(const SceneRegion& loop, size_t which, int subject) const;
    struct Place {
        QRectF box;
        int covered = 0; ///< how much of the picture lies below it
    };
    Place placeBeside(const QRectF& node, QSizeF size) const;
    double lineHeight(Face face, double least) const;
    QStringList wrapped(const QString& text, double width) const;
    struct CalloutShape {
        QRectF box;
        QStringList lines;
    };
    CalloutShape calloutShape(const QRectF& node) const;
    void paintFrame(QPainter& painter, const QRectF& box, const QString& title, const QString& type) const;
    void paintBinding(QPainter& painter, const SceneRegion& loop, size_t which, int subject);
    void paintValue(QPainter& painter) const;
    void paintCallout(QPainter& painter) const;

    const CanvasPicture& m_picture;
    const Camera& m_camera;
    const CanvasSelection& m_selection;
    const CanvasHeads& m_heads;
    QWidget& m_canvas; ///< to be painted anew
    ValueCard m_valueCard;
    Callout m_callout;
    std::shared_ptr<const NodeOverlay> m_overlay;
    QRectF m_box;
    std::vector<std::pair<QRectF, std::string>> m_links;
};

} // namespace loopscope::viewer
