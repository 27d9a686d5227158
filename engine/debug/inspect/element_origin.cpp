// Where an element of a value comes from: the writes and elements that it was made of, as far back as is useful to read.
#include "engine/debug/inspect/element_map.h"
#include "engine/debug/inspect/expression_text.h"
#include "engine/debug/inspect/why_answers.h"
#include "engine/debug/timeline.h"
#include "engine/exec/executor.h"
#include "engine/ops/control_flow.h"
#include "engine/tensor/statistics.h"

#include <cmath>

namespace loopscope {

namespace {

constexpr int kMaxHops = 10;

/// "mul(Sigmoid[0,2] = 0.5, Relu[0,2] = 1.25)", "copies x[0,3,1]", "all of its inputs: arg3, MatMul_1".
std::string sourcesText(const Graph& graph, const Operator& op, const std::vector<const Tensor*>& operands,
                        const std::vector<ElementSource>& sources)
{
    const ElementForm form = elementForm(op);
    std::string text;
    const auto add = [&](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
    for (size_t i = 0; i < operands.size(); ++i) {
        if (!operands[i] || sources[i].use == ElementUse::none) continue;
        const Value& value = graph.value(op.inputs[i]);
        if (form == ElementForm::mixing) {
            add(value.id);
        } else if (sources[i].use == ElementUse::all) {
            add("any of " + value.id);
        } else if (value.role == ValueRole::constant && form == ElementForm::elementwise) {
            add(numberText(*operands[i], sources[i].index, false));
        } else {
            const std::string name = elementName(value.id, operands[i]->shape, sources[i].index);
            add(form == ElementForm::movement ? name : name + " = " + numberText(*operands[i], sources[i].index, false));
        }
    }
    switch (form) {
    case ElementForm::movement: return text.empty() ? "filled in" : "copies " + text;
    case ElementForm::elementwise: return op.kind.name + "(" + text + ")";
    case ElementForm::mixing: return text.empty() ? "it has no inputs" : "all of its inputs: " + text;
    }
    return text;
}

} // namespace

Result<Explanation> explainElement(const DebugTarget& target, ValueAt at, int64_t element)
{
    const Model& model = target.model;
    LS_CHECK_OK(target.timeline.goTo(at.tick, target.control));
    const Executor& executor = target.executor;
    const Value& start = model.graph(executor.frame(at.depth).graph).value(at.value);
    const Tensor* const tensor = valueHere(executor, at.depth, at.value);
    if (!tensor) return Error(ErrorCode::usage, "not written yet").at(start.id);
    Explanation answer;
    answer.lines.push_back(elementName(start.id, tensor->shape, element) + " = " + numberText(*tensor, element, false));
    for (int hops = 0; hops < kMaxHops; ++hops) {
        LS_TRY(const Origin origin, originOf(target, at));
        const auto endsIn = [&](const char* what) {
            const std::string& id = model.graph(origin.graph).value(origin.at.value).id;
            Shape shape;
            if (target.timeline.goTo(origin.at.tick, target.control).ok())
                if (const Tensor* const found = valueHere(executor, origin.at.depth, origin.at.value)) shape = found->shape;
            answer.lines.push_back("  <- " + std::string(what) + elementName(id, shape, element));
        };
        switch (origin.kind) {
        case OriginKind::input: endsIn("input "); return answer;
        case OriginKind::constant: endsIn("constant "); return answer;
        case OriginKind::variable: endsIn("variable "); return answer;
        case OriginKind::notWritten: return answer;
        case OriginKind::write: break;
        }
        const WriteHit& hit = *origin.hit;
        const std::string address = addressOf(model, hit.stack, hit.op, origin.slot < 0 ? 0 : origin.slot);
        const Operator& op = model.graph(hit.stack.back().graph).op(hit.op);
        std::string line = "  <- " + address + ", step " + std::to_string(hit.step);
        for (const std::string& hop : origin.hops) line += " (" + hop + ")";
        if (origin.slot < 0) {
            answer.lines.push_back(line);
            return answer;
        }
        if (callForm(op).kind != CallKind::none) {
            LS_TRY(const std::optional<ValueAt> inside, resultInside(target, hit, origin.slot));
            answer.lines.push_back(line);
            if (!inside) return answer;
            at = *inside;
            continue;
        }
        LS_CHECK_OK(target.timeline.goTo(hit.before, target.control));
        const int depth = static_cast<int>(hit.stack.size()) - 1;
        std::vector<const Tensor*> operands;
        for (const ValueId input : op.inputs) operands.push_back(input.valid() ? executor.value(depth, input) : nullptr);
        const std::vector<ElementSource> sources = elementSources(op, operands, hit.result.tensor.shape, origin.slot, element);
        const Graph& graph = model.graph(hit.stack.back().graph);
        answer.lines.push_back(line + ": " + sourcesText(graph, op, operands, sources));
        // Further along the first operand that is computed, of a NaN along the first that is NaN.
        int way = -1;
        bool isNan = false;
        for (size_t i = 0; i < operands.size(); ++i) {
            if (!operands[i] || sources[i].use != ElementUse::one) continue;
            if (graph.value(op.inputs[i]).role == ValueRole::constant && elementForm(op) == ElementForm::elementwise) continue;
            const bool nanHere = std::isnan(elementAsReal(*operands[i], sources[i].index));
            if (way < 0 || (nanHere && !isNan)) way = static_cast<int>(i);
            isNan = isNan || nanHere;
        }
        if (way < 0) return answer;
        at = {hit.before, hit.before, depth, op.inputs[static_cast<size_t>(way)]};
        element = sources[static_cast<size_t>(way)].index;
    }
    answer.lines.emplace_back("  <- … (more than 10 writes back)");
    return answer;
}

} // namespace loopscope
