// Attention that is written out: softmax(q · kᵀ · scale + mask) · v. TFLite has no operator for it. Runtimes of vendors take a composite
// by its name, whose operands are [batch, steps, heads, depth]; what was matched becomes its body, which all others run.
#include "converters/fuse/cells.h"
#include "converters/fuse/pattern.h"
#include "converters/fuse/region.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace loopscope::fusing {

namespace {

constexpr const char *kAttention = "odml.scaled_dot_product_attention", *kComposite = "composite:odml.scaled_dot_product_attention";
constexpr std::array<int64_t, 4> kHeadsFirst = {0, 2, 1, 3}, ///< [batch, steps, heads, depth] to [batch, heads, steps, depth], and back
    kDepthThird = {0, 2, 3, 1};                              ///< the same, and the last two the other way round

constexpr double kLeastLimit = 16; ///< scores of ordinary numbers lie within it

bool isAmong(const std::vector<OperatorId>& ops, OperatorId op) { return std::ranges::find(ops, op) != ops.end(); }

/// An operand as the graph has it, and how the composite's [batch, steps, heads, depth] comes from it.
struct AttentionOperand {
    enum class Form : uint8_t {
        bySteps,    ///< `value` is that
        headsFirst, ///< [batch, heads, steps, depth]
        depthThird, ///< [batch, heads, depth, steps]
        plain,      ///< [batch, steps, depth]: a batch is as good as a head
        turned,     ///< [batch, depth, steps]
    } form = Form::bySteps;
    ValueId value;
    const char* what = "";
    OperatorId reader; ///< what reads `value` in the region, and as which operand
    int32_t slot = 0;
};

/// How a mask hides scores.
struct AttentionMask {
    ValueId value;          ///< invalid: nothing is hidden
    OperatorId choice;      ///< invalid: the mask is added
    ValueId scores;         ///< of the choice
    bool hidesTrue = false; ///< of the choice
    bool isAdded = false;   ///< of the choice: to the score, as the composite does it
    float fill = 0;         ///< what a hidden score becomes
};

class AttentionReader {
public:
    AttentionReader(Site& site, OperatorId product, bool isChosen)
        : m_site(site),
          m_graph(site.editor().graph()),
          m_product(product),
          m_isChosen(isChosen)
    {
    }

    Outcome read()
    {
        const Operator& outer = m_graph.op(m_product);
        if (m_site.isTensorFlow() || m_site.isForCircle() || outer.inputs.size() != 2) return Outcome::nothing();
        if (attributeBool(outer.attributes, "adj_x", false)) return Outcome::nothing();
        const Operator* const softmax = producerIn(m_graph, outer.inputs[0], "softmax", 1);
        if (softmax == nullptr || !readScores(producerOf(outer.inputs[0])) || isBody()) return Outcome::nothing();
        if (m_mask.choice.valid() != m_isChosen) return Outcome::nothing(); // the other rule's
        if (attributeFloat(softmax->attributes, "beta", 1.0) != 1.0) refuse("the softmax has a beta of its own");
        take(outer.inputs[0]);
        m_value = operand({ValueUse::Kind::operand, m_product, 1}, attributeBool(outer.attributes, "adj_y", false), "values");
        m_ops.push_back(m_product);
        findResult();
        checkShapes();
        if (m_mask.choice.valid()) checkChoice();
        if (m_reason.empty())
            if (std::optional<std::string> reason = m_site.outliveAny(m_ops, m_root)) refuse(*reason);
        return m_reason.empty() ? write() : Outcome::declined(kComposite, m_reason);
    }

private:
    using Form = AttentionOperand::Form;

    void refuse(std::string reason)
    {
        if (m_reason.empty()) m_reason = std::move(reason);
    }

    void take(ValueId value)
    {
        const OperatorId op = m_graph.value(behindIdentities(m_graph, value)).producer;
        if (!isAmong(m_ops, op)) m_ops.push_back(op);
    }

    Shape shapeOf(ValueId value) const { return m_site.typeOf(value).dynamicShape(); }

    OperatorId producerOf(ValueId value) const { return m_graph.value(behindIdentities(m_graph, value)).producer; }

    /// Behind a product with, or a quotient by, one number, whose factor joins the scale.
    void scaled(ValueUse& use)
    {
        const ValueId value = m_graph.op(use.op).inputs[static_cast<size_t>(use.index)];
        const Operator *const mul = producerIn(m_graph, value, "mul", 2), *const div = producerIn(m_graph, value, "div", 2);
        for (const size_t k : {1, 0}) {
            const Operator* const op = mul != nullptr ? mul : div;
            if (op == nullptr || (k == 0 && mul == nullptr)) continue;
            const Numbers* const number = m_site.constants().floats(op->inputs[k]);
            if (number == nullptr || number->values.empty() || !number->isSplat()) continue;
            const auto factor = static_cast<double>(number->values[0]);
            m_scale *= mul != nullptr ? factor : 1.0 / factor;
            m_scales.push_back(op->inputs[k]);
            take(value);
            use.op = producerOf(value);
            use.index = static_cast<int32_t>(1 - k);
            return;
        }
    }

    ValueId valueOf(const ValueUse& use) const { return m_graph.op(use.op).inputs[static_cast<size_t>(use.index)]; }

    /// q · kᵀ · scale, in any of these orders, as an operand; false: there is no such product.
    bool readProduct(OperatorId reader, size_t slot)
    {
        ValueUse use{ValueUse::Kind::operand, reader, static_cast<int32_t>(slot)};
        scaled(use);
        const ValueId value = valueOf(use);
        const Operator* const product = producerIn(m_graph, value, "batch_matmul", 2);
        if (product == nullptr || attributeBool(product->attributes, "adj_x", false)) return false;
        take(value);
        const bool isKeyTurned = !attributeBool(product->attributes, "adj_y", false);
        ValueUse query{ValueUse::Kind::operand, producerOf(value), 0}, key{ValueUse::Kind::operand, producerOf(value), 1};
        scaled(query);
        scaled(key);
        m_query = operand(query, false, "queries");
        m_key = operand(key, isKeyTurned, "keys");
        return true;
    }

    bool isProduct(OperatorId reader, size_t slot) const
    {
        return AttentionReader(m_site, m_product, m_isChosen).readProduct(reader, slot);
    }

    /// The same, and a mask added to it or choosing among it.
    bool readScores(OperatorId softmax)
    {
        const ValueId value = m_graph.op(softmax).inputs[0];
        const OperatorId op = producerOf(value);
        if (producerIn(m_graph, value, "select", 3) != nullptr) return readChoice(op, value);
        if (producerIn(m_graph, value, "add", 2) == nullptr) return readProduct(softmax, 0);
        for (const size_t k : {0, 1}) {
            if (!isProduct(op, k)) continue;
            m_mask.value = m_graph.op(op).inputs[1 - k];
            readProduct(op, k);
            take(value);
            return true;
        }
        return false;
    }

    bool readChoice(OperatorId op, ValueId value)
    {
        const std::vector<ValueId> inputs = m_graph.op(op).inputs;
        for (const size_t k : {1, 2}) {
            if (!isProduct(op, k)) continue;
            ValueId hidden = inputs[3 - k];
            float sign = 1;
            for (const char* const kind : {"sub", "add"}) // of the score and a large number
                if (const Operator* const sum = producerIn(m_graph, hidden, kind, 2);
                    sum != nullptr && behindIdentities(m_graph, sum->inputs[0]) == behindIdentities(m_graph, inputs[k])) {
                    sign = kind[0] == 's' ? -1.0F : 1.0F;
                    m_mask.isAdded = true;
                    take(hidden);
                    hidden = sum->inputs[1];
                    break;
                }
            const Numbers* const fill = m_site.constants().floats(hidden);
            const bool isKnown = fill != nullptr && fill->isSplat();
            if (!isKnown) refuse("what a hidden score becomes is no constant");
            m_mask.value = inputs[0];
            m_mask.choice = op;
            m_mask.scores = inputs[k];
            m_mask.hidesTrue = k == 2;
            m_mask.fill = isKnown ? sign * fill->values[0] : 0;
            readProduct(op, k);
            take(value);
            return true;
        }
        return false;
    }

    AttentionOperand operand(const ValueUse& use, bool isTurned, const char* what)
    {
        const ValueId value = valueOf(use);
        const Operator* const transpose = producerIn(m_graph, value, "transpose", 2);
        const auto order = transpose != nullptr ? integersIn(m_graph, transpose->inputs[1]) : std::nullopt;
        if (order && std::ranges::equal(*order, isTurned ? kDepthThird : kHeadsFirst)) {
            take(value);
            return {Form::bySteps, transpose->inputs[0], what, {}, 0};
        }
        const Shape shape = shapeOf(value);
        if (shape.isStatic() && shape.rank() == 4) return {isTurned ? Form::depthThird : Form::headsFirst, value, what, use.op, use.index};
        if (shape.isStatic() && shape.rank() == 3) return {isTurned ? Form::turned : Form::plain, value, what, use.op, use.index};
        refuse(std::string("the ") + what + " do not come from [batch, steps, heads, depth] by a transpose, and their shape is not known");
        return {Form::bySteps, value, what, {}, 0};
    }

    void findResult()
    {
        const std::span<const ValueUse> uses = m_site.editor().uses(m_graph.op(m_product).results[0]);
        m_root = uses.size() == 1 && uses[0].kind == ValueUse::Kind::operand ? uses[0].op : OperatorId();
        const Operator* const back = m_root.valid() ? &m_graph.op(m_root) : nullptr;
        const auto order = back != nullptr && cellKind(*back) == "transpose" ? integersIn(m_graph, back->inputs[1]) : std::nullopt;
        if (order && std::ranges::equal(*order, kHeadsFirst)) {
            m_ops.push_back(m_root);
            return;
        }
        m_root = m_product;
        const Shape shape = shapeOf(m_graph.op(m_product).results[0]);
        if (!shape.isStatic() || (shape.rank() != 3 && shape.rank() != 4)) refuse("the shape of the result is not known");
        m_result = shape.rank() == 3 ? Form::plain : Form::headsFirst;
    }

    /// As [batch, steps, heads, depth]; of unknown rank where that is not known.
    Shape byStepsShape(const AttentionOperand& operand) const
    {
        const Shape s = shapeOf(operand.value);
        const bool isOne = operand.form == Form::plain || operand.form == Form::turned;
        if (!s.hasRank() || s.rank() != (isOne ? 3 : 4)) return Shape::unknownRank();
        switch (operand.form) {
        case Form::bySteps: break;
        case Form::headsFirst: return Shape{s[0], s[2], s[1], s[3]};
        case Form::depthThird: return Shape{s[0], s[3], s[1], s[2]};
        case Form::plain: return Shape{1, s[1], s[0], s[2]};
        case Form::turned: return Shape{1, s[2], s[0], s[1]};
        }
        return s;
    }

    void checkShapes()
    {
        for (const AttentionOperand& of : {m_query, m_key, m_value})
            if (m_site.typeOf(of.value).dtype != DType::f32) refuse("'" + m_graph.value(of.value).id + "' is not f32");
        const Shape q = byStepsShape(m_query), k = byStepsShape(m_key), v = byStepsShape(m_value);
        if (!q.hasRank() || !k.hasRank() || !v.hasRank()) return refuse("the operands are not of one rank");
        const auto differ = [](int64_t a, int64_t b) { return a >= 0 && b >= 0 && a != b; };
        for (const int d : {0, 2})
            if (differ(q[d], k[d]) || differ(k[d], v[d])) refuse("queries, keys and values have different batches or heads");
        if (q[2] == 1 && q[0] != 1) refuse("several batches of one head, which XNNPACK computes otherwise");
        if (differ(k[3], v[3])) refuse("values are " + std::to_string(v[3]) + " deep, keys " + std::to_string(k[3]));
        if (!m_mask.value.valid()) return;
        const Shape mask = shapeOf(m_mask.value);
        const int rank = m_query.form == Form::plain ? 3 : 4;
        if (mask.isStatic() ? mask.rank() > rank : !mask.hasRank() || mask.rank() != 4) refuse("the shape of the mask is not known");
        const DType dtype = m_site.typeOf(m_mask.value).dtype;
        if (dtype != (m_mask.choice.valid() ? DType::boolean : DType::f32)) refuse("the mask is " + std::string(dtypeName(dtype)));
    }

    /// Adding a large negative number hides a score as choosing it does, where the sum rounds to that number.
    void checkChoice()
    {
        if (!(m_mask.fill < 0)) return refuse("a hidden score becomes " + std::to_string(m_mask.fill) + ", which hides nothing");
        m_scoresName = m_graph.value(behindIdentities(m_graph, m_mask.scores)).id;
        m_limit = std::numeric_limits<float>::max();
        if (m_mask.isAdded) return;
        m_limit = (std::nextafter(-m_mask.fill, INFINITY) + m_mask.fill) / 2;
        if (!std::isfinite(m_limit) || m_limit < kLeastLimit)
            refuse("a hidden score becomes " + std::to_string(m_mask.fill) +
                   ": rows that are hidden whole would come out otherwise where the mask is added, as the composite does");
    }

    /// Whether the graph is what such a composite runs.
    bool isBody() const
    {
        const GraphId own = m_site.model().findGraph(m_graph.id);
        return std::ranges::any_of(m_site.model().graphs, [&](const Graph& graph) {
            return std::ranges::any_of(graph.operators, [&](const Operator& op) {
                return op.kind.name == "stablehlo_composite" && attributeGraph(op.attributes, "call") == own &&
                       attributeString(op.attributes, "name", "") == kAttention;
            });
        });
    }

    // --- What is written: first the graph gets the composite's forms, then what lies between them becomes its body ---------------------

    ValueId insert(OperatorDraft draft, const TensorType& type, const std::string& name)
    {
        draft.name = name;
        draft.results = {type};
        const InsertPoint point = m_place.valid() ? InsertPoint::before(m_place) : InsertPoint::end();
        return m_site.editor().op(m_site.editor().insert(std::move(draft), Sources::none(), point)).results[0];
    }

    ValueId indices(const std::vector<int32_t>& values, const std::string& name)
    {
        return m_site.constant(name, Shape{static_cast<int64_t>(values.size())}, std::span<const int32_t>(values), m_product);
    }

    ValueId dimensions(const Shape& shape, const std::string& name)
    {
        std::vector<int32_t> dims;
        for (int d = 0; d < shape.rank(); ++d) dims.push_back(static_cast<int32_t>(shape[d]));
        return indices(dims, name);
    }

    ValueId transposed(ValueId value, const std::vector<int32_t>& order, const std::string& name)
    {
        const Shape from = shapeOf(value);
        Shape shape = Shape::ofRank(from.rank());
        for (size_t d = 0; d < order.size(); ++d) shape[static_cast<int>(d)] = from[order[d]];
        OperatorDraft draft;
        draft.kind = {"tfl", "transpose"};
        draft.inputs = {value, indices(order, name + "/order")};
        return insert(std::move(draft), TensorType(m_site.typeOf(value).dtype, shape), name);
    }

    ValueId reshaped(ValueId value, const Shape& shape, const std::string& name)
    {
        OperatorDraft draft;
        draft.kind = {"tfl", "reshape"};
        draft.inputs = {value, dimensions(shape, name + "/shape")};
        return insert(std::move(draft), TensorType(m_site.typeOf(value).dtype, shape), name);
    }

    /// What the composite takes for the operand.
    ValueId bySteps(const AttentionOperand& operand)
    {
        if (operand.form == Form::bySteps) return operand.value;
        const std::string name = m_site.nameOf(m_product) + "/" + operand.what;
        const Shape own = shapeOf(operand.value);
        const bool isTurned = operand.form == Form::turned || operand.form == Form::depthThird;
        m_place = operand.reader;
        ValueId outer = operand.value;
        if (own.rank() == 3) outer = reshaped(outer, widened(own), name + "/of_heads");
        outer = transposed(outer, isTurned ? std::vector<int32_t>{0, 3, 1, 2} : std::vector<int32_t>{0, 2, 1, 3}, name);
        ValueId inner = transposed(outer, isTurned ? std::vector<int32_t>{0, 2, 3, 1} : std::vector<int32_t>{0, 2, 1, 3}, name + "/back");
        m_ops.push_back(m_graph.value(inner).producer);
        if (own.rank() == 3) {
            inner = reshaped(inner, own, name + "/as_it_was");
            m_ops.push_back(m_graph.value(inner).producer);
        }
        m_site.editor().setInput(operand.reader, operand.slot, inner);
        return outer;
    }

    /// The mask as numbers that are added: 0, or what a hidden score becomes.
    ValueId additive()
    {
        const std::string name = m_site.nameOf(m_product) + "/mask";
        const Shape shape = shapeOf(m_mask.value);
        const float shown = m_mask.hidesTrue ? m_mask.fill : 0, other = m_mask.hidesTrue ? 0 : m_mask.fill;
        if (const auto known = integersIn(m_graph, m_mask.value)) {
            std::vector<float> numbers;
            for (const int64_t is : *known) numbers.push_back(is != 0 ? shown : other);
            return m_site.constant(name, shape, std::span<const float>(numbers), m_place);
        }
        OperatorDraft draft;
        draft.kind = {"tfl", "select_v2"};
        draft.inputs = {m_mask.value, m_site.constant(name + "/true", Shape(), std::span<const float>(&shown, 1), m_place),
                        m_site.constant(name + "/false", Shape(), std::span<const float>(&other, 1), m_place)};
        return insert(std::move(draft), TensorType(DType::f32, shape), name);
    }

    /// What the composite takes for the mask: four dimensions, numbers.
    ValueId writeMask()
    {
        const OperatorId place = m_mask.choice.valid() ? m_mask.choice : readerOf(m_mask.value);
        m_place = place;
        const std::string name = m_site.nameOf(m_product) + "/mask";
        const Shape shape = shapeOf(m_mask.value);
        ValueId value = m_mask.choice.valid() ? additive() : m_mask.value;
        ValueId read = value;
        if (shape.rank() < 4) {
            Shape wide = shape;
            while (wide.rank() < 4) wide = widened(wide);
            value = reshaped(value, wide, name + "/of_heads");
            read = reshaped(value, shape, name + "/as_it_was");
            m_ops.push_back(m_graph.value(read).producer);
        }
        if (m_mask.choice.valid()) {
            m_site.editor().setKind(place, {"tfl", "add"});
            m_site.editor().setAttributes(place, {});
            m_site.editor().setInputs(place, {m_mask.scores, read});
        } else if (read != m_mask.value) {
            for (size_t k = 0; k < m_graph.op(place).inputs.size(); ++k)
                if (m_graph.op(place).inputs[k] == m_mask.value) m_site.editor().setInput(place, static_cast<int32_t>(k), read);
        }
        return value;
    }

    /// The addition of the region that reads the mask.
    OperatorId readerOf(ValueId mask) const
    {
        for (const ValueUse& use : m_site.editor().uses(mask))
            if (use.kind == ValueUse::Kind::operand && isAmong(m_ops, use.op)) return use.op;
        return m_product;
    }

    static Shape widened(const Shape& shape)
    {
        Shape wide{1};
        for (int d = 0; d < shape.rank(); ++d) wide.append(shape[d]);
        return wide;
    }

    /// Two operands that are one tensor, as it is.
    bool isShared() const
    {
        std::vector<ValueId> direct;
        for (const AttentionOperand& operand : {m_query, m_key, m_value})
            if (operand.form == Form::bySteps) direct.push_back(operand.value);
        return std::ranges::any_of(direct, [&](ValueId value) { return std::ranges::count(direct, value) > 1; });
    }

    Outcome write()
    {
        if (isShared()) return Outcome::declined(kComposite, "two operands are one tensor");
        std::vector<std::string> from;
        for (const OperatorId op : regionInOrder()) from.push_back(m_site.nameOf(op));
        std::vector<ValueId> inputs;
        for (const AttentionOperand& operand : {m_query, m_key, m_value}) inputs.push_back(bySteps(operand));
        if (m_mask.value.valid()) inputs.push_back(writeMask());
        const OperatorId made = m_root == m_product ? putBetween(std::move(inputs)) : putWhole(std::move(inputs));
        m_site.setFrom(std::move(from));
        Outcome outcome = Outcome::made(made);
        outcome.to = kComposite;
        if (m_mask.choice.valid()) outcome.domain = FusionDomain{m_scoresName, "within", m_limit};
        return outcome;
    }

    OperatorDraft compositeOf(std::vector<ValueId> inputs, ValueId result)
    {
        std::vector<OperatorId> inOrder, ofConstants; // a scale may be kept in halves: what widens it is part of the body
        for (const ValueId scale : m_scales) m_site.constants().collectProducers(scale, ofConstants);
        for (const OperatorId op : m_site.editor().order())
            if (isAmong(m_ops, op) || isAmong(ofConstants, op)) inOrder.push_back(op);
        const std::array results = {result};
        Graph body = cutOut(m_graph, inOrder, inputs, results);
        body.id = "attention";
        body.outputs[0].name.clear();
        OperatorDraft draft;
        draft.kind = {"tfl", "stablehlo_composite"};
        draft.results = {m_site.typeOf(result)};
        draft.attributes = {{"call", GraphRef{m_site.addGraph(std::move(body)), nullptr}},
                            {"composite_attributes", AttributeMap{{"scale", Attribute(m_scale)}}},
                            {"name", std::string(kAttention)}};
        draft.inputs = std::move(inputs);
        return draft;
    }

    std::vector<OperatorId> regionInOrder() const
    {
        std::vector<OperatorId> ops;
        for (const OperatorId op : m_site.editor().order())
            if (isAmong(m_ops, op)) ops.push_back(op);
        return ops;
    }

    OperatorId putWhole(std::vector<ValueId> inputs)
    {
        OperatorDraft draft = compositeOf(std::move(inputs), m_site.editor().op(m_root).results[0]);
        return m_site.fuse(regionInOrder(), std::move(draft), {});
    }

    /// The composite, and behind it what gives the result the form that it had.
    OperatorId putBetween(std::vector<ValueId> inputs)
    {
        GraphEditor& editor = m_site.editor();
        const ValueId result = editor.op(m_product).results[0];
        const std::string name = m_site.nameOf(m_product) + "/attention";
        const TensorType type = m_site.typeOf(result);
        const Shape own = type.dynamicShape();
        const bool isOfThree = own.rank() == 3;
        const std::vector<int32_t> order = {0, 2, 1, 3};
        m_place = editor.next(m_product); // the body's last operators, which go again
        ValueId last = isOfThree ? reshaped(result, widened(own), name + "/of_heads") : result;
        std::vector<OperatorId> ends;
        if (isOfThree) ends.push_back(m_graph.value(last).producer);
        last = transposed(last, order, name + "/by_steps");
        ends.push_back(m_graph.value(last).producer);
        m_ops.insert(m_ops.end(), ends.begin(), ends.end());
        OperatorDraft draft = compositeOf(std::move(inputs), last);
        std::erase_if(m_ops, [&](OperatorId op) { return isAmong(ends, op); });
        draft.name = name;
        const std::vector<OperatorId> region = regionInOrder();
        const OperatorId made =
            editor.insert(std::move(draft), Sources(std::span<const OperatorId>(region)), InsertPoint::before(m_product));
        editor.eraseUnused(ends);
        m_place = m_product;
        ValueId back = editor.op(made).results[0];
        if (isOfThree) back = transposed(back, order, name + "/heads_first");
        OperatorDraft outer; // takes the name over
        outer.kind = {"tfl", isOfThree ? "reshape" : "transpose"};
        outer.inputs = {back, isOfThree ? dimensions(own, name + "/shape") : indices(order, name + "/order")};
        outer.results = {type};
        outer.name = editor.value(result).id;
        const ValueId replaced[] = {result};
        editor.replace(region, std::move(outer), replaced);
        m_site.addParts(made, {});
        return made;
    }

    Site& m_site;
    const Graph& m_graph; ///< until a graph is added
    OperatorId m_product, m_root, m_place;
    bool m_isChosen;
    AttentionOperand m_query, m_key, m_value;
    AttentionMask m_mask;
    Form m_result = Form::bySteps;
    double m_scale = 1, m_limit = 0;
    std::vector<ValueId> m_scales; ///< constants that are multiplied in
    std::string m_scoresName;
    std::vector<OperatorId> m_ops;
    std::string m_reason;
};

Outcome attention(Site& site, OperatorId root) { return AttentionReader(site, root, false).read(); }
Outcome maskedAttention(Site& site, OperatorId root) { return AttentionReader(site, root, true).read(); }

} // namespace

std::span<const Rule> attentionRules()
{
    static const std::vector<Rule> rules = {
        {.name = "attention-composite", .equality = FusionEquality::exact, .roots = {"batch_matmul"}, .apply = attention, .isLate = true},
        {.name = "attention-by-choice",
         .equality = FusionEquality::approximate,
         .roots = {"batch_matmul"},
         .apply = maskedAttention,
         .isLate = true},
    };
    return rules;
}

} // namespace loopscope::fusing
