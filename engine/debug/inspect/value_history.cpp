#include "engine/debug/inspect/value_history.h"

#include "engine/debug/excursion.h"
#include "engine/debug/inspect/provenance.h"
#include "engine/debug/timeline.h"
#include "engine/exec/executor.h"
#include "engine/ir/ids.h"

#include <utility>

namespace loopscope {

namespace {

ValueWrite writeOf(const Model& model, const WriteHit& hit, int slot, std::string origin)
{
    ValueWrite write;
    write.tick = hit.before;
    write.step = hit.step;
    write.address = addressOf(model, hit.stack, hit.op, slot);
    write.origin = std::move(origin);
    write.tensor = hit.result.tensor;
    write.bytes = std::make_shared<const std::vector<std::byte>>(hit.result.bytes);
    write.tensor.data =
        const_cast<std::byte*>(write.bytes->data()); // NOLINT(cppcoreguidelines-pro-type-const-cast): Tensor has no const form
    return write;
}

/// The depth of the frame of the present stop that an address names; −1: another invocation.
int depthOf(const Executor& executor, const CallPath& path, const Address& address)
{
    const int depth = path.depth();
    if (!isOnPath(executor, executor.position().depth, path)) return -1;
    for (int d = 1; d <= depth; ++d) {
        const int64_t wanted = address.steps[static_cast<size_t>(d - 1)].iteration;
        if (wanted >= 0 && executor.frame(d).iteration != wanted) return -1;
    }
    return depth;
}

Error unwritten(const ResolvedAddress& value, const std::string& why)
{
    return Error(ErrorCode::usage, why.empty() ? "it is not written in a run" : why + ": no operator writes it")
        .at(toString(value.address));
}

std::string joined(const std::vector<std::string>& hops)
{
    std::string text;
    for (const std::string& hop : hops) text += (text.empty() ? "" : "; ") + hop;
    return text;
}

/// A carried value changes where the body gives something else than it got.
std::function<bool(const Executor&, const OperatorEvent&)> carriedChanges(const StaticWriter& writer)
{
    const int depth = writer.carriedPath.depth();
    return [depth, formal = writer.carried, slot = static_cast<size_t>(writer.slot)](const Executor& executor, const OperatorEvent& event) {
        const Tensor* const before = executor.value(depth, formal);
        return !before || slot >= event.results.size() || !isSameTensor(*before, *event.results[slot]);
    };
}

Result<std::optional<ValueWrite>> search(const DebugTarget& target, const ResolvedAddress& value, HistoryQuery wanted)
{
    const Model& model = target.model;
    LS_TRY(const CallPath path, pathOf(model, target.executor.root(), value.address));
    if (!value.value.valid()) return Error(ErrorCode::usage, "names no value").at(toString(value.address));
    const int64_t now = target.timeline.tick();
    const int depth = depthOf(target.executor, path, value.address);
    const StaticWriter writer = staticWriterOf(model, path, value.value);
    if (depth >= 0 && wanted == HistoryQuery::lastWrite) {
        LS_TRY(const Origin origin, originOf(target, {now, now, depth, value.value}));
        if (origin.kind == OriginKind::write) return std::optional(writeOf(model, *origin.hit, origin.slot, joined(origin.hops)));
        if (!writer.ops.empty()) {
            const std::string what = model.graph(origin.graph).value(origin.at.value).id;
            if (origin.kind == OriginKind::input) return unwritten(value, what + " is an input of the run");
            if (origin.kind == OriginKind::constant) return unwritten(value, what + " is a constant");
            return std::optional<ValueWrite>();
        }
    }
    if (writer.ops.empty()) return unwritten(value, writer.unwritten);

    WriteQuery query;
    query.path = writer.path;
    query.ops = writer.ops;
    query.slot = writer.slot;
    const bool isCarried = writer.carried.valid() && writer.path == writer.carriedPath && writer.slot >= 0;
    std::optional<WriteHit> hit;
    switch (wanted) {
    case HistoryQuery::lastWrite: {
        LS_TRY(hit, findLast(target, query, now));
        break;
    }
    case HistoryQuery::lastChange:
        if (isCarried) {
            int64_t until = now; // what this iteration has written is carried on later
            if (depth >= 0) until = target.executor.frame(writer.carriedPath.depth()).enteredAtStep + writer.carriedPath.depth();
            query.accepts = carriedChanges(writer);
            LS_TRY(hit, findLast(target, query, until));
        } else {
            LS_TRY(hit, findLastChange(target, query, now));
        }
        break;
    case HistoryQuery::nextWrite: {
        LS_TRY(hit, findFirst(target, query, now));
        break;
    }
    case HistoryQuery::nextChange:
        if (isCarried) {
            query.accepts = carriedChanges(writer);
            LS_TRY(hit, findFirst(target, query, now));
        } else {
            LS_TRY(const std::optional<WriteHit> present, findLast(target, query, now));
            LS_TRY(hit, findFirst(target, query, now, present && query.slot >= 0 ? &present->result.tensor : nullptr));
        }
        break;
    }
    if (!hit) return std::optional<ValueWrite>();
    return std::optional(writeOf(model, *hit, query.slot, writer.hop));
}

} // namespace

Result<std::optional<ValueWrite>> findWrite(const DebugTarget& target, FrameContext, const ResolvedAddress& value, HistoryQuery query)
{
    Excursion excursion(target);
    Result<std::optional<ValueWrite>> answer = search(target, value, query);
    LS_CHECK_OK(excursion.comeBack());
    return answer;
}

} // namespace loopscope
