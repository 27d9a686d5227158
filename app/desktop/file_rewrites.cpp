#include "app/desktop/file_rewrites.h"

#include "app/wiring/model_file.h"
#include "app/wiring/proof.h"
#include "app/wiring/session.h"
#include "app/wiring/subject.h"
#include "app/wiring/tolerance.h"
#include "converters/formats.h"
#include "engine/debug/graph_diff/rewrites.h"
#include "engine/debug/reference/value_pairing.h"
#include "engine/ir/ids.h"
#include "engine/ir/verifier.h"
#include "engine/transform/graph_editor.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace loopscope::app {

namespace {

std::string nameOf(const Model& model, const GraphOperator& place)
{
    const Operator& op = model.graph(place.graph).op(place.op);
    if (!op.name.empty() || op.results.empty()) return operatorLabel(op, place.op.index);
    return model.graph(place.graph).value(op.results.front()).id;
}

std::string kindsOf(const Model& model, const std::vector<GraphOperator>& places)
{
    std::string text;
    for (const GraphOperator& place : places) text += (text.empty() ? "" : " + ") + model.graph(place.graph).op(place.op).kind.name;
    return text;
}

/// The operators of this side tell a rewrite from all others, however many are taken back.
viewer::FusionSwitch placeOf(const Model& here, const GraphRewrite& rewrite)
{
    viewer::FusionSwitch place{"", here.graph(rewrite.here.front().graph).id, ""};
    for (const GraphOperator& each : rewrite.here) place.where += (place.where.empty() ? "" : ",") + nameOf(here, each);
    return place;
}

std::vector<viewer::RewrittenOperator> drawn(const std::vector<GraphOperator>& places)
{
    std::vector<viewer::RewrittenOperator> all;
    for (const GraphOperator& place : places) all.push_back({place.graph, place.op});
    return all;
}

/// One rewrite of the other model, to be taken back: this side's operators in place of those that they became.
class TakenBack {
public:
    TakenBack(const Model& here, const Model& there, const ValuePairing& pairing, const GraphRewrite& rewrite)
        : m_here(here),
          m_there(there),
          m_pairing(pairing),
          m_rewrite(rewrite),
          m_graph(rewrite.here.front().graph),
          m_graphThere(rewrite.there.front().graph)
    {
    }

    /// Why it cannot be; empty: it can.
    std::string obstacle()
    {
        const auto lies = [](GraphId graph) { return [graph](const GraphOperator& each) { return each.graph == graph; }; };
        if (!std::ranges::all_of(m_rewrite.here, lies(m_graph)) || !std::ranges::all_of(m_rewrite.there, lies(m_graphThere)))
            return "it reaches over several functions";
        if (m_here.dialect != m_there.dialect) return "operators of one format do not run in a model of the other";
        for (const GraphOperator& each : m_rewrite.here) {
            const Operator& op = own().op(each.op);
            if (!calleesOf(op).empty()) return nameOf(m_here, each) + " calls other graphs";
            if (!op.controlInputs.empty()) return nameOf(m_here, each) + " waits for other operators";
            m_mine.insert(each.op);
        }
        for (const GraphOperator& each : m_rewrite.here)
            for (const ValueId input : own().op(each.op).inputs)
                if (std::string why = findInput(input); !why.empty()) return why;
        return findExits();
    }

    /// After obstacle() has found none. `model`: a copy of the other one.
    Status apply(Model& model)
    {
        GraphEditor editor(model, m_graphThere);
        std::vector<OperatorId> gone;
        for (const GraphOperator& each : m_rewrite.there) gone.push_back(each.op);
        std::map<ValueId, ValueId> made = m_inputs;
        const auto taken = [&](ValueId value) {
            if (!value.valid()) return ValueId();
            if (const auto known = made.find(value); known != made.end()) return known->second;
            const Value& one = own().value(value);
            if (one.role == ValueRole::constant) return made[value] = editor.addConstant(one.id, one.type, one.constant);
            const OperatorId constant = cloneFrom(editor, own(), one.producer, {}, {}, InsertPoint::before(gone.back()));
            return made[value] = editor.op(constant).results[static_cast<size_t>(one.slot)];
        };
        for (const GraphOperator& each : m_rewrite.here) {
            std::vector<ValueId> inputs;
            for (const ValueId input : own().op(each.op).inputs) inputs.push_back(taken(input));
            const OperatorId copy = cloneFrom(editor, own(), each.op, std::move(inputs), {}, InsertPoint::before(gone.back()));
            const std::vector<ValueId>& results = own().op(each.op).results;
            for (size_t k = 0; k < results.size(); ++k)
                if (results[k].valid()) made[results[k]] = editor.op(copy).results[k];
        }
        for (const auto& [before, after] : m_exits) editor.replaceUses(before, made.at(after));
        editor.eraseUnused(gone);
        if (!editor.sortTopologically()) return Error(ErrorCode::usage, "the graph would have a cycle");
        LS_CHECK_OK(editor.finish());
        return verifyModel(model);
    }

private:
    const Graph& own() const { return m_here.graph(m_graph); }
    const Graph& other() const { return m_there.graph(m_graphThere); }
    bool isMine(OperatorId op) const { return m_mine.contains(op); }
    bool isReplaced(OperatorId op) const
    {
        return std::ranges::find(m_rewrite.there, GraphOperator{m_graphThere, op}) != m_rewrite.there.end();
    }
    static bool fit(const Value& a, const Value& b)
    {
        return a.type.dtype == b.type.dtype && sameQuantization(a.type.quantization, b.type.quantization) &&
               (!a.type.shape.isStatic() || !b.type.shape.isStatic() || a.type.shape == b.type.shape);
    }
    /// What stands for a value of this side there, in the same graph; invalid: nothing.
    ValueId partnerOf(ValueId value) const
    {
        const ValuePairing::Partner* const partner = m_pairing.partner(m_graph, m_graphThere, value);
        if (partner == nullptr || !partner->sites.empty() || partner->graph != m_graphThere) return {};
        return fit(own().value(value), other().value(partner->value)) ? partner->value : ValueId();
    }

    /// Where an operand comes from that no operator of the rewrite gives. Why it has no place there; empty: it has.
    std::string findInput(ValueId value)
    {
        if (!value.valid() || m_inputs.contains(value)) return {};
        const Value& one = own().value(value);
        if (one.role == ValueRole::constant || (one.producer.valid() && isMine(one.producer))) return {};
        const ValueId partner = partnerOf(value);
        if (partner.valid() && !(other().value(partner).producer.valid() && isReplaced(other().value(partner).producer))) {
            m_inputs[value] = partner;
            return {};
        }
        if (one.producer.valid() && own().op(one.producer).inputs.empty() && own().op(one.producer).kind.name == "Const") return {};
        return "its operand " + one.id + " has no counterpart of its type there";
    }

    /// What is used of either side's operators outside of them, and which is which.
    std::string findExits()
    {
        const std::set<ValueId> mine = usedOutside(own(), [&](OperatorId op) { return isMine(op); });
        const std::set<ValueId> others = usedOutside(other(), [&](OperatorId op) { return isReplaced(op); });
        for (const ValueId value : mine)
            if (const ValueId partner = partnerOf(value); partner.valid() && others.contains(partner)) m_exits[partner] = value;
        if (m_exits.size() == others.size()) return {};
        const bool isOne = mine.size() == 1 && others.size() == 1;
        if (isOne && fit(own().value(*mine.begin()), other().value(*others.begin()))) {
            m_exits[*others.begin()] = *mine.begin();
            return {};
        }
        for (const ValueId value : others)
            if (!m_exits.contains(value)) return "its result " + other().value(value).id + " has no counterpart of its type on this side";
        return {};
    }

    template <typename Inside> static std::set<ValueId> usedOutside(const Graph& graph, Inside isInside)
    {
        std::set<ValueId> used;
        const auto note = [&](ValueId value) {
            if (value.valid() && graph.value(value).producer.valid() && isInside(graph.value(value).producer)) used.insert(value);
        };
        for (size_t i = 0; i < graph.operators.size(); ++i)
            if (!isInside(OperatorId(static_cast<int64_t>(i))))
                for (const ValueId input : graph.operators[i].inputs) note(input);
        for (const GraphOutput& output : graph.outputs) note(output.value);
        return used;
    }

    const Model& m_here;
    const Model& m_there;
    const ValuePairing& m_pairing;
    const GraphRewrite& m_rewrite;
    const GraphId m_graph, m_graphThere;
    std::set<OperatorId> m_mine;
    std::map<ValueId, ValueId> m_inputs; ///< operands of this side → what they are there
    std::map<ValueId, ValueId> m_exits;  ///< there → of this side
};

viewer::FusedSide::Rewrite rowOf(const Model& here, const Model& there, const GraphRewrite& rewrite)
{
    viewer::FusedSide::Rewrite row;
    row.place = placeOf(here, rewrite);
    row.to = kindsOf(there, rewrite.there);
    row.name = nameOf(there, rewrite.there.back());
    for (const GraphOperator& each : rewrite.here) row.from.push_back(nameOf(here, each));
    row.equality = "by " + std::string(matchedByText(rewrite.how));
    row.here = drawn(rewrite.here);
    row.there = drawn(rewrite.there);
    return row;
}

struct Roots {
    GraphId here, there;
};

/// `there` with what is to be off as on this side. One after another: each changes what the next one finds.
Status takeBack(const Model& here, Model& there, Roots roots, const std::vector<viewer::FusionSwitch>& off)
{
    for (const viewer::FusionSwitch& place : off) {
        const std::vector<GraphRewrite> rewrites = rewritesBetween(here, roots.here, there, roots.there);
        const auto found = std::ranges::find_if(rewrites, [&](const GraphRewrite& each) { return placeOf(here, each) == place; });
        if (found == rewrites.end()) return Error(ErrorCode::usage, "nothing of that name was rewritten").at(place.where);
        const ValuePairing pairing = ValuePairing::create(here, roots.here, there, roots.there);
        TakenBack taken(here, there, pairing, *found);
        if (const std::string why = taken.obstacle(); !why.empty())
            return Error(ErrorCode::usage, "the rewrite cannot be taken back: " + why).at(place.where);
        Model changed = there;
        if (Status status = taken.apply(changed); !status.ok()) return std::move(status).takeError().at(place.where);
        there = std::move(changed);
    }
    return {};
}

} // namespace

Result<std::shared_ptr<const viewer::FusedSide>> holdAgainstRewritten(DebugSubject& subject, const std::string& file,
                                                                      const std::vector<viewer::FusionSwitch>& off,
                                                                      const Arguments& arguments)
{
    LS_TRY(const ExecutionOptions options, executionOptions(arguments));
    LS_TRY(const Tolerance tolerance, toleranceOf(arguments));
    LS_TRY(LoadedModel other, loadModel(file));
    const Model& model = *subject.model;
    LS_CHECK_OK(selectAlike(other.model, model, subject.target));
    LS_TRY(const RunTarget target, targetOf(other, ""));
    const Roots roots{subject.target.graph, target.graph};
    auto side = std::make_shared<viewer::FusedSide>();
    side->file = file;
    const std::vector<GraphRewrite> all = rewritesBetween(model, roots.here, other.model, roots.there);
    {
        const ValuePairing pairing = ValuePairing::create(model, roots.here, other.model, roots.there);
        for (const GraphRewrite& rewrite : all) {
            side->rewrites.push_back(rowOf(model, other.model, rewrite));
            side->rewrites.back().isKept = TakenBack(model, other.model, pairing, rewrite).obstacle();
        }
    }
    LS_CHECK_OK(takeBack(model, other.model, roots, off));
    if (!off.empty()) { // where they stand now
        std::map<std::string, std::vector<viewer::RewrittenOperator>> places;
        for (const GraphRewrite& rewrite : rewritesBetween(model, roots.here, other.model, roots.there)) {
            const viewer::FusionSwitch place = placeOf(model, rewrite);
            places[place.graph + "\t" + place.where] = drawn(rewrite.there);
        }
        for (viewer::FusedSide::Rewrite& row : side->rewrites) {
            row.isOn = std::ranges::find(off, row.place) == off.end();
            row.there = std::move(places[row.place.graph + "\t" + row.place.where]);
        }
    }
    LS_CHECK_OK(holdAgainst(subject, std::move(other), tolerance, options));
    if (side->rewrites.empty()) return std::shared_ptr<const viewer::FusedSide>();
    return std::shared_ptr<const viewer::FusedSide>(std::move(side));
}

Status holdAgainstKernels(DebugSubject& subject, const std::string& profile, const Arguments& arguments)
{
    if (subject.isReplay) return Error(ErrorCode::unsupported, "a recording holds no model that runs").at(subject.name);
    Arguments other = arguments;
    const bool isDevice = profile == profileName(Profile::vulkan);
    other.set("profile", {isDevice ? std::string(profileName(Profile::reference)) : profile});
    other.set("backend", {isDevice ? "vulkan" : "cpu"});
    LS_TRY(const ExecutionOptions options, executionOptions(other));
    LS_TRY(const Tolerance tolerance, toleranceOf(arguments));
    LoadedModel same;
    same.model = *subject.model;
    same.path = subject.name + (isDevice ? std::string(" on the GPU") : " on " + profile + " kernels");
    return holdAgainst(subject, std::move(same), tolerance, options);
}

} // namespace loopscope::app
