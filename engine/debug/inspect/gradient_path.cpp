// Which way a gradient came: from a value of a gradient graph (docs/gradients.md) back over the operators that handed the gradient on, to
// where it became zero or NaN, or with the largest element on the way.
#include "engine/debug/inspect/expression_text.h"
#include "engine/debug/inspect/why_answers.h"
#include "engine/debug/timeline.h"
#include "engine/exec/executor.h"
#include "engine/observe/address_names.h"
#include "engine/ops/control_flow.h"
#include "engine/tensor/statistics.h"

#include <algorithm>
#include <cmath>

namespace loopscope {

namespace {

constexpr int kMaxHops = 20'000;
constexpr size_t kMostLines = 12;
constexpr size_t kMostRows = 10;  ///< iterations of a loop that are shown
constexpr double kWidestBar = 32; ///< characters

/// How large a gradient is.
struct Extent {
    double largest = 0; ///< of the finite elements
    double norm = 0;    ///< of those
    int64_t abnormal = 0;

    Extent() = default;
    explicit Extent(const Tensor& tensor)
    {
        const TensorStatistics s = computeStatistics(tensor);
        if (s.finite > 0) largest = std::max(std::abs(s.min), std::abs(s.max));
        norm = std::sqrt(static_cast<double>(s.finite) * (s.mean * s.mean + s.std * s.std));
        abnormal = s.nan + s.positiveInf + s.negativeInf;
    }
    bool isZero() const { return largest == 0 && abnormal == 0; }
    std::string text() const
    {
        if (abnormal > 0) return "not finite (" + std::to_string(abnormal) + ")";
        return isZero() ? "zero" : "up to " + realNumberText(largest, 6);
    }
};

bool isReal(const Tensor* tensor)
{
    if (!tensor || (!tensor->data && tensor->bytes == 0 && tensor->elementCount() > 0)) return false;
    const DTypeClass kind = dtypeClass(tensor->dtype);
    return kind == DTypeClass::floating || kind == DTypeClass::complex;
}

/// Rows of a course: iteration, norm, and a bar that grows by a character where the norm grows by the same factor.
void addRows(const IterationCourse& course, std::vector<std::string>& lines)
{
    lines.push_back("norm in each iteration of " + course.loop + ":");
    double least = INFINITY, most = 0;
    for (const IterationCourse::Point& point : course.points) {
        if (!(point.value > 0)) continue;
        least = std::min(least, point.value);
        most = std::max(most, point.value);
    }
    const double range = std::max(std::log(most) - std::log(least), 1.0);
    const size_t count = course.points.size(), rows = std::min(count, kMostRows);
    const size_t width = std::to_string(course.points.back().iteration).size();
    for (size_t row = 0; row < rows; ++row) {
        const IterationCourse::Point& point = course.points[rows < 2 ? 0 : row * (count - 1) / (rows - 1)];
        std::string line = "  @" + std::to_string(point.iteration);
        line.append(width + 4 - std::min(line.size(), width + 4), ' ');
        std::string norm = std::isnan(point.value) ? "not finite" : realNumberText(point.value, 6);
        if (point.value > 0) {
            norm.append(12 - std::min<size_t>(norm.size(), 12), ' ');
            norm.append(1 + static_cast<size_t>((std::log(point.value) - std::log(least)) / range * (kWidestBar - 1)), '#');
        }
        lines.push_back(line + norm);
    }
}

/// "gradients/new_grad/Mul": all of its nodes are in one of these scopes; empty: it is in none.
std::string_view scopeOf(std::string_view name)
{
    const size_t last = name.rfind('/');
    return name.starts_with("gradients") && last != std::string_view::npos ? name.substr(0, last) : std::string_view();
}

/// Whether the gradient comes through this value: it belongs to another operator's gradient than `scope` or is handed in, or was made of
/// such a one within the scope. What else a rule computes follows from forward values.
bool carries(const Graph& graph, ValueId id, std::string_view scope)
{
    if (!id.valid()) return false;
    const Value& value = graph.value(id);
    const std::string_view own = scopeOf(value.producer.valid() ? std::string_view(graph.op(value.producer).name) : value.id);
    if (own.empty() || own.substr(0, own.find('/')) != scope.substr(0, scope.find('/'))) return false;
    if (!value.producer.valid() || own != scope) return value.role != ValueRole::constant;
    return std::ranges::any_of(graph.op(value.producer).inputs, [&](ValueId input) { return carries(graph, input, scope); });
}

class GradientTracer {
public:
    explicit GradientTracer(const DebugTarget& target) : m_target(target), m_model(target.model) {}

    Result<Explanation> trace(ValueAt at)
    {
        LS_CHECK_OK(m_target.timeline.goTo(at.tick, m_target.control));
        const Tensor* const tensor = valueHere(m_target.executor, at.depth, at.value);
        const Value& value = m_model.graph(m_target.executor.frame(at.depth).graph).value(at.value);
        if (!isReal(tensor)) return Error(ErrorCode::usage, "is no gradient: it holds no real or complex numbers").at(value.id);
        m_first = Extent(*tensor);
        const std::string name = value.id;
        for (int i = 0; i < kMaxHops; ++i) {
            LS_TRY(const bool goesOn, hop(at));
            if (!goesOn) break;
        }
        if (m_lines.empty()) return Error(ErrorCode::usage, "is no gradient").at(name).expected("a value of what 'loopscope grad' added");
        return render(name);
    }

private:
    struct Line {
        std::string address;
        Extent extent;
        Step step;
    };

    /// One write further back. False: the way ends.
    Result<bool> hop(ValueAt& at)
    {
        LS_TRY(const Origin origin, originOf(m_target, at));
        if (origin.kind != OriginKind::write || !isReal(&origin.hit->result.tensor)) return false;
        const WriteHit& hit = *origin.hit;
        const Graph& graph = m_model.graph(hit.stack.back().graph);
        const Operator& op = graph.op(hit.op);
        if (scopeOf(op.name).empty()) return false;
        if (callForm(op).kind != CallKind::none) {
            LS_TRY(const std::optional<ValueAt> inside, resultInside(m_target, hit, origin.slot));
            if (!inside) return false;
            at = *inside;
            return true;
        }
        m_lines.push_back({addressOf(m_model, hit.stack, hit.op), Extent(hit.result.tensor), hit.step});
        noteIteration(hit);
        const Extent here = m_lines.back().extent;
        LS_CHECK_OK(m_target.timeline.goTo(hit.before, m_target.control));
        const int depth = static_cast<int>(hit.stack.size()) - 1;
        ValueId chosen;
        Extent most(hit.result.tensor);
        for (const ValueId input : op.inputs) {
            const Tensor* const operand = input.valid() ? m_target.executor.value(depth, input) : nullptr;
            if (!isReal(operand) || !carries(graph, input, scopeOf(op.name))) continue;
            const Extent extent(*operand);
            const bool isMore = (extent.abnormal > 0) != (most.abnormal > 0) ? extent.abnormal > 0 : extent.largest > most.largest;
            if (!chosen.valid() || isMore) {
                chosen = input;
                most = extent;
            }
        }
        if (!chosen.valid()) return false; // the seed
        if (here.isZero() && !most.isZero()) return ends("became zero", op, most);
        if (here.abnormal > 0 && most.abnormal == 0) return ends("became NaN or infinite", op, most);
        at = {hit.before, hit.before, depth, chosen};
        return true;
    }

    /// The first value on the way back that an iteration has written is what it hands on.
    void noteIteration(const WriteHit& hit)
    {
        if (hit.stack.back().iteration < 0) return;
        const std::string inside = invocationOf(m_lines.back().address);
        const std::string loop = callSiteOf(inside);
        if (loop.empty() || inside == m_lastIteration) return;
        m_lastIteration = inside;
        const Extent& extent = m_lines.back().extent;
        auto course = std::ranges::find(m_courses, loop, &IterationCourse::loop);
        if (course == m_courses.end()) course = m_courses.insert(course, {loop, {}});
        course->points.push_back({hit.stack.back().iteration, extent.abnormal > 0 ? std::nan("") : extent.norm});
    }

    bool ends(const std::string& what, const Operator& op, const Extent& before)
    {
        const Line& last = m_lines.back();
        m_verdict = what + " at " + last.address + ", step " + std::to_string(last.step.number) + ": " + op.kind.name + " of a gradient " +
                    before.text();
        return false;
    }

    Explanation render(const std::string& name)
    {
        Explanation answer;
        answer.lines.push_back(name + " is " + m_first.text());
        for (size_t i = 0; i < m_lines.size(); ++i) {
            if (m_lines.size() > kMostLines && i == kMostLines / 2) {
                const size_t left = m_lines.size() - kMostLines;
                answer.lines.push_back("  <- … " + std::to_string(left) + " more");
                i += left;
            }
            answer.lines.push_back("  <- " + m_lines[i].address + "  " + m_lines[i].extent.text());
        }
        const auto largest = std::ranges::max_element(m_lines, {}, [](const Line& line) { return line.extent.largest; });
        if (m_verdict.empty())
            m_verdict = "largest at " + largest->address + ", step " + std::to_string(largest->step.number) + ": " + largest->extent.text();
        answer.lines.push_back(m_verdict);
        for (IterationCourse& course : m_courses) {
            if (course.points.size() < 2) continue;
            std::ranges::sort(course.points, {}, &IterationCourse::Point::iteration);
            addRows(course, answer.lines);
            answer.courses.push_back(std::move(course));
        }
        return answer;
    }

    const DebugTarget& m_target;
    const Model& m_model;
    Extent m_first;
    std::vector<Line> m_lines;
    std::vector<IterationCourse> m_courses;
    std::string m_lastIteration; ///< its address
    std::string m_verdict;
};

} // namespace

Result<Explanation> explainGradient(const DebugTarget& target, ValueAt value) { return GradientTracer(target).trace(value); }

} // namespace loopscope
