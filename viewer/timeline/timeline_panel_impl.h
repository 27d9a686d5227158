// The timeline's panel, private to this folder.
#pragma once

#include "viewer/timeline/loop_slider.h"
#include "viewer/timeline/timeline_bar.h"
#include "viewer/timeline/timeline_panel.h"
#include "viewer/widgets/parts.h"

#include <QLabel>
#include <QLineEdit>

#include <string>
#include <utility>
#include <vector>

namespace loopscope::viewer {

class TimelinePanel final : public Panel {
    Q_OBJECT
public:
    explicit TimelinePanel(Document& document);

    QList<QAction*> headActions() override { return {m_fit}; }
    QWidget* headWidget() override { return m_head; }
    QWidget* focusTarget() override { return m_bar; }
    bool settled() const override { return !m_reading; }
    bool command(const QString& id) override;

protected:
    void keyPressEvent(QKeyEvent*) override;
    void showEvent(QShowEvent*) override;

private:
    struct Loop {
        int index = -1;      ///< of the course
        std::string address; ///< of the iteration that runs, where it is on the stack
        bool isInnermost = false;
    };
    void buildHead();
    void follow();
    void readRecording();
    void go(const request::Move& move); ///< where the run is a recording that nobody has begun to replay, begins it
    void survey();
    void surveyAccesses();
    void addPart(const RunSurvey& part);
    void refresh();
    void refreshHead();
    Loop shownLoop() const;
    std::string shownBody() const;
    void showMenu(const QPoint& at);
    void runOn();
    void endPreview();
    void goIteration(int64_t iteration);
    void goBy(int by);
    void preview(int64_t iteration, int slowness);
    void noteHits();
    void noteJump();
    QString rangeText() const;

    RunCourse m_course, m_lastRun;
    EventPyramid m_accesses;
    Selection m_accessed; ///< of which m_accesses are
    int64_t m_accessTick = 0;
    bool m_accessesBusy = false, m_surveyBusy = false;
    bool m_heardLoops = false; ///< the survey has heard ends of loops that the debugger did not know
    int64_t m_run = -1;        ///< Timeline::runs() that the course is of
    TimelineId m_line;
    std::vector<TimelineContent::Mark> m_hits;
    std::vector<TimelineContent::Jump> m_jumps;
    int64_t m_jumpRun = -1;  ///< run that they are of
    int64_t m_lastStep = -1; ///< of the stop before
    int64_t m_lastKnown = 0; ///< steps that had run then
    std::pair<int64_t, int64_t> m_recorded = {-1, 0};
    TimelineBar* m_bar = nullptr;
    LoopSlider* m_slider = nullptr;
    QWidget* m_head = nullptr;
    QLabel *m_iterationLabel = nullptr, *m_ofLabel = nullptr, *m_stepLabel = nullptr;
    QLineEdit* m_field = nullptr;
    bool m_isRecorded = false; ///< m_course is of the recording, not of what was replayed
    bool m_reading = false;
    Background m_reader;
    QAction* m_fit = nullptr;
};

} // namespace loopscope::viewer
