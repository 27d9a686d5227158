#include "app/ranks/driven_run.h"

#include "app/wiring/backend.h"
#include "app/wiring/command_line.h"
#include "app/wiring/model_file.h"
#include "app/wiring/session.h"
#include "app/wiring/tf_target.h"
#include "engine/distributed/rank_kernels.h"

namespace loopscope::app {

namespace {

/// The model as rank 0 has it.
Status serveModel(Ranks& ranks, const Arguments& arguments)
{
    LS_TRY(ExecutionOptions options, executionOptions(arguments));
    options.cancel = nullptr; // rank 0 is asked
    LS_TRY(LoadedModel file, loadModel(arguments.positionals.empty() ? std::string() : arguments.positionals[0]));
    LS_CHECK_OK(selectFromArguments(file, arguments));
    LS_CHECK_OK(placeOperators(arguments, file.model));
    return serveKernels(ranks.transport(), file.model, options);
}

} // namespace

Result<std::unique_ptr<DrivenRanks>> DrivenRanks::join(const Arguments& arguments)
{
    std::unique_ptr<DrivenRanks> driven(new DrivenRanks);
    if (!arguments.has("distributed") || !hasRanks()) return driven;
    for (const char* other : {"calls", "each", "until", "against"})
        if (arguments.has(other)) return Error(ErrorCode::usage, "option '--" + std::string(other) + "' is not for --distributed");
    LS_TRY(driven->m_ranks, Ranks::join());
    return driven;
}

DrivenRanks::~DrivenRanks() { m_kernels.reset(); }

std::optional<int> DrivenRanks::serve(const Arguments& arguments)
{
    if (!m_ranks || m_ranks->isFirst()) return std::nullopt;
    const Status status = serveModel(*m_ranks, arguments);
    return status.ok() ? 0 : static_cast<int>(status.detail().code); // rank 0 finds the same, and says it
}

void DrivenRanks::drive(const Model& model, GraphId root, ExecutionOptions& options)
{
    if (!m_ranks || !model.hasGraph(root)) return;
    m_plan = planCut(model.graph(root), m_ranks->size());
    m_kernels = std::make_unique<RankKernels>(m_ranks->transport(), m_plan, model, root, options.cancel);
    options.remote = m_kernels.get();
}

} // namespace loopscope::app
