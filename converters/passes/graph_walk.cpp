#include "converters/passes/graph_walk.h"

#include "engine/base/bytes.h"
#include "engine/tensor/strings.h"

#include <algorithm>

namespace loopscope {

Status needsTensorFlow(const Model& model)
{
    if (model.dialect == Dialect::tf) return {};
    return Error(ErrorCode::usage, "the pass is for TensorFlow graphs").found("dialect " + std::string(dialectName(model.dialect)));
}

GraphIds::GraphIds(const Model& model)
{
    for (const Graph& graph : model.graphs) m_taken.insert(graph.id);
}

std::string GraphIds::fresh(const std::string& wanted)
{
    std::string id = wanted;
    for (int& number = m_next.try_emplace(wanted, 1).first->second; !m_taken.insert(id).second; ++number)
        id = wanted + "_" + std::to_string(number);
    return id;
}

std::vector<OperatorId> operatorsNamed(const Graph& graph, std::initializer_list<std::string_view> names)
{
    std::vector<OperatorId> found;
    for (size_t o = 0; o < graph.operators.size(); ++o) {
        const Kind& kind = graph.operators[o].kind;
        if (kind.dialect == "tf" && std::ranges::find(names, kind.name) != names.end()) found.emplace_back(static_cast<int64_t>(o));
    }
    return found;
}

ValueId appendNode(GraphEditor& editor, std::string_view kind, std::string name, std::vector<ValueId> inputs, AttributeList attributes,
                   TensorType result, const Sources& sources)
{
    OperatorDraft draft;
    draft.kind = {"tf", std::string(kind)};
    draft.name = std::move(name);
    draft.inputs = std::move(inputs);
    draft.attributes = std::move(attributes);
    draft.results = {std::move(result)};
    return editor.op(editor.append(std::move(draft), sources)).results.front();
}

ValueId appendScalar(GraphEditor& editor, std::string name, int32_t number, const Sources& sources)
{
    const TensorType type(DType::i32, Shape());
    const ConstantPtr data = std::make_shared<Constant>(Bytes::copyOf(&number, sizeof number));
    return appendNode(editor, "Const", std::move(name), {}, {{"dtype", DType::i32}, {"value", TensorAttribute{type, data}}}, type, sources);
}

ValueId appendText(GraphEditor& editor, std::string name, const std::string& text, const Sources& sources)
{
    const TensorType type(DType::string, Shape());
    const std::vector<std::byte> packed = packStrings(std::vector<std::string>{text});
    const ConstantPtr data = std::make_shared<Constant>(Bytes::copyOf(packed.data(), packed.size()));
    return appendNode(editor, "Const", std::move(name), {}, {{"dtype", DType::string}, {"value", TensorAttribute{type, data}}}, type,
                      sources);
}

void handOn(GraphEditor& editor, OperatorId id, std::vector<ValueId> values, std::vector<OperatorId> controls)
{
    AttributeItems types = dtypesOf(editor.graph(), values);
    AttributeList attributes;
    if (values.size() == 1) attributes = {{"T", types.front()}};
    if (values.size() > 1) attributes = {{"T", std::move(types)}};
    editor.setInputs(id, {});
    editor.setControlInputs(id, std::move(controls));
    editor.setKind(id, {"tf", values.empty() ? "NoOp" : values.size() == 1 ? "Identity" : "IdentityN"});
    editor.setAttributes(id, std::move(attributes));
    editor.setInputs(id, std::move(values));
}

AttributeItems dtypesOf(const Graph& graph, const std::vector<ValueId>& values)
{
    AttributeItems types;
    for (const ValueId value : values) types.emplace_back(graph.value(value).type.dtype);
    return types;
}

} // namespace loopscope
