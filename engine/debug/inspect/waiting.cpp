// Why a run of several parts waits: which Recv waits for which Send, what keeps that from sending, and which of them wait for each other.
#include "engine/debug/inspect/why_answers.h"
#include "engine/exec/executor.h"

#include <algorithm>

namespace loopscope {

namespace {

constexpr size_t kMostTold = 8;

std::string onDevice(const Operator& op, const char* side)
{
    const std::string device(attributeString(op.attributes, side, ""));
    return device.empty() ? "" : " on " + device;
}

/// Recvs that wait for each other, from `first` around; empty: that one waits for something else.
std::vector<size_t> circleFrom(const std::vector<DataflowWait>& waits, size_t first)
{
    std::vector<size_t> circle;
    for (auto at = static_cast<int64_t>(first); at >= 0; at = waits[static_cast<size_t>(at)].other) {
        const auto known = std::ranges::find(circle, static_cast<size_t>(at));
        if (known != circle.end()) return known == circle.begin() ? circle : std::vector<size_t>();
        circle.push_back(static_cast<size_t>(at));
    }
    return {};
}

std::string waitText(const Model& model, const DataflowWait& wait)
{
    const Graph& graph = model.graph(wait.graph);
    const Operator& receive = graph.op(wait.receive);
    std::string line = wait.address + onDevice(receive, "recv_device") + " waits for ";
    if (!wait.send.valid())
        return line + "'" + std::string(attributeString(receive.attributes, "tensor_name", "")) + "'" + onDevice(receive, "send_device") +
               ", which nobody in this run sends";
    line += graph.op(wait.send).name + onDevice(receive, "send_device");
    if (wait.way.empty()) return line + ", which does not run in this iteration";
    for (size_t w = 1; w < wait.way.size(); ++w) line += " <- " + graph.op(wait.way[w]).name;
    if (wait.isInside) return line + ", whose loop still runs";
    return line + (wait.canRun ? ", which can run now" : wait.other >= 0 ? ", which waits itself" : "");
}

} // namespace

Result<Explanation> explainWaiting(const DebugTarget& target)
{
    const DataflowView* const dataflow = target.executor.dataflow();
    if (dataflow == nullptr) return Error(ErrorCode::usage, "only parts of a TensorFlow graph send and receive");
    const std::vector<DataflowWait> waits = dataflow->waits();
    Explanation answer;
    if (waits.empty()) {
        answer.lines.emplace_back("no Recv waits: what was asked for so far has been sent");
        return answer;
    }
    std::vector<bool> isTold(waits.size(), false);
    for (size_t w = 0; w < waits.size(); ++w) {
        const std::vector<size_t> circle = circleFrom(waits, w);
        if (circle.empty() || isTold[w]) continue;
        std::string line = "deadlock: ";
        for (const size_t at : circle) {
            line += target.model.graph(waits[at].graph).op(waits[at].receive).name + " waits for ";
            isTold[at] = true;
        }
        answer.lines.push_back(line + target.model.graph(waits[w].graph).op(waits[w].receive).name);
    }
    for (size_t w = 0; w < std::min(waits.size(), kMostTold); ++w) answer.lines.push_back("  " + waitText(target.model, waits[w]));
    if (waits.size() > kMostTold) answer.lines.push_back("  … " + std::to_string(waits.size() - kMostTold) + " more");
    return answer;
}

} // namespace loopscope
