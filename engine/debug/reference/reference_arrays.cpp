// Arrays as a reference: what somebody else computed and saved by name.
#include "engine/debug/inspect/call_path.h"
#include "engine/debug/reference/reference.h"
#include "engine/exec/executor.h"
#include "engine/observe/address_resolution.h"

#include <algorithm>
#include <set>

namespace loopscope {

namespace {

class ReferenceArrays final : public Reference {
public:
    ReferenceArrays(std::string name, std::vector<NamedArray> arrays, const Model& model, GraphId root, const Tolerance& tolerance)
        : Reference(std::move(name), tolerance),
          m_model(model),
          m_arrays(std::move(arrays))
    {
        m_summary.how = "name";
        const Graph& graph = model.graph(root);
        std::set<size_t> used;
        for (size_t v = 0; v < graph.values.size(); ++v) {
            const Value& value = graph.values[v];
            if (value.role != ValueRole::result && value.role != ValueRole::input) continue;
            ++m_summary.total;
            const auto found = std::ranges::find_if(m_arrays, [&](const NamedArray& array) { return isNameOf(array.name, value, graph); });
            if (found == m_arrays.end()) {
                m_summary.unpaired.push_back(graph.id + "/" + value.id);
                continue;
            }
            ++m_summary.paired;
            m_values[ValueId(static_cast<int64_t>(v))] = static_cast<size_t>(found - m_arrays.begin());
            used.insert(static_cast<size_t>(found - m_arrays.begin()));
        }
        for (size_t a = 0; a < m_arrays.size(); ++a) { // the rest may be addresses
            if (used.contains(a)) continue;
            if (const std::optional<std::string> address = canonical(m_arrays[a].name)) {
                m_places[*address] = a;
                ++m_addressed;
            } else {
                m_summary.unpaired.push_back("'" + m_arrays[a].name + "' of " + this->name());
            }
        }
        if (m_addressed > 0) m_summary.note = std::to_string(m_addressed) + " by address inside other graphs";
    }

    bool pairsAnything() const { return m_summary.paired > 0 || m_addressed > 0; }
    const PairingSummary& pairing() const override { return m_summary; }

    Result<const Tensor*> valueFor(const Executor& executor, int depth, ValueId value) override
    {
        if (depth < 0) depth = executor.position().depth - 1;
        const Value& what = m_model.graph(executor.frame(depth).graph).value(value);
        if (depth == 0) {
            const auto found = m_values.find(value);
            if (found != m_values.end()) return view(found->second, what);
        }
        if (m_places.empty() || what.role != ValueRole::result) return nullptr;
        std::vector<FrameInfo> stack;
        for (int d = 0; d <= depth; ++d) stack.push_back(executor.frame(d));
        const auto found = m_places.find(addressOf(m_model, stack, what.producer, what.slot));
        return found == m_places.end() ? nullptr : view(found->second, what);
    }

private:
    static bool isNameOf(const std::string& name, const Value& value, const Graph& graph)
    {
        return name == value.id || name == value.displayName() || name == graph.id + "/" + value.id || name + ":0" == value.displayName();
    }

    std::optional<std::string> canonical(const std::string& text) const
    {
        const Result<Address> address = parseAddress(text);
        if (!address.ok()) return std::nullopt;
        Result<ResolvedAddress> resolved = resolveAddress(m_model, *address);
        if (!resolved.ok() || !resolved->op.valid()) return std::nullopt;
        if (resolved->address.target == TargetKind::op) {
            resolved->address.target = TargetKind::output;
            resolved->address.slot = 0;
        }
        if (resolved->address.target != TargetKind::output) return std::nullopt;
        return toString(resolved->address);
    }

    /// Arrays hold what a file can say: integers of a quantized value as stored, anything else as numbers.
    const Tensor* view(size_t index, const Value& value)
    {
        NamedArray& array = m_arrays[index];
        m_view.dtype = array.dtype;
        m_view.shape = array.shape;
        m_view.data = array.bytes.data();
        m_view.bytes = array.bytes.size();
        m_view.quantization = array.dtype == value.type.dtype ? value.type.quantization.get() : nullptr;
        return &m_view;
    }

    const Model& m_model;
    std::vector<NamedArray> m_arrays;
    PairingSummary m_summary;
    std::map<ValueId, size_t> m_values;
    std::map<std::string, size_t> m_places;
    int64_t m_addressed = 0;
    Tensor m_view;
};

} // namespace

Result<std::unique_ptr<Reference>> referenceToArrays(std::string name, std::vector<NamedArray> arrays, const Model& model, GraphId root,
                                                     const Tolerance& tolerance)
{
    std::vector<std::string> keys;
    for (const NamedArray& array : arrays) keys.push_back(array.name);
    auto reference = std::make_unique<ReferenceArrays>(std::move(name), std::move(arrays), model, root, tolerance);
    if (!reference->pairsAnything()) {
        std::string list;
        for (size_t i = 0; i < keys.size() && i < 5; ++i) list += (i > 0 ? ", " : "") + keys[i];
        return Error(ErrorCode::usage, "no array is named like a value of this run")
            .at(reference->name())
            .found(list + (keys.size() > 5 ? ", …" : ""));
    }
    return std::unique_ptr<Reference>(std::move(reference));
}

} // namespace loopscope
