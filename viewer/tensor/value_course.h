// The course of a small value over the iterations of its loop, asked of the engine part after part while the run goes on.
#pragma once

#include "viewer/bridge/document.h"
#include "viewer/tensor/value_source.h"

#include <QObject>

#include <functional>
#include <memory>
#include <optional>
#include <utility>

namespace loopscope::viewer {

class ValueCourse : public QObject {
    Q_OBJECT
public:
    /// `question`: what is asked about the value that is shown; none: it has no course.
    ValueCourse(Document& document, std::function<std::optional<ValueRequest>()> question)
        : m_document(document),
          m_question(std::move(question))
    {
    }

    /// Another value is shown.
    void forget() { m_series.reset(); }
    /// What is known so far; null: nothing.
    const ValueSeries* series() const { return m_series.get(); }
    bool isKnown() const { return m_series && m_series->keptIterations() > 0; }
    bool isLoop() const { return isKnown() && m_series->iterations > 1; }
    /// Asks for what is not known yet; `anew`: for all of it.
    void follow(bool anew);
    /// Another run or timeline than that of the course: it is asked for anew.
    void check(int64_t run, TimelineId timeline);
    /// The last iteration before `now` in which the value is known to be written; −1: none is known.
    int64_t lastWrittenBefore(int64_t now) const;

signals:
    void changed();

private:
    bool isOfAnotherLoop(GraphId graph) const;

    Document& m_document;
    std::function<std::optional<ValueRequest>()> m_question;
    std::shared_ptr<const ValueSeries> m_series;
    bool m_isBusy = false;
    int64_t m_run = -1; ///< run and timeline that it is of
    TimelineId m_timeline;
};

} // namespace loopscope::viewer
