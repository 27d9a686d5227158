#include "converters/fuse/cell_loop.h"

#include "converters/fuse/lstm.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace loopscope::fusing {

namespace {

constexpr int kDeepestJoin = 8;

/// One element of a vector of indices: a number, or a scalar of the graph.
struct IndexTerm {
    ValueId scalar;
    int64_t number = 0;
    bool is(int64_t wanted) const { return !scalar.valid() && number == wanted; }
};

ValueId behindReshapes(const Graph& graph, ValueId value)
{
    for (int depth = 0; depth < kDeepestJoin; ++depth) {
        const Operator* const op = producerIn(graph, value);
        if (op == nullptr || (cellKind(*op) != "reshape" && cellKind(*op) != "squeeze" && cellKind(*op) != "expand_dims")) break;
        value = op->inputs[0];
    }
    return behindIdentities(graph, value);
}

/// The elements of a vector that is put together of scalars and constants.
bool indexTerms(const Graph& graph, ValueId value, std::vector<IndexTerm>& terms, int depth = 0)
{
    if (const auto numbers = integersIn(graph, value)) {
        for (const int64_t number : *numbers) terms.push_back({{}, number});
        return true;
    }
    const Operator* const op = producerIn(graph, value);
    const std::string_view kind = op != nullptr ? cellKind(*op) : "";
    if (depth < kDeepestJoin && (kind == "concatenation" || kind == "pack")) {
        const bool hasAxis = op->kind.name == "ConcatV2"; // its last operand
        for (size_t k = 0; k + (hasAxis ? 1 : 0) < op->inputs.size(); ++k)
            if (!indexTerms(graph, op->inputs[k], terms, depth + 1)) return false;
        return true;
    }
    const ValueId scalar = behindReshapes(graph, value);
    const Shape& shape = graph.value(scalar).type.shape;
    if (!shape.isStatic() || shape.elementCount() != 1) return false;
    terms.push_back({scalar, 0});
    return true;
}

std::optional<int64_t> integerIn(const Graph& graph, ValueId value)
{
    const auto values = integersIn(graph, value);
    return values && values->size() == 1 ? std::optional(values->front()) : std::nullopt;
}

/// A number that the graph computes of constants and of shapes that are known: how often a loop may go round.
std::optional<int64_t> knownInteger(const Graph& graph, ValueId value, int depth = 0)
{
    if (const auto known = integerIn(graph, value)) return known;
    const Operator* const op = producerIn(graph, value);
    if (op == nullptr || depth > kDeepestJoin || op->inputs.empty()) return std::nullopt;
    const std::string_view kind = cellKind(*op);
    if (kind == "reduce_max" || kind == "reduce_min") { // of a scalar: itself
        const Value& of = graph.value(behindIdentities(graph, op->inputs[0]));
        return of.type.shape.hasRank() && of.type.shape.rank() == 0 ? knownInteger(graph, op->inputs[0], depth + 1) : std::nullopt;
    }
    if (kind != "strided_slice" || op->inputs.size() != 4 || attributeInt(op->attributes, "shrink_axis_mask", 0) != 1) return std::nullopt;
    const auto at = integerIn(graph, op->inputs[1]);
    std::optional<std::vector<int64_t>> elements = integersIn(graph, op->inputs[0]);
    if (const Operator* const shape = producerIn(graph, op->inputs[0]); !elements && shape != nullptr && cellKind(*shape) == "shape") {
        const Shape of = graph.value(behindIdentities(graph, shape->inputs[0])).type.dynamicShape();
        if (of.hasRank()) {
            elements.emplace();
            for (int d = 0; d < of.rank(); ++d) elements->push_back(of[d]);
        }
    }
    if (!at || !elements) return std::nullopt;
    const int64_t index = *at < 0 ? *at + static_cast<int64_t>(elements->size()) : *at;
    if (index < 0 || index >= static_cast<int64_t>(elements->size()) || (*elements)[static_cast<size_t>(index)] == kUnknownDim)
        return std::nullopt;
    return (*elements)[static_cast<size_t>(index)];
}

/// Whether a slice takes the other dimensions whole: from 0, and as many as there are.
bool takesRest(const std::vector<IndexTerm>& begin, const std::vector<IndexTerm>& sizes, const Shape& shape)
{
    if (begin.size() != sizes.size() || begin.size() < 2) return false;
    for (size_t d = 1; d < begin.size(); ++d) {
        const bool isAll = sizes[d].is(-1) || (shape.hasRank() && static_cast<int>(d) < shape.rank() && shape[static_cast<int>(d)] >= 0 &&
                                               sizes[d].is(shape[static_cast<int>(d)]));
        if (!begin[d].is(0) || !isAll) return false;
    }
    return true;
}

} // namespace

int CellLoop::argumentOf(const Graph& graph, ValueId value)
{
    value = behindIdentities(graph, value);
    const auto found = std::ranges::find(graph.inputs, value);
    return found == graph.inputs.end() ? -1 : static_cast<int>(found - graph.inputs.begin());
}

bool CellLoop::open()
{
    const GraphId body = attributeGraph(m_op.attributes, "body"), cond = attributeGraph(m_op.attributes, "cond");
    if (!m_site.model().hasGraph(body) || !m_site.model().hasGraph(cond)) return false;
    m_body = &m_site.model().graph(body);
    m_cond = &m_site.model().graph(cond);
    const size_t all = count();
    return m_body->inputs.size() == all && m_body->outputs.size() == all && m_cond->inputs.size() == all && m_op.results.size() == all &&
           m_cond->outputs.size() == 1;
}

/// Whether `value` is carried value k and one more.
bool CellLoop::isNextOf(ValueId value, int k) const
{
    const Operator* const add = producerIn(*m_body, value, "add", 2);
    if (add == nullptr) return false;
    for (const size_t side : {0, 1})
        if (argumentOf(*m_body, add->inputs[side]) == k && integerIn(*m_body, add->inputs[1 - side]) == 1) return true;
    return false;
}

/// Starts at 0 and grows by 1.
bool CellLoop::counts(int k) const
{
    if (k < 0) return false;
    const auto at = static_cast<size_t>(k);
    return knownInteger(m_graph, m_op.inputs[at]) == 0 && isNextOf(next(at), k);
}

/// Which carried value says the row that is taken of carried value `from`; −1: no row is taken, or another dimension.
int CellLoop::rowTaken(const Operator& taken, int& from) const
{
    const std::string_view kind = cellKind(taken);
    if (taken.inputs.size() < 2) return -1;
    from = argumentOf(*m_body, taken.inputs[0]);
    if (kind == "TensorListGetItem") return argumentOf(*m_body, taken.inputs[1]);
    if (kind == "gather") {
        const auto axis = taken.inputs.size() > 2 ? integerIn(*m_body, taken.inputs[2]) : attributeInt(taken.attributes, "axis", 0);
        if (axis != 0 || attributeInt(taken.attributes, "batch_dims", 0) != 0) return -1;
        return argumentOf(*m_body, behindReshapes(*m_body, taken.inputs[1]));
    }
    std::vector<IndexTerm> begin, sizes;
    if (!indexTerms(*m_body, taken.inputs[1], begin) || begin.empty()) return -1;
    if (kind == "strided_slice") {
        const auto strides = integersIn(*m_body, taken.inputs.at(3));
        const int64_t others = (int64_t{1} << begin.size()) - 2;
        const bool isRow = attributeInt(taken.attributes, "shrink_axis_mask", 0) == 1 && strides &&
                           std::ranges::all_of(*strides, [](int64_t stride) { return stride == 1; }) &&
                           (attributeInt(taken.attributes, "begin_mask", 0) & (others + 1)) == others &&
                           (attributeInt(taken.attributes, "end_mask", 0) & others) == others &&
                           attributeInt(taken.attributes, "new_axis_mask", 0) == 0 &&
                           attributeInt(taken.attributes, "ellipsis_mask", 0) == 0;
        return isRow ? argumentOf(*m_body, begin[0].scalar) : -1;
    }
    if (kind != "slice" || taken.inputs.size() != 3 || !indexTerms(*m_body, taken.inputs[2], sizes) || from < 0) return -1;
    if (!takesRest(begin, sizes, m_body->value(m_body->inputs[static_cast<size_t>(from)]).type.shape) || !sizes[0].is(1)) return -1;
    return argumentOf(*m_body, begin[0].scalar);
}

std::string CellLoop::findSequence(ValueId step)
{
    const Operator* taken = producerIn(*m_body, step);
    if (taken != nullptr && cellKind(*taken) != "TensorListGetItem") taken = producerIn(*m_body, behindReshapes(*m_body, step));
    if (taken == nullptr) return "a step's input is not taken from a sequence";
    int from = -1;
    const int at = rowTaken(*taken, from);
    if (at < 0 && from < 0) return "a step's input is not taken from a sequence, but computed by " + taken->kind.name;
    if (at < 0) return "a step's input is no row of a sequence that the loop counts through, but computed by " + taken->kind.name;
    if (from < 0 || !isInvariant(static_cast<size_t>(from))) return "the sequence changes while the loop runs";
    if (!counts(at)) return "steps are not taken one after the other from the first";
    m_sequence = m_site.behindIdentities(m_op.inputs[static_cast<size_t>(from)]);
    if (cellKind(*taken) != "TensorListGetItem") return "";
    const OperatorId made = m_site.producer(m_sequence);
    if (!made.valid() || cellKind(m_site.editor().op(made)) != "TensorListFromTensor") return "the list of inputs is not made of a tensor";
    m_sequence = m_site.editor().op(made).inputs[0];
    return "";
}

/// The conjunction of `counter < limit`.
void CellLoop::limits(const Graph& cond, ValueId condition, std::vector<std::optional<int64_t>>& found, int depth) const
{
    const Operator* const op = producerIn(cond, condition);
    const std::string_view kind = op != nullptr ? cellKind(*op) : "";
    if (op == nullptr || op->inputs.size() != 2 || depth > kDeepestJoin) {
        found.push_back(std::nullopt);
    } else if (kind == "logical_and") {
        for (const ValueId input : op->inputs) limits(cond, input, found, depth + 1);
    } else if (kind != "less" || !counts(argumentOf(cond, op->inputs[0]))) {
        found.push_back(std::nullopt);
    } else if (const int limit = argumentOf(cond, op->inputs[1]); limit >= 0) {
        const auto k = static_cast<size_t>(limit);
        found.push_back(isInvariant(k) ? knownInteger(m_graph, m_op.inputs[k]) : std::nullopt);
    } else {
        found.push_back(integerIn(cond, op->inputs[1]));
    }
}

std::string CellLoop::countSteps()
{
    const Shape shape = m_graph.value(m_site.behindIdentities(m_sequence)).type.dynamicShape();
    if (shape.rank() != 3 || shape[0] < 0) return "the length of the sequence is not known";
    std::vector<std::optional<int64_t>> found;
    limits(*m_cond, m_cond->outputs[0].value, found, 0);
    int64_t steps = INT64_MAX;
    for (const auto& limit : found) {
        if (!limit) return "how often the loop goes round is not known";
        steps = std::min(steps, *limit);
    }
    if (!shape.isStatic()) return "the shape of the sequence is not known";
    if (shape[0] != steps || steps < 1)
        return "the loop goes round " + std::to_string(steps) + " times, the sequence has " + std::to_string(shape[0]) + " steps";
    m_shape = shape;
    return "";
}

std::string CellLoop::listOutputs(size_t k, const Operator& set, ValueId output)
{
    if (set.inputs.size() < 3 || argumentOf(*m_body, set.inputs[0]) != static_cast<int>(k) ||
        behindIdentities(*m_body, set.inputs[2]) != output)
        return "the caller uses result " + std::to_string(k) + " of the loop, which is no output of the layer";
    const bool isLast = integerIn(*m_body, set.inputs[1]) == 0;
    if (!isLast && !counts(argumentOf(*m_body, set.inputs[1]))) return "outputs are not stored step by step";
    for (const ValueUse& use : m_site.editor().uses(m_op.results[k])) {
        if (use.kind != ValueUse::Kind::operand || cellKind(m_site.editor().op(use.op)) != "TensorListStack")
            return "the list of outputs is read by something else than TensorListStack";
        m_gathered.push_back({m_site.editor().op(use.op).results[0], use.op, isLast});
    }
    return "";
}

/// Carried value k with row i replaced by the output: by an update of a slice, or as rows before it, itself, and rows behind it.
bool CellLoop::isReplacedRow(size_t k, const Operator& op, ValueId output) const
{
    const auto whole = static_cast<int>(k);
    const Shape& shape = m_body->value(argument(k)).type.shape;
    const auto isRow = [&](ValueId value) { return behindReshapes(*m_body, value) == output; };
    std::vector<IndexTerm> begin, sizes;
    if (op.inputs.size() != 3) return false;
    if (cellKind(op) == "dynamic_update_slice" || cellKind(op) == "stablehlo_dynamic_update_slice") {
        if (argumentOf(*m_body, op.inputs[0]) != whole || !isRow(op.inputs[1]) || !indexTerms(*m_body, op.inputs[2], begin)) return false;
        const bool startsRow = std::all_of(begin.begin() + 1, begin.end(), [](const IndexTerm& term) { return term.is(0); });
        return begin.size() == 3 && startsRow && counts(argumentOf(*m_body, begin[0].scalar));
    }
    const Operator *const before = producerIn(*m_body, op.inputs[0], "slice", 3), *const behind =
                                                                                      producerIn(*m_body, op.inputs[2], "slice", 3);
    if (cellKind(op) != "concatenation" || attributeInt(op.attributes, "axis", 0) != 0 || activationOf(op) != "NONE") return false;
    if (before == nullptr || behind == nullptr || !isRow(op.inputs[1])) return false;
    if (argumentOf(*m_body, before->inputs[0]) != whole || argumentOf(*m_body, behind->inputs[0]) != whole) return false;
    if (!indexTerms(*m_body, before->inputs[1], begin) || !indexTerms(*m_body, before->inputs[2], sizes)) return false;
    if (!takesRest(begin, sizes, shape) || !begin[0].is(0)) return false;
    const int counter = argumentOf(*m_body, sizes[0].scalar);
    begin.clear();
    sizes.clear();
    if (!indexTerms(*m_body, behind->inputs[1], begin) || !indexTerms(*m_body, behind->inputs[2], sizes)) return false;
    return takesRest(begin, sizes, shape) && sizes[0].is(-1) && counts(counter) && isNextOf(begin[0].scalar, counter);
}

std::string CellLoop::findGathered(size_t k, ValueId output)
{
    const Operator* const op = producerIn(*m_body, next(k));
    if (op != nullptr && cellKind(*op) == "TensorListSetItem") return listOutputs(k, *op, output);
    const Shape& shape = m_graph.value(m_op.results[k]).type.shape;
    const bool isSequence = shape.isStatic() && shape.rank() == 3 && shape[1] == m_shape[1];
    const bool isOverwritten = isSequence && shape[0] == 1 && behindReshapes(*m_body, next(k)) == output; // a row for all steps
    if (!isOverwritten && (op == nullptr || !isSequence || shape[0] != m_shape[0] || !isReplacedRow(k, *op, output)))
        return "the caller uses result " + std::to_string(k) + " of the loop, which is no output of the layer";
    m_gathered.push_back({m_op.results[k], {}, isOverwritten});
    return "";
}

std::string CellLoop::findResults(int output, int state)
{
    for (size_t k = 0; k < m_op.results.size(); ++k) {
        if (m_site.editor().uses(m_op.results[k]).empty() || static_cast<int>(k) == output) continue;
        if (static_cast<int>(k) == state) return "the caller uses the final cell state";
        if (std::string reason = findGathered(k, next(static_cast<size_t>(output))); !reason.empty()) return reason;
    }
    if (m_site.isAskedFor(m_loop)) return "the loop is asked for";
    m_names = {m_site.nameOf(m_loop)}; // what takes their place takes their names over
    for (const GatheredOutputs& gathered : m_gathered)
        if (gathered.reader.valid()) m_names.push_back(m_site.nameOf(gathered.reader));
    return "";
}

bool CellLoop::numbersIn(ValueId value, Numbers& numbers, int depth) const
{
    value = behindIdentities(*m_body, value);
    if (std::optional<Numbers> own = floatsIn(*m_body, value)) {
        numbers = std::move(*own);
        return true;
    }
    if (const int argument = argumentOf(*m_body, value); argument >= 0) {
        if (!isInvariant(static_cast<size_t>(argument))) return false;
        const Numbers* const found = m_site.constants().floats(m_site.behindIdentities(m_op.inputs[static_cast<size_t>(argument)]));
        if (found != nullptr) numbers = *found;
        return found != nullptr;
    }
    if (!value.valid() || depth > 4 || m_body->value(value).role != ValueRole::result) return false;
    const Operator& op = m_body->op(m_body->value(value).producer);
    const std::string_view kind = cellKind(op);
    if (kind == "squeeze" || kind == "reshape") return numbersIn(op.inputs[0], numbers, depth + 1);
    const bool splits = kind == "split" && integerIn(*m_body, op.inputs[0]) == 0;
    if (!splits && (kind != "unpack" || attributeInt(op.attributes, "axis", 0) != 0)) return false;
    if (!numbersIn(op.inputs[splits ? 1 : 0], numbers, depth + 1) || numbers.values.size() % op.results.size() != 0) return false;
    const auto each = static_cast<std::ptrdiff_t>(numbers.values.size() / op.results.size());
    const auto from = numbers.values.begin() + m_body->value(value).slot * each;
    numbers.values = std::vector<float>(from, from + each);
    numbers.shape = Shape{static_cast<int64_t>(each)};
    return true;
}

std::optional<StoredWeights> CellLoop::bytesIn(ValueId value) const
{
    const int argument = argumentOf(*m_body, value);
    if (argument < 0) return storedWeights(*m_body, value);
    return isInvariant(static_cast<size_t>(argument)) ? storedWeights(m_graph, m_op.inputs[static_cast<size_t>(argument)]) : std::nullopt;
}

bool CellLoop::widenedIn(ValueId value, Numbers& numbers) const
{
    const std::optional<StoredWeights> stored = bytesIn(value);
    if (!stored) return false;
    numbers = stored->bytes;
    const auto columns = static_cast<size_t>(numbers.shape[1]);
    for (size_t i = 0; i < numbers.values.size(); ++i) numbers.values[i] *= stored->scales[stored->scales.size() == 1 ? 0 : i / columns];
    return true;
}

std::string CellLoop::noConstants(ValueId weights) const
{
    const DType dtype = m_body->value(fusing::behindIdentities(*m_body, weights)).type.dtype;
    return dtype == DType::f32 || dtype == DType::unknown ? "the weights are no constants"
                                                          : "the weights are " + std::string(dtypeName(dtype)) + ", not f32";
}

std::string CellLoop::unfitState(size_t k, std::string_view what) const
{
    const Value& value = initial(k);
    if (!checkedElementCount(stateShape(k))) return unknownBatch(what);
    if (value.type.dtype != DType::f32) return "states are " + std::string(dtypeName(value.type.dtype));
    if (m_site.isTensorFlow() || beginsWithZeros(k)) return "";
    return "'" + value.id + "' is not zeros, which the states of TFLite's operator begin with";
}

/// Its own, or that of what fills it.
Shape CellLoop::stateShape(size_t k) const
{
    const Value& value = initial(k);
    const Shape own = value.type.dynamicShape();
    const OperatorId producer = m_site.producer(m_op.inputs[k]);
    if (own.isStatic() || !producer.valid() || cellKind(m_site.editor().op(producer)) != "fill") return own;
    const Operator* const dims = producerIn(m_graph, m_site.editor().op(producer).inputs.at(0));
    if (dims == nullptr || cellKind(*dims) != "pack") return own;
    Shape found;
    for (const ValueId dim : dims->inputs) {
        const auto known = knownInteger(m_graph, dim);
        if (!known || *known < 0) return own;
        found.append(*known);
    }
    return found;
}

bool CellLoop::beginsWithZeros(size_t k) const
{
    ValueId value = m_site.behindIdentities(m_op.inputs[k]);
    const OperatorId producer = m_site.producer(value);
    if (producer.valid() && cellKind(m_site.editor().op(producer)) == "fill") value = m_site.editor().op(producer).inputs.at(1);
    const Numbers* const numbers = m_site.constants().floats(value);
    return numbers != nullptr && std::ranges::all_of(numbers->values, [](float number) { return number == 0; });
}

ValueId CellLoop::stateOf(size_t k, const std::string& name) const
{
    const Value& begins = initial(k);
    const OperatorId producer = m_site.producer(m_op.inputs[k]);
    const bool isFilled = producer.valid() && cellKind(m_site.editor().op(producer)) == "fill" && beginsWithZeros(k);
    if (begins.role == ValueRole::constant || (m_site.isTensorFlow() && !isFilled)) return m_op.inputs[k];
    const Shape shape = stateShape(k);
    const std::vector<float> zeros(static_cast<size_t>(shape.elementCount()), 0.0F);
    return m_site.constant(name, shape, std::span<const float>(zeros), m_loop);
}

OperatorId CellLoop::putLayer(OperatorDraft draft, size_t output, const std::string& name)
{
    const auto isAll = [](const GatheredOutputs& gathered) { return !gathered.isLast; };
    const auto all = std::ranges::find_if(m_gathered, isAll);
    const OperatorId made = put(std::move(draft), all != m_gathered.end() && !m_site.isTensorFlow() ? all->value : ValueId());
    const ValueId sequence = m_site.editor().op(made).results[0];
    for (const GatheredOutputs& gathered : m_gathered) {
        const OperatorId before = gathered.reader.valid() ? gathered.reader : m_loop;
        if (gathered.isLast) put(lastStepDraft(m_site, sequence, 0, true, name + "/last", before), gathered);
        else if (gathered.reader.valid() && m_site.isTensorFlow()) m_site.bypass(gathered.reader, sequence, {gathered.reader});
        else m_site.editor().replaceUses(gathered.value, sequence);
    }
    const ValueId last = m_op.results[output];
    if (!m_site.editor().uses(last).empty()) put(lastStepDraft(m_site, sequence, 0, false, name + "/last", m_loop), last);
    return made;
}

OperatorId CellLoop::put(OperatorDraft draft, ValueId value)
{
    GraphEditor& editor = m_site.editor();
    const bool isRead = value.valid() && !editor.uses(value).empty();
    if (!m_site.isTensorFlow() && isRead) { // it takes over the name
        const OperatorId only[] = {m_loop};
        const ValueId replaced[] = {value};
        return editor.replace(only, std::move(draft), replaced);
    }
    const OperatorId made = editor.insert(std::move(draft), Sources(m_loop), InsertPoint::before(m_loop));
    if (isRead) editor.replaceUses(value, editor.op(made).results[0]);
    return made;
}

void CellLoop::put(OperatorDraft draft, const GatheredOutputs& gathered)
{
    if (!gathered.reader.valid() || !m_site.isTensorFlow()) {
        put(std::move(draft), gathered.value);
        return;
    }
    GraphEditor& editor = m_site.editor();
    const OperatorId made = editor.insert(std::move(draft), Sources::none(), InsertPoint::before(gathered.reader));
    m_site.bypass(gathered.reader, editor.op(made).results[0], {gathered.reader});
}

/// What only served the loop.
void CellLoop::collect(ValueId value, std::vector<OperatorId>& found) const
{
    if (!value.valid() || m_graph.value(value).role != ValueRole::result || found.size() > 64) return;
    const OperatorId producer = m_graph.value(value).producer;
    const Operator& op = m_graph.op(producer);
    static constexpr std::array<std::string_view, 10> kServants = {
        "Const", "TensorListReserve", "TensorListFromTensor", "reduce_max", "Range", "identity", "strided_slice", "shape", "fill", "pack"};
    if (std::ranges::find(kServants, cellKind(op)) == kServants.end() || m_site.isAskedFor(producer)) return;
    if (std::ranges::find(found, producer) != found.end()) return;
    found.push_back(producer);
    for (const ValueId input : op.inputs) collect(input, found);
}

Outcome CellLoop::finish(OperatorId made)
{
    GraphEditor& editor = m_site.editor();
    std::vector<OperatorId> from = {m_loop}, gone;
    for (const GatheredOutputs& gathered : m_gathered)
        if (gathered.reader.valid()) from.push_back(gathered.reader);
    m_site.setFrom(m_names);
    for (const ValueId input : m_op.inputs) collect(input, gone);
    gone.insert(gone.end(), from.begin(), from.end());
    std::erase_if(gone, [&](OperatorId op) { return !editor.isAlive(op); });
    if (editor.isAlive(m_loop)) editor.replaceUses(m_loop, made);
    editor.eraseUnused(gone);
    m_site.addParts(made, {});
    return Outcome::made(made);
}

} // namespace loopscope::fusing
