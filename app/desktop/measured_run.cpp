// A run of the model that is open, beside its session, in which every operator is timed and what it gives is looked at.
#include "app/desktop/terminal_backend.h"
#include "app/wiring/session.h"
#include "engine/base/cancel.h"
#include "engine/exec/executor.h"
#include "engine/observe/execution_observer.h"
#include "engine/ops/control_flow.h"
#include "engine/tensor/statistics.h"

#include <map>
#include <utility>

namespace loopscope::app {

namespace {

constexpr int64_t kLooked = int64_t{1} << 28; ///< elements in all: what comes later is timed only

class FigureTaker final : public ExecutionObserver {
public:
    bool wantsTimes() const override { return true; }
    void operatorExecuted(const OperatorEvent& event) override
    {
        if (event.state != EventState::live) return;
        viewer::OperatorFigure& figure = m_figures[{event.graph, event.op}];
        ++figure.runs;
        figure.ns += std::max<int64_t>(0, event.ns);
        for (const Tensor* const result : event.results) {
            if (result == nullptr || !result->data || m_looked > kLooked) continue;
            const TensorStatistics statistics = computeStatistics(*result);
            m_looked += statistics.elements;
            if (statistics.finite + statistics.nan + statistics.positiveInf + statistics.negativeInf == 0) continue;
            figure.elements += statistics.elements;
            figure.nan += statistics.nan;
            figure.inf += statistics.positiveInf + statistics.negativeInf;
            figure.zeros += statistics.zeros;
        }
    }
    std::vector<viewer::OperatorFigure> taken(const Model& model) const
    {
        std::vector<viewer::OperatorFigure> all;
        for (const auto& [place, figure] : m_figures) {
            all.push_back(figure);
            all.back().graph = place.first;
            all.back().op = place.second;
            all.back().isCall = !calleesOf(model.graph(place.first).op(place.second)).empty();
        }
        return all;
    }

private:
    std::map<std::pair<GraphId, OperatorId>, viewer::OperatorFigure> m_figures;
    int64_t m_looked = 0;
};

} // namespace

Result<std::vector<viewer::OperatorFigure>> TerminalBackend::measured(const std::stop_token& stop) const
{
    if (isReplay()) return Error(ErrorCode::unsupported, "a recording cannot be measured").at(name());
    const std::shared_ptr<const BoundInputs> inputs = m_terminal->session().lastInputs();
    if (!inputs) return Error(ErrorCode::usage, "there is no run to be measured").expected("a run, with the inputs that are meant");
    CancelFlag cancel;
    const std::stop_callback stopped(stop, [&cancel] { cancel.request(); });
    ExecutionOptions options;
    options.seed = seed();
    options.cancel = &cancel;
    ModelSession session(model(), options);
    LS_TRY(Executor* const executor, session.enter(m_terminal->target().graph));
    FigureTaker figures;
    executor->setObserver(&figures);
    LS_CHECK_OK(session.run(*executor, *inputs, 0, nullptr, 0));
    return figures.taken(model());
}

} // namespace loopscope::app
