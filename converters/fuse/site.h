// What rules see of the graph that is fused: operators by the names that both dialects share, constants, who reads what; and the one way
// in which a rule replaces what it matched.
#pragma once

#include "converters/fuse/constants.h"
#include "converters/fuse/fuse.h"
#include "engine/transform/graph_editor.h"

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace loopscope::fusing {

/// TFLite's name of what the operator computes, for both dialects: `conv_2d`, `add`; TensorFlow's own name where TFLite has none.
std::string_view neutralKind(const Kind& kind);
/// The fused activation, "NONE" where there is none.
std::string_view activationOf(const Operator& op);
/// "RELU" → "relu"; empty: no operator computes it alone.
std::string_view activationKind(std::string_view activation);

/// What a rule found: nothing, a rewrite, or the first condition that failed.
struct Outcome {
    OperatorId fused;
    std::string to;         ///< declined: what would have come out; fused: what came out, if that is no operator
    std::string reason;     ///< declined
    std::string label = {}; ///< recognised, and left as it is
    std::optional<FusionDomain> domain = {};
    std::string note = {};      ///< fused: what else is to be said of it
    bool isApproximate = false; ///< fused: whatever the rule promises
    static Outcome nothing() { return {}; }
    static Outcome labelled(std::string name) { return {{}, {}, {}, std::move(name), {}, {}, false}; }
    static Outcome declined(std::string to_, std::string reason_) { return {{}, std::move(to_), std::move(reason_), {}, {}, {}, false}; }
    static Outcome made(OperatorId op) { return {op, {}, {}, {}, {}, {}, false}; }
};

class Site {
public:
    Site(Model& model, GraphId graph, const std::unordered_set<std::string>& keeps, const FusionOptions& options)
        : m_model(model),
          m_graphId(graph),
          m_editor(model, graph),
          m_constants(m_editor),
          m_keeps(keeps),
          m_options(options),
          m_isForCircle(options.isForCircle || model.dialect == Dialect::circle)
    {
    }

    GraphEditor& editor() { return m_editor; }
    const GraphEditor& editor() const { return m_editor; }
    ConstantReader& constants() { return m_constants; }
    const Model& model() const { return m_model; }
    bool isTensorFlow() const { return m_model.dialect == Dialect::tf; }
    bool isForCircle() const { return m_isForCircle; } ///< operators that only Circle has may come out
    int64_t mostWeightBytes() const { return m_options.mostWeightBytes; }
    double nearness() const { return m_options.nearness; }
    bool fusesTanh() const { return m_options.fusesTanh; }
    const TensorType& typeOf(ValueId value) const { return m_editor.value(value).type; }
    /// The shape that is written down, or follows from the operands of windows and of what works element by element.
    Shape shapeOf(ValueId value, int depth = 0) const;

    /// Its producer, behind operators that only pass a value on (these join `passed`); invalid: none.
    OperatorId producer(ValueId value, std::vector<OperatorId>* passed = nullptr) const;
    ValueId behindIdentities(ValueId value, std::vector<OperatorId>* passed = nullptr) const;
    /// What the operator is called in reports.
    std::string nameOf(OperatorId op) const;
    std::string described(OperatorId op) const; ///< "add `add_7`"
    /// Why `inner` may not go although `ops` are replaced: something else reads it, a session asks for it, an operator waits for it.
    std::optional<std::string> outlives(OperatorId inner, std::span<const OperatorId> ops) const;
    std::optional<std::string> outliveAny(std::span<const OperatorId> ops, OperatorId root) const;

    ValueId constant(std::string name, Shape shape, std::span<const float> values, OperatorId before);
    ValueId constant(std::string name, Shape shape, std::span<const int32_t> values, OperatorId before);
    /// Of any type, from its stored bytes.
    ValueId constant(std::string name, const TensorType& type, std::span<const std::byte> bytes, OperatorId before);

    /// `draft` computes what result 0 of `root` was; `ops`, with the root last, go where nothing uses them. What went into them before
    /// and `parts` have gone into the new operator.
    OperatorId fuse(std::vector<OperatorId> ops, OperatorDraft draft, std::initializer_list<std::string> parts);
    /// Why the result of `root` has to stay a value of its own.
    std::optional<std::string> namesOutput(OperatorId root) const;
    /// Why `value` may not stand for the result of `root`: a name, dimensions or a scale would be lost.
    std::optional<std::string> losesBy(OperatorId root, ValueId value) const;
    /// Its readers read `value` instead.
    void bypass(OperatorId root, ValueId value, std::vector<OperatorId> ops);

    const std::set<std::string>& partsOf(OperatorId op) const;
    void addParts(OperatorId op, const std::set<std::string>& parts) { m_parts[op.index].insert(parts.begin(), parts.end()); }
    void setParts(OperatorId op, std::set<std::string> parts) { m_parts[op.index] = std::move(parts); }
    bool wasFused(OperatorId op) const { return m_parts.contains(op.index); }
    /// `CONV_2D+bias+RELU`
    std::string labelOf(OperatorId op) const;

    /// A graph for what a new operator calls; its id gets a number where it is taken.
    GraphId addGraph(Graph graph);

    /// Names of the operators of the last rewrite.
    const std::vector<std::string>& lastFrom() const { return m_lastFrom; }
    void setFrom(std::span<const OperatorId> ops);
    void setFrom(std::vector<std::string> names) { m_lastFrom = std::move(names); }
    bool isAskedFor(OperatorId op) const { return isKept(op); }

private:
    /// It passes `value` on as its first and only result.
    void becomeIdentity(OperatorId op, ValueId value);
    bool isKept(OperatorId op) const { return m_keeps.contains(m_editor.op(op).name) && !m_editor.op(op).name.empty(); }

    Model& m_model;
    GraphId m_graphId;
    GraphEditor m_editor;
    ConstantReader m_constants;
    const std::unordered_set<std::string>& m_keeps;
    const FusionOptions& m_options;
    bool m_isForCircle;
    std::unordered_map<int32_t, std::set<std::string>> m_parts;
    std::vector<std::string> m_lastFrom;
};

std::string upperCase(std::string_view text);

} // namespace loopscope::fusing
