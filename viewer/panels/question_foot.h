// What one wants to ask about the selected operator, as buttons below its properties: who wrote its value, why it is so, why this side of a
// branch, why a loop goes on, where a gradient vanished or exploded, why it was not fused.
#pragma once

#include "viewer/bridge/document.h"
#include "viewer/panels/norm_chart.h"
#include "viewer/widgets/parts.h"

#include <QWidget>

#include <functional>
#include <string>
#include <vector>

namespace loopscope::viewer {

class QuestionFoot : public QWidget {
    Q_OBJECT
public:
    QuestionFoot(Document& document, QWidget* parent);

private:
    struct Question {
        const char* name; ///< of its button
        Chip* button;
        std::function<QString()> line; ///< that the debugger is asked; empty: it is no question now
    };
    void add(const char* name, const QString& text, std::function<QString()> line);
    void follow();
    void followFusion();
    void lookForNaN();
    QString aboutValue(const char* verb) const;
    QString aboutGradient() const;
    void askNorms();
    QString aboutCall(bool isLoop) const;
    std::string operatorName() const;
    void askFusion();

    Document& m_document;
    std::vector<Question> m_questions;
    bool m_isAbnormal = false; ///< the selected value holds a NaN or an infinity
    std::string m_name;        ///< of the operator, as rewrites call it; empty: none is selected
    Chip *m_fusion, *m_give;
    QLabel* m_lines;
    NormChart* m_norms;
    std::string m_normsOf; ///< the address whose gradient they are of
    Background m_work;     ///< last
};

} // namespace loopscope::viewer
