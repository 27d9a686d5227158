#include "app/wiring/run_observers.h"

#include "app/output/table.h"
#include "engine/ir/ids.h"
#include "engine/ops/control_flow.h"
#include "engine/ops/lost_values.h"

#include <algorithm>
#include <array>

namespace loopscope::app {

void LoopCounter::runStarted(const RunStart& e)
{
    m_model = e.model;
    m_stack.clear();
    if (m_places.empty()) m_places.emplace_back();
}

int LoopCounter::placeOf(const InvocationStart& e)
{
    const int parent = m_stack.empty() ? 0 : m_stack.back();
    Place& from = m_places[static_cast<size_t>(parent)];
    const size_t count = from.ways.size();
    size_t at = from.lastWay;
    for (size_t tried = 0; tried < count; ++tried, at = at + 1 == count ? 0 : at + 1)
        if (from.ways[at].isOf(e)) {
            from.lastWay = at;
            return from.ways[at].place;
        }
    const int made = newPlace(e, parent);
    Place& grown = m_places[static_cast<size_t>(parent)];
    grown.lastWay = grown.ways.size();
    grown.ways.push_back({e.callerGraph.index, e.site.index, e.branch, e.role, made});
    return made;
}

int LoopCounter::newPlace(const InvocationStart& e, int parent)
{
    Place place;
    place.body = e.graph;
    place.cond = e.cond;
    if (parent == 0 || !e.site.valid()) {
        place.text = m_model->graph(e.graph).id;
    } else {
        const Place& outer = m_places[static_cast<size_t>(parent)];
        const Operator& op = m_model->graph(e.callerGraph).op(e.site);
        std::string site = outer.text;
        if (outer.cond.valid()) site += e.callerGraph == outer.cond ? ":cond" : ":body";
        site += "/" + addressSite(op, e.site.index);
        place.text = site;
        if (e.role == CallRole::loop) {
            place.loop = static_cast<int>(m_loops.size());
            m_loops.push_back({site, 0, 0});
        } else {
            place.text += ":" + std::string(callRoleName(e.role)) + (e.role == CallRole::branch ? std::to_string(e.branch) : "");
        }
    }
    m_places.push_back(std::move(place));
    return static_cast<int>(m_places.size()) - 1;
}

void LoopCounter::invocationStarted(const InvocationStart& e)
{
    const int place = placeOf(e);
    m_stack.push_back(place);
    if (const int loop = m_places[static_cast<size_t>(place)].loop; loop >= 0)
        // Iteration k begins when body k − 1 has completed; the last one runs the condition only.
        ++(e.iteration == 0 ? m_loops[static_cast<size_t>(loop)].executions : m_loops[static_cast<size_t>(loop)].trips);
}

void LoopCounter::invocationEnded(const InvocationEnd&)
{
    if (!m_stack.empty()) m_stack.pop_back();
}

void LoopCounter::loopEnded(int64_t trips)
{
    if (m_stack.empty()) return;
    if (const int loop = m_places[static_cast<size_t>(m_stack.back())].loop; loop >= 0) m_loops[static_cast<size_t>(loop)].trips += trips;
}

OperatorTimes::OperatorTimes(VulkanMemory* device) : m_device(device && device->timeLaunches(true).ok() ? device : nullptr)
{
    if (m_device) m_before = m_device->traffic();
}

OperatorTimes::~OperatorTimes()
{
    if (m_device) (void)m_device->timeLaunches(false); // a lost device is told of by whoever uses it
}

void OperatorTimes::operatorExecuted(const OperatorEvent& e)
{
    Sum& sum = m_sums[{e.graph, e.op}];
    ++sum.count;
    if (e.ns > 0) sum.ns += e.ns;
    if (!m_device || !m_device->finish().ok()) return; // whoever uses a lost device next is told
    const DeviceTraffic& now = m_device->traffic();
    sum.ns += static_cast<int64_t>(now.deviceNs - m_before.deviceNs); // which the event does not know
    sum.there.deviceNs += now.deviceNs - m_before.deviceNs;
    sum.there.launches += now.launches - m_before.launches;
    sum.there.uploaded += now.uploaded - m_before.uploaded;
    sum.there.readBack += now.readBack - m_before.readBack;
    m_before = now;
}

namespace {

/// "12.3 %".
std::string percentText(double share)
{
    std::array<char, 32> text = {};
    std::snprintf(text.data(), text.size(), "%.1f %%", 100.0 * share);
    return text.data();
}

} // namespace

std::string OperatorTimes::table(const Model& model, const KernelReport& kernels, Profile wanted, const Ceiling* ceiling) const
{
    constexpr size_t kShown = 20;
    struct Row {
        std::string graph, op, place, ofCeiling;
        Sum sum;
        bool call = false;
    };
    std::vector<Row> rows;
    int64_t total = 0;
    for (const auto& [place, sum] : m_sums) {
        const Graph& graph = model.graph(place.first);
        const Operator& op = graph.op(place.second);
        const bool isHere = std::ranges::any_of(kernels.fallbacks(),
                                                [&](const KernelFallback& f) { return f.graph == place.first && f.op == place.second; });
        const bool isCall = !calleesOf(op).empty();
        const bool isDevice = wanted == Profile::vulkan;
        const std::string_view ran = isCall ? (isDevice ? "cpu" : "") : isHere ? (isDevice ? "cpu" : "reference") : profileName(wanted);
        Row row{graph.id, op.kind.name + "#" + std::to_string(place.second.index), std::string(ran), {}, sum, isCall};
        if (ceiling && !isCall)
            if (const auto work = ceiling->work.find(place); work != ceiling->work.end())
                row.ofCeiling = percentText(ceiling->machine.shareOf(
                    work->second, static_cast<double>(sum.ns) / 1e9 / static_cast<double>(std::max<int64_t>(sum.count, 1)),
                    ceiling->threads));
        if (!row.call) total += sum.ns; // a call's time is that of the operators inside it
        rows.push_back(std::move(row));
    }
    std::stable_sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) { return a.sum.ns > b.sum.ns; });
    std::vector<std::string> heads = {"operator", "graph", "times", "time", "each", "share"};
    const bool hasPlaces = wanted != Profile::reference;
    if (ceiling) heads.emplace_back("of ceiling");
    if (hasPlaces) heads.emplace_back(wanted == Profile::vulkan ? "on" : "kernel");
    if (m_device)
        for (const char* const head : {"device", "dispatches", "copied"}) heads.emplace_back(head);
    Table table(std::move(heads));
    for (size_t c = 2; c < (ceiling ? 7U : 6U); ++c) table.align(c, Align::right);
    for (size_t c = ceiling ? 8 : 7; m_device && c < (ceiling ? 11U : 10U); ++c) table.align(c, Align::right);
    int64_t rest = 0;
    for (size_t i = 0; i < rows.size(); ++i) {
        const Row& row = rows[i];
        if (i >= kShown) {
            if (!row.call) rest += row.sum.ns;
            continue;
        }
        const std::string share =
            row.call ? "callees" : percentText(total > 0 ? static_cast<double>(row.sum.ns) / static_cast<double>(total) : 0.0);
        std::vector<std::string> cells = {row.op,
                                          row.graph,
                                          std::to_string(row.sum.count),
                                          durationText(row.sum.ns),
                                          durationText(row.sum.ns / std::max<int64_t>(row.sum.count, 1)),
                                          share};
        if (ceiling) cells.push_back(row.ofCeiling);
        if (hasPlaces) cells.push_back(row.place);
        if (m_device) {
            const DeviceTraffic& there = row.sum.there;
            cells.push_back(there.launches > 0 ? durationText(static_cast<int64_t>(there.deviceNs)) : "");
            cells.push_back(std::to_string(there.launches));
            cells.push_back(std::to_string(there.uploaded + there.readBack) + " B");
        }
        table.add(std::move(cells));
    }
    if (rows.size() > kShown) table.add({std::to_string(rows.size() - kShown) + " others", "", "", durationText(rest)});
    return table.text();
}

void PrintedLines::printed(const PrintedText& e)
{
    if (e.stream == "stdout" && !m_console.json()) m_console.print(e.text);
    else m_console.said(e.text);
}

std::vector<std::string> modelWarnings(const Model& model)
{
    std::vector<std::string> warnings = lostValueLines(model);
    for (const ModelWarning& warning : loopWarnings(model)) warnings.push_back(warning.address + ": " + warning.text);
    return warnings;
}

std::vector<std::string> runWarnings(const Model& model, GraphId root)
{
    std::vector<GraphId> reached = {root};
    for (size_t i = 0; i < reached.size(); ++i)
        for (const Operator& op : model.graph(reached[i]).operators)
            for (const Callee& callee : calleesOf(op))
                if (model.hasGraph(callee.graph) && std::ranges::find(reached, callee.graph) == reached.end())
                    reached.push_back(callee.graph);
    std::vector<std::string> warnings;
    for (const ModelWarning& warning : loopWarnings(model))
        if (std::ranges::find(reached, warning.graph) != reached.end()) warnings.push_back(warning.address + ": " + warning.text);
    return warnings;
}

std::string durationText(int64_t ns)
{
    std::array<char, 32> text = {};
    const auto value = static_cast<double>(ns);
    if (ns >= 1'000'000'000) std::snprintf(text.data(), text.size(), "%.3f s", value / 1e9);
    else if (ns >= 1'000'000) std::snprintf(text.data(), text.size(), "%.3f ms", value / 1e6);
    else if (ns >= 10'000) std::snprintf(text.data(), text.size(), "%.1f us", value / 1e3);
    else std::snprintf(text.data(), text.size(), "%.0f ns", value);
    return text.data();
}

} // namespace loopscope::app
