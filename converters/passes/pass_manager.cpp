#include "converters/passes/pass_manager.h"

#include "engine/base/clock.h"
#include "engine/base/text.h"
#include "engine/ir/verifier.h"

#include <algorithm>
#include <array>

namespace loopscope {

namespace {

constexpr std::array kPasses = {
    Pass{"raise", "Switch, Merge and frames of TensorFlow 1 become If and While", runRaise},
    Pass{"resource-variables", "references to variables (VariableV2, Assign, RefEnter, …) become handles", runResourceVariables},
    Pass{"arrays-to-lists", "TensorArrays of TensorFlow 1 and their gradients become lists", turnArraysIntoLists},
    Pass{"stacks-to-lists", "stacks of TensorFlow 1 become lists that loops and branches hand on", turnStacksIntoLists},
    Pass{"case-to-if", "Case becomes a chain of If", lowerCase},
    Pass{"for-to-while", "For becomes While", lowerFor},
    Pass{"stateless-to-stateful", "StatelessIf, StatelessCase and StatelessWhile become If, Case and While", dropStateless},
    Pass{"inline-functions", "calls of functions are replaced by what they call", inlineFunctions},
    Pass{"fold-constants", "operators whose operands are constants become constants", foldConstants},
    Pass{"constants-inward", "constants that loops, branches and functions are given become constants in them", handConstantsInward},
    Pass{"fuse", "operators that one operator of TFLite computes become that one", runFuse},
    Pass{"unfuse", "an operator that computes what several do becomes those, where nothing is lost", runUnfuse},
    Pass{"gradient", "operators that compute gradients are added ('loopscope grad')", runGradient},
    Pass{"remove-dead", "operators that nothing needs are removed", removeDead},
    Pass{"to-tflite", "operators of TensorFlow become those of TFLite", runLowering},
};

} // namespace

std::span<const Pass> allPasses() { return kPasses; }

Result<const Pass*> findPass(std::string_view name)
{
    std::vector<std::string> names;
    for (const Pass& pass : kPasses) {
        if (pass.name == name) return &pass;
        names.emplace_back(pass.name);
    }
    return Error(ErrorCode::usage, "no pass '" + std::string(name) + "'").nearest(nearestNames(name, names));
}

Result<std::vector<std::string>> passNames(std::string_view list)
{
    std::vector<std::string> names;
    while (!list.empty()) {
        const std::string_view name = list.substr(0, list.find(','));
        list.remove_prefix(std::min(list.size(), name.size() + 1));
        LS_TRY(const Pass* const pass, findPass(name));
        names.emplace_back(pass->name);
    }
    return names;
}

Result<std::vector<PassRun>> runPasses(Model& model, const PassPlan& plan, const PassContext& context)
{
    std::vector<PassRun> runs;
    for (const std::string& name : plan.passes) {
        PassRun run;
        LS_TRY(run.pass, findPass(name));
        if (std::ranges::find(plan.skipped, name) != plan.skipped.end()) {
            run.isSkipped = true;
            runs.push_back(std::move(run));
            continue;
        }
        if (plan.show) plan.show(*run.pass, PassMoment::before, model);
        const int64_t begin = nowNs();
        Result<RewriteReport> report = run.pass->run(model, context);
        run.durationNs = nowNs() - begin;
        if (!report.ok()) return std::move(report).takeError().at("pass " + name);
        run.report = std::move(report).value();
        if (Status status = verifyModel(model); !status.ok())
            return Error(ErrorCode::internal, "pass '" + name + "' left a model that is not right")
                .found(std::move(status).takeError().message());
        if (plan.show) plan.show(*run.pass, PassMoment::after, model);
        runs.push_back(std::move(run));
    }
    return runs;
}

} // namespace loopscope
