#include "converters/lower/list_kinds.h"

#include "engine/ops/control_flow.h"
#include "engine/tensor/statistics.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

namespace loopscope::lowering {

namespace {

bool isVariant(const Model& model, size_t graph, ValueId value)
{
    return value.valid() && model.graphs[graph].value(value).type.dtype == DType::variant;
}

DType elementDtype(const Operator& op)
{
    const Attribute* const said = findAttribute(op.attributes, "element_dtype");
    const auto* const dtype = said ? said->as<DType>() : nullptr;
    return dtype ? *dtype : DType::unknown;
}

/// Whether the operand is a constant shape that leaves nothing open.
bool isKnownShape(const Graph& graph, ValueId value)
{
    if (!value.valid() || graph.value(value).role != ValueRole::result) return false;
    const Operator& op = graph.op(graph.value(value).producer);
    const Attribute* const said = op.kind.name == "Const" ? findAttribute(op.attributes, "value") : nullptr;
    const auto* const tensor = said ? said->as<TensorAttribute>() : nullptr;
    if (!tensor || !tensor->data || !tensor->data->hasBytes() || tensor->type.shape.rank() != 1 || !isInteger(tensor->type.dtype))
        return false;
    Tensor dims;
    dims.dtype = tensor->type.dtype;
    dims.shape = tensor->type.shape;
    dims.bytes = tensor->data->size();
    const Bytes bytes = tensor->data->bytes();
    dims.data = const_cast<std::byte*>(bytes.view().data()); // NOLINT(cppcoreguidelines-pro-type-const-cast): read only
    for (int64_t i = 0; i < dims.elementCount(); ++i)
        if (elementAsInteger(dims, i) < 0) return false;
    return true;
}

/// One dtype that carries them all without loss; unknown: none does.
DType commonOf(const std::set<DType>& dtypes)
{
    if (dtypes.empty()) return DType::f32;
    if (dtypes.size() == 1) return *dtypes.begin();
    const bool isNarrow = std::ranges::all_of(dtypes, [](DType d) { return d == DType::f32 || d == DType::i32 || d == DType::boolean; });
    return isNarrow ? DType::i32 : DType::unknown;
}

constexpr int kMostDepth = 16; ///< of lists in lists

} // namespace

ListKinds::ListKinds(const Model& model)
{
    int32_t count = 0;
    for (const Graph& graph : model.graphs) {
        m_first.push_back(count);
        count += static_cast<int32_t>(graph.values.size());
    }
    m_kinds.resize(static_cast<size_t>(count));
    for (size_t g = 0; g < model.graphs.size(); ++g)
        for (const Operator& op : model.graphs[g].operators) follow(model, g, op);
}

int32_t ListKinds::root(int32_t kind) const
{
    while (m_kinds[static_cast<size_t>(kind)].parent >= 0) kind = m_kinds[static_cast<size_t>(kind)].parent;
    return kind;
}

int32_t ListKinds::elementOf(int32_t list)
{
    if (m_kinds[static_cast<size_t>(list)].element < 0) {
        m_kinds.emplace_back();
        m_kinds[static_cast<size_t>(list)].element = static_cast<int32_t>(m_kinds.size()) - 1;
    }
    return root(m_kinds[static_cast<size_t>(list)].element);
}

void ListKinds::join(int32_t a, int32_t b)
{
    a = root(a);
    b = root(b);
    if (a == b) return;
    const Kind from = m_kinds[static_cast<size_t>(b)];
    m_kinds[static_cast<size_t>(b)].parent = a;
    Kind& to = m_kinds[static_cast<size_t>(a)];
    to.isList |= from.isList;
    to.isOpen |= from.isOpen;
    to.isPopped |= from.isPopped;
    to.isStacked |= from.isStacked;
    to.isConcatenated |= from.isConcatenated;
    to.isSplit |= from.isSplit;
    to.holdsVariants |= from.holdsVariants;
    to.varies = to.varies || from.varies || (to.hasShape && from.hasShape && to.shape != from.shape);
    if (!to.hasShape) to.shape = from.shape;
    to.hasShape |= from.hasShape;
    to.dtypes.insert(from.dtypes.begin(), from.dtypes.end());
    if (to.element < 0) to.element = from.element;
    else if (from.element >= 0) join(to.element, from.element);
}

void ListKinds::take(const Model& model, size_t graph, ValueId list, ValueId item)
{
    const int32_t kind = at(graph, list);
    m_kinds[static_cast<size_t>(kind)].isList = true;
    if (!item.valid()) return;
    if (isVariant(model, graph, item)) {
        m_kinds[static_cast<size_t>(kind)].holdsVariants = true;
        const int32_t element = elementOf(kind);
        join(element, at(graph, item));
        return;
    }
    if (const DType dtype = model.graphs[graph].value(item).type.dtype; dtype != DType::unknown)
        m_kinds[static_cast<size_t>(kind)].dtypes.insert(dtype);
}

void ListKinds::put(const Model& model, size_t graph, ValueId list, ValueId item)
{
    take(model, graph, list, item);
    if (!item.valid()) return;
    Kind& kind = m_kinds[static_cast<size_t>(at(graph, list))];
    const Shape shape = model.graphs[graph].value(item).type.dynamicShape();
    kind.varies = kind.varies || !shape.isStatic() || (kind.hasShape && kind.shape != shape);
    kind.shape = shape;
    kind.hasShape = true;
}

void ListKinds::joinIfVariant(const Model& model, size_t graph, ValueId value, size_t other, ValueId otherValue)
{
    if (isVariant(model, graph, value) || isVariant(model, other, otherValue))
        if (value.valid() && otherValue.valid()) join(at(graph, value), at(other, otherValue));
}

void ListKinds::followCall(const Model& model, size_t graph, const Operator& op)
{
    const CallForm form = callForm(op);
    const auto first = static_cast<size_t>(std::max(form.firstArgument, 0));
    for (size_t i = 0; form.kind == CallKind::loop && i < std::min(op.inputs.size(), op.results.size()); ++i)
        joinIfVariant(model, graph, op.inputs[i], graph, op.results[i]);
    for (const Callee& callee : form.callees) {
        if (!model.hasGraph(callee.graph)) continue;
        const auto c = static_cast<size_t>(callee.graph.index);
        const Graph& body = model.graphs[c];
        for (size_t i = first; i < op.inputs.size() && i - first < body.inputs.size(); ++i)
            joinIfVariant(model, graph, op.inputs[i], c, body.inputs[i - first]);
        if (form.kind == CallKind::loop && callee.graph == form.callees.front().graph) continue; // it gives the condition
        for (size_t k = 0; k < std::min(body.outputs.size(), op.results.size()); ++k)
            joinIfVariant(model, graph, op.results[k], c, body.outputs[k].value);
    }
}

/// Operators of lists; false: it is none.
bool ListKinds::followList(const Model& model, size_t graph, const Operator& op)
{
    const std::string_view kind = op.kind.name;
    if (!kind.starts_with("TensorList") && kind != "EmptyTensorList") return false;
    const auto mark = [&](ValueId value) -> Kind& { return m_kinds[static_cast<size_t>(at(graph, value))]; };
    const auto same = [&] { join(at(graph, op.results[0]), at(graph, op.inputs[0])); };
    if (kind == "EmptyTensorList" || kind == "TensorListReserve") {
        Kind& list = mark(op.results[0]);
        list.isList = true;
        list.isOpen |= !isKnownShape(model.graphs[graph], op.inputs[0]);
        if (const DType dtype = elementDtype(op); dtype == DType::variant) list.holdsVariants = true;
        else if (dtype != DType::unknown) list.dtypes.insert(dtype);
    } else if (kind == "TensorListFromTensor" || kind == "TensorListSplit") {
        take(model, graph, op.results[0], op.inputs[0]);
        mark(op.results[0]).isSplit |= kind == "TensorListSplit";
    } else if (kind == "TensorListPushBack") {
        same();
        put(model, graph, op.results[0], op.inputs[1]);
    } else if (kind == "TensorListSetItem") {
        same();
        put(model, graph, op.results[0], op.inputs[2]);
    } else if (kind == "TensorListGetItem") {
        take(model, graph, op.inputs[0], op.results[0]);
    } else if (kind == "TensorListPopBack") {
        same();
        take(model, graph, op.inputs[0], op.results[1]);
        mark(op.inputs[0]).isPopped = true;
    } else if (kind == "TensorListStack" || kind == "TensorListGather" || kind == "TensorListConcatV2") {
        mark(op.inputs[0]).isList = true;
        (kind == "TensorListConcatV2" ? mark(op.inputs[0]).isConcatenated : mark(op.inputs[0]).isStacked) = true;
    } else if (kind == "TensorListResize" || kind == "TensorListScatterIntoExistingList") {
        same();
    } else if (kind == "TensorListConcatLists") {
        same();
        join(at(graph, op.results[0]), at(graph, op.inputs[1]));
    }
    return true;
}

void ListKinds::follow(const Model& model, size_t graph, const Operator& op)
{
    const std::string_view kind = op.kind.name;
    if (followList(model, graph, op)) return;
    if (!callForm(op).callees.empty()) return followCall(model, graph, op);
    if (kind == "OptionalFromValue" || kind == "OptionalGetValue") {
        if (op.inputs.size() != 1 || op.results.size() != 1) return;
        const bool isMade = kind == "OptionalFromValue";
        const ValueId optional = isMade ? op.results[0] : op.inputs[0], value = isMade ? op.inputs[0] : op.results[0];
        if (isVariant(model, graph, value)) join(at(graph, optional), at(graph, value));
        else m_kinds[static_cast<size_t>(at(graph, optional))].dtypes.insert(model.graphs[graph].value(value).type.dtype);
        return;
    }
    // what hands on, adds up or clears what it is given
    for (const ValueId input : op.inputs)
        if (!op.results.empty() && isVariant(model, graph, input) && isVariant(model, graph, op.results[0]) && kind != "IdentityN")
            join(at(graph, op.results[0]), at(graph, input));
    for (size_t k = 0; kind == "IdentityN" && k < std::min(op.inputs.size(), op.results.size()); ++k)
        joinIfVariant(model, graph, op.inputs[k], graph, op.results[k]);
}

bool ListKinds::isRagged(const Kind& kind) const
{
    if (!kind.isList) return false;
    const bool ofSeveral = kind.isOpen && kind.varies;
    return kind.holdsVariants || kind.isSplit || (ofSeveral && (kind.isConcatenated || (kind.isPopped && !kind.isStacked)));
}

DType ListKinds::itemOf(int32_t kind, int depth) const
{
    const Kind& own = m_kinds[static_cast<size_t>(root(kind))];
    if (own.element >= 0 && depth < kMostDepth) return tensorOf(own.element, depth + 1);
    return commonOf(own.dtypes);
}

DType ListKinds::tensorOf(int32_t kind, int depth) const
{
    const Kind& own = m_kinds[static_cast<size_t>(root(kind))];
    const DType item = itemOf(kind, depth);
    return isRagged(own) && item == DType::boolean ? DType::i32 : item;
}

ListKind ListKinds::of(size_t graph, ValueId value) const
{
    if (graph >= m_first.size() || !value.valid()) return {};
    const int32_t kind = root(m_first[graph] + value.index);
    const Kind& own = m_kinds[static_cast<size_t>(kind)];
    ListKind found;
    found.isRagged = isRagged(own);
    found.isList = own.isList;
    if (own.element >= 0) {
        const Kind& element = m_kinds[static_cast<size_t>(root(own.element))];
        found.holdsLists = element.isList;
        found.holdsRagged = isRagged(element);
    }
    found.item = itemOf(kind, 0);
    return found;
}

} // namespace loopscope::lowering
