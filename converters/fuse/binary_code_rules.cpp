// Weights in binary codes, for Circle: FULLY_CONNECTED and GATHER with a matrix that the outputs of the model describe in codes become
// BCQ_FULLY_CONNECTED and BCQ_GATHER, which see a matrix with columns as its input.
#include "converters/fuse/binary_code_outputs.h"
#include "converters/fuse/cells.h"
#include "converters/fuse/pattern.h"
#include "engine/tensor/value_text.h"

#include <algorithm>
#include <cmath>

namespace loopscope {

namespace {

/// The constant that an output is, through a reshape that a converter may have put there.
ValueId constantBehind(const Graph& graph, ValueId value)
{
    value = fusing::behindIdentities(graph, value);
    if (!value.valid() || graph.value(value).role != ValueRole::result) return value;
    const Operator& op = graph.op(graph.value(value).producer);
    return fusing::cellKind(op) == "reshape" && !op.inputs.empty() ? op.inputs[0] : value;
}

constexpr size_t kLeastNumbers = 4; ///< of the table

} // namespace

std::optional<BinaryCodeTable> binaryCodeTable(const Graph& graph)
{
    constexpr int64_t kFirst = -1'999'999'973, kLast = 1'999'999'973, kVersion = 1;
    if (graph.outputs.size() < 2) return std::nullopt;
    const ValueId first = constantBehind(graph, graph.outputs[0].value);
    if (!first.valid() || graph.value(first).type.dtype != DType::i32) return std::nullopt;
    const auto numbers = fusing::integersIn(graph, first);
    if (!numbers || numbers->size() < kLeastNumbers || numbers->front() != kFirst || numbers->back() != kLast) return std::nullopt;
    const int64_t version = (*numbers)[1], own = (*numbers)[2], bundle = (*numbers)[3];
    if (version != kVersion || own < 0 || bundle < 7 || own >= std::ssize(graph.outputs)) return std::nullopt;
    BinaryCodeTable table;
    table.own = static_cast<size_t>(own);
    for (size_t at = table.own + 1; at + static_cast<size_t>(bundle) <= graph.outputs.size(); at += static_cast<size_t>(bundle)) {
        const auto part = [&](size_t k) { return constantBehind(graph, graph.outputs[at + k].value); };
        table.matrices.push_back({part(0), part(1), part(2), part(3), part(4), part(5), part(6)});
    }
    return table;
}

std::vector<std::string> dropBinaryCodeOutputs(Model& model)
{
    std::vector<std::string> notes;
    const auto readsCodes = [](const Operator& op) { return op.kind.dialect == "circle" && op.kind.name.starts_with("bcq_"); };
    const bool isUsed =
        std::ranges::any_of(model.graphs, [&](const Graph& graph) { return std::ranges::any_of(graph.operators, readsCodes); });
    for (size_t g = 0; isUsed && g < model.graphs.size(); ++g) {
        Graph& graph = model.graphs[g];
        const std::optional<BinaryCodeTable> table = binaryCodeTable(graph);
        if (!table) continue;
        std::vector<ValueId> gone;
        for (size_t k = 0; k < graph.outputs.size(); ++k)
            if (k == 0 || k > table->own) gone.push_back(graph.outputs[k].value);
        const auto isGone = [&](ValueId value) { return std::ranges::find(gone, value) != gone.end(); };
        graph.outputs.erase(graph.outputs.begin() + static_cast<std::ptrdiff_t>(table->own) + 1, graph.outputs.end());
        graph.outputs.erase(graph.outputs.begin());
        for (Signature& signature : model.signatures)
            if (signature.graph == GraphId(static_cast<int64_t>(g)))
                std::erase_if(signature.outputs, [&](const SignatureBinding& binding) { return isGone(binding.value); });
        for (const ValueId value : gone) { // constants that nothing else reads: a file would keep them
            const auto reads = [&](const Operator& op) { return std::ranges::find(op.inputs, value) != op.inputs.end(); };
            const bool isOutput = std::ranges::any_of(graph.outputs, [&](const GraphOutput& output) { return output.value == value; });
            if (graph.value(value).role == ValueRole::constant && !isOutput && std::ranges::none_of(graph.operators, reads))
                graph.value(value).role = ValueRole::absent;
        }
        notes.push_back(graph.id + ": the " + std::to_string(gone.size()) + " outputs that describe weights in binary codes are left out");
    }
    return notes;
}

namespace fusing {

namespace {

/// A matrix in codes, as the operators take it.
struct BinaryCodes {
    std::vector<float> scales;
    std::vector<int32_t> words, clusters; ///< clusters: codes and rows of each
    int64_t rows = 0, rowWords = 0;
    float furthest = 0; ///< of the floats that they stand for
};

class CodesReader {
public:
    CodesReader(Site& site, OperatorId root) : m_site(site), m_root(root), m_op(site.editor().op(root)), m_graph(site.editor().graph()) {}

    Outcome readProduct()
    {
        if (m_op.inputs.size() < 2) return Outcome::nothing();
        const ValueId bias = m_op.inputs.size() > 2 ? m_op.inputs[2] : ValueId();
        const bool isTurned = m_site.constants().floats(m_op.inputs[1]) == nullptr; // W · x with computed "weights" x
        const Numbers* const matrix = m_site.constants().floats(m_op.inputs[isTurned ? 0 : 1]);
        if (matrix == nullptr || !find(*matrix, false)) return m_outcome;
        const Shape &other = m_site.typeOf(m_op.inputs[isTurned ? 1 : 0]).shape, &result = m_site.typeOf(m_op.results[0]).shape;
        if (!other.isStatic() || other.rank() < 2 || !result.isStatic() || result.rank() != 2)
            return refused(kProduct, "operand and result are no matrices of known size");
        if (isTurned && (bias.valid() || other.rank() != 2)) return refused(kProduct, "a bias, or more dimensions, of the other operand");
        const int64_t columns = other.elementCount() / matrix->shape[1];
        ValueId rows = m_op.inputs[isTurned ? 1 : 0];
        if (other.rank() > 2) {
            const std::array<int32_t, 2> dims = {-1, static_cast<int32_t>(matrix->shape[1])};
            rows = step("reshape", {rows, m_site.constant(name("/rows"), Shape{2}, std::span<const int32_t>(dims), m_root)}, "/matrix",
                        Shape{columns, matrix->shape[1]});
        }
        OperatorDraft draft;
        draft.kind = {"circle", "bcq_fully_connected"};
        draft.attributes = {{"weights_hidden_size", matrix->shape[1]}};
        if (const std::string_view act = activationOf(m_op); act != "NONE") draft.attributes.push_back({"act", Word{std::string(act)}});
        draft.inputs = {turned(rows, "/columns", Shape{matrix->shape[1], columns}), scales(), words(), bias, clusters()};
        draft.results = {TensorType(DType::f32, Shape{matrix->shape[0], columns})};
        return isTurned ? last(std::move(draft)) : turnedLast(std::move(draft));
    }

    Outcome readGather()
    {
        if (m_op.inputs.size() != 2 || attributeInt(m_op.attributes, "batch_dims", 0) != 0) return Outcome::nothing();
        const Numbers* const matrix = m_site.constants().floats(m_op.inputs[0]);
        if (matrix == nullptr || !find(*matrix, true)) return m_outcome;
        const int64_t axis = attributeInt(m_op.attributes, "axis", 0), ownAxis = axis < 0 ? axis + 2 : axis;
        const Shape& indices = m_site.typeOf(m_op.inputs[1]).shape;
        if (m_site.typeOf(m_op.inputs[1]).dtype != DType::i32 || !indices.isStatic() || indices.rank() > 2)
            return refused(kGather, "indices are no vector or matrix of i32");
        OperatorDraft draft;
        draft.kind = {"circle", "bcq_gather"};
        draft.attributes = {{"axis", m_isLeft ? ownAxis : 1 - ownAxis}, {"input_hidden_size", matrix->shape[m_isLeft ? 1 : 0]}};
        draft.inputs = {scales(), words(), m_op.inputs[1], clusters()};
        if (m_isLeft) return last(std::move(draft));
        if (ownAxis != 0) return refused(kGather, "columns of transposed weights are gathered");
        Shape shape{matrix->shape[1]};
        for (const int64_t dim : indices.dims()) shape.append(dim);
        draft.results = {TensorType(DType::f32, shape)};
        return turnedLast(std::move(draft));
    }

private:
    static constexpr const char *kProduct = "BCQ_FULLY_CONNECTED", *kGather = "BCQ_GATHER";

    Outcome refused(const char* to, std::string reason) { return Outcome::declined(to, std::move(reason)); }
    std::string name(const char* what) const { return m_site.nameOf(m_root) + what; }

    /// The codes of `matrix`, by what they say that they stand for.
    bool find(const Numbers& matrix, bool isGathered)
    {
        const std::optional<BinaryCodeTable> table = binaryCodeTable(m_site.model().graph(GraphId(0)));
        if (!table || matrix.shape.rank() != 2) return false;
        const Graph& outer = m_site.model().graph(GraphId(0));
        for (const BinaryCodeOutputs& described : table->matrices) {
            const auto weights = storedFloats(outer, described.weights);
            const Value& flag = outer.value(described.isLeft);
            if (!weights || flag.role != ValueRole::constant || flag.type.dtype != DType::boolean || !flag.constant->hasBytes()) continue;
            m_isLeft = flag.constant->bytes().data()[0] != std::byte{0};
            if (!isSame(matrix, *weights)) continue;
            const char* const to = isGathered ? kGather : kProduct;
            const bool seesTurned = isGathered && !m_isLeft;
            if (std::string reason = read(outer, described, matrix, seesTurned); !reason.empty())
                m_outcome = refused(to, std::move(reason));
            else return true;
        }
        return false;
    }

    bool isSame(const Numbers& matrix, const Numbers& described) const
    {
        if (m_isLeft) return described.shape == matrix.shape && described.values == matrix.values;
        if (described.values.size() != matrix.values.size()) return false;
        const auto rows = static_cast<size_t>(matrix.shape[0]), columns = static_cast<size_t>(matrix.shape[1]);
        for (size_t r = 0; r < rows; ++r)
            for (size_t c = 0; c < columns; ++c)
                if (described.values[c * rows + r] != matrix.values[r * columns + c]) return false;
        return described.shape.rank() == 3 || described.shape == Shape{matrix.shape[1], matrix.shape[0]};
    }

    /// Empty: the codes are whole, and of that size.
    std::string read(const Graph& outer, const BinaryCodeOutputs& described, const Numbers& matrix, bool isTurned)
    {
        const auto scales = storedFloats(outer, described.scales);
        const auto words = storedIntegers(outer, described.words), count = storedIntegers(outer, described.count);
        const auto sizes = storedIntegers(outer, described.sizes), bits = storedIntegers(outer, described.bits);
        if (!scales || !words || !count || !sizes || !bits) return "a part of its codes is no constant, or of another type";
        const int64_t rows = matrix.shape[isTurned ? 1 : 0], width = matrix.shape[isTurned ? 0 : 1];
        if (count->size() != 1 || count->front() < 1 || count->front() > std::ssize(*sizes) || count->front() > std::ssize(*bits))
            return "its codes have another number of clusters";
        int64_t codes = 0, counted = 0;
        for (size_t k = 0; k < static_cast<size_t>(count->front()); ++k) {
            const int64_t each = (*bits)[k], of = (*sizes)[k];
            if (each < 1 || each > 32 || of < 0 || of > rows)
                return "a cluster has " + std::to_string(each) + " codes for " + std::to_string(of) + " rows";
            codes += each * of;
            counted += of;
            m_codes.clusters.push_back(static_cast<int32_t>(each));
            m_codes.clusters.push_back(static_cast<int32_t>(of));
        }
        m_codes.rowWords = (width + 31) / 32;
        if (counted != rows || std::ssize(scales->values) != codes || std::ssize(*words) != codes * m_codes.rowWords)
            return "its codes describe " + std::to_string(counted) + " rows with " + std::to_string(scales->values.size()) +
                   " scales and " + std::to_string(words->size()) + " words, the weights have " + std::to_string(rows) + " rows of " +
                   std::to_string(width);
        m_codes.rows = rows;
        m_codes.scales = scales->values;
        m_codes.words.assign(words->begin(), words->end());
        measure(matrix, width, isTurned);
        return "";
    }

    /// How far the codes are from the floats that they stand for.
    void measure(const Numbers& matrix, int64_t width, bool isTurned)
    {
        size_t code = 0;
        int64_t row = 0;
        for (size_t k = 0; k + 1 < m_codes.clusters.size(); k += 2)
            for (int32_t r = 0; r < m_codes.clusters[k + 1]; ++r, ++row, code += static_cast<size_t>(m_codes.clusters[k]))
                for (int64_t c = 0; c < width; ++c) {
                    float sum = 0;
                    for (size_t b = code; b < code + static_cast<size_t>(m_codes.clusters[k]); ++b) {
                        const auto word =
                            static_cast<uint32_t>(m_codes.words[b * static_cast<size_t>(m_codes.rowWords) + static_cast<size_t>(c / 32)]);
                        sum += (word >> (c % 32) & 1U) != 0 ? m_codes.scales[b] : -m_codes.scales[b];
                    }
                    const int64_t at = isTurned ? c * matrix.shape[1] + row : row * matrix.shape[1] + c;
                    m_codes.furthest = std::fmax(m_codes.furthest, std::fabs(sum - matrix.values[static_cast<size_t>(at)]));
                }
    }

    ValueId scales()
    {
        return m_site.constant(name("/scales"), Shape{std::ssize(m_codes.scales)}, std::span<const float>(m_codes.scales), m_root);
    }
    ValueId words()
    {
        return m_site.constant(name("/codes"), Shape{std::ssize(m_codes.scales), m_codes.rowWords}, std::span<const int32_t>(m_codes.words),
                               m_root);
    }
    ValueId clusters()
    {
        return m_site.constant(name("/clusters"), Shape{std::ssize(m_codes.clusters) / 2, 2}, std::span<const int32_t>(m_codes.clusters),
                               m_root);
    }

    ValueId step(const char* kind, std::vector<ValueId> inputs, const char* what, const Shape& shape)
    {
        OperatorDraft draft;
        draft.kind = {"tfl", kind};
        draft.name = name(what);
        draft.inputs = std::move(inputs);
        draft.results = {TensorType(DType::f32, shape)};
        return m_site.editor().op(m_site.editor().insert(std::move(draft), m_root, InsertPoint::before(m_root))).results[0];
    }

    ValueId turned(ValueId value, const char* what, const Shape& shape)
    {
        const std::array<int32_t, 2> order = {1, 0};
        return step("transpose", {value, m_site.constant(name("/order"), Shape{2}, std::span<const int32_t>(order), m_root)}, what, shape);
    }

    std::string note() const
    {
        return m_codes.furthest == 0 ? "" : "codes are up to " + realText(m_codes.furthest, 3) + " off the weights that they stand for";
    }

    Outcome last(OperatorDraft draft)
    {
        draft.results = {m_site.typeOf(m_op.results[0])};
        Outcome outcome = Outcome::made(m_site.fuse({m_root}, std::move(draft), {}));
        outcome.note = note();
        return outcome;
    }

    /// Behind it its first dimension becomes the last.
    Outcome turnedLast(OperatorDraft draft)
    {
        draft.name = name("/codes");
        const Shape shape = draft.results[0].shape;
        const ValueId made = m_site.editor().op(m_site.editor().insert(std::move(draft), m_root, InsertPoint::before(m_root))).results[0];
        std::vector<int32_t> order;
        for (int d = 1; d < shape.rank(); ++d) order.push_back(d);
        order.push_back(0);
        OperatorDraft back;
        back.kind = {"tfl", "transpose"};
        back.inputs = {made, m_site.constant(name("/back"), Shape{std::ssize(order)}, std::span<const int32_t>(order), m_root)};
        back.results = {m_site.typeOf(m_op.results[0])};
        m_site.fuse({m_root}, std::move(back), {});
        Outcome outcome = Outcome::made(m_graph.value(made).producer);
        outcome.note = note();
        return outcome;
    }

    Site& m_site;
    OperatorId m_root;
    const Operator m_op;
    const Graph& m_graph;
    bool m_isLeft = false;
    BinaryCodes m_codes;
    Outcome m_outcome = Outcome::nothing(); ///< where no codes fit
};

Outcome codedProduct(Site& site, OperatorId root)
{
    return site.isTensorFlow() ? Outcome::nothing() : CodesReader(site, root).readProduct();
}
Outcome codedGather(Site& site, OperatorId root) { return site.isTensorFlow() ? Outcome::nothing() : CodesReader(site, root).readGather(); }

} // namespace

std::span<const Rule> binaryCodeRules()
{
    static const std::vector<Rule> rules = {
        {.name = "bcq-product",
         .equality = FusionEquality::approximate,
         .roots = {"fully_connected"},
         .apply = codedProduct,
         .isOfCircle = true},
        {.name = "bcq-gather", .equality = FusionEquality::approximate, .roots = {"gather"}, .apply = codedGather, .isOfCircle = true},
    };
    return rules;
}

} // namespace fusing

} // namespace loopscope
