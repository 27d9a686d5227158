#include "converters/fuse/batch.h"

#include "converters/lower/refine_shapes.h"

#include <algorithm>
#include <string>
#include <vector>

namespace loopscope {

namespace {

bool isPlaceholder(const Operator& op)
{
    return op.kind.dialect == "tf" && (op.kind.name == "Placeholder" || op.kind.name == "PlaceholderV2") && op.results.size() == 1;
}

bool giveSize(Value& value, int64_t size)
{
    Shape shape = value.type.dynamicShape();
    if (!shape.hasRank() || shape.rank() == 0 || shape[0] != kUnknownDim) return false;
    shape[0] = size;
    const bool isLite = value.type.signature.has_value();
    value.type.shape = shape;
    value.type.signature.reset();
    if (!isLite || shape.isStatic()) return true;
    value.type.signature = shape; // other dimensions are unknown still: in the file they are 1
    for (int d = 0; d < shape.rank(); ++d) value.type.shape[d] = std::max<int64_t>(shape[d], 1);
    return true;
}

/// What is stated of the result follows its type.
void stateShape(Operator& op, const Shape& shape)
{
    for (NamedAttribute& attribute : op.attributes) {
        if (attribute.key == "shape" && attribute.value.as<Shape>() != nullptr) attribute.value = shape;
        auto* const items = attribute.key == "_output_shapes" ? attribute.value.as<AttributeItems>() : nullptr;
        if (items != nullptr && items->size() == 1) items->front() = shape;
    }
}

/// How many inputs got the size.
int giveInputs(Graph& graph, int64_t size)
{
    int given = 0;
    for (const ValueId input : graph.inputs) given += giveSize(graph.value(input), size) ? 1 : 0;
    for (Operator& op : graph.operators) {
        if (!isPlaceholder(op) || !giveSize(graph.value(op.results[0]), size)) continue;
        stateShape(op, graph.value(op.results[0]).type.shape);
        ++given;
    }
    return given;
}

} // namespace

Status giveBatch(Model& model, GraphId root, int64_t size)
{
    std::vector<GraphId> graphs = {root};
    for (const Signature& signature : model.signatures)
        if (model.dialect != Dialect::tf && std::ranges::find(graphs, signature.graph) == graphs.end()) graphs.push_back(signature.graph);
    int given = 0;
    for (const GraphId graph : graphs)
        if (model.hasGraph(graph)) given += giveInputs(model.graph(graph), size);
    if (given == 0)
        return Error(ErrorCode::usage, "--batch-size").found(std::to_string(size)).expected("inputs whose first dimension is unknown");
    if (model.dialect != Dialect::tf) lowering::refineShapes(model, {});
    return {};
}

} // namespace loopscope
