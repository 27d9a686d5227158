#include "viewer/panels/question_foot.h"

#include "engine/api/inspector.h"
#include "engine/observe/address_names.h"
#include "engine/ops/control_flow.h"
#include "viewer/bridge/text.h"
#include "viewer/widgets/flow_layout.h"
#include "viewer/widgets/given_output.h"
#include "viewer/widgets/value_menu.h"

#include <QVBoxLayout>

#include <algorithm>

namespace loopscope::viewer {

QuestionFoot::QuestionFoot(Document& document, QWidget* parent) : QWidget(parent), m_document(document)
{
    auto* const column = new QVBoxLayout(this);
    column->setContentsMargins(8, 4, 8, 6);
    column->setSpacing(4);
    auto* const buttons = new QWidget(this);
    buttons->setLayout(new FlowLayout(4));
    m_fusion = new Chip(tr("Why not fused?"), buttons);
    m_fusion->setObjectName("whyNotFused");
    m_lines = new QLabel(this);
    m_lines->setObjectName("whyNotFusedLines");
    m_lines->setWordWrap(true);
    m_lines->setTextFormat(Qt::PlainText);
    m_lines->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
    column->addWidget(buttons);
    column->addWidget(m_lines);
    add("whoWrote", tr("Who wrote this?"), [this] { return aboutValue("lastwrite "); });
    add("whyNaN", tr("Why NaN?"), [this] { return m_isAbnormal ? aboutValue("why nan ") : QString(); });
    add("whyValue", tr("Why is it so?"), [this] { return m_isAbnormal ? QString() : aboutValue("why "); });
    add("whyBranch", tr("Why this branch?"), [this] { return aboutCall(false); });
    add("whyLoop", tr("Why this loop?"), [this] { return aboutCall(true); });
    add("whyGradient", tr("Why this gradient?"), [this] { return aboutGradient(); });
    m_norms = new NormChart(this);
    column->addWidget(m_norms);
    connect(m_questions.back().button, &QAbstractButton::clicked, this, &QuestionFoot::askNorms);
    connect(m_norms, &NormChart::iterationChosen, this, [this](const QString& address) { m_document.execute("goto " + address); });
    for (const Question& question : m_questions) buttons->layout()->addWidget(question.button);
    m_give = new Chip(tr("Give its output…"), buttons);
    m_give->setObjectName("question.give");
    buttons->layout()->addWidget(m_give);
    connect(m_give, &QAbstractButton::clicked, this, [this] { giveOutput(m_document, *this, m_document.selection()); });
    buttons->layout()->addWidget(m_fusion);
    connect(m_fusion, &QAbstractButton::clicked, this, &QuestionFoot::askFusion);
    connect(&document, &Document::selectionChanged, this, &QuestionFoot::follow);
    connect(&document, &Document::stopChanged, this, &QuestionFoot::follow);
    connect(&document, &Document::lookedAtChanged, this, &QuestionFoot::follow);
    follow();
}

void QuestionFoot::add(const char* name, const QString& text, std::function<QString()> line)
{
    auto* const button = new Chip(text, this);
    button->setObjectName(QLatin1String("question.") + QLatin1String(name));
    connect(button, &QAbstractButton::clicked, this, [this, line] {
        if (const QString question = line(); !question.isEmpty()) askDebugger(m_document, *this, question);
    });
    m_questions.push_back({name, button, std::move(line)});
}

/// Of the selected value, at the present stop.
QString QuestionFoot::aboutValue(const char* verb) const
{
    const Selection& selection = m_document.selection();
    if (!m_document.stop()->started || !selection.op.valid() || !selection.value.valid()) return {};
    return QLatin1String(verb) + toText(m_document.expressionOf(selection));
}

/// Of what 'loopscope grad' has added (docs/gradients.md).
QString QuestionFoot::aboutGradient() const
{
    const Selection& selection = m_document.selection();
    if (!selection.op.valid() || !selection.graph.valid()) return {};
    return m_document.model().graph(selection.graph).op(selection.op).name.starts_with("gradients") ? aboutValue("why grad ") : QString();
}

/// The longest way through a loop.
void QuestionFoot::askNorms()
{
    const QString line = aboutGradient();
    if (line.isEmpty()) return;
    m_normsOf = m_document.selection().address;
    m_document.bridge().ask(
        this, QStringLiteral("norms"),
        [question = line.mid(4).toStdString()](Inspector& inspector) { // behind "why "
            Result<Explanation> answer = inspector.why({}, question);
            return answer.ok() ? std::move(answer->courses) : std::vector<IterationCourse>();
        },
        [this, address = m_normsOf](const std::vector<IterationCourse>& courses) {
            if (address != m_normsOf) return;
            const auto longest = std::ranges::max_element(courses, {}, [](const IterationCourse& course) { return course.points.size(); });
            m_norms->setCourse(longest == courses.end() ? IterationCourse() : *longest);
        });
}

/// Of the branch or loop that is selected, else of the nearest one around.
QString QuestionFoot::aboutCall(bool isLoop) const
{
    const Selection& selection = m_document.selection();
    if (!m_document.stop()->started || !selection.graph.valid() || selection.address.empty()) return {};
    std::string site = selection.op.valid() ? selection.address : callSiteOf(selection.address);
    while (!site.empty()) {
        if (const std::optional<Selection> at = m_document.find(site); at && at->op.valid()) {
            const CallKind kind = callForm(m_document.model().graph(at->graph).op(at->op)).kind;
            if (isLoop ? kind == CallKind::loop : kind == CallKind::branch || kind == CallKind::select)
                return QLatin1String(isLoop ? "why loop " : "why branch ") + toText(m_document.atStop(site));
        }
        site = callSiteOf(invocationOf(site));
    }
    return {};
}

std::string QuestionFoot::operatorName() const
{
    const Selection& selection = m_document.selection();
    if (!selection.op.valid() || m_document.bridge().isReplay()) return {};
    const Graph& graph = m_document.model().graph(selection.graph);
    const Operator& op = graph.op(selection.op);
    return !op.name.empty() || op.results.empty() ? op.name : graph.value(op.results.front()).id;
}

void QuestionFoot::follow()
{
    lookForNaN();
    followFusion();
    if (m_normsOf != m_document.selection().address) m_norms->setCourse({});
    m_give->setVisible(canGiveOutput(m_document, m_document.selection()));
    bool any = !m_name.empty();
    for (const Question& question : m_questions) {
        const QString line = question.line();
        question.button->setVisible(!line.isEmpty());
        question.button->setToolTip(line);
        any = any || !line.isEmpty();
    }
    setVisible(any);
}

void QuestionFoot::followFusion()
{
    if (const std::string name = operatorName(); name != m_name) {
        m_name = name;
        m_lines->clear();
        m_lines->hide();
    }
    m_fusion->setVisible(!m_name.empty());
}

/// Whether the selected value is all finite is asked for; until the answer is there it counts as finite.
void QuestionFoot::lookForNaN()
{
    m_isAbnormal = false;
    const Selection selection = m_document.selection();
    if (!m_document.stop()->started || !selection.op.valid() || !selection.graph.valid()) return;
    const ValuePlace place = m_document.valuePlace(invocationOf(staticAddress(selection.address)));
    if (place.depth < 0) return;
    m_document.bridge().ask(
        this, QStringLiteral("questions"),
        [place, op = selection.op, graph = selection.graph](Inspector& inspector) {
            if (place.depth >= inspector.position().depth || inspector.frame(place.depth).graph != graph) return false;
            const auto values = inspector.valuesOf(place.depth, {op}, false, [](const Tensor& tensor) { return firstElements(tensor); });
            return !values.empty() && values.front().age == OperatorValues::Age::current && values.front().abnormal;
        },
        [this, selection](bool isAbnormal) {
            if (isAbnormal == m_isAbnormal || selection != m_document.selection()) return;
            m_isAbnormal = isAbnormal;
            for (const Question& question : m_questions) question.button->setVisible(!question.line().isEmpty());
        });
}

/// By a button, since the first answer takes a while.
void QuestionFoot::askFusion()
{
    m_lines->setText(tr("Looking for patterns …"));
    m_lines->show();
    m_work.run([backend = &m_document.backend(), name = m_name](const std::stop_token&) { return backend->whyNotFused(name); },
               [this, name = m_name](const Result<std::vector<std::string>>& lines) {
                   if (name != m_name) return;
                   QStringList texts;
                   if (lines.ok())
                       for (const std::string& line : *lines) texts.append(toText(line));
                   else texts.append(toText(lines.error().message()));
                   m_lines->setText(texts.join('\n'));
               });
}

} // namespace loopscope::viewer
