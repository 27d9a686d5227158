// Writes the raised graph: regions with their conditionals as If, loops as While, each branch, condition and body as a function.
#pragma once

#include "converters/raise/builder.h"
#include "converters/raise/flow.h"
#include "converters/raise/schedule.h"

#include <functional>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

namespace loopscope::raising {

class Emitter {
public:
    /// `editor` edits a copy of `flow.graph()`, whose operators and values have the same numbers. `functionBase`: the number that the first
    /// new function will have; `isTaken`: whether a graph has that id.
    Emitter(Flow& flow, GraphEditor& editor, size_t functionBase, std::function<bool(const std::string&)> isTaken);

    /// Writes everything. A failure says what has to stay at the next attempt.
    std::optional<Failure> run();

    std::vector<Graph>& functions() { return m_functions; }
    std::vector<Rewrite>& raised() { return m_raised; }

private:
    using Items_ = std::vector<RegionItem>;

    // emitter.cpp
    void findNeeded();
    void findReaders();
    void emitRegion(Builder& b, const Items_& items);
    void emitOperator(Builder& b, OperatorId id);
    void emitMerge(Builder& b, const RegionItem& item);
    std::vector<OperatorId> controlsFor(Builder& b, OperatorId id, const std::unordered_set<int32_t>* inside);
    void addControls(Builder& b, OperatorId awaited, const std::unordered_set<int32_t>* inside, std::unordered_set<int32_t>& seen,
                     std::vector<OperatorId>& controls);
    void addControlsBehind(Builder& b, ValueId value, const std::unordered_set<int32_t>* inside, std::unordered_set<int32_t>& seen,
                           std::vector<OperatorId>& controls);
    void finishTop(Builder& b);
    void keepVisible(Builder& b, OperatorId id);
    RegionItem itemOf(OperatorId id);
    Items_ topItems();

    // emitter_branches.cpp
    void emitConditional(Builder& b, const Items_& items, const Step& step);
    std::vector<OperatorId> nodesOf(const std::unordered_set<int32_t>& inside, int32_t variable, bool& hasWork);
    bool emitSides(Builder& b, const Items_& items, const Step& step, const std::vector<ValueId>& exports, Builder* sides,
                   OperatorDraft& draft);
    std::vector<OperatorId> controlsOfBranch(Builder& b, const std::unordered_set<int32_t>& inside, const Items_& items, const Step& step);
    Items_ itemsUnder(const Items_& items, const Step& step, bool branch);
    std::vector<ValueId> exportsOf(const Items_& items, const Step& step, const std::unordered_set<int32_t>& inside);
    ValueId branchOutput(Builder& b, ValueId value, bool isLive);
    ValueId deadStandIn(Builder& b, ValueId value);
    ValueId appendConst(Builder& b, const std::string& name, TensorType type, ConstantPtr data, const Sources& sources);

    // emitter_loops.cpp
    void emitLoop(Builder& b, int32_t frame);
    Items_ conditionItems(const LoopShape& loop);
    Items_ bodyItems(Builder& b, const LoopShape& loop);
    template <typename Wants> void addLoopItems(Items_& items, const LoopShape& loop, Wants wants);
    ValueId outerValue(Builder& b, ValueId value);
    bool isItem(OperatorId id) const;
    bool isPartOf(const LoopShape& loop, OperatorId id) const;
    void addNeededBy(std::vector<OperatorId>& open, std::unordered_set<int32_t>& chosen, const LoopShape& loop) const;
    void emitAfter(Builder& b, const LoopShape& loop);
    std::vector<std::string> framesAround(int32_t frame) const;

    std::string functionName(const std::string& op, const char* role);
    GraphId addFunction(Graph graph);
    bool isRead(ValueId value) const { return !m_readers[at(value)].empty() || m_flow.wanted().values[at(value)]; }

    Flow& m_flow;
    GraphEditor& m_editor;
    Items m_items;
    size_t m_functionBase;
    std::function<bool(const std::string&)> m_isTaken;
    std::unordered_set<std::string> m_names;
    std::vector<bool> m_isNeeded;
    std::vector<std::vector<OperatorId>> m_readers;     ///< by value: who reads it, also through Switches; Switches that it decides
    std::vector<std::vector<OperatorId>> m_regionNodes; ///< by frame: nodes of its region, operands first
    std::vector<std::vector<int32_t>> m_childLoops;     ///< by frame: loops in its region
    std::vector<Graph> m_functions;
    std::vector<Rewrite> m_raised;
    std::vector<bool> m_staysOnTop; ///< by operator: written at the top, in its place
    struct Patch {
        Builder* builder;
        OperatorId here;
        int32_t index;
        ValueId value;
    };
    std::vector<Patch> m_patches; ///< operands that come from later operators: back edges of frames that stay
    int m_depth = 0;
};

} // namespace loopscope::raising
