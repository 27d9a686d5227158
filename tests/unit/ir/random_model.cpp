#include "tests/unit/ir/random_model.h"

#include "engine/tensor/strings.h"

#include <bit>
#include <limits>
#include <set>

namespace loopscope {

std::string RandomModel::text()
{
    static const std::vector<std::string> kPieces = {
        "a",  "Conv2D", "/",        ":0",   " ",    "\"",  "\\",     "\n",    "\t", std::string(1, '\0'),
        "é",  "\xff",   "\xc2\x85", "日本", "-",    ".",   "_",      ";",     "#",  "@",
        "^",  "$",      "?",        "0",    "true", "nan", "return", "const", "->", "%",
        "\r", "\x7f"};
    std::string out;
    for (int64_t n = upTo(4); n > 0; --n) out += oneOf(kPieces);
    return out;
}

std::string RandomModel::word()
{
    static const std::vector<std::string> kWords = {"SAME",  "axis", "T",     "_class",   "x1",    "A_b",    "q",
                                                    "range", "sig",  "bytes", "external", "splat", "base64", "data"};
    return oneOf(kWords);
}

std::string RandomModel::uniqueName() { return (oneIn(3) ? text() : word()) + std::to_string(++m_names); }

DType RandomModel::dtype() { return static_cast<DType>(upTo(static_cast<int64_t>(DType::mxint8))); }

Shape RandomModel::shape(bool known)
{
    if (!known && oneIn(6)) return Shape::unknownRank();
    Shape shape;
    for (int64_t n = oneIn(20) ? 9 : upTo(3); n > 0; --n) shape.append(!known && oneIn(4) ? kUnknownDim : upTo(4));
    return shape;
}

double RandomModel::real()
{
    switch (upTo(4)) {
    case 0: return std::numeric_limits<double>::quiet_NaN();
    case 1: return upTo(1) == 0 ? std::numeric_limits<double>::infinity() : -0.0;
    case 2: return std::bit_cast<double>(m_random());
    case 3: return static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(m_random())));
    default: return static_cast<double>(upTo(1000)) / 8 - 10;
    }
}

QuantizationPtr RandomModel::quantization(const TensorType& type)
{
    auto q = std::make_shared<Quantization>();
    const auto scale = [&] { return static_cast<float>(real()); };
    const int rank = type.shape.rank();
    if (oneIn(3)) {
        q->kind = Quantization::Kind::affine;
        q->scales = {scale()};
        if (!oneIn(4)) q->zeroPoints = {upTo(500) - 250};
    } else if (rank > 0 && oneIn(2)) {
        q->kind = Quantization::Kind::affine;
        q->perChannel = true;
        q->axis = static_cast<int32_t>(upTo(rank - 1));
        const int64_t dim = type.shape[q->axis];
        const int64_t count = dim >= 0 ? dim : upTo(12);
        const float first = scale();
        const bool equal = oneIn(2);
        for (int64_t i = 0; i < count; ++i) q->scales.push_back(equal ? first : scale());
        if (!oneIn(3))
            for (int64_t i = count; i > 0; --i) q->zeroPoints.push_back(equal ? 3 : upTo(9));
        if (oneIn(4)) {
            q->kind = Quantization::Kind::unresolved;
            q->scales.clear();
            q->scalesHash = hash();
        }
    } else if (m_graph != nullptr && !m_graph->values.empty() && oneIn(2)) {
        const auto last = static_cast<int64_t>(m_graph->values.size()) - 1;
        q->kind = Quantization::Kind::blockwise;
        q->blockSize = static_cast<int32_t>(upTo(64));
        q->blockScales = static_cast<int32_t>(upTo(last));
        q->blockZeros = oneIn(2) ? -1 : static_cast<int32_t>(upTo(last));
        return q;
    } else if (oneIn(2)) {
        q->kind = Quantization::Kind::custom;
        q->custom = text();
    }
    if (oneIn(2)) {
        for (int64_t n = upTo(10); n > 0; --n) q->min.push_back(scale());
        for (int64_t n = upTo(2); n > 0; --n) q->max.push_back(scale());
    }
    return q;
}

TensorType RandomModel::type(bool data, int depth)
{
    TensorType type(dtype(), shape(data));
    const bool parameters = !data && m_model.dialect == Dialect::tf; // only TensorFlow functions have them
    if (parameters && oneIn(10)) {
        type.dtype = DType::unknown;
        type.parameter = oneIn(2) ? "T" : "N*T";
    }
    if (parameters && oneIn(10)) {
        type.parameter = "N";
        if (type.dtype == DType::unknown) type.dtype = DType::f32;
    }
    if ((type.dtype == DType::resource || type.dtype == DType::variant) && type.parameter.empty() && depth < 3)
        for (int64_t n = upTo(2); n > 0; --n) type.elementTypes.push_back(this->type(false, depth + 1));
    if (oneIn(8) && type.parameter.empty() && type.dtype != DType::unknown) type.isReference = true;
    if (oneIn(4)) {
        Shape signature = oneIn(3) ? shape(false) : type.shape;
        if (!signature.hasRank()) signature = Shape{-1};
        if (signature.rank() > 0) signature[static_cast<int>(upTo(signature.rank() - 1))] = kUnknownDim;
        type.signature = signature;
    }
    if (oneIn(3)) type.quantization = quantization(type);
    return type;
}

ConstantPtr RandomModel::constant(TensorType& type, bool mayBeSparse)
{
    if (type.dtype == DType::unknown) type.dtype = DType::f32;
    if (mayBeSparse && oneIn(12)) {
        const auto number = static_cast<int32_t>(m_model.externalBuffers.size());
        m_model.externalBuffers.push_back({number, {}});
        return Constant::external(number);
    }
    std::optional<Sparsity> sparsity;
    int64_t count = type.shape.elementCount();
    if (mayBeSparse && oneIn(10)) {
        sparsity.emplace();
        sparsity->traversalOrder = {0, 1};
        if (oneIn(2)) sparsity->blockMap = {1};
        sparsity->dimensions = {{false, 2, {}, {}}, {true, 0, {0, 1, 3}, {4, 0, 7}}};
        count = 3;
        if (oneIn(3)) {
            sparsity->dimensions.push_back({false, 4, {}, {}});
            count = 12;
        }
    }
    const auto finish = [&](std::shared_ptr<Constant> made) {
        made->sparsity = sparsity;
        return made;
    };
    if (oneIn(8))
        return finish(std::make_shared<Constant>(hash(), oneIn(2) ? byteSize(type.dtype, count) : static_cast<uint64_t>(upTo(99))));
    std::vector<std::byte> bytes;
    if (type.dtype == DType::string) {
        std::vector<std::string> strings(static_cast<size_t>(count));
        const std::string first = text();
        const bool equal = oneIn(3);
        for (std::string& s : strings) s = equal ? first : text();
        bytes = packStrings(strings);
        if (oneIn(8)) bytes.push_back(std::byte{0}); // packed in a way that literals cannot say
    } else {
        bytes.resize(byteSize(type.dtype, count) + (oneIn(30) ? 1 : 0));
        const auto fill = static_cast<std::byte>(m_random());
        const bool equal = oneIn(3);
        for (std::byte& b : bytes)
            b = equal                                       ? fill
                : type.dtype == DType::boolean && !oneIn(9) ? static_cast<std::byte>(upTo(1))
                                                            : static_cast<std::byte>(m_random());
    }
    return finish(std::make_shared<Constant>(Bytes::copyOf(bytes)));
}

Attribute RandomModel::attribute(int depth)
{
    switch (upTo(depth > 3 ? 10 : 15)) {
    case 0: return {};
    case 1: return oneIn(2);
    case 2: return static_cast<int64_t>(m_random());
    case 3: return real();
    case 4: return text();
    case 5: return HexBytes{text()};
    case 6: return Word{word()};
    case 7: return dtype();
    case 8: return shape(false);
    case 9: return Placeholder{word()};
    case 10:
        if (m_graph == nullptr || m_graph->values.empty()) return int64_t{1};
        return ValueRef{ValueId(upTo(static_cast<int64_t>(m_graph->values.size()) - 1))};
    case 11: {
        if (m_model.graphs.empty()) return int64_t{2};
        GraphRef ref{GraphId(upTo(static_cast<int64_t>(m_model.graphs.size()) - 1)), nullptr};
        if (oneIn(2)) ref.attributes = std::make_shared<const AttributeList>(attributes(2));
        return ref;
    }
    case 12: {
        TensorAttribute tensor;
        tensor.type = TensorType(dtype(), shape(true));
        tensor.data = constant(tensor.type, false);
        return tensor;
    }
    case 13: {
        AttributeMap map;
        for (int64_t n = upTo(3); n > 0; --n) map.emplace_back(oneIn(2) ? word() : text(), attribute(depth + 1));
        return map;
    }
    default: {
        AttributeItems items;
        for (int64_t n = upTo(3); n > 0; --n) items.push_back(attribute(depth + 1));
        return items;
    }
    }
}

AttributeList RandomModel::attributes(int64_t most)
{
    AttributeList list;
    for (int64_t n = upTo(most); n > 0; --n) {
        const std::string key = oneIn(4) ? text() : word();
        if (!key.starts_with('@')) setAttribute(list, (oneIn(3) ? "@" : "") + key, attribute(0));
    }
    if (oneIn(6)) setAttribute(list, "@stateful", oneIn(4) ? attribute(0) : Attribute(true));
    if (oneIn(6) && m_graph != nullptr && !m_graph->values.empty()) {
        AttributeItems items;
        for (int64_t n = upTo(2); n > 0; --n) items.emplace_back(ValueRef{ValueId(upTo(static_cast<int64_t>(m_graph->values.size()) - 1))});
        setAttribute(list, "@intermediates", std::move(items));
    }
    return list;
}

Kind RandomModel::kind()
{
    static const std::vector<std::string> kDialects = {"tfl", "circle", "tf", "custom", "acme"};
    static const std::vector<std::string> kNames = {"add",      "conv_2d", "Switch", "if",       "const", "return",
                                                    "odd name", "a.b",     "while",  "Space>Op", "3d"};
    return {oneOf(kDialects), oneOf(kNames)};
}

void RandomModel::tfResults(Graph& graph, size_t index, int64_t count)
{
    Operator& op = graph.operators[index];
    const bool named = oneIn(6) && count > 0; // the last output is known by the name of its argument
    for (int64_t slot = 0; slot < count; ++slot) {
        Value value;
        const bool last = named && slot + 1 == count;
        value.id = last ? op.name + ":out:" + std::to_string(upTo(12)) : slot == 0 ? op.name : op.name + ":" + std::to_string(slot);
        value.role = ValueRole::result;
        value.producer = OperatorId(static_cast<int64_t>(index));
        value.slot = static_cast<int32_t>(slot);
        op.results.emplace_back(static_cast<int64_t>(graph.values.size()));
        if (last) graph.outputs.push_back({"", op.results.back()}); // such outputs exist only where they are used
        graph.values.push_back(std::move(value));
    }
}

void RandomModel::operation(Graph& graph, size_t index)
{
    Operator& op = graph.operators[index];
    const bool tf = m_model.dialect == Dialect::tf;
    // A tfl graph uses only what is there already; in a tf graph anything may come later.
    const auto known = static_cast<int64_t>(graph.values.size());
    op.kind = kind();
    if (!tf) {
        for (int64_t n = upTo(3); n > 0 && known > 0; --n) op.inputs.emplace_back(oneIn(6) ? -1 : upTo(known - 1));
        for (int64_t n = upTo(3); n > 0; --n) {
            Value value;
            value.id = uniqueName();
            value.role = ValueRole::result;
            value.producer = OperatorId(static_cast<int64_t>(index));
            value.slot = static_cast<int32_t>(op.results.size());
            op.results.emplace_back(static_cast<int64_t>(graph.values.size()));
            graph.values.push_back(std::move(value));
        }
        for (size_t i = 0; i < index; ++i)
            if (!graph.operators[i].results.empty() && oneIn(8)) op.controlInputs.emplace_back(static_cast<int64_t>(i));
    }
}

void RandomModel::graph(Graph& graph)
{
    const bool tf = m_model.dialect == Dialect::tf;
    m_graph = nullptr;
    const auto add = [&](ValueRole role) {
        Value& value = graph.values.emplace_back();
        value.id = uniqueName();
        value.role = role;
    };
    for (int64_t n = upTo(3); n > 0; --n) {
        graph.inputs.emplace_back(static_cast<int64_t>(graph.values.size()));
        add(ValueRole::input);
    }
    for (int64_t n = upTo(5); n > 0; --n) add(oneIn(2) ? ValueRole::constant : oneIn(2) ? ValueRole::variable : ValueRole::absent);
    graph.operators.resize(static_cast<size_t>(upTo(6)));
    for (size_t i = 0; i < graph.operators.size(); ++i) {
        if (tf) graph.operators[i].name = uniqueName();
        if (tf) tfResults(graph, i, upTo(3));
        operation(graph, i);
    }
    const auto values = static_cast<int64_t>(graph.values.size());
    for (Operator& op : graph.operators) {
        if (!tf) break;
        for (int64_t n = upTo(3); n > 0 && values > 0; --n) op.inputs.emplace_back(oneIn(9) ? -1 : upTo(values - 1));
        for (int64_t n = upTo(1); n > 0; --n) op.controlInputs.emplace_back(upTo(static_cast<int64_t>(graph.operators.size()) - 1));
    }
    for (int64_t n = upTo(3); n > 0 && values > 0; --n) graph.outputs.push_back({tf && oneIn(2) ? text() : "", ValueId(upTo(values - 1))});
    if (tf && !graph.operators.empty() && oneIn(3))
        graph.controlOutputs.emplace_back(uniqueName(), OperatorId(upTo(static_cast<int64_t>(graph.operators.size()) - 1)));
    // Types and attributes last: they may name any value.
    m_graph = &graph;
    for (Value& value : graph.values) {
        if (oneIn(3)) value.name = text();
        value.type = type(value.role == ValueRole::constant || value.role == ValueRole::variable);
        const bool data = value.role == ValueRole::constant || (value.role == ValueRole::variable && oneIn(2));
        if (data) value.constant = constant(value.type, true);
        if (oneIn(4)) value.attributes = attributes(2);
    }
    for (Operator& op : graph.operators) op.attributes = attributes(4);
    if (oneIn(3)) graph.attributes = attributes(2);
}

Model RandomModel::make()
{
    m_model = {};
    m_model.dialect = static_cast<Dialect>(upTo(2));
    m_model.graphs.resize(static_cast<size_t>(upTo(3)));
    m_graph = nullptr;
    for (Graph& graph : m_model.graphs) {
        graph.id = uniqueName();
        if (oneIn(3)) graph.name = text();
    }
    m_model.attributes = attributes(3);
    std::set<std::string> kinds;
    for (int64_t n = upTo(3); n > 0; --n)
        if (const Kind k = kind(); kinds.insert(k.full()).second) m_model.versions.push_back({k, upTo(9)});
    for (int64_t n = upTo(3); n > 0; --n) {
        Metadata& metadata = m_model.metadata.emplace_back();
        metadata.name = text();
        std::string bytes = oneIn(2) ? std::string("2.6.0") + std::string(11, '\0') : text();
        if (oneIn(3)) bytes += std::string(static_cast<size_t>(upTo(90)), 'x');
        if (oneIn(6)) metadata.data = std::make_shared<Constant>(hash(), 77);
        else if (!oneIn(6)) metadata.data = std::make_shared<Constant>(Bytes::copyOf(bytes.data(), bytes.size()));
    }
    for (Graph& graph : m_model.graphs) this->graph(graph);
    for (int64_t n = upTo(2); n > 0 && !m_model.graphs.empty(); --n) {
        Signature& signature = m_model.signatures.emplace_back();
        signature.key = text();
        signature.graph = GraphId(upTo(static_cast<int64_t>(m_model.graphs.size()) - 1));
        const Graph& graph = m_model.graph(signature.graph);
        for (const ValueId id : graph.inputs) signature.inputs.push_back({text(), id});
        for (const GraphOutput& output : graph.outputs) signature.outputs.push_back({text(), output.value});
    }
    if (m_model.dialect == Dialect::tf && !m_model.graphs.empty() && oneIn(2)) m_model.gradients.emplace_back(GraphId(0), uniqueName());
    return std::move(m_model);
}

} // namespace loopscope
