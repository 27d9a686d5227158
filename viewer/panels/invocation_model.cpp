#include "viewer/panels/invocation_model.h"

#include "engine/base/text.h"
#include "engine/ir/ids.h"
#include "engine/ops/control_flow.h"

#include <algorithm>

namespace loopscope::viewer {

namespace {

constexpr int64_t kListed = 12; ///< rows that are shown one by one
constexpr int64_t kFolded = 4;  ///< operators in a row that are worth folding

QString number(int64_t value) { return toText(groupThousands(value)); }

/// The size of the parts that low … high is cut into: at most about ten.
int64_t partSize(int64_t count)
{
    int64_t size = 1;
    while (size * 10 < count) size *= 10;
    return size;
}

const char* iconOf(CallKind kind)
{
    switch (kind) {
    case CallKind::loop: return "loop-region";
    case CallKind::branch:
    case CallKind::select: return "branch-region";
    case CallKind::call:
    case CallKind::once: return "call-region";
    default: return "";
    }
}

} // namespace

InvocationModel::~InvocationModel() = default;

void InvocationModel::setFacts(RunFacts facts)
{
    beginResetModel();
    m_facts = std::move(facts);
    m_frames.clear();
    m_root.reset();
    const StopSnapshot& stop = *m_facts.stop;
    for (size_t depth = 0; depth < stop.stack.size(); ++depth) m_frames[stop.stack[depth].address] = static_cast<int>(depth);
    if (stop.started) {
        m_root = std::make_unique<Node>();
        Node root;
        const GraphId graph = stop.stack.empty() ? GraphId(0) : stop.stack.front().info.graph;
        const std::string address =
            stop.stack.empty() ? (m_model.graphs.empty() ? "" : m_model.graph(graph).id) : stop.stack.front().address;
        if (m_model.hasGraph(graph)) {
            addRole(*m_root, graph, address, toText(address), stop.finished ? Time::past : Time::now);
            Node& top = *m_root->children.front();
            top.right = m_facts.steps ? counted(*m_facts.steps, "step") : QString("step %1").arg(number(stop.position.step));
        }
        m_root->built = true;
    }
    endResetModel();
}

InvocationModel::Node* InvocationModel::nodeOf(const QModelIndex& index) const
{
    return index.isValid() ? static_cast<Node*>(index.internalPointer()) : m_root.get();
}

QModelIndex InvocationModel::indexOf(const Node& node, int column) const
{
    return node.parent == nullptr ? QModelIndex() : createIndex(node.row, column, const_cast<Node*>(&node));
}

QModelIndex InvocationModel::index(int row, int column, const QModelIndex& parent) const
{
    if (column < 0 || column > 1 || (parent.isValid() && parent.column() != 0)) return {};
    Node* node = nodeOf(parent);
    if (node == nullptr) return {};
    build(*node);
    if (row < 0 || row >= static_cast<int>(node->children.size())) return {};
    return createIndex(row, column, node->children[static_cast<size_t>(row)].get());
}

QModelIndex InvocationModel::parent(const QModelIndex& child) const
{
    const Node* node = child.isValid() ? static_cast<Node*>(child.internalPointer()) : nullptr;
    return node == nullptr || node->parent == nullptr ? QModelIndex() : indexOf(*node->parent);
}

int InvocationModel::rowCount(const QModelIndex& parent) const
{
    if (parent.isValid() && parent.column() != 0) return 0;
    Node* node = nodeOf(parent);
    if (node == nullptr) return 0;
    build(*node);
    return static_cast<int>(node->children.size());
}

bool InvocationModel::hasChildren(const QModelIndex& parent) const
{
    if (parent.isValid() && parent.column() != 0) return false;
    const Node* node = nodeOf(parent);
    return node != nullptr && canExpand(*node);
}

bool InvocationModel::canExpand(const Node& node) const
{
    if (node.built) return !node.children.empty();
    if (node.kind != Kind::op) return node.kind != Kind::invocation || !m_model.graph(node.graph).operators.empty();
    const CallForm form = callForm(m_model.graph(node.graph).op(node.op));
    if (form.kind == CallKind::none) return false;
    if (form.kind != CallKind::loop) return true;
    return loopFrame(node) != nullptr || m_facts.trips.contains(node.address);
}

InvocationModel::Node& InvocationModel::add(Node& parent, Kind kind) const
{
    auto node = std::make_unique<Node>();
    node->kind = kind;
    node->parent = &parent;
    node->row = static_cast<int>(parent.children.size());
    parent.children.push_back(std::move(node));
    return *parent.children.back();
}

int InvocationModel::frameOf(const std::string& address) const
{
    const auto found = m_frames.find(address);
    return found == m_frames.end() ? -1 : found->second;
}

const FrameSnapshot* InvocationModel::loopFrame(const Node& loop) const
{
    const auto inner = static_cast<size_t>(loop.depth + 1);
    if (!loop.onPath || loop.depth < 0 || inner >= m_facts.stop->stack.size()) return nullptr;
    const FrameSnapshot& frame = m_facts.stop->stack[inner];
    return frame.info.site == loop.op && frame.info.role == CallRole::loop ? &frame : nullptr;
}

/// Operators that one run of the graph completes; −1: that depends on the calls in it.
int64_t InvocationModel::staticSteps(GraphId graph) const
{
    if (!m_model.hasGraph(graph)) return -1;
    const auto [at, isNew] = m_steps.try_emplace(graph.index, static_cast<int64_t>(m_model.graph(graph).operators.size()));
    if (isNew)
        for (const Operator& op : m_model.graph(graph).operators)
            if (callForm(op).kind != CallKind::none) at->second = -1;
    return at->second;
}

void InvocationModel::addRole(Node& parent, GraphId graph, const std::string& address, const QString& name, Time time) const
{
    Node& node = add(parent, Kind::invocation);
    node.graph = graph;
    node.address = address;
    node.text = name;
    node.time = time;
    node.depth = frameOf(address);
    node.onPath = node.depth >= 0;
    if (node.onPath && !m_facts.stop->finished) node.time = Time::now;
    const int64_t steps = staticSteps(graph);
    if (node.onPath && !m_facts.stop->finished) {
        const OperatorId next = m_facts.stop->stack[static_cast<size_t>(node.depth)].info.next;
        const auto count = static_cast<int64_t>(m_model.graph(graph).operators.size());
        node.right = QString("%1 of %2").arg(next.valid() ? next.index : count).arg(count);
    } else if (time == Time::lastRun) {
        node.right = "last run";
    } else if (steps >= 0) {
        node.right = number(steps);
    }
}

/// Operators of an invocation: calls one by one, the others folded where they are many; those around the next one are shown.
void InvocationModel::addOperators(Node& parent, GraphId graph, const std::string& invocation, int64_t low, int64_t high, int depth,
                                   Time time) const
{
    const Graph& g = m_model.graph(graph);
    int64_t next = -1;
    if (depth >= 0 && !m_facts.stop->finished) {
        const OperatorId op = m_facts.stop->stack[static_cast<size_t>(depth)].info.next;
        next = op.valid() ? op.index : high + 1;
    }
    const auto stands = [&](int64_t op) {
        return (next >= 0 && op >= next - 2 && op <= next) || callForm(g.op(OperatorId(op))).kind != CallKind::none;
    };
    const bool few = high - low + 1 <= kListed;
    for (int64_t op = low; op <= high; ++op) {
        int64_t end = op;
        if (!few)
            while (end <= high && !stands(end) && (next < 0 || (end < next) == (op < next))) ++end;
        if (end - op < kFolded || few) {
            if (end == op) end = op + 1;
            for (int64_t one = op; one < end; ++one) addOperator(parent, graph, invocation, one, depth, time);
        } else {
            addOperatorRange(parent, graph, invocation, op, end - 1, depth, time);
        }
        op = end - 1;
    }
}

void InvocationModel::addOperatorRange(Node& parent, GraphId graph, const std::string& invocation, int64_t low, int64_t high, int depth,
                                       Time time) const
{
    Node& node = add(parent, Kind::operators);
    node.graph = graph;
    node.address = invocation;
    node.depth = depth;
    node.low = low;
    node.high = high;
    node.time = time;
    if (depth >= 0 && !m_facts.stop->finished) {
        const OperatorId next = m_facts.stop->stack[static_cast<size_t>(depth)].info.next;
        node.time = !next.valid() || high < next.index ? Time::past : Time::future;
    }
    node.text = QString("#%1 … #%2").arg(low).arg(high);
    node.right = counted(high - low + 1, "op");
}

void InvocationModel::addOperator(Node& parent, GraphId graph, const std::string& invocation, int64_t op, int depth, Time time) const
{
    Node& node = add(parent, Kind::op);
    node.graph = graph;
    node.op = OperatorId(op);
    const Operator& oper = m_model.graph(graph).op(node.op);
    const std::string site = addressSite(oper, op);
    node.address = invocation + "/" + site;
    node.text = toText(site);
    node.depth = depth;
    node.time = time;
    if (depth >= 0 && !m_facts.stop->finished) {
        const OperatorId next = m_facts.stop->stack[static_cast<size_t>(depth)].info.next;
        const bool innermost = depth + 1 == static_cast<int>(m_facts.stop->stack.size());
        node.onPath = next == node.op;
        node.isNext = node.onPath && innermost;
        node.time = !next.valid() || op < next.index ? Time::past : node.onPath ? Time::now : Time::future;
    }
    describe(node);
}

void InvocationModel::describe(Node& node) const
{
    const CallForm form = callForm(m_model.graph(node.graph).op(node.op));
    if (node.time == Time::future && m_facts.steps) node.time = Time::lastRun;
    if (node.isNext) node.right = "next";
    else if (node.time == Time::lastRun) node.right = "last run";
    if (form.kind != CallKind::loop) return;
    const auto known = m_facts.trips.find(node.address);
    if (known != m_facts.trips.end()) node.right = counted(known->second, "iteration");
    else if (const FrameSnapshot* frame = loopFrame(node))
        node.right =
            frame->knownTrips ? counted(*frame->knownTrips, "iteration") : QString("%1 so far").arg(number(frame->info.iteration + 1));
}

void InvocationModel::build(Node& node) const
{
    if (node.built) return;
    node.built = true;
    switch (node.kind) {
    case Kind::invocation:
        addOperators(node, node.graph, node.address, 0, static_cast<int64_t>(m_model.graph(node.graph).operators.size()) - 1, node.depth,
                     node.time);
        break;
    case Kind::op: buildCall(node); break;
    case Kind::operators: {
        const int64_t count = node.high - node.low + 1;
        const int64_t part = count <= kListed * 2 ? 1 : partSize(count);
        for (int64_t low = node.low; low <= node.high;) {
            const int64_t high = std::min(node.high, (low / part + 1) * part - 1);
            if (low == high) addOperator(node, node.graph, node.address, low, node.depth, node.time);
            else addOperatorRange(node, node.graph, node.address, low, high, node.depth, node.time);
            low = high + 1;
        }
        break;
    }
    case Kind::iterations: addIterations(node, node, node.low, node.high); break;
    case Kind::iteration: {
        const CallForm form = callForm(m_model.graph(node.graph).op(node.op));
        const std::string base = node.address + "@" + std::to_string(node.low);
        const bool inCond = node.onPath && node.depth >= 0 && node.depth + 1 < static_cast<int>(m_facts.stop->stack.size()) &&
                            m_facts.stop->stack[static_cast<size_t>(node.depth) + 1].info.inCond;
        const Time time = node.time == Time::now ? Time::past : node.time;
        for (const Callee& callee : form.callees) {
            if (!m_model.hasGraph(callee.graph)) continue;
            const bool cond = callee.role == "cond";
            if (!cond && inCond) addRole(node, callee.graph, base + ":" + callee.role, toText(callee.role), Time::future);
            else
                addRole(node, callee.graph, base + ":" + callee.role, cond && !inCond ? QString("cond → true") : toText(callee.role), time);
        }
        break;
    }
    }
}

void InvocationModel::buildCall(Node& node) const
{
    const CallForm form = callForm(m_model.graph(node.graph).op(node.op));
    if (form.kind != CallKind::loop) return buildSides(node);
    const auto known = m_facts.trips.find(node.address);
    const FrameSnapshot* frame = loopFrame(node);
    int64_t count = known != m_facts.trips.end() ? known->second : 0;
    if (frame) count = std::max({count, frame->info.iteration + 1, frame->knownTrips.value_or(0)});
    if (count > 0) addIterations(node, node, 0, count - 1);
}

/// What a call or a branch calls.
void InvocationModel::buildSides(Node& node) const
{
    const CallForm form = callForm(m_model.graph(node.graph).op(node.op));
    for (const Callee& callee : form.callees) {
        if (!m_model.hasGraph(callee.graph)) continue;
        addRole(node, callee.graph, node.address + ":" + callee.role, toText(callee.role + "  " + m_model.graph(callee.graph).id),
                node.time == Time::now ? Time::future : node.time);
        node.children.back()->role = callee.role;
    }
    judgeSides(node);
}

/// Of a branch one side runs, or ran in this invocation; the others were not taken. False: it is none.
bool InvocationModel::judgeSides(Node& node) const
{
    const Operator& op = m_model.graph(node.graph).op(node.op);
    const CallKind kind = callForm(op).kind;
    if (kind != CallKind::branch && kind != CallKind::select) return false;
    const auto open = std::ranges::find_if(node.children, [](const auto& child) { return child->onPath; });
    std::string taken = open != node.children.end() ? (*open)->role : std::string();
    if (taken.empty() && node.time == Time::past && m_sides.sideOf) {
        if (const std::optional<int> side = m_sides.sideOf(node.address)) taken = roleOfSide(op, *side);
        else m_sides.want(invocationOf(node.address));
    }
    for (const auto& child : node.children) {
        if (child->onPath) continue;
        if (taken.empty()) {
            child->right = node.time == Time::lastRun ? child->right : QString(); // neither is known to have run
        } else if (child->role != taken) {
            child->right = "untaken";
            child->time = Time::future;
        } else {
            const int64_t steps = staticSteps(child->graph);
            child->right = steps < 0 ? QString() : number(steps);
        }
    }
    return true;
}

void InvocationModel::refreshSides()
{
    if (m_root) refreshSides(*m_root);
}

void InvocationModel::refreshSides(Node& node)
{
    if (node.kind == Kind::op && !node.children.empty() && judgeSides(node))
        emit dataChanged(indexOf(*node.children.front()), indexOf(*node.children.back(), 1));
    for (const auto& child : node.children) refreshSides(*child);
}

/// Iterations low … high of the loop that `loop` is or lies in: one by one around the cursor, in ranges elsewhere.
void InvocationModel::addIterations(Node& parent, const Node& loop, int64_t low, int64_t high) const
{
    const FrameSnapshot* frame = loopFrame(loop);
    const int64_t now = frame && frame->info.iteration >= low && frame->info.iteration <= high ? frame->info.iteration : -1;
    if (now >= 0 && high - low + 1 > kListed) {
        if (now - 2 >= low) addIterationRange(parent, loop, low, now - 2);
        for (int64_t one = std::max(low, now - 1); one <= now; ++one) addIterationRange(parent, loop, one, one);
        if (now + 1 <= high) addIterationRange(parent, loop, now + 1, high);
        return;
    }
    const int64_t count = high - low + 1;
    const int64_t part = count <= kListed ? 1 : partSize(count);
    for (int64_t begin = low; begin <= high;) {
        const int64_t end = std::min(high, (begin / part + 1) * part - 1);
        addIterationRange(parent, loop, begin, end);
        begin = end + 1;
    }
}

void InvocationModel::addIterationRange(Node& parent, const Node& loop, int64_t low, int64_t high) const
{
    Node& node = add(parent, low == high ? Kind::iteration : Kind::iterations);
    node.graph = loop.graph;
    node.op = loop.op;
    node.depth = loop.depth;
    node.address = loop.address;
    node.low = low;
    node.high = high;
    const FrameSnapshot* frame = loopFrame(loop);
    const int64_t now = frame ? frame->info.iteration : -1;
    node.onPath = frame != nullptr && now >= low && now <= high;
    node.time = loop.time == Time::lastRun ? Time::lastRun
                : frame == nullptr         ? Time::past
                : low > now                ? Time::lastRun
                : node.onPath              ? Time::now
                                           : Time::past;
    node.text = low == high ? QString("@%1").arg(low) : QString("@%1..%2").arg(low).arg(high);
    if (low != high) {
        node.right =
            node.time == Time::lastRun ? QString("%1, last run").arg(number(high - low + 1)) : counted(high - low + 1, "iteration");
        return;
    }
    int64_t steps = 0, condSteps = 0;
    for (const Callee& callee : callForm(m_model.graph(loop.graph).op(loop.op)).callees) {
        const int64_t own = staticSteps(callee.graph);
        steps = own < 0 || steps < 0 ? -1 : steps + own;
        if (callee.role == "cond") condSteps = own;
    }
    if (node.time == Time::lastRun) node.right = "last run";
    else if (node.onPath && !m_facts.stop->finished && steps >= 0)
        node.right = QString("%1 of %2").arg((frame->info.inCond ? 0 : condSteps) + std::max(0, frame->info.next.index)).arg(steps);
    else if (steps >= 0) node.right = number(steps);
}

QVariant InvocationModel::data(const QModelIndex& index, int role) const
{
    const Node* node = index.isValid() ? static_cast<Node*>(index.internalPointer()) : nullptr;
    if (node == nullptr) return {};
    const bool old = node->time == Time::lastRun || node->time == Time::future;
    if (index.column() == 1) {
        switch (role) {
        case Qt::DisplayRole: return node->right;
        case Qt::TextAlignmentRole: return static_cast<int>(Qt::AlignRight | Qt::AlignVCenter);
        case monoRole: return true;
        case toneRole: return static_cast<int>(Tone::text3);
        default: return {};
        }
    }
    switch (role) {
    case Qt::DisplayRole: return node->text;
    case Qt::ToolTipRole: return toText(addressOf(index)) + (node->right.isEmpty() ? QString() : "\n" + node->right);
    case Qt::AccessibleTextRole: return node->text + ", " + node->right;
    case toneRole: return static_cast<int>(old ? Tone::text3 : Tone::text);
    case boldRole:
        return node->onPath && (node->kind == Kind::iteration || (node->kind == Kind::invocation && node->parent != m_root.get()));
    case currentRole: return node->isNext;
    case iconRole:
        if (node->kind == Kind::invocation && node->parent == m_root.get()) return QString("graph");
        return node->kind == Kind::op ? QString(iconOf(callForm(m_model.graph(node->graph).op(node->op)).kind)) : QString();
    case iconToneRole: return node->kind == Kind::op ? -1 - static_cast<int>(Family::controlFlow) : static_cast<int>(Tone::text2);
    default: return {};
    }
}

QVariant InvocationModel::headerData(int section, Qt::Orientation orientation, int role) const
{
    if (orientation != Qt::Horizontal) return {};
    if (role == Qt::DisplayRole) return section == 0 ? "Invocation" : "Steps";
    if (role == Qt::TextAlignmentRole && section == 1) return static_cast<int>(Qt::AlignRight);
    return {};
}

std::string InvocationModel::addressOf(const QModelIndex& index) const
{
    const Node* node = index.isValid() ? static_cast<Node*>(index.internalPointer()) : nullptr;
    if (node == nullptr) return {};
    switch (node->kind) {
    case Kind::iterations:
    case Kind::iteration: return node->address + "@" + std::to_string(node->low) + ":body";
    case Kind::operators: return node->address + "/" + addressSite(m_model.graph(node->graph).op(OperatorId(node->low)), node->low);
    default: return node->address;
    }
}

bool InvocationModel::isOperator(const QModelIndex& index) const
{
    return index.isValid() && static_cast<Node*>(index.internalPointer())->kind == Kind::op;
}

bool InvocationModel::hasRun(const QModelIndex& index) const
{
    if (!index.isValid()) return false;
    const Time time = static_cast<Node*>(index.internalPointer())->time;
    return time == Time::past || time == Time::now;
}

std::string InvocationModel::loopOf(const QModelIndex& index) const
{
    for (const Node* node = index.isValid() ? static_cast<Node*>(index.internalPointer()) : nullptr;
         node != nullptr && node->parent != nullptr; node = node->parent) {
        if (node->kind == Kind::iteration || node->kind == Kind::iterations) return node->address;
        if (node->kind == Kind::op && callForm(m_model.graph(node->graph).op(node->op)).kind == CallKind::loop) return node->address;
    }
    return {};
}

QString InvocationModel::keyOf(const QModelIndex& index) const
{
    const Node* node = index.isValid() ? static_cast<Node*>(index.internalPointer()) : nullptr;
    if (node == nullptr) return {};
    return QString("%1 %2 %3").arg(static_cast<int>(node->kind)).arg(node->low).arg(toText(node->address));
}

std::vector<QModelIndex> InvocationModel::pathToCursor() const
{
    std::vector<QModelIndex> path;
    for (Node* node = m_root.get(); node != nullptr;) {
        build(*node);
        const auto inner = std::ranges::find_if(node->children, [](const auto& child) { return child->onPath; });
        node = inner == node->children.end() ? nullptr : inner->get();
        if (node != nullptr) path.push_back(indexOf(*node));
    }
    if (path.empty() && m_root && !m_root->children.empty()) path.push_back(indexOf(*m_root->children.front()));
    return path;
}

} // namespace loopscope::viewer
