#include "viewer/tensor/value_course.h"

#include <algorithm>
#include <utility>

namespace loopscope::viewer {

/// Another execution of the loop begins anew.
bool ValueCourse::isOfAnotherLoop(GraphId graph) const
{
    const auto& stack = m_document.stop()->stack;
    for (size_t d = 1; d < stack.size(); ++d)
        if (stack[d].info.graph == graph && stack[d].info.iteration >= 0 && stack[d - 1].info.invocation != m_series->caller) return true;
    return false;
}

void ValueCourse::follow(bool anew)
{
    if (m_isBusy || !m_document.stop()->started) return;
    std::optional<ValueRequest> question = m_question();
    if (!question) return;
    if (m_series && !anew) {
        anew = isOfAnotherLoop(question->graph);
        if (!anew && m_series->complete && !m_series->isPart) return; // known to its end
    }
    m_isBusy = true;
    std::shared_ptr<const ValueSeries> continued = anew ? nullptr : m_series;
    m_document.bridge().ask(
        this, "series", [asked = *question, continued](Inspector& inspector) { return readSeries(inspector, asked, continued); },
        [this, graph = question->graph, value = question->value, went = continued != nullptr](SeriesAnswer answer) {
            m_isBusy = false;
            const std::optional<ValueRequest> now = m_question();
            if (!now || now->graph != graph || now->value != value) return follow(true);
            const bool other = answer.run != m_run || answer.timeline != m_timeline;
            m_run = answer.run;
            m_timeline = answer.timeline;
            if (other && went) return follow(true);
            m_series = std::move(answer.series);
            if (m_series && m_series->isPart) follow(false);
            emit changed();
        });
}

void ValueCourse::check(int64_t run, TimelineId timeline)
{
    if (m_series && run != 0 && (run != m_run || timeline != m_timeline)) follow(true);
}

int64_t ValueCourse::lastWrittenBefore(int64_t now) const
{
    if (!m_series) return -1;
    for (int64_t i = std::min<int64_t>(now, std::ssize(m_series->written)) - 1; i >= 0; --i)
        if (m_series->written[static_cast<size_t>(i)]) return i;
    return -1;
}

} // namespace loopscope::viewer
