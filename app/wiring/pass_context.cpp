#include "app/wiring/pass_context.h"

#include "app/wiring/session.h"
#include "engine/api/inputs/run_target.h"
#include "engine/base/bytes.h"

#include <sstream>

namespace loopscope::app {

namespace {

constexpr int64_t kMostSteps = 100'000; ///< of one constant

Result<std::vector<TensorAttribute>> evaluate(const Model& model)
{
    ExecutionOptions options;
    options.maxSteps = kMostSteps;
    ModelSession session(model, options);
    LS_TRY(Executor* const executor, session.enter(GraphId(0)));
    LS_TRY(const RunTarget target, selectTarget(model, ""));
    LS_CHECK_OK(session.run(*executor, BoundInputs(), 0, nullptr, 0));
    std::vector<TensorAttribute> values;
    for (const Port& port : target.outputs) {
        const Tensor got = executor->output(port.index);
        if (!got.data && got.bytes > 0) return Error(ErrorCode::execution, "the result has no elements to look at");
        values.push_back({TensorType(got.dtype, got.shape), std::make_shared<Constant>(Bytes::copyOf(got.data, got.bytes))});
    }
    return values;
}

} // namespace

std::vector<std::string> namesIn(const std::vector<std::string>& lists)
{
    std::vector<std::string> names;
    for (const std::string& list : lists) {
        std::istringstream parts(list);
        for (std::string name; std::getline(parts, name, ',');)
            if (!name.empty()) names.push_back(std::move(name));
    }
    return names;
}

ConstantEvaluator constantEvaluator() { return evaluate; }

RaiseOptions visibleNames(const std::vector<std::string>& fetches, const std::vector<std::string>& targets,
                          const std::vector<std::string>& feeds)
{
    RaiseOptions options;
    options.fetches = namesIn(fetches);
    options.targets = namesIn(targets);
    for (const std::string& feed : feeds)
        if (!feed.empty()) options.feeds.push_back(feed.substr(0, feed.find('=')));
    return options;
}

} // namespace loopscope::app
