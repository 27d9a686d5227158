#include "app/wiring/model_file.h"

#include "converters/tflite/tflite.h"
#include "engine/base/text.h"
#include "engine/ir/text/parser.h"
#include "engine/ir/text/printer.h"
#include "engine/observe/address.h"

#include <filesystem>

namespace loopscope::app {

namespace {

std::string siteText(const OperatorName& name)
{
    if (!name.name.empty()) return name.name;
    return name.kind + "#" + std::to_string(name.index);
}

/// The operator that an address names in `graph`.
Result<OperatorId> findOperator(const Graph& graph, const OperatorName& name, const std::string& address)
{
    const auto count = static_cast<int64_t>(graph.operators.size());
    if (name.index >= 0 && name.index < count &&
        (name.kind.empty() || graph.operators[static_cast<size_t>(name.index)].kind.name == name.kind))
        return OperatorId(name.index);
    if (name.index < 0)
        for (int64_t i = 0; i < count; ++i)
            if (graph.operators[static_cast<size_t>(i)].name == name.name) return OperatorId(i);
    std::string what = "no operator '" + siteText(name) + "' in " + graph.id;
    if (name.index >= 0 && name.index < count)
        what += "; operator " + std::to_string(name.index) + " is " + graph.operators[static_cast<size_t>(name.index)].kind.name + "#" +
                std::to_string(name.index);
    else if (name.index >= 0)
        what += ", which has " + std::to_string(count);
    return Error(ErrorCode::usage, what).at(address);
}

std::string_view calleeRole(const AddressStep& step)
{
    return step.role == StepRole::none ? std::string_view("body") : stepRoleName(step.role);
}

} // namespace

std::string fileNameOf(const std::string& path)
{
    std::filesystem::path p(path);
    if (!p.has_filename()) p = p.parent_path();
    return p.filename().string();
}

Result<GraphId> findGraph(const Model& model, const std::string& text)
{
    std::vector<std::string> ids;
    for (size_t g = 0; g < model.graphs.size(); ++g) {
        if (model.graphs[g].id == text || (!model.graphs[g].name.empty() && model.graphs[g].name == text))
            return GraphId(static_cast<int64_t>(g));
        ids.push_back(model.graphs[g].id);
    }
    if (text.find_first_of("/#@:") == std::string::npos)
        return Error(ErrorCode::usage, "no graph '" + text + "'").nearest(nearestNames(text, ids));
    Result<Address> parsed = parseAddress(text);
    if (!parsed.ok()) return std::move(parsed).takeError().at(text);
    const Address& address = *parsed;
    GraphId graph = model.findGraph(address.root);
    if (address.rootIsSignature)
        for (const Signature& signature : model.signatures)
            if (signature.key == address.root) graph = signature.graph;
    if (!model.hasGraph(graph))
        return Error(ErrorCode::usage, "no graph '" + address.root + "'").at(text).nearest(nearestNames(address.root, ids));
    for (const AddressStep& step : address.steps) {
        LS_TRY(const OperatorId op, findOperator(model.graph(graph), step.site, text));
        const std::string role = std::string(calleeRole(step)) + (step.branch >= 0 ? std::to_string(step.branch) : "");
        GraphId next;
        for (const Callee& callee : calleesOf(model.graph(graph).op(op)))
            if (callee.role == role) next = callee.graph;
        if (!model.hasGraph(next)) return Error(ErrorCode::usage, siteText(step.site) + " has no " + role).at(text);
        graph = next;
    }
    if (address.target == TargetKind::op || address.target == TargetKind::output || address.target == TargetKind::input)
        LS_CHECK_OK([&]() -> Status {
            LS_TRY([[maybe_unused]] const OperatorId op, findOperator(model.graph(graph), address.op, text));
            return {};
        }());
    return graph;
}

Status comesBackIdentical(const LoadedModel& file)
{
    if (file.model.dialect == Dialect::tfl) {
        LS_TRY(const std::vector<std::byte> written, exportTflite(file.model));
        LS_TRY(const Model again, importTflite(file.path, Bytes::copyOf(written)));
        if (const std::string difference = firstDifference(file.model, again); !difference.empty())
            return Error(ErrorCode::internal, "does not come back identical from .tflite: " + difference);
    }
    const std::string text = printModel(file.model);
    LS_TRY(const Model again, parseModel(text, file.path));
    if (const std::string difference = firstDifference(file.model, again); !difference.empty())
        return Error(ErrorCode::internal, "does not come back identical from its text: " + difference);
    return {};
}

} // namespace loopscope::app
