// The graph editor: what each edit does, and two properties under random edits: its use lists equal lists made from scratch, and edits that
// keep the meaning keep what the model computes (by the naive evaluator of the executor tests).
#include "engine/transform/graph_editor.h"

#include "converters/lsir/lsir.h"
#include "engine/ir/random_stream.h"
#include "engine/ir/text/printer.h"
#include "engine/ir/verifier.h"
#include "engine/transform/value_refs.h"
#include "tests/unit/exec/random_model.h"
#include "tests/unit/transform/double_negation.h"

#include <algorithm>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <random>
#include <sstream>

namespace loopscope::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Model parsed(const std::string& text)
{
    Result<Model> model = modelFromText(text, "test");
    EXPECT_TRUE(model.ok()) << (model.ok() ? "" : model.error().message());
    return model.ok() ? std::move(model).value() : Model();
}

OperatorId node(const Graph& graph, std::string_view name)
{
    for (size_t o = 0; o < graph.operators.size(); ++o)
        if (graph.operators[o].name == name) return OperatorId(static_cast<int64_t>(o));
    return {};
}

ValueId valueNamed(const Graph& graph, std::string_view id)
{
    const ValueId value = graph.findValue(id);
    EXPECT_TRUE(value.valid()) << id;
    return value;
}

/// The use lists of a graph, found by looking at everything.
struct Uses {
    std::vector<std::vector<ValueUse>> values;
    std::vector<std::vector<ControlUse>> operators;
};

Uses usesFromScratch(const GraphEditor& editor, const Model& model, GraphId id)
{
    const Graph& graph = editor.graph();
    Uses uses{std::vector<std::vector<ValueUse>>(graph.values.size()), std::vector<std::vector<ControlUse>>(graph.operators.size())};
    const auto add = [&](ValueId value, ValueUse use) {
        if (value.valid()) uses.values[static_cast<size_t>(value.index)].push_back(use);
    };
    for (size_t o = 0; o < graph.operators.size(); ++o) {
        const OperatorId op(static_cast<int64_t>(o));
        if (!editor.isAlive(op)) continue;
        for (size_t i = 0; i < editor.op(op).inputs.size(); ++i)
            add(editor.op(op).inputs[i], {ValueUse::Kind::operand, op, static_cast<int32_t>(i)});
        for (size_t i = 0; i < editor.op(op).controlInputs.size(); ++i)
            uses.operators[static_cast<size_t>(editor.op(op).controlInputs[i].index)].push_back({op, static_cast<int32_t>(i)});
        int32_t refs = 0;
        visitAllValueRefs(editor.op(op).attributes, [&](const ValueRef& ref) { add(ref.value, {ValueUse::Kind::attribute, op, refs++}); });
    }
    for (size_t k = 0; k < graph.outputs.size(); ++k) add(graph.outputs[k].value, {ValueUse::Kind::output, {}, static_cast<int32_t>(k)});
    for (size_t k = 0; k < graph.controlOutputs.size(); ++k)
        uses.operators[static_cast<size_t>(graph.controlOutputs[k].second.index)].push_back({{}, static_cast<int32_t>(k)});
    int32_t binding = 0;
    for (const Signature& signature : model.signatures) {
        if (signature.graph != id) continue;
        for (const auto* bindings : {&signature.inputs, &signature.outputs})
            for (const SignatureBinding& b : *bindings) add(b.value, {ValueUse::Kind::signature, {}, binding++});
    }
    return uses;
}

template <typename Use> std::vector<Use> sorted(std::span<const Use> uses)
{
    std::vector<Use> list(uses.begin(), uses.end());
    std::ranges::sort(list);
    return list;
}

void expectTrueUses(const GraphEditor& editor, const Model& model, GraphId id)
{
    const Uses expected = usesFromScratch(editor, model, id);
    for (size_t v = 0; v < expected.values.size(); ++v)
        ASSERT_EQ(sorted(editor.uses(ValueId(static_cast<int64_t>(v)))), sorted(std::span(expected.values[v]))) << "value " << v;
    for (size_t o = 0; o < expected.operators.size(); ++o)
        ASSERT_EQ(sorted(editor.uses(OperatorId(static_cast<int64_t>(o)))), sorted(std::span(expected.operators[o]))) << "operator " << o;
}

// --- Single edits -----------------------------------------------------------------------------------------------------------------------

const char* const kChain = "model tf\ngraph main(x: f32[2]) {\n  a = Neg(x) T=f32 : f32[2]\n  b = Abs(a) T=f32 : f32[2]\n"
                           "  c = Exp(b, ^a) T=f32 : f32[2]\n  return c=c\n}\n";

TEST(GraphEditor, aReplacementStandsForAllThatItReplaces)
{
    Model model = parsed(kChain);
    {
        GraphEditor editor(model, GraphId(0));
        const OperatorId a = node(editor.graph(), "a"), b = node(editor.graph(), "b");
        OperatorDraft draft;
        draft.kind = {"tf", "Square"};
        draft.name = "ab";
        draft.attributes = {{"T", DType::f32}};
        draft.inputs = {valueNamed(editor.graph(), "x")};
        draft.results = {TensorType(DType::f32, Shape({2}))};
        const OperatorId ops[] = {a, b};
        const ValueId replaced[] = {valueNamed(editor.graph(), "b")};
        const OperatorId made = editor.replace(ops, std::move(draft), replaced);
        EXPECT_FALSE(editor.isAlive(a));
        EXPECT_FALSE(editor.isAlive(b));
        EXPECT_THAT(editor.op(made).origin, ElementsAre("a", "b"));
        expectTrueUses(editor, model, GraphId(0));
    }
    const Graph& graph = model.graphs[0];
    ASSERT_EQ(graph.operators.size(), 2U);
    EXPECT_EQ(graph.operators[0].name, "ab");
    EXPECT_EQ(graph.operators[1].inputs[0], graph.operators[0].results[0]);
    EXPECT_THAT(graph.operators[1].controlInputs, ElementsAre(OperatorId(0))) << "who waited for a waits for what replaced it";
    EXPECT_TRUE(verifyModel(model).ok());
}

TEST(GraphEditor, originsOfReplacementsOfReplacementsAreJoinedOnce)
{
    Model model = parsed(kChain);
    GraphEditor editor(model, GraphId(0));
    const auto draft = [](const char* name) {
        OperatorDraft made;
        made.kind = {"tf", "NoOp"};
        made.name = name;
        return made;
    };
    const OperatorId a = node(editor.graph(), "a"), b = node(editor.graph(), "b"), c = node(editor.graph(), "c");
    const OperatorId ab = editor.append(draft("ab"), {a, b}), bc = editor.append(draft("bc"), {b, c});
    EXPECT_THAT(editor.op(editor.append(draft("abc"), {bc, ab})).origin, ElementsAre("b", "c", "a"));
    EXPECT_THAT(editor.op(editor.append(draft("alone"), Sources::none())).origin, IsEmpty());
}

TEST(GraphEditor, operatorsWithoutNamesRememberTheirPlaceInTheFile)
{
    Model model = parsed("model tfl\ngraph main(x: f32[2]) {\n  a = abs(x) : f32[2]\n  b = exp(a) : f32[2]\n  return b\n}\n");
    {
        GraphEditor editor(model, GraphId(0));
        editor.replaceUses(valueNamed(editor.graph(), "a"), valueNamed(editor.graph(), "x"));
        EXPECT_TRUE(editor.erase(OperatorId(0)));
        EXPECT_FALSE(editor.erase(OperatorId(1))) << "an output uses it";
    }
    ASSERT_EQ(model.graphs[0].operators.size(), 1U);
    EXPECT_THAT(model.graphs[0].operators[0].origin, ElementsAre("0:1"));
}

TEST(GraphEditor, aReplacementOutsideOfTensorFlowTakesOverTheName)
{
    Model model = parsed("model tfl\ngraph main(x: f32[2]) {\n  a = abs(x) : f32[2]\n  b = exp(a) : f32[2]\n  return b\n}\n");
    model.signatures.push_back({"serve", GraphId(0), {{"x", model.graphs[0].inputs[0]}}, {{"y", model.graphs[0].outputs[0].value}}});
    {
        GraphEditor editor(model, GraphId(0));
        OperatorDraft draft;
        draft.kind = {"tfl", "neg"};
        draft.inputs = {valueNamed(editor.graph(), "x")};
        draft.results = {TensorType(DType::f32, Shape({2}))};
        const OperatorId ops[] = {OperatorId(0), OperatorId(1)};
        const ValueId replaced[] = {valueNamed(editor.graph(), "b")};
        EXPECT_THAT(editor.op(editor.replace(ops, std::move(draft), replaced)).origin, ElementsAre("0:0", "0:1"));
        ASSERT_TRUE(editor.finish(GraphEditor::Values::dropUnused).ok());
    }
    const Graph& graph = model.graphs[0];
    EXPECT_EQ(graph.values.size(), 2U);
    EXPECT_EQ(graph.value(graph.outputs[0].value).id, "b");
    EXPECT_EQ(model.signatures[0].outputs[0].value, graph.outputs[0].value);
    EXPECT_TRUE(verifyModel(model).ok());
}

TEST(GraphEditor, anOrderedDialectGetsProducersFirstAndCyclesAreErrors)
{
    Model model = parsed("model tfl\ngraph main(x: f32[2]) {\n  a = abs(x) : f32[2]\n  b = exp(x) : f32[2]\n  return a, b\n}\n");
    {
        GraphEditor editor(model, GraphId(0));
        editor.setInput(OperatorId(0), 0, valueNamed(editor.graph(), "b"));
        ASSERT_TRUE(editor.finish().ok());
    }
    EXPECT_EQ(model.graphs[0].operators[0].kind.name, "exp");
    EXPECT_TRUE(verifyModel(model).ok());
    GraphEditor editor(model, GraphId(0));
    editor.setInput(OperatorId(0), 0, valueNamed(editor.graph(), "a"));
    const Status status = editor.finish();
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.detail().what, "the rewritten graph has a cycle");
}

TEST(GraphEditor, unusedGroupsGoThoughTheyUseEachOther)
{
    Model model =
        parsed("model tf\ngraph main(x: f32) {\n  e = Enter(x) T=f32 frame_name=\"f\" : f32\n  m = Merge(e, n) N=2 T=f32 : (f32, i32)\n"
               "  n = NextIteration(m) T=f32 : f32\n  k = Neg(x) T=f32 : f32\n  return k=k\n}\n");
    GraphEditor editor(model, GraphId(0));
    const OperatorId some[] = {OperatorId(1), OperatorId(2)};
    EXPECT_FALSE(editor.erase(OperatorId(1)));
    EXPECT_EQ(editor.eraseUnused(some), 2U);
    EXPECT_EQ(editor.eraseUnneeded({}), 1U) << "Enter";
    EXPECT_TRUE(editor.isAlive(OperatorId(3)));
}

TEST(GraphEditor, aFedValueKeepsItsIdAndItsProducerWritesAnother)
{
    Model model = parsed(kChain);
    {
        GraphEditor editor(model, GraphId(0));
        editor.makeInput(valueNamed(editor.graph(), "b"), "b:aside");
    }
    const Graph& graph = model.graphs[0];
    EXPECT_EQ(graph.value(graph.inputs.back()).id, "b");
    EXPECT_EQ(graph.operators[2].inputs[0], graph.inputs.back());
    EXPECT_EQ(graph.value(graph.operators[1].results[0]).id, "b:aside");
}

TEST(GraphEditor, anExpandedCallKeepsNamesOfNamedOutputsAndSaysWhereItCameFrom)
{
    Model model = parsed("model tf\ngraph main(x: f32[2]) {\n  y = PartitionedCall(x) Tin=[f32] Tout=[f32] f=@f : f32[2]\n"
                         "  z = Neg(y) T=f32 : f32[2]\n  return z=z\n}\n"
                         "graph f(v: f32[2]) {\n  w = Abs(v) T=f32 : f32[2]\n  d = Neg(w, ^w) T=f32 : f32[2]\n  return d=d\n}\n");
    {
        GraphEditor editor(model, GraphId(0));
        const Graph& f = model.graphs[1];
        const ValueId arguments[] = {valueNamed(editor.graph(), "x")};
        const CloneMap map = editor.cloneGraph(f, arguments, "y/", InsertPoint::before(OperatorId(0)));
        editor.replaceUses(valueNamed(editor.graph(), "y"), map.values[static_cast<size_t>(f.outputs[0].value.index)]);
        EXPECT_TRUE(editor.erase(OperatorId(0)));
        expectTrueUses(editor, model, GraphId(0));
    }
    const Graph& graph = model.graphs[0];
    ASSERT_EQ(graph.operators.size(), 3U);
    EXPECT_EQ(graph.operators[1].name, "y/d");
    EXPECT_THAT(graph.operators[1].origin, ElementsAre("@f/d"));
    EXPECT_THAT(graph.operators[1].controlInputs, ElementsAre(OperatorId(0)));
    EXPECT_EQ(graph.value(graph.operators[2].inputs[0]).id, "y/d");
    EXPECT_TRUE(verifyModel(model).ok());
}

TEST(GraphEditor, randomStreamsFollowTheirOperators)
{
    Model model = parsed("model tf\ngraph main() {\n  s = Const() dtype=i32 value=i32[1] [2] : i32[1]\n"
                         "  r = RandomUniform(s) T=i32 dtype=f32 seed=3 seed2=4 : f32[2]\n  return r=r\n}\n");
    const uint64_t before = randomStreamIdentity(model.graphs[0].operators[1]);
    GraphEditor editor(model, GraphId(0));
    const OperatorId copy = editor.clone(OperatorId(1), editor.op(OperatorId(1)).inputs, InsertPoint::end());
    EXPECT_NE(editor.op(copy).name, "r");
    EXPECT_EQ(randomStreamIdentity(editor.op(copy)), before);
    editor.setAttribute(copy, "seed", int64_t{9});
    EXPECT_EQ(randomStreamIdentity(editor.op(copy)), before) << "which stream, not its seed";
}

TEST(GraphEditor, theRewriteOfThePageWorks)
{
    Model model = parsed("model tfl\ngraph main(x: f32[2]) {\n  a = neg(x) : f32[2]\n  b = neg(a) : f32[2]\n  c = neg(b) : f32[2]\n"
                         "  d = abs(c) : f32[2]\n  e = exp(a) : f32[2]\n  return d, e\n}\n");
    EXPECT_EQ(removeDoubleNegations(model, GraphId(0)), 1);
    const Graph& graph = model.graphs[0];
    ASSERT_EQ(graph.operators.size(), 4U) << "b is gone; a stays, since e reads it";
    EXPECT_EQ(graph.operators[1].inputs[0], graph.inputs[0]) << "c = −(−(−x)) is −x";
    EXPECT_TRUE(verifyModel(model).ok());
}

TEST(GraphEditor, thePageShowsTheRewriteAsItIs)
{
    std::ifstream code("tests/unit/transform/double_negation.h");
    std::ostringstream page;
    page << std::ifstream("docs/transform.md").rdbuf();
    int lines = 0;
    bool isShown = false;
    for (std::string line; std::getline(code, line);) {
        if (line == "// clang-format on") isShown = false;
        if (isShown) {
            EXPECT_NE(page.str().find(line.empty() ? "\n" : "\n    " + line + "\n"), std::string::npos) << line;
            ++lines;
        }
        if (line == "// clang-format off") isShown = true;
    }
    EXPECT_GT(lines, 10);
}

// --- Random edits -----------------------------------------------------------------------------------------------------------------------

/// Edits one graph of a model at random.
class RandomEdits {
public:
    RandomEdits(Model& model, GraphId graph, uint32_t seed) : m_model(model), m_id(graph), m_editor(model, graph), m_random(seed) {}

    GraphEditor& editor() { return m_editor; }
    int below(int limit) { return static_cast<int>(m_random() % static_cast<uint32_t>(limit)); }

    /// An edit after which the graph computes what it did.
    void keepMeaning()
    {
        const OperatorId id = anyOperator();
        if (!id.valid()) return;
        const Operator op = m_editor.op(id);
        switch (below(6)) {
        case 0: return addZero(id);
        case 1: {
            const OperatorId copy = m_editor.clone(id, op.inputs, InsertPoint::after(id));
            for (size_t k = 0; k < op.results.size(); ++k) moveSomeUses(op.results[k], m_editor.op(copy).results[k]);
            EXPECT_EQ(m_editor.op(copy).origin, originsOf(op, id));
            return;
        }
        case 2: return subAsAdd(id);
        case 3: return expand(id);
        case 4: m_editor.move(id, below(2) == 0 ? InsertPoint::first() : InsertPoint::before(anyOperator())); return;
        default:
            if (below(3) == 0) m_editor.eraseUnneeded({});
            else m_editor.erase(id);
        }
    }

    /// Any edit of a TensorFlow graph, whatever it then computes.
    void anything()
    {
        const OperatorId id = anyOperator(), other = anyOperator();
        if (!id.valid()) return;
        const auto value = [&] { return ValueId(below(static_cast<int>(m_editor.graph().values.size()))); };
        switch (below(12)) {
        case 0:
            if (!m_editor.op(id).inputs.empty()) m_editor.setInput(id, below(static_cast<int>(m_editor.op(id).inputs.size())), value());
            return;
        case 1: m_editor.setInputs(id, {value(), ValueId(), value(), value()}); return;
        case 2: m_editor.setControlInputs(id, {other, anyOperator()}); return;
        case 3: m_editor.addControlInput(id, other); return;
        case 4: m_editor.removeControlInput(id, other); return;
        case 5: m_editor.setAttribute(id, "@mid", AttributeItems{ValueRef{value()}, int64_t{1}, ValueRef{value()}}); return;
        case 6: m_editor.removeAttribute(id, "@mid"); return;
        case 7: m_editor.setOutputs({{"p", value()}, {"q", value()}}); return;
        case 8: m_editor.setControlOutputs({{"c", id}, {"d", other}}); return;
        case 9: m_editor.replaceUses(value(), value()); return;
        case 10:
            m_editor.replaceUses(id, other);
            if (below(4) == 0) m_editor.eraseUnneeded(std::span(&id, 1));
            else m_editor.erase(id);
            return;
        default: {
            OperatorDraft draft;
            draft.kind = {"tf", "Add"};
            draft.inputs = {value(), value()};
            draft.results = {TensorType(DType::f32, Shape()), TensorType(DType::f32, Shape())};
            draft.controlInputs = {other};
            if (below(3) == 0) {
                const OperatorId group[] = {id};
                m_editor.replace(group, std::move(draft), m_editor.op(id).results);
            } else {
                m_editor.insert(std::move(draft), {id, other}, InsertPoint::before(id));
            }
        }
        }
    }

    void checkUses() { expectTrueUses(m_editor, m_model, m_id); }

private:
    OperatorId anyOperator()
    {
        const std::vector<OperatorId> order = m_editor.order();
        return order.empty() ? OperatorId() : order[static_cast<size_t>(below(static_cast<int>(order.size())))];
    }

    void moveSomeUses(ValueId from, ValueId to)
    {
        const std::vector<ValueUse> uses(m_editor.uses(from).begin(), m_editor.uses(from).end());
        const OperatorId maker = m_editor.value(to).producer;
        for (const ValueUse& use : uses)
            if (use.op != maker && below(2) == 0) m_editor.replaceUse(from, use, to);
    }

    ValueId scalar(int32_t number)
    {
        return m_editor.addConstant("number", TensorType(DType::i32, Shape()),
                                    std::make_shared<const Constant>(Bytes::copyOf(&number, sizeof number)));
    }

    /// v + 0 in some of the places where v was.
    void addZero(OperatorId id)
    {
        const std::vector<ValueId> values = below(2) == 0 ? m_editor.op(id).results : m_editor.op(id).inputs;
        if (values.empty() || m_editor.value(values.front()).type.dtype != DType::i32) return;
        OperatorDraft sum;
        sum.kind = {"tfl", "add"};
        sum.inputs = {values.front(), scalar(0)};
        sum.results = {m_editor.value(values.front()).type};
        moveSomeUses(values.front(), m_editor.op(m_editor.insert(std::move(sum), id, InsertPoint::after(id))).results.front());
    }

    /// a − b = a + b · (−1)
    void subAsAdd(OperatorId id)
    {
        const Operator op = m_editor.op(id);
        if (op.kind.name != "sub") return;
        OperatorDraft product, sum;
        product.kind = {"tfl", "mul"};
        product.inputs = {op.inputs[1], scalar(-1)};
        product.results = {m_editor.value(op.inputs[1]).type};
        const ValueId negated = m_editor.op(m_editor.insert(std::move(product), id, InsertPoint::before(id))).results.front();
        sum.kind = {"tfl", "add"};
        sum.inputs = {op.inputs[0], negated};
        sum.results = {m_editor.value(op.results[0]).type};
        const std::string name = m_editor.value(op.results[0]).id;
        const OperatorId made = m_editor.replace(std::span(&id, 1), std::move(sum), op.results);
        EXPECT_EQ(m_editor.value(m_editor.op(made).results[0]).id, name);
        EXPECT_EQ(m_editor.op(made).origin, originsOf(op, id));
        EXPECT_FALSE(m_editor.isAlive(id));
    }

    void expand(OperatorId id)
    {
        const Operator op = m_editor.op(id);
        if (op.kind.name != "call" || m_editor.graph().operators.size() > 400) return;
        const Graph& callee = m_model.graph(attributeGraph(op.attributes, "call"));
        const CloneMap map = m_editor.cloneGraph(callee, op.inputs, "inner_", InsertPoint::before(id));
        for (size_t k = 0; k < op.results.size(); ++k)
            m_editor.replaceUses(op.results[k], map.values[static_cast<size_t>(callee.outputs[k].value.index)]);
        EXPECT_TRUE(m_editor.erase(id));
    }

    Model& m_model;
    GraphId m_id;
    GraphEditor m_editor;
    std::mt19937 m_random;
};

TEST(RandomEdits, thatKeepTheMeaningKeepWhatIsComputed)
{
    int edited = 0;
    for (uint32_t seed = 0; seed < 100; ++seed) {
        SCOPED_TRACE(seed);
        RandomModel random(seed);
        Model model = random.model();
        const GraphId id(static_cast<int64_t>(seed % 3 == 0 ? model.graphs.size() - 1 : 0));
        const size_t operators = model.graph(id).operators.size();
        {
            RandomEdits edits(model, id, seed);
            for (int i = 0; i < 60; ++i) {
                edits.keepMeaning();
                if (i % 7 == 0) edits.checkUses();
                if (HasFatalFailure()) return;
            }
            edits.checkUses();
            ASSERT_TRUE(edits.editor().finish(seed % 2 == 0 ? GraphEditor::Values::keepIds : GraphEditor::Values::dropUnused).ok());
        }
        const Status status = verifyModel(model);
        ASSERT_TRUE(status.ok()) << status.detail().where << ": " << status.detail().what;
        edited += model.graph(id).operators.size() != operators ? 1 : 0;
        for (int round = 0; round < 2; ++round) {
            const std::vector<Plain> inputs = random.inputs();
            ASSERT_EQ(evaluate(model, GraphId(0), inputs), evaluate(random.model(), GraphId(0), inputs));
        }
    }
    EXPECT_GT(edited, 70) << "the edits did something";
}

TEST(RandomEdits, ofAnyKindKeepTheUseLists)
{
    for (uint32_t seed = 0; seed < 60; ++seed) {
        SCOPED_TRACE(seed);
        Model model = parsed(kChain);
        model.signatures.push_back({"s", GraphId(0), {{"x", model.graphs[0].inputs[0]}}, {{"c", model.graphs[0].outputs[0].value}}});
        {
            RandomEdits edits(model, GraphId(0), seed);
            for (int i = 0; i < 120; ++i) {
                edits.anything();
                edits.checkUses();
                if (HasFatalFailure()) return;
            }
            ASSERT_TRUE(edits.editor().finish(seed % 2 == 0 ? GraphEditor::Values::keepIds : GraphEditor::Values::dropUnused).ok());
        }
        const Status status = verifyModel(model);
        ASSERT_TRUE(status.ok()) << status.detail().where << ": " << status.detail().what;
    }
}

} // namespace
} // namespace loopscope::testing
