#include "converters/fuse/unrolled.h"

#include "converters/fuse/lstm.h"

#include <algorithm>
#include <utility>

namespace loopscope::fusing {

bool UnrolledLayer::add(ValueId x, ValueId output, bool& isDone)
{
    x = behindIdentities(m_graph, x);
    if (!x.valid() || m_graph.value(x).role != ValueRole::result) return false;
    const OperatorId producer = m_graph.value(x).producer;
    const Operator& op = m_graph.op(producer);
    if (cellKind(op) != "unpack" || attributeInt(op.attributes, "axis", 0) != 0 || op.inputs.size() != 1) return false;
    if (m_unpack.valid() && producer != m_unpack) return false;
    m_unpack = producer;
    const int step = m_graph.value(x).slot, last = static_cast<int>(op.results.size()) - 1;
    if (m_outputs.empty()) {
        m_isBackwards = step == 0 && last > 0;
        m_expected = m_isBackwards ? 0 : last;
    }
    if (step != m_expected) return false; // no last one, or not in order
    m_expected += m_isBackwards ? 1 : -1;
    m_outputs.insert(m_outputs.begin(), behindIdentities(m_graph, output));
    isDone = step == (m_isBackwards ? last : 0);
    return true;
}

void UnrolledLayer::walk(ValueId value, const std::vector<ValueId>& stops, std::vector<OperatorId>& found)
{
    constexpr size_t kMost = 64; // operators of a cell
    if (!value.valid() || m_graph.value(value).role != ValueRole::result || found.size() > kMost) return;
    const ValueId source = behindIdentities(m_graph, value);
    if (std::ranges::any_of(stops, [&](ValueId stop) { return stop.valid() && behindIdentities(m_graph, stop) == source; })) return;
    if (m_graph.value(source).role != ValueRole::result || floats(source) != nullptr || integersIn(m_graph, source)) return;
    const OperatorId producer = m_graph.value(value).producer;
    if (std::ranges::find(found, producer) != found.end()) return;
    found.push_back(producer);
    for (const ValueId input : m_graph.op(producer).inputs) walk(input, stops, found);
}

std::vector<OperatorId> UnrolledLayer::between(ValueId output, const std::vector<ValueId>& stops)
{
    std::vector<OperatorId> found;
    walk(output, stops, found);
    return found;
}

bool UnrolledLayer::isSame(ValueId a, ValueId b)
{
    if (m_site.behindIdentities(a) == m_site.behindIdentities(b)) return true;
    const Numbers *const left = floats(a), *const right = floats(b);
    return left != nullptr && right != nullptr && left->shape == right->shape && left->values == right->values;
}

std::string UnrolledLayer::noConstants(ValueId weights) const
{
    const DType dtype = m_site.typeOf(m_site.behindIdentities(weights)).dtype;
    return dtype == DType::f32 || dtype == DType::unknown ? "the weights are no constants"
                                                          : "the weights are " + std::string(dtypeName(dtype)) + ", not f32";
}

std::string UnrolledLayer::close(const std::vector<OperatorId>& ops)
{
    for (const OperatorId op : ops)
        if (op != m_root && std::ranges::find(m_ops, op) == m_ops.end()) m_ops.push_back(op);
    m_ops.push_back(m_root);
    findPack();
    std::vector<OperatorId> all = m_ops;
    if (m_pack.valid()) all.push_back(m_pack);
    for (const OperatorId op : m_ops) {
        if (op == m_root) continue;
        if (std::optional<std::string> reason = m_site.outlives(op, all)) return *reason;
    }
    m_sequence = m_graph.op(m_unpack).inputs[0];
    m_shape = m_graph.value(m_site.behindIdentities(m_sequence)).type.dynamicShape();
    if (m_shape.rank() != 3) return "the shape of the sequence is not known";
    m_names = {m_site.nameOf(m_unpack)};
    for (const OperatorId op : m_ops) m_names.push_back(m_site.nameOf(op));
    return "";
}

/// What puts all outputs together again.
void UnrolledLayer::findPack()
{
    for (const ValueUse& use : m_site.editor().uses(m_graph.op(m_root).results[0])) {
        if (use.kind != ValueUse::Kind::operand) continue;
        const Operator& op = m_graph.op(use.op);
        const auto source = [&](ValueId value) { return behindIdentities(m_graph, value); };
        if (cellKind(op) == "pack" && attributeInt(op.attributes, "axis", 0) == 0 && std::ranges::equal(op.inputs, m_outputs, {}, source))
            m_pack = use.op;
    }
}

bool UnrolledLayer::isZero(ValueId state)
{
    const OperatorId producer = m_site.producer(state);
    const bool isFilled = producer.valid() && cellKind(m_site.editor().op(producer)) == "fill";
    const Numbers* const numbers = floats(isFilled ? m_site.editor().op(producer).inputs.at(1) : state);
    return numbers != nullptr && std::ranges::all_of(numbers->values, [](float value) { return value == 0; });
}

std::string UnrolledLayer::unfitState(ValueId state)
{
    if (!state.valid()) return m_shape[1] < 0 ? unknownBatch("the sequence") : "";
    if (isZero(state) ? m_shape[1] < 0 : !m_site.typeOf(m_site.behindIdentities(state)).dynamicShape().isStatic())
        return unknownBatch("the state");
    if (m_site.isTensorFlow() || isZero(state)) return "";
    return "'" + m_graph.value(state).id + "' is not zeros, which the states of TFLite's operator begin with";
}

ValueId UnrolledLayer::stateOf(ValueId state, int64_t cells, const std::string& name)
{
    const Shape shape{m_shape[1], cells};
    const bool isWhole = state.valid() && m_site.typeOf(m_site.behindIdentities(state)).dynamicShape() == shape;
    if (state.valid() && !(isZero(state) && shape.isStatic() && (floats(state) == nullptr || !isWhole))) return state;
    const std::vector<float> zeros(static_cast<size_t>(shape.elementCount()), 0.0F);
    return m_site.constant(name, shape, std::span<const float>(zeros), m_root);
}

ValueId UnrolledLayer::sequence(const std::string& name)
{
    if (!m_isBackwards) return m_sequence;
    const int32_t axis[] = {0};
    OperatorDraft draft;
    draft.kind = {"tfl", "reverse_v2"};
    draft.name = name;
    if (m_site.isTensorFlow()) {
        draft.kind = {"tf", "ReverseV2"};
        draft.attributes = {{"T", DType::f32}, {"Tidx", DType::i32}};
    }
    draft.inputs = {m_sequence, m_site.constant(name + "/axis", Shape{1}, std::span<const int32_t>(axis), m_root)};
    draft.results = {m_site.typeOf(m_sequence)};
    GraphEditor& editor = m_site.editor();
    return editor.op(editor.insert(std::move(draft), Sources::none(), InsertPoint::before(m_root))).results[0];
}

OperatorId UnrolledLayer::insert(OperatorDraft draft, const Shape& shape, const std::string& name)
{
    draft.name = name;
    draft.results = {TensorType(DType::f32, shape)};
    return m_site.editor().insert(std::move(draft), Sources(std::span<const OperatorId>(m_ops)), InsertPoint::before(m_root));
}

Outcome UnrolledLayer::put(OperatorDraft draft, int64_t cells, const std::string& name)
{
    GraphEditor& editor = m_site.editor();
    const OperatorId made = insert(std::move(draft), Shape{m_shape[0], m_shape[1], cells}, name);
    const ValueId sequence = editor.op(made).results[0];
    std::vector<OperatorId> gone = m_ops;
    if (m_pack.valid()) {
        m_names.push_back(m_site.nameOf(m_pack));
        takePlace(m_pack, made, sequence);
    }
    if (editor.isAlive(m_root) && (!m_pack.valid() || isReadElsewhere())) { // else the pack took it along
        if (m_site.isTensorFlow()) {
            m_site.bypass(m_root, lastStep(m_site, sequence, 0, false, name + "/last", m_root), gone);
        } else {
            const ValueId replaced[] = {editor.op(m_root).results[0]};
            editor.replace(std::vector<OperatorId>{m_root}, lastStepDraft(m_site, sequence, 0, false, name + "/last", m_root), replaced);
        }
    }
    return finish(made);
}

Outcome UnrolledLayer::putLast(OperatorDraft draft, int64_t cells, const std::string& name)
{
    GraphEditor& editor = m_site.editor();
    if (m_site.isTensorFlow()) {
        const OperatorId made = insert(std::move(draft), Shape{m_shape[1], cells}, name);
        m_site.bypass(m_root, editor.op(made).results[0], m_ops);
        return finish(made);
    }
    draft.results = {TensorType(DType::f32, Shape{m_shape[1], cells})};
    const ValueId replaced[] = {editor.op(m_root).results[0]};
    return finish(editor.replace(std::vector<OperatorId>{m_root}, std::move(draft), replaced));
}

/// What is of no use any more goes.
Outcome UnrolledLayer::finish(OperatorId made)
{
    GraphEditor& editor = m_site.editor();
    std::vector<OperatorId> gone = m_ops;
    gone.insert(gone.begin(), m_unpack);
    std::erase_if(gone, [&](OperatorId op) { return !editor.isAlive(op); });
    editor.eraseUnused(gone);
    m_site.setFrom(m_names);
    m_site.addParts(made, {});
    return Outcome::made(made);
}

bool UnrolledLayer::isReadElsewhere() const
{
    const ValueId result = m_site.editor().op(m_root).results[0];
    return !m_site.editor().uses(result).empty() || m_site.isAskedFor(m_root);
}

/// The readers of the pack read the sequence.
void UnrolledLayer::takePlace(OperatorId pack, OperatorId made, ValueId sequence)
{
    GraphEditor& editor = m_site.editor();
    if (m_site.isTensorFlow()) {
        m_site.bypass(pack, sequence, {pack});
        return;
    }
    const ValueId result = editor.op(pack).results[0];
    if (!m_site.namesOutput(pack)) {
        editor.replaceUses(result, sequence);
        editor.eraseUnused(std::vector<OperatorId>{pack});
        return;
    }
    OperatorDraft named; // an output keeps its name
    named.kind = {"tfl", "reshape"};
    std::vector<int32_t> dims;
    const Shape shape = m_site.typeOf(sequence).shape;
    for (int d = 0; d < shape.rank(); ++d) dims.push_back(static_cast<int32_t>(shape[d]));
    named.inputs = {sequence, m_site.constant(m_site.nameOf(made) + "/shape", Shape{3}, std::span<const int32_t>(dims), pack)};
    named.results = {m_site.typeOf(result)};
    named.name = editor.value(result).id;
    const ValueId replaced[] = {result};
    editor.replace(std::vector<OperatorId>{pack}, std::move(named), replaced);
}

} // namespace loopscope::fusing
