// What a run that has finished gave: one button for each output, with its value, its picture or the class that it names. Between the
// panels and the status line, so that nobody has to look for results.
#pragma once

#include "viewer/bridge/document.h"

#include <QFrame>
#include <QImage>

#include <vector>

class QHBoxLayout;

namespace loopscope::viewer {

class ResultStrip : public QFrame {
    Q_OBJECT
public:
    explicit ResultStrip(QWidget* parent = nullptr);
    /// Shows the results of the present stop, if the run has finished there; else nothing. Null: there is no document.
    void follow(Document* document);
    QSize minimumSizeHint() const override { return {0, QFrame::minimumSizeHint().height()}; } ///< what has no room is cut

    struct Output {
        QString name, type, value; ///< "probs", "f32[1,10]", "class 3 cat 0.91"
        ValueId output;            ///< of the root graph
        QImage picture;            ///< null: it is none
        int64_t nan = 0, infinite = 0;
    };

signals:
    /// One was clicked; it is selected then.
    void chosen();

private:
    void show(Document& document, const std::vector<Output>& results, qsizetype more);
    void clear();

    QHBoxLayout* m_row = nullptr;
};

} // namespace loopscope::viewer
