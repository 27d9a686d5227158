#include "tracer/read/run_view.h"

#include "engine/base/memory_budget.h"
#include "engine/observe/host_address.h"
#include "engine/tensor/dtype.h"
#include "engine/tensor/strings.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <zstd.h>

namespace loopscope {

namespace {

constexpr size_t kMostPaths = 100'000;
constexpr size_t kKeptPath = 4096; ///< characters of a path that is kept for those below it
/// A blob row may say anything; no value of a trace is larger.
constexpr int64_t kLargestBlob = int64_t{1} << 36;

/// Whether the bytes are as many as the elements need: who reads them goes by dtype and shape.
bool holdsElements(const StoredValue& value)
{
    const std::optional<int64_t> count = checkedElementCount(value.shape);
    if (!count) return false;
    if (value.dtype == DType::string) {
        const auto strings = unpackStrings(value.bytes);
        return strings.ok() && std::ssize(*strings) == *count;
    }
    return bitWidth(value.dtype) == 0 || value.bytes.size() == byteSize(value.dtype, *count);
}

} // namespace

Tensor StoredValue::tensor()
{
    Tensor t;
    t.data = bytes.data();
    t.bytes = bytes.size();
    t.dtype = dtype;
    t.shape = shape;
    return t;
}

std::optional<Shape> shapeFromText(std::string_view text)
{
    if (text.size() < 2 || text.front() != '[' || text.back() != ']') return std::nullopt;
    text = text.substr(1, text.size() - 2);
    Shape shape;
    while (!text.empty()) {
        int64_t dim = 0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), dim);
        if (error != std::errc() || dim < 0) return std::nullopt;
        shape.append(dim);
        text.remove_prefix(static_cast<size_t>(end - text.data()));
        if (!text.empty() && text.front() != ',') return std::nullopt;
        if (!text.empty()) text.remove_prefix(1);
    }
    if (!checkedElementCount(shape)) return std::nullopt;
    return shape;
}

std::optional<Quantization> quantizationFromText(std::string_view text)
{
    if (!text.starts_with("q(") || !text.ends_with(")")) return std::nullopt;
    text = text.substr(2, text.size() - 3);
    float scale = 0;
    int64_t zero = 0;
    const auto first = std::from_chars(text.data(), text.data() + text.size(), scale);
    const char* end = text.data() + text.size();
    if (first.ec != std::errc() || end - first.ptr < 3 || first.ptr[0] != ',') return std::nullopt;
    const auto second = std::from_chars(first.ptr + 2, end, zero);
    if (second.ec != std::errc() || second.ptr != end) return std::nullopt;
    return Quantization::perTensor(scale, zero);
}

std::optional<double> realOf(const SqlValue& value)
{
    if (const auto* integer = std::get_if<int64_t>(&value)) return static_cast<double>(*integer);
    if (const auto* real = std::get_if<double>(&value)) return *real;
    return std::nullopt;
}

ViewedWrite readWrite(const Statement& s, int first)
{
    ViewedWrite w;
    w.event = s.integer(first);
    w.invocation = s.integer(first + 1);
    w.op = s.integer(first + 2);
    w.ns = s.optionalInteger(first + 3);
    w.state = s.integer(first + 4);
    w.lo = s.value(first + 5);
    w.hi = s.optionalReal(first + 6);
    w.mean = s.optionalReal(first + 7);
    w.std = s.optionalReal(first + 8);
    w.zeros = s.optionalInteger(first + 9);
    w.content = s.optionalInteger(first + 10);
    return w;
}

Result<RunView> RunView::create(Database& database, const TraceRun& run)
{
    RunView view(database, run);
    LS_CHECK_OK(view.read());
    return view;
}

Status RunView::read()
{
    const auto rows = [this](const char* sql, const auto& take) -> Status {
        LS_TRY(Statement s, m_database->prepare(sql));
        s.bind(1, m_run.model);
        for (;;) {
            LS_TRY(const bool hasRow, s.step());
            if (!hasRow) return {};
            take(s);
        }
    };
    LS_CHECK_OK(rows("SELECT id, name FROM graph WHERE model = ?", [this](const Statement& s) { m_graphs[s.integer(0)] = s.text(1); }));
    LS_CHECK_OK(rows("SELECT o.id, o.graph, o.label, o.kind, g.name FROM op o JOIN graph g ON g.id = o.graph WHERE g.model = ?",
                     [this](const Statement& s) {
                         ViewedOperator& op = m_operators[s.integer(0)];
                         op.id = s.integer(0);
                         op.graph = s.integer(1);
                         op.label = s.text(2);
                         op.kind = s.text(3);
                         op.graphName = s.text(4);
                     }));
    LS_CHECK_OK(rows(
        "SELECT x.op, x.slot, v.id, v.name, v.dtype, v.quantization, v.shape FROM result x JOIN value v ON v.id = x.value JOIN graph g ON "
        "g.id = v.graph WHERE g.model = ? ORDER BY x.op, x.slot",
        [this](const Statement& s) {
            const auto op = m_operators.find(s.integer(0));
            const int64_t slot = s.integer(1);
            if (op == m_operators.end() || slot < 0 || slot > 1'000'000) return;
            if (op->second.results.size() <= static_cast<size_t>(slot)) op->second.results.resize(static_cast<size_t>(slot) + 1);
            ViewedResult& result = op->second.results[static_cast<size_t>(slot)];
            result.value = s.integer(2);
            result.name = s.text(3);
            result.dtype = s.text(4);
            result.quantization = s.text(5);
            result.shape = s.optionalText(6);
        }));
    LS_CHECK_OK(rows("SELECT c.id, c.op, c.role, c.graph, c.cond, c.frame FROM call c JOIN graph g ON g.id = c.graph WHERE g.model = ?",
                     [this](const Statement& s) {
                         ViewedCall& call = m_calls[s.integer(0)];
                         call.id = s.integer(0);
                         call.op = s.integer(1);
                         call.role = s.text(2);
                         call.graph = s.integer(3);
                         call.cond = s.integer(4);
                         call.frame = s.text(5);
                         if (const auto op = m_operators.find(call.op); op != m_operators.end()) op->second.isCall = true;
                     }));
    m_hostLoop = hostLoop();
    const auto prepare = [this](Statement& statement, const char* sql) -> Status {
        LS_TRY(statement, m_database->prepare(sql));
        return {};
    };
    LS_CHECK_OK(prepare(m_findInvocation, "SELECT id, parent, call, iteration, first, steps, ns FROM invocation WHERE id = ?"));
    LS_CHECK_OK(prepare(m_outputs,
                        "SELECT event, slot, 0, NULL, state, lo, hi, mean, std, zeros, content FROM output WHERE event = ? ORDER BY slot"));
    LS_CHECK_OK(prepare(m_blob, "SELECT dtype, shape, bytes, codec, stored, first, chunks FROM blob WHERE hash = ?"));
    LS_CHECK_OK(prepare(m_chunks, "SELECT data FROM chunk WHERE id BETWEEN ? AND ? ORDER BY id"));
    return prepare(m_shape, "SELECT shape FROM reshape WHERE value = ?1 AND event <= ?2 AND event >= ?3 ORDER BY event DESC LIMIT 1");
}

const ViewedOperator* RunView::op(int64_t id) const
{
    const auto found = m_operators.find(id);
    return found == m_operators.end() ? nullptr : &found->second;
}

const ViewedCall* RunView::call(int64_t id) const
{
    const auto found = m_calls.find(id);
    return found == m_calls.end() ? nullptr : &found->second;
}

Result<ViewedInvocation> RunView::invocation(int64_t id)
{
    m_findInvocation.reset();
    m_findInvocation.bind(1, id);
    LS_TRY(const bool hasRow, m_findInvocation.step());
    if (!hasRow) return Error(ErrorCode::badFile, "no invocation " + std::to_string(id)).at(m_database->path());
    ViewedInvocation row;
    row.id = m_findInvocation.integer(0);
    row.parent = m_findInvocation.integer(1);
    row.call = m_findInvocation.integer(2);
    row.iteration = m_findInvocation.isNull(3) ? -1 : m_findInvocation.integer(3);
    row.first = m_findInvocation.integer(4);
    row.steps = m_findInvocation.optionalInteger(5);
    row.ns = m_findInvocation.optionalInteger(6);
    m_findInvocation.reset();
    return row;
}

Result<std::vector<ViewedInvocation>> RunView::chainOf(int64_t id)
{
    std::vector<ViewedInvocation> chain;
    while (id != 0) {
        LS_TRY(ViewedInvocation row, invocation(id));
        // Parents start before their children; a file that says otherwise is damaged and might go in circles.
        if (row.parent >= id)
            return Error(ErrorCode::badFile, "invocation " + std::to_string(id) + " is its own ancestor").at(m_database->path());
        id = row.parent;
        chain.push_back(row);
    }
    std::reverse(chain.begin(), chain.end());
    return chain;
}

std::string RunView::partOf(const ViewedInvocation& row, int64_t graph) const
{
    const ViewedCall* c = call(row.call);
    if (c == nullptr || c->role != "loop") return "";
    if (graph == c->cond && graph != c->graph) return ":cond";
    return c->id == m_hostLoop ? "" : ":body";
}

/// The loop around a model, which addresses write as `call@3/main`; 0: there is none.
int64_t RunView::hostLoop() const
{
    const auto isRoot = [this](const auto& pair) {
        const auto graph = m_graphs.find(pair.second.graph);
        return pair.second.role == "main" && graph != m_graphs.end() && graph->second == kHostGraph;
    };
    if (std::ranges::none_of(m_calls, isRoot)) return 0;
    for (const auto& [id, call] : m_calls) {
        const ViewedOperator* const o = call.role == "loop" ? op(call.op) : nullptr;
        if (o != nullptr && o->label == kHostLoop && o->graphName == kHostGraph) return id;
    }
    return 0;
}

/// "main/while#0@3": the invocation without the part that a graph of it is.
Result<std::string> RunView::pathOf(int64_t id, const ViewedInvocation& row)
{
    // Up to an invocation that is known; a damaged file may nest as many as it holds.
    std::vector<ViewedInvocation> above{row};
    above.back().id = id;
    std::string path;
    for (;;) {
        if (const auto found = m_paths.find(above.back().id); found != m_paths.end()) {
            path = found->second;
            break;
        }
        const ViewedInvocation& last = above.back();
        if (last.parent == 0) break;
        if (last.parent >= last.id)
            return Error(ErrorCode::badFile, "invocation " + std::to_string(last.id) + " is its own ancestor").at(m_database->path());
        LS_TRY(ViewedInvocation parent, invocation(last.parent));
        above.push_back(parent);
    }
    const bool isKnown = m_paths.contains(above.back().id);
    for (size_t k = above.size() - (isKnown ? 1 : 0); k-- > 0;) {
        const ViewedInvocation* const parent = k + 1 < above.size() ? &above[k + 1] : nullptr;
        LS_CHECK_OK(appendTo(path, above[k], parent));
        if (path.size() > kKeptPath && k > 0) continue;
        if (m_paths.size() >= kMostPaths) m_paths.clear();
        m_paths[above[k].id] = path;
    }
    return path;
}

/// Goes on from the path of the parent; null: there is none.
Status RunView::appendTo(std::string& path, const ViewedInvocation& row, const ViewedInvocation* parent)
{
    const ViewedCall* c = call(row.call);
    if (c == nullptr) return Error(ErrorCode::badFile, "invocation " + std::to_string(row.id) + " has no call").at(m_database->path());
    const ViewedOperator* caller = op(c->op);
    const std::string label = caller != nullptr ? caller->label : "?";
    if (parent && c->id == m_hostLoop && path == kHostGraph) path.clear();
    else if (parent) path += partOf(*parent, caller != nullptr ? caller->graph : 0) + "/";
    const std::string iteration = "@" + std::to_string(row.iteration);
    const auto addName = [&](const std::string& name) {
        for (const char letter : name) path += letter == '/' ? std::string("%2F") : std::string(1, letter);
    };
    const ViewedCall* const outside = parent && c->role == "call" ? call(parent->call) : nullptr;
    if (c->role == "main") {
        addName(m_graphs[c->graph]);
    } else if (outside != nullptr && outside->id == m_hostLoop) {
        addName(label);
    } else if (c->role == "loop") {
        path += label + iteration;
    } else if (c->role == "frame") {
        path += c->frame + iteration + ":frame";
    } else {
        path += label + ":" + c->role;
    }
    return {};
}

Result<std::string> RunView::addressOf(const ViewedWrite& write)
{
    LS_TRY(const ViewedInvocation row, invocation(write.invocation));
    LS_TRY(std::string address, pathOf(write.invocation, row));
    const ViewedOperator* o = op(write.op);
    if (o == nullptr) return Error(ErrorCode::badFile, "no operator " + std::to_string(write.op)).at(m_database->path());
    address += partOf(row, o->graph) + "/" + o->label + ":" + std::to_string(write.slot);
    return address;
}

Result<std::vector<ViewedWrite>> RunView::outputsOf(const ViewedWrite& event)
{
    m_outputs.reset();
    m_outputs.bind(1, event.event);
    std::vector<ViewedWrite> outputs;
    for (;;) {
        LS_TRY(const bool hasRow, m_outputs.step());
        if (!hasRow) return outputs;
        ViewedWrite w = readWrite(m_outputs);
        w.slot = static_cast<int>(m_outputs.integer(1));
        w.invocation = event.invocation;
        w.op = event.op;
        outputs.push_back(w);
    }
}

Status RunView::forEachWrite(int64_t from, int64_t to, const std::function<Result<bool>(const ViewedWrite&)>& handle)
{
    LS_TRY(Statement s, m_database->prepare(std::string("SELECT ") + kWriteColumns + " FROM event WHERE id BETWEEN ? AND ? ORDER BY id"));
    s.bind(1, from);
    s.bind(2, to);
    for (;;) {
        LS_TRY(const bool hasRow, s.step());
        if (!hasRow) return {};
        const ViewedWrite w = readWrite(s);
        LS_TRY(bool goesOn, handle(w));
        if (!goesOn) return {};
        const ViewedOperator* o = op(w.op);
        if (o == nullptr || o->results.size() < 2) continue;
        LS_TRY(const std::vector<ViewedWrite> outputs, outputsOf(w));
        for (const ViewedWrite& output : outputs) {
            LS_TRY(goesOn, handle(output));
            if (!goesOn) return {};
        }
    }
}

Result<std::optional<StoredValue>> RunView::load(int64_t content)
{
    m_blob.reset();
    m_blob.bind(1, content);
    LS_TRY(const bool hasRow, m_blob.step());
    if (!hasRow) return std::optional<StoredValue>();
    StoredValue value;
    const std::optional<DType> dtype = dtypeFromName(m_blob.textView(0));
    const std::optional<Shape> shape = shapeFromText(m_blob.textView(1));
    const int64_t size = m_blob.integer(2), codec = m_blob.integer(3), stored = m_blob.integer(4), first = m_blob.integer(5),
                  chunks = m_blob.integer(6);
    m_blob.reset();
    const auto damaged = [&](const char* what) {
        return Error(ErrorCode::badFile, "blob " + std::to_string(content) + ": " + what).at(m_database->path());
    };
    int64_t afterLast = 0;
    if (!dtype || !shape || size < 0 || stored < 0 || size > kLargestBlob || stored > kLargestBlob || chunks < 0 ||
        __builtin_add_overflow(first, chunks, &afterLast))
        return damaged("bad dtype, shape or size");
    value.dtype = *dtype;
    value.shape = *shape;
    std::vector<std::byte> data;
    m_chunks.reset();
    m_chunks.bind(1, first);
    m_chunks.bind(2, afterLast - 1);
    for (;;) {
        LS_TRY(const bool hasChunk, m_chunks.step());
        if (!hasChunk) break;
        const std::span<const std::byte> chunk = m_chunks.blob(0);
        data.insert(data.end(), chunk.begin(), chunk.end());
        if (static_cast<int64_t>(data.size()) > stored) return damaged("its chunks hold more than it says");
    }
    if (static_cast<int64_t>(data.size()) != stored) return damaged("its chunks hold fewer bytes than it says");
    if (codec == 0) {
        if (stored != size) return damaged("sizes disagree");
        value.bytes = std::move(data);
        if (!holdsElements(value)) return damaged("its bytes are not those of its dtype and shape");
        return std::optional(std::move(value));
    }
    // The frame itself says its size; memory is taken only where both agree.
    if (codec != 1 || ZSTD_getFrameContentSize(data.data(), data.size()) != static_cast<uint64_t>(size))
        return damaged("cannot be unpacked");
    LS_CHECK_OK(checkMemory(static_cast<uint64_t>(size), "stored value"));
    value.bytes.resize(static_cast<size_t>(size));
    const size_t unpacked = ZSTD_decompress(value.bytes.data(), value.bytes.size(), data.data(), data.size());
    if (ZSTD_isError(unpacked) != 0 || unpacked != value.bytes.size()) return damaged("cannot be unpacked");
    if (!holdsElements(value)) return damaged("its bytes are not those of its dtype and shape");
    return std::optional(std::move(value));
}

Result<std::optional<std::string>> RunView::shapeAt(const ViewedResult& result, int64_t event)
{
    m_shape.reset();
    m_shape.bind(1, result.value);
    m_shape.bind(2, event);
    m_shape.bind(3, m_run.first);
    LS_TRY(const bool hasRow, m_shape.step());
    std::optional<std::string> shape = hasRow ? std::optional(m_shape.text(0)) : result.shape;
    m_shape.reset();
    return shape;
}

Result<std::optional<StoredValue>> RunView::valueOf(const ViewedWrite& write)
{
    if (write.content) {
        LS_TRY(std::optional<StoredValue> stored, load(*write.content));
        if (stored) return stored;
    }
    const std::optional<double> number = realOf(write.lo);
    const ViewedOperator* o = op(write.op);
    if (!number || write.hi || o == nullptr || static_cast<size_t>(write.slot) >= o->results.size()) return std::optional<StoredValue>();
    // A single element: its number is in the row. Integers keep their type, everything else becomes f64.
    StoredValue value;
    const std::optional<DType> dtype = dtypeFromName(o->results[static_cast<size_t>(write.slot)].dtype);
    LS_TRY(const std::optional<std::string> shape, shapeAt(o->results[static_cast<size_t>(write.slot)], write.event));
    if (const std::optional<Shape> known = shape ? shapeFromText(*shape) : std::nullopt; known && known->elementCount() == 1)
        value.shape = *known;
    const auto put = [&](DType type, auto v) {
        value.dtype = type;
        value.bytes.resize(sizeof(v));
        std::memcpy(value.bytes.data(), &v, sizeof(v));
    };
    const auto* integer = std::get_if<int64_t>(&write.lo);
    if (dtype == DType::f32) put(DType::f32, static_cast<float>(*number));
    else if (dtype == DType::boolean) put(DType::boolean, static_cast<uint8_t>(*number != 0));
    else if (dtype == DType::i32 && integer != nullptr) put(DType::i32, static_cast<int32_t>(*integer));
    else if (integer != nullptr && dtype && isInteger(*dtype)) put(DType::i64, *integer);
    else put(DType::f64, *number);
    return std::optional(std::move(value));
}

} // namespace loopscope
