// A run as comparisons, exports and checks walk through it: its model by id, addresses of its invocations, stored values.
#pragma once

#include "engine/base/result.h"
#include "engine/tensor/quantization.h"
#include "engine/tensor/tensor.h"
#include "tracer/api/trace_types.h"
#include "tracer/sqlite/database.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace loopscope {

struct ViewedResult {
    int64_t value = 0;
    std::string name, dtype;
    std::string quantization;
    std::optional<std::string> shape; ///< declared
};

struct ViewedOperator {
    int64_t id = 0, graph = 0;
    std::string label, kind, graphName;
    std::vector<ViewedResult> results; ///< by slot
    bool isCall = false;
};

struct ViewedCall {
    int64_t id = 0, op = 0, graph = 0, cond = 0; ///< 0: none
    std::string role, frame;
};

struct ViewedInvocation {
    int64_t id = 0, parent = 0, call = 0, iteration = -1, first = 0;
    std::optional<int64_t> steps, ns;
};

/// One write: a row of event or output.
struct ViewedWrite {
    int64_t event = 0, invocation = 0, op = 0;
    int slot = 0;
    std::optional<int64_t> ns;
    int64_t state = 0;
    SqlValue lo;
    std::optional<double> hi, mean, std;
    std::optional<int64_t> zeros, content;
};

/// Elements that a trace stores.
struct StoredValue {
    DType dtype = DType::unknown;
    Shape shape;
    std::vector<std::byte> bytes;
    Tensor tensor();
};

/// "[1,4]" as a shape; none if it is not static.
std::optional<Shape> shapeFromText(std::string_view text);
/// `q(0.5, -1)` as a quantization; none for other forms.
std::optional<Quantization> quantizationFromText(std::string_view text);
/// The number in `lo`, if there is one.
std::optional<double> realOf(const SqlValue& value);

class RunView {
public:
    static Result<RunView> create(Database& database, const TraceRun& run);

    Database& database() const { return *m_database; }
    const TraceRun& run() const { return m_run; }
    const std::unordered_map<int64_t, ViewedOperator>& operators() const { return m_operators; }
    const ViewedOperator* op(int64_t id) const;
    const ViewedCall* call(int64_t id) const;
    const std::unordered_map<int64_t, ViewedCall>& calls() const { return m_calls; }

    /// "main/while#0@3:body": the invocation with the role that the operator's graph tells. Cached.
    Result<std::string> addressOf(const ViewedWrite& write);
    Result<ViewedInvocation> invocation(int64_t id);
    /// Root first.
    Result<std::vector<ViewedInvocation>> chainOf(int64_t invocation);
    /// ":cond", ":body" or nothing: which part of the invocation the graph is.
    std::string partOf(const ViewedInvocation& invocation, int64_t graph) const;

    /// Writes with event ids from … to, in order; `handle` returns false to end.
    Status forEachWrite(int64_t from, int64_t to, const std::function<Result<bool>(const ViewedWrite&)>& handle);
    /// Results 1, 2, … of an event.
    Result<std::vector<ViewedWrite>> outputsOf(const ViewedWrite& event);
    /// The bytes behind a content key; none if they are not stored. Errors: badFile.
    Result<std::optional<StoredValue>> load(int64_t content);
    /// The shape in force at an event; none if unknown.
    Result<std::optional<std::string>> shapeAt(const ViewedResult& result, int64_t event);
    /// The value of a write: stored elements, or the number of a single element as f64. None: neither.
    Result<std::optional<StoredValue>> valueOf(const ViewedWrite& write);

private:
    RunView(Database& database, TraceRun run) : m_database(&database), m_run(std::move(run)) {}
    Status read();
    int64_t hostLoop() const;
    Result<std::string> pathOf(int64_t invocation, const ViewedInvocation& row);
    Status appendTo(std::string& path, const ViewedInvocation& row, const ViewedInvocation* parent);

    Database* m_database;
    TraceRun m_run;
    std::unordered_map<int64_t, ViewedOperator> m_operators;
    std::unordered_map<int64_t, ViewedCall> m_calls;
    std::unordered_map<int64_t, std::string> m_graphs;
    std::unordered_map<int64_t, std::string> m_paths;
    int64_t m_hostLoop = 0;
    Statement m_findInvocation, m_outputs, m_blob, m_chunks, m_shape;
};

/// Reads the columns `id, invocation, op, ns, state, lo, hi, mean, std, zeros, content` from column `first` on.
ViewedWrite readWrite(const Statement& statement, int first = 0);
inline constexpr const char* kWriteColumns = "id, invocation, op, ns, state, lo, hi, mean, std, zeros, content";

} // namespace loopscope
