#include "engine/debug/stop_source.h"
#include "engine/exec/executor.h"
#include "engine/observe/address_names.h"

#include "engine/observe/address_names.h"
#include "engine/ops/catalog.h"

#include <algorithm>

namespace loopscope {

bool StopSource::mayTravel(std::string_view text)
{
    constexpr std::string_view kWords[] = {"prev", "at", "first", "changed", "delta", "trip", "ref", "step", "writer", "{"};
    return std::ranges::any_of(kWords, [&](std::string_view word) { return text.find(word) != std::string_view::npos; });
}

const Tensor* StopSource::keep(const Tensor& tensor, Step step)
{
    Copy& copy = m_copies.emplace_back();
    copy.bytes = std::make_shared<std::vector<std::byte>>(tensor.data, tensor.data + tensor.bytes);
    copy.bytes->reserve(1); // data is not null even where there are no elements
    copy.tensor = tensor;
    copy.tensor.data = copy.bytes->data();
    copy.step = step;
    return &copy.tensor;
}

Result<const Tensor*> StopSource::keep(Result<std::optional<KeptWrite>> found)
{
    if (!found.ok()) return std::move(found).takeError();
    return found->has_value() ? keep((*found)->tensor, (*found)->step) : nullptr;
}

std::shared_ptr<const std::vector<std::byte>> StopSource::bytesOf(const Tensor& tensor) const
{
    for (const Copy& copy : m_copies)
        if (copy.tensor.data == tensor.data) return copy.bytes;
    return nullptr;
}

Status StopSource::checkReference(uint32_t)
{
    if (m_reference) return {};
    return Error(ErrorCode::usage, "there is no reference run; use --against");
}

Result<const Tensor*> StopSource::current(uint32_t handle)
{
    if (const auto known = m_current.find(handle); known != m_current.end()) return known->second;
    LS_TRY(const Tensor* found, LiveSource::current(handle));
    const bool isOwn = found && !m_copies.empty() && bytesOf(*found);
    const Tensor* copy = found && m_travels && !isOwn ? keep(*found) : found;
    m_current[handle] = copy;
    return copy;
}

Absence StopSource::absenceOf(uint32_t handle) const
{
    const LivePlace& where = place(handle);
    const std::optional<int> depth = depthOf(where);
    if (!depth) return Absence::notWritten;
    if (!target().executor.isRecorded(*depth, where.value)) return Absence::notRecorded;
    if (target().executor.isLost(*depth, where.value)) return Absence::lost;
    const Value& value = target().model.graph(where.graph).value(where.value);
    if (value.role != ValueRole::result) return Absence::notWritten;
    if (isDead(*depth, where.value)) return Absence::dead;
    if (!target().executor.stopsInAddressOrder()) return Absence::notWritten; // nodes run in no order of the file
    const FrameInfo frame = target().executor.frame(*depth);
    return frame.next.valid() && value.producer.index >= frame.next.index ? Absence::notWritten : Absence::freed;
}

std::vector<PathStep> StopSource::pathTo(const LivePlace& where) const
{
    std::vector<PathStep> path;
    for (const AddressStep& written : where.address.steps) {
        PathStep step;
        step.site = OperatorId(written.site.index);
        step.iteration = written.iteration;
        step.role = callRole(written.role);
        step.branch = written.branch;
        path.push_back(step);
    }
    return path;
}

Result<const Tensor*> StopSource::elsewhere(uint32_t handle)
{
    const LivePlace& where = place(handle);
    const Value& value = target().model.graph(where.graph).value(where.value);
    if (value.role != ValueRole::constant) return keep(findAtPath(target(), pathTo(where), where.graph, where.value));
    const Tensor constant = declaredTensor(value);
    return constant.data ? keep(constant) : nullptr;
}

Result<const Tensor*> StopSource::previousOrFirst(uint32_t handle, int64_t back)
{
    const auto key = std::pair(handle, back);
    if (const auto known = m_previous.find(key); known != m_previous.end()) return known->second;
    const LivePlace& where = place(handle);
    if (where.kind == LivePlace::Kind::file || target().model.graph(where.graph).value(where.value).role == ValueRole::constant)
        return current(handle);
    InvocationId now = INT64_MAX;
    if (const std::optional<int> depth = depthOf(where)) now = target().executor.frame(*depth).invocation;
    ValueKeeper keeper(target().model, where.graph, where.value);
    keeper.require(back, true, back == 0);
    ValueKeeper* const keepers[] = {&keeper};
    LS_CHECK_OK(fillKeepers(target(), keepers));
    const KeptWrite* kept = back == 0 ? keeper.first() : keeper.before(now, back);
    return m_previous[key] = kept ? keep(kept->tensor, kept->step) : nullptr;
}

Result<const Tensor*> StopSource::previous(uint32_t handle, int64_t back)
{
    if (back > kMostKept) return Error(ErrorCode::execution, "prev goes back by at most 100,000 invocations").found(std::to_string(back));
    return back < 1 ? nullptr : previousOrFirst(handle, back);
}

Result<const Tensor*> StopSource::first(uint32_t handle) { return previousOrFirst(handle, 0); }

Result<const Tensor*> StopSource::atIteration(uint32_t handle, int64_t iteration, std::optional<uint32_t> loop)
{
    const auto key = std::tuple(handle, iteration, loop ? static_cast<int64_t>(*loop) : -1);
    if (const auto known = m_iterations.find(key); known != m_iterations.end()) return known->second;
    const LivePlace& where = place(handle);
    const std::optional<int> depth = depthOf(where);
    if (!depth) return nullptr;
    // The same way, but in that iteration.
    std::vector<PathStep> path = pathOf(target().executor, *depth);
    size_t changed = path.size();
    for (size_t d = path.size(); d > 0 && changed == path.size(); --d) {
        if (path[d - 1].role != CallRole::loop) continue;
        const FrameInfo caller = target().executor.frame(static_cast<int>(d) - 1);
        if (!loop || (site(*loop).op == path[d - 1].site && site(*loop).graph == caller.graph)) changed = d - 1;
    }
    if (changed == path.size() || iteration < 0) return nullptr;
    if (path[changed].iteration == iteration) return current(handle);
    path[changed].iteration = iteration;
    const Value& value = target().model.graph(where.graph).value(where.value);
    if (value.role == ValueRole::constant) return current(handle);
    LS_TRY(const Tensor* tensor, keep(findAtPath(target(), path, where.graph, where.value)));
    return m_iterations[key] = tensor;
}

Result<const Tensor*> StopSource::reference(uint32_t handle)
{
    const LivePlace& where = place(handle);
    const std::optional<int> depth = depthOf(where);
    if (!m_reference || !depth) return nullptr;
    LS_TRY(const Tensor* tensor, m_reference->valueFor(target().executor, *depth, where.value));
    return tensor ? keep(*tensor) : nullptr;
}

Result<bool> StopSource::changed(uint32_t handle)
{
    LS_TRY(const Tensor* now, current(handle));
    LS_TRY(const Tensor* then, previous(handle, 1));
    if (!now || !then) return true;
    return now->dtype != then->dtype || now->shape != then->shape || !std::ranges::equal(now->view(), then->view());
}

std::optional<int64_t> StopSource::finishedTrips(uint32_t loop, int depth)
{
    auto trips = findTrips(target(), depth, site(loop).op);
    return trips.ok() ? *trips : std::nullopt;
}

Step StopSource::writeStep(uint32_t handle)
{
    const LivePlace& where = place(handle);
    const std::optional<int> depth = depthOf(where);
    if (!depth) { // an elsewhere that was looked up knows
        const auto known = m_current.find(handle);
        if (known == m_current.end() || !known->second) return -1;
        for (const Copy& copy : m_copies)
            if (&copy.tensor == known->second) return copy.step;
        return -1;
    }
    if (target().model.graph(where.graph).value(where.value).role != ValueRole::result) return -1;
    auto found = findAtPath(target(), pathOf(target().executor, *depth), where.graph, where.value);
    return found.ok() && found->has_value() ? (*found)->step : Step(-1);
}

} // namespace loopscope
