#include "viewer/dataflow/flow_rows.h"

#include "engine/ir/ids.h"
#include "engine/observe/address.h"
#include "engine/observe/address_names.h"
#include "viewer/bridge/text.h"
#include "viewer/scene/family.h"

#include <algorithm>
#include <map>
#include <set>

namespace loopscope::viewer {

namespace {

constexpr size_t kMostWaiting = 500;

/// The address of the invocation that holds what `text` names; its last part comes back in `name`.
Address holderOf(const std::string& text, std::string& name)
{
    const Result<Address> parsed = parseAddress(text);
    if (!parsed.ok()) return {};
    name = labelText(parsed->op);
    return loopscope::invocationOf(*parsed);
}

int familyAt(const Model& model, GraphId graph, OperatorId op)
{
    return model.hasGraph(graph) && op.valid() ? static_cast<int>(familyOf(model.graph(graph).op(op).kind)) : -1;
}

class TreeBuilder {
public:
    TreeBuilder(const StopSnapshot& stop, const Model& model) : m_stop(stop), m_model(model) {}

    std::unique_ptr<FlowNode> run()
    {
        auto root = std::make_unique<FlowNode>();
        if (!m_stop.started || m_stop.frames.empty()) return root;
        m_root = root.get();
        for (const DataflowFrame& frame : m_stop.frames) addFrame(frame);
        for (size_t i = 0; i < m_stop.ready.size(); ++i) {
            const DataflowReady& ready = m_stop.ready[i];
            std::string name;
            const Address invocation = holderOf(ready.address, name);
            FlowNode& holder = nodeFor(invocation);
            FlowNode& node = add(holder, toText(name));
            node.address = ready.address;
            node.isOperator = true;
            node.isNext = i == 0;
            node.isDead = ready.willBeDead;
            node.family = familyAt(m_model, ready.graph, ready.op);
            node.state = i == 0 ? "next" : ready.willBeDead ? "ready, dead" : "ready";
        }
        return root;
    }

private:
    static FlowNode& add(FlowNode& parent, const QString& text)
    {
        auto node = std::make_unique<FlowNode>();
        node->text = text;
        node->parent = &parent;
        node->row = static_cast<int>(parent.children.size());
        parent.children.push_back(std::move(node));
        return *parent.children.back();
    }

    FlowNode& child(FlowNode& parent, const std::string& key, const QString& text)
    {
        FlowNode*& at = m_nodes[key];
        if (at == nullptr) at = &add(parent, text);
        return *at;
    }

    /// Made on the way from the root: a row for the frame, one for its iteration.
    FlowNode& nodeFor(const Address& invocation)
    {
        FlowNode* at = &child(*m_root, invocation.root, toText(invocation.root));
        if (at->state.isEmpty()) at->state = "root frame";
        at->address = invocation.root;
        Address here;
        here.root = invocation.root;
        for (const AddressStep& step : invocation.steps) {
            AddressStep frame = step;
            frame.iteration = -1;
            Address site = here;
            site.steps.push_back(frame);
            const std::string name = labelText(step.site);
            at = &child(*at, toString(site) + "|", toText(name));
            here.steps.push_back(step);
            if (step.iteration < 0) continue;
            at = &child(*at, toString(here), QString("@%1").arg(step.iteration));
            at->address = toString(here);
            if (at->state.isEmpty()) at->state = "in flight";
        }
        return *at;
    }

    void addFrame(const DataflowFrame& frame)
    {
        const Result<Address> newest = parseAddress(frame.address);
        if (!newest.ok()) return;
        if (newest->steps.empty()) {
            nodeFor(*newest);
            return;
        }
        Address one = *newest;
        const bool iterates = one.steps.back().iteration >= 0;
        if (!iterates) {
            nodeFor(one);
            return;
        }
        // Done iterations first, as one row.
        Address outer = one;
        outer.steps.pop_back();
        FlowNode& holder = nodeFor(outer);
        AddressStep site = one.steps.back();
        site.iteration = -1;
        Address place = outer;
        place.steps.push_back(site);
        FlowNode& row = child(holder, toString(place) + "|", toText(frame.name));
        row.state = QString("%1 iteration%2").arg(frame.newestIteration + 1).arg(frame.newestIteration == 0 ? "" : "s");
        if (frame.oldestIteration > 0) {
            FlowNode& done = child(row, toString(place) + "|done",
                                   frame.oldestIteration == 1 ? QString("@0") : QString("@0..%1").arg(frame.oldestIteration - 1));
            done.state = "done";
            done.isQuiet = true;
        }
        constexpr int64_t kMost = 64; // more than parallel_iterations are never alive
        for (int64_t i = std::max(frame.oldestIteration, frame.newestIteration - kMost); i <= frame.newestIteration; ++i) {
            one.steps.back().iteration = i;
            FlowNode& iteration = nodeFor(one);
            iteration.state = "in flight";
            const std::string here = toString(one);
            iteration.isBold = m_stop.address.starts_with(here) && m_stop.address.size() > here.size();
        }
    }

    const StopSnapshot& m_stop;
    const Model& m_model;
    FlowNode* m_root = nullptr;
    std::map<std::string, FlowNode*> m_nodes;
};

} // namespace

QString iterationsOf(const std::string& address)
{
    const Result<Address> parsed = parseAddress(address);
    if (!parsed.ok()) return {};
    QString text;
    for (const AddressStep& step : parsed->steps)
        if (step.iteration >= 0) text += (text.isEmpty() ? "@" : " @") + QString::number(step.iteration);
    return text;
}

std::unique_ptr<FlowNode> frameTree(const StopSnapshot& stop, const Model& model) { return TreeBuilder(stop, model).run(); }

std::vector<FlowRow> tokenRows(const StopSnapshot& stop, const Model& model)
{
    std::vector<FlowRow> rows;
    if (!stop.started || (stop.ready.empty() && stop.tokens.empty())) return rows;
    FlowRow heading;
    heading.section = QString("Ready set, %1").arg(stop.ready.size());
    rows.push_back(heading);
    for (size_t i = 0; i < stop.ready.size(); ++i) {
        const DataflowReady& ready = stop.ready[i];
        std::string name;
        holderOf(ready.address, name);
        FlowRow row;
        row.number = stop.scheduleSeed == 0 || i == 0 ? QString::number(i + 1) : QString("·"); // with a seed only the next one is known
        row.name = toText(name);
        row.iteration = iterationsOf(ready.address);
        row.address = ready.address;
        row.isNext = i == 0;
        row.isDead = ready.willBeDead;
        row.family = familyAt(model, ready.graph, ready.op);
        rows.push_back(std::move(row));
    }
    // Nodes that have some of their inputs, by invocation.
    struct Waiting {
        GraphId graph;
        OperatorId op;
        std::set<int32_t> has;
    };
    std::map<std::string, Waiting> waiting;
    std::vector<std::string> order;
    std::set<std::string> ready;
    for (const DataflowReady& node : stop.ready) ready.insert(node.address);
    for (const DataflowToken& token : stop.tokens) {
        std::string value;
        const Address invocation = holderOf(token.address, value);
        for (const OperatorId op : token.waiting) {
            Address node = invocation;
            node.target = TargetKind::op;
            node.op.name = addressSite(model.graph(token.graph).op(op), op.index);
            const std::string address = toString(node);
            if (ready.contains(address)) continue;
            const auto [at, isNew] = waiting.try_emplace(address, Waiting{token.graph, op, {}});
            if (isNew) order.push_back(address);
            at->second.has.insert(token.value.index);
        }
    }
    if (order.empty()) return rows;
    FlowRow second;
    const size_t shown = std::min(order.size(), kMostWaiting);
    second.section =
        shown < order.size() ? QString("Waiting, %1 of %2").arg(shown).arg(order.size()) : QString("Waiting, %1").arg(order.size());
    second.sectionNote = "Has";
    rows.push_back(second);
    for (size_t i = 0; i < shown; ++i) {
        const Waiting& at = waiting[order[i]];
        const Operator& op = model.graph(at.graph).op(at.op);
        FlowRow row;
        row.name = toText(operatorLabel(op, at.op.index));
        row.iteration = iterationsOf(order[i]);
        row.has = QString("%1 of %2").arg(at.has.size()).arg(std::max(at.has.size(), op.inputs.size() + op.controlInputs.size()));
        row.address = order[i];
        row.isWaiting = true;
        row.family = familyAt(model, at.graph, at.op);
        rows.push_back(std::move(row));
    }
    return rows;
}

} // namespace loopscope::viewer
