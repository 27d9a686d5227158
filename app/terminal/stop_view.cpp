#include "app/terminal/stop_view.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>

namespace loopscope::app {

namespace {

constexpr int kText = 255; ///< in place of a rank: a value that is remembered as text
/// Values beyond this are not compared from stop to stop: a stop must stay quick on models with large tensors.
constexpr size_t kComparedBytes = 64 * 1024;
constexpr size_t kComparedTotal = 1024 * 1024;
constexpr int kBefore = 2, kAfter = 1; ///< operators around the next one

bool cameByItself(const StopReport& report)
{
    constexpr std::array causes = {StopCause::breakpoint, StopCause::watch,  StopCause::nan,    StopCause::error,
                                   StopCause::cancelled,  StopCause::budget, StopCause::differs};
    return std::ranges::any_of(causes, [&](StopCause cause) { return report.has(cause); });
}

class Viewer {
public:
    Viewer(const Inspector& inspector, const Stop& stop, const ViewRequest& request) : m_inspector(inspector), m_request(request)
    {
        static_cast<Stop&>(m_view) = stop;
        m_view.style = cameByItself(m_view.report) ? StopStyle::surroundings : request.style;
    }

    StopView run()
    {
        remember();
        const Position& position = m_view.report.position;
        if (position.finished) {
            outputs();
        } else if (!m_view.stack.empty()) {
            if (m_view.report.has(StopCause::returned)) returned();
            for (const ValueChange& change : m_view.report.written) written(change);
            if (m_view.style == StopStyle::step && m_view.report.written.empty()) m_view.style = StopStyle::brief;
            if (m_view.style == StopStyle::surroundings) changes();
            if (m_view.style == StopStyle::iteration) operands();
            else window();
        }
        displays();
        return std::move(m_view);
    }

private:
    const Graph& graph() const { return m_inspector.model().graph(m_view.stack.back().graph); }
    const Tensor* value(ValueId id) const { return id.valid() ? m_inspector.value(-1, id) : nullptr; }

    void remember()
    {
        if (m_view.stack.empty()) return;
        m_view.memory.place = withoutIterations(m_view.frames.back());
        size_t total = 0;
        const Graph& g = graph();
        m_view.memory.values.reserve(g.values.size());
        for (size_t i = 0; i < g.values.size() && total < kComparedTotal; ++i) {
            const ValueRole role = g.values[i].role;
            if (role == ValueRole::constant || role == ValueRole::absent) continue;
            const ValueId id(static_cast<int64_t>(i));
            const Tensor* tensor = value(id);
            if (tensor == nullptr || tensor->data == nullptr || tensor->bytes > kComparedBytes) continue;
            total += tensor->bytes;
            std::string& bytes = m_view.memory.bytes;
            const size_t begin = bytes.size();
            keep(*tensor, bytes);
            m_view.memory.values.push_back({id, begin, bytes.size()});
        }
    }

    /// A value as it is remembered: its shape and bytes, since most are never shown; the text of what has no bytes of its own.
    void keep(const Tensor& tensor, std::string& bytes) const
    {
        const bool isPlain = bitWidth(tensor.dtype) > 0 && tensor.shape.rank() < kText;
        bytes.push_back(static_cast<char>(isPlain ? tensor.shape.rank() : kText));
        if (!isPlain) {
            bytes += inlineValue(tensor, m_request.format).text;
            return;
        }
        bytes.append(reinterpret_cast<const char*>(tensor.shape.dims().data()), tensor.shape.dims().size() * sizeof(int64_t));
        bytes.append(reinterpret_cast<const char*>(tensor.data), tensor.bytes);
    }

    /// The text of a remembered value, of which `now` is the present one.
    std::string shownAgain(std::string_view kept, const Tensor& now) const
    {
        const auto rank = static_cast<size_t>(static_cast<unsigned char>(kept.front()));
        if (rank == size_t{kText}) return std::string(kept.substr(1));
        std::vector<int64_t> dims(rank);
        std::memcpy(dims.data(), kept.data() + 1, rank * sizeof(int64_t));
        const size_t begin = 1 + rank * sizeof(int64_t);
        std::vector<std::byte> bytes(kept.size() - begin);
        std::memcpy(bytes.data(), kept.data() + begin, bytes.size());
        Tensor was = now;
        was.shape = Shape(dims);
        was.data = bytes.data();
        was.bytes = bytes.size();
        return inlineValue(was, m_request.format).text;
    }

    void changes()
    {
        if (m_request.before == nullptr || m_request.before->place != m_view.memory.place) return;
        const FrameMemory& past = *m_request.before;
        auto before = past.values.begin();
        for (const FrameMemory::Kept& kept : m_view.memory.values) {
            while (before != past.values.end() && before->value < kept.value) ++before;
            if (before == past.values.end() || before->value != kept.value || past.of(*before) == m_view.memory.of(kept)) continue;
            const ValueId id = kept.value;
            std::string was = shownAgain(past.of(*before), *value(id)), is = inlineValue(*value(id), m_request.format).text;
            // Bits that no digit shows.
            if (was == is) continue;
            m_view.changed.push_back({graph().value(id).id, std::move(was), std::move(is), inlineValue(*value(id)).abnormal});
        }
        // What the user watches comes first.
        std::ranges::stable_partition(m_view.changed, [&](const ChangedValue& change) {
            return std::ranges::any_of(m_request.displays, [&](const DisplayRequest& d) { return d.expression == change.name; });
        });
    }

    NamedText named(ValueId id, const Tensor& tensor) const
    {
        InlineValue shown = inlineValue(tensor, m_request.format);
        return {graph().value(id).id, std::move(shown.text), shown.abnormal};
    }

    void written(const ValueChange& change)
    {
        if (change.depth != static_cast<int>(m_view.stack.size()) - 1 && change.depth != -1) return;
        if (const Tensor* tensor = value(change.value)) m_view.written.push_back(named(change.value, *tensor));
    }

    void returned()
    {
        const int32_t call = m_view.stack.back().next.index - 1;
        if (call < 0) return;
        for (const ValueId id : graph().op(OperatorId(call)).results)
            if (const Tensor* tensor = value(id)) m_view.returned.push_back(named(id, *tensor));
    }

    void operands()
    {
        const OperatorId next = m_view.stack.back().next;
        if (!next.valid()) return;
        for (const ValueId id : graph().op(next).inputs) {
            if (!id.valid() || graph().value(id).role == ValueRole::constant) continue;
            const bool known = std::ranges::any_of(m_view.operands, [&](const NamedText& o) { return o.name == graph().value(id).id; });
            const Tensor* tensor = value(id);
            if (!known && tensor != nullptr) m_view.operands.push_back(named(id, *tensor));
        }
    }

    void outputs()
    {
        const Graph& root = m_inspector.model().graph(m_inspector.root());
        for (size_t i = 0; i < root.outputs.size(); ++i) {
            const Tensor& tensor = m_inspector.output(static_cast<int>(i));
            InlineValue shown = {"not recorded", false};
            if (tensor.data != nullptr || tensor.bytes == 0) shown = typedInlineValue(tensor, m_request.format);
            const std::string& name = i < m_request.outputNames.size() ? m_request.outputNames[i] : root.value(root.outputs[i].value).id;
            m_view.outputs.push_back({name, std::move(shown.text), shown.abnormal});
        }
    }

    void window()
    {
        const int32_t next = m_view.stack.back().next.index;
        const auto count = static_cast<int32_t>(graph().operators.size());
        if (next < 0 || next >= count) return;
        int32_t first = next, last = next;
        if (m_view.style == StopStyle::surroundings) {
            first = std::max(0, next - kBefore);
            last = std::min(count - 1, next + kAfter);
        } else if (m_view.style == StopStyle::brief && m_view.report.ranFrom < m_view.report.tick &&
                   !m_view.report.has(StopCause::returned)) {
            first = std::max(0, next - 1);
        }
        std::vector<OperatorId> shown;
        for (int32_t i = first; i <= last; ++i) shown.emplace_back(i);
        m_view.operators = m_inspector.valuesOf(-1, shown, m_view.style != StopStyle::step,
                                                [this](const Tensor& tensor) { return inlineValue(tensor, m_request.format); });
    }

    void displays()
    {
        for (const DisplayRequest& wanted : m_request.displays) {
            ShownDisplay shown = {wanted.number, wanted.expression, "", false};
            const auto values = m_inspector.evaluate({}, wanted.expression);
            if (!values.ok()) {
                shown.text = values.error().message();
                shown.failed = true;
            } else {
                for (const EvaluatedValue& value : *values)
                    shown.text += (shown.text.empty() ? "" : ", ") + bareText(value, m_request.format);
            }
            m_view.displays.push_back(std::move(shown));
        }
    }

    const Inspector& m_inspector;
    const ViewRequest& m_request;
    StopView m_view;
};

} // namespace

StopView viewStop(const Inspector& inspector, const Stop& stop, const ViewRequest& request)
{
    return Viewer(inspector, stop, request).run();
}

} // namespace loopscope::app
