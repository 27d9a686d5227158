#include "viewer/bridge/document.h"

#include "engine/ir/model.h"
#include "engine/observe/address.h"
#include "engine/observe/address_names.h"
#include "engine/observe/address_resolution.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <span>

namespace loopscope::viewer {

namespace {

bool samePlace(const AddressStep& a, const AddressStep& b) { return a.site == b.site && a.role == b.role && a.branch == b.branch; }

/// A functional loop is two graphs in one iteration: cond and body share it.
bool sameLoop(const AddressStep& a, const AddressStep& b)
{
    const auto isLoop = [](StepRole role) { return role == StepRole::cond || role == StepRole::body; };
    return a.site == b.site && isLoop(a.role) && isLoop(b.role);
}

bool isLoopStep(const AddressStep& step)
{
    return step.role == StepRole::cond || step.role == StepRole::body || step.role == StepRole::frame;
}

bool isBranchStep(const AddressStep& step)
{
    return step.role == StepRole::thenBranch || step.role == StepRole::elseBranch || step.role == StepRole::branch;
}

OperatorId producerOf(const Graph& graph, ValueId value)
{
    for (size_t i = 0; i < graph.operators.size(); ++i)
        if (std::ranges::find(graph.operators[i].results, value) != graph.operators[i].results.end())
            return OperatorId(static_cast<int64_t>(i));
    return {};
}

/// `address` with the iterations of `moment` where both lie in the same invocations.
std::string withIterationsOf(const std::string& address, const std::string& moment)
{
    Result<Address> parsed = parseAddress(address);
    const Result<Address> here = parseAddress(moment);
    if (!parsed.ok() || !here.ok() || here->root != parsed->root) return address;
    for (size_t i = 0; i < parsed->steps.size() && i < here->steps.size(); ++i) {
        AddressStep& step = parsed->steps[i];
        if (!samePlace(step, here->steps[i]) && !sameLoop(step, here->steps[i])) break;
        step.iteration = here->steps[i].iteration;
        if (!samePlace(step, here->steps[i])) break;
    }
    return toString(*parsed);
}

} // namespace

Document::Document(std::unique_ptr<Backend> backend, QObject* parent) : QObject(parent), m_bridge(std::move(backend))
{
    if (!model().graphs.empty()) m_view.root = model().graphs.front().id;
    connect(&m_bridge, &DebugBridge::stopChanged, this, [this] {
        m_lookedAt.clear();
        keepSides();
        follow();
        emit stopChanged();
    });
    connect(&m_bridge, &DebugBridge::failed, this, [this](const QString& text) {
        report({Problem::Severity::error, text.toStdString(), stop()->address, "the state before the step is shown"});
    });
}

/// What works for the document, on threads of its own, ends before the model goes.
Document::~Document()
{
    while (!children().isEmpty()) delete children().first();
}

std::string Document::atStop(const std::string& address) const
{
    return m_bridge.stop()->stack.empty() ? address : withIterationsOf(address, m_bridge.stop()->stack.back().address);
}

std::string Document::atView(const std::string& address) const
{
    return m_lookedAt.empty() ? atStop(address) : withIterationsOf(address, m_lookedAt);
}

/// What ran in a timeline stays true in it, wherever the run stands.
void Document::keepSides()
{
    constexpr size_t kMost = 1 << 16;
    const StopSnapshot& now = *stop();
    const std::pair<int64_t, int> of(now.runs, now.timeline);
    if (of != m_sidesOf || m_sides.size() > kMost) m_sides.clear();
    m_sidesOf = of;
    m_sidesAsked.clear();
    for (const auto& [op, side] : now.sides) m_sides[op] = side;
}

std::optional<int> Document::sideOf(const std::string& op) const
{
    const auto known = m_sides.find(op);
    return known == m_sides.end() ? std::nullopt : std::optional(known->second);
}

void Document::wantSides(const std::string& invocation)
{
    const StopSnapshot& now = *stop();
    const Result<Address> address = parseAddress(invocation);
    if (!now.started || !address.ok()) return;
    if (std::ranges::any_of(address->steps, [](const AddressStep& step) { return isLoopStep(step) && step.iteration < 0; })) return;
    if (std::ranges::find(now.stack, invocation, &FrameSnapshot::address) != now.stack.end()) return; // the stop knows
    if (!address->steps.empty() && isBranchStep(address->steps.back())) {
        Address site = *address;
        site.steps.pop_back();
        const std::string around = toString(site);
        site.target = TargetKind::op;
        site.op = address->steps.back().site;
        const std::optional<int> side = sideOf(toString(site));
        if (!side) return wantSides(around);
        const Result<ResolvedAddress> call = resolveAddress(model(), site);
        if (!call.ok() || toString(site) + ":" + roleOfSide(model().graph(call->graph).op(call->op), *side) != invocation) return;
    }
    if (!m_sidesAsked.insert(invocation).second) return;
    m_bridge.ask(
        this, {}, [invocation](Inspector& inspector) { return std::pair(inspector.runs(), sidesOfEnded(inspector, invocation)); },
        [this](const std::pair<int64_t, BranchSides>& answer) {
            if (answer.first != m_sidesOf.first || answer.second.empty()) return;
            for (const auto& [op, side] : answer.second) m_sides[op] = side;
            emit sidesChanged();
        });
}

void Document::lookAt(const std::string& invocation)
{
    if (invocation == m_lookedAt) return;
    m_lookedAt = invocation;
    emit lookedAtChanged();
}

void Document::setPreview(std::optional<int64_t> iteration, const std::string& loop)
{
    const std::string place = iteration ? staticAddress(loop) : std::string();
    if (iteration == m_preview && place == m_previewLoop) return;
    m_preview = iteration;
    m_previewLoop = place;
    emit previewChanged();
}

ValuePlace Document::valuePlace(const std::string& graph) const
{
    ValuePlace place;
    const StopSnapshot& now = *stop();
    if (!now.started) return place;
    const std::string open = atStop(graph);
    Result<Address> address = parseAddress(atView(graph));
    if (m_preview && address.ok()) {
        // The loop is on the way to the graph, or the scrubbing does not concern it.
        const Result<Address> loop = parseAddress(m_previewLoop);
        std::vector<AddressStep>& steps = address->steps;
        const size_t count = loop.ok() && loop->root == address->root ? loop->steps.size() : 0;
        const auto same = [](const AddressStep& a, const AddressStep& b) { return samePlace(a, b) || sameLoop(a, b); };
        if (count > 0 && count <= steps.size() && std::ranges::equal(loop->steps, std::span(steps).first(count), same)) {
            steps[count - 1].iteration = *m_preview;
            place.sampledStep = static_cast<int>(count) - 1;
        }
    }
    const std::string shown = address.ok() ? toString(*address) : graph;
    for (size_t d = now.stack.size(); d-- > 0 && place.depth < 0;)
        if (now.stack[d].address == shown) place.depth = static_cast<int>(d);
    if (place.depth >= 0) return {place.depth, {}, -1};
    const bool isMoment = address.ok() && std::ranges::none_of(address->steps, [](const AddressStep& step) {
                              return isLoopStep(step) && step.iteration < 0;
                          });
    if ((place.sampledStep >= 0 || !m_lookedAt.empty()) && shown != open && isMoment) place.invocation = shown;
    return place;
}

ValuePlace Document::valuePlace() const
{
    const StopSnapshot& now = *stop();
    if (!m_lookedAt.empty()) return valuePlace(staticAddress(m_lookedAt));
    const auto count = static_cast<int>(now.stack.size());
    if (!now.started || count == 0) return {};
    const int depth = m_frame < 0 || m_frame >= count ? count - 1 : m_frame;
    ValuePlace place = valuePlace(staticAddress(now.stack[static_cast<size_t>(depth)].address));
    if (!place.isElsewhere()) place.depth = depth;
    return place;
}

std::optional<Selection> Document::find(const std::string& address) const
{
    Result<Address> parsed = parseAddress(address);
    if (!parsed.ok()) return std::nullopt;
    const Result<ResolvedAddress> resolved = resolveAddress(model(), *parsed);
    if (!resolved.ok()) return std::nullopt;
    Selection selection;
    selection.address = toString(resolved->address);
    selection.graph = resolved->graph;
    selection.op = resolved->op;
    selection.value = resolved->value;
    const Graph& graph = model().graph(resolved->graph);
    const bool open = std::ranges::any_of(resolved->address.steps, [](const AddressStep& step) { return step.iteration < 0; });
    if (open) selection.address = atStop(selection.address);
    if (!selection.op.valid() && selection.value.valid()) selection.op = producerOf(graph, selection.value);
    if (selection.op.valid() && !selection.value.valid()) {
        const std::vector<ValueId>& results = graph.op(selection.op).results;
        if (!results.empty()) selection.value = results.front();
    }
    return selection;
}

std::string Document::valueAddress(const Selection& selection) const
{
    Result<Address> address = parseAddress(atView(selection.address));
    if (!address.ok()) return selection.address;
    const Value& value = model().graph(selection.graph).value(selection.value);
    if (address->target == TargetKind::op) {
        address->target = TargetKind::output;
        address->slot = value.slot;
    } else if (address->target == TargetKind::invocation) {
        address->target = TargetKind::value;
        address->op = OperatorName();
        address->op.name = value.id;
    }
    return toString(*address);
}

std::string Document::expressionOf(const Selection& selection) const
{
    const std::string& id = model().graph(selection.graph).value(selection.value).id;
    const auto isWord = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; };
    const bool isPlain = !id.empty() && std::isdigit(static_cast<unsigned char>(id.front())) == 0 && std::ranges::all_of(id, isWord);
    const std::vector<FrameSnapshot>& stack = stop()->stack;
    const bool isInnermost = !stack.empty() && stack.back().info.graph == selection.graph &&
                             (selection.address == stack.back().address || selection.address.starts_with(stack.back().address + "/"));
    static constexpr std::array kWords = {"iter", "trip", "branch", "step",  "run", "hits", "true", "false",
                                          "inf",  "nan",  "none",   "depth", "and", "or",   "not"};
    if (isPlain && isInnermost) return (std::ranges::find(kWords, id) != kWords.end() ? "%" : "") + id;
    return "{" + valueAddress(selection) + "}";
}

bool Document::canSetValues() const
{
    return stop()->started && !stop()->finished && m_lookedAt.empty() && !m_preview && !m_bridge.isReplay();
}

void Document::setValue(const Selection& selection, const std::string& element, const QString& expression)
{
    if (!canSetValues() || expression.trimmed().isEmpty()) return;
    perform(request::SetValue{expressionOf(selection) + element, expression.trimmed().replace(QChar(0x2212), '-').toStdString()});
}

bool Document::select(const std::string& address)
{
    const std::optional<Selection> found = find(address);
    if (found) select(*found);
    return found.has_value();
}

void Document::select(const Selection& selection)
{
    if (selection == m_selection) return;
    m_selection = selection;
    emit selectionChanged();
}

void Document::clearSelection() { select(Selection()); }

void Document::setFrame(int depth)
{
    const int frames = static_cast<int>(stop()->stack.size());
    if (depth >= frames - 1 || depth < 0) depth = -1;
    lookAt({});
    if (depth == m_frame) return;
    m_frame = depth;
    emit frameChanged();
}

void Document::setView(ViewState view)
{
    m_view = std::move(view);
    emit viewChanged();
}

void Document::setOpenCallee(OpenCallee open)
{
    if (open == m_open) return;
    m_open = open;
    emit openCalleeChanged();
}

void Document::setHits(const QStringList& addresses)
{
    if (addresses == m_hits) return;
    m_hits = addresses;
    emit hitsChanged();
}

void Document::follow()
{
    const StopSnapshot& now = *stop();
    if (m_frame != -1) {
        m_frame = -1;
        emit frameChanged();
    }
    if (!m_selection.address.empty()) {
        Selection moved = m_selection;
        moved.address = atStop(m_selection.address);
        select(moved);
    }
    if (now.stack.empty() || now.isDataflow) return;
    // What runs must be in the picture: the callees on the way there open.
    const std::string place = staticAddress(now.stack.back().address);
    const auto lies = [&](const std::string& root) { return place == root || place.starts_with(root + "/"); };
    ViewState view = m_view;
    if (!lies(view.root)) view.root = rootOf(place);
    if (m_open == OpenCallee::drillIn) view.root = place;
    Result<Address> path = parseAddress(place);
    if (!path.ok()) return;
    Address site;
    site.root = path->root;
    for (const AddressStep& step : path->steps) {
        site.target = TargetKind::op;
        site.op = step.site;
        const std::string call = toString(site);
        // Beside its caller lies what the graph in view calls; what that calls itself is drawn inside of it.
        const bool isBeside = m_open == OpenCallee::split && liesDirectlyIn(call, view.root);
        if (call.starts_with(view.root + "/")) {
            if (!isBeside) view.inlined.insert(call);
            if (step.role == StepRole::cond) view.condOpen.insert(call);
        }
        site.steps.push_back(step);
    }
    if (view.root != m_view.root || view.inlined != m_view.inlined || view.condOpen != m_view.condOpen) setView(std::move(view));
}

void Document::report(Problem problem)
{
    if (!m_problems.empty() && m_problems.back() == problem) return;
    m_problems.push_back(std::move(problem));
    emit problemsChanged();
}

void Document::clearProblems()
{
    if (m_problems.empty()) return;
    m_problems.clear();
    emit problemsChanged();
}

} // namespace loopscope::viewer
