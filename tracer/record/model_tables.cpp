#include "tracer/record/model_tables.h"

#include "engine/ir/derivation.h"
#include "engine/ir/ids.h"
#include "engine/ir/origin.h"
#include "engine/observe/address_names.h"
#include "tracer/record/content.h"
#include "tracer/schema/json.h"
#include "tracer/schema/schema.h"

#include <algorithm>
#include <charconv>
#include <unordered_set>

namespace loopscope {

namespace {

constexpr uint64_t kLargestStoredConstant = 64 * 1024;

const char* roleOf(const Value& value, bool isOutput)
{
    switch (value.role) {
    case ValueRole::input: return "input";
    case ValueRole::constant: return "constant";
    case ValueRole::variable: return "variable";
    default: return isOutput ? "output" : "temp";
    }
}

std::string floatText(float value)
{
    char text[32];
    const auto [end, error] = std::to_chars(text, text + sizeof(text), value);
    return std::string(text, end);
}

/// Sizes of the dimensions of operand `i`, or empty if it is missing or not static.
std::span<const int64_t> staticDims(const Graph& graph, const std::vector<ValueId>& values, size_t i)
{
    if (i >= values.size() || !values[i].valid()) return {};
    const Shape& shape = graph.value(values[i]).type.shape;
    return shape.isStatic() ? shape.dims() : std::span<const int64_t>();
}

std::string fileName(const std::string& path)
{
    const size_t slash = path.find_last_of('/');
    return slash == std::string::npos ? path : path.substr(slash + 1);
}

class ModelWriter {
public:
    ModelWriter(Database& database, const Model& model, const RecorderOptions& options)
        : m_database(database),
          m_model(model),
          m_options(options)
    {
        if (model.dialect != Dialect::tf || isRaised(model) || !options.model.derivedFrom.empty()) m_origins = derivedOrigins(model);
    }

    Result<ModelRows> write()
    {
        LS_CHECK_OK(writeModelRow());
        LS_CHECK_OK(prepare());
        int64_t nextOp = 0, nextValue = 0, nextGraph = 0;
        LS_TRY(nextGraph, m_database.integer("SELECT coalesce(max(id), 0) + 1 FROM graph"));
        LS_TRY(nextOp, m_database.integer("SELECT coalesce(max(id), 0) + 1 FROM op"));
        LS_TRY(nextValue, m_database.integer("SELECT coalesce(max(id), 0) + 1 FROM value"));
        LS_TRY(m_rows.nextCall, m_database.integer("SELECT coalesce(max(id), 0) + 1 FROM call"));
        LS_TRY(m_nextChunk, m_database.integer("SELECT coalesce(max(id), 0) + 1 FROM chunk"));
        for (const Graph& graph : m_model.graphs) {
            m_rows.graphs.push_back(nextGraph++);
            m_rows.firstOps.push_back(nextOp);
            m_rows.firstValues.push_back(nextValue);
            nextOp += static_cast<int64_t>(graph.operators.size());
            nextValue += static_cast<int64_t>(graph.values.size());
        }
        for (size_t g = 0; g < m_model.graphs.size(); ++g) LS_CHECK_OK(writeGraph(g));
        return std::move(m_rows);
    }

private:
    Status writeModelRow()
    {
        const TraceModelInfo& info = m_options.model;
        int64_t source = 0; // 0: none
        for (auto from = info.derivedFrom.rbegin(); from != info.derivedFrom.rend(); ++from) {
            LS_TRY(source, sourceRow(*from, source));
        }
        LS_TRY(m_rows.model, m_database.integer("SELECT coalesce(max(id), 0) + 1 FROM model"));
        LS_TRY(Statement s, m_database.prepare("INSERT INTO model VALUES (?, ?, ?, ?, ?, ?, ?)"));
        s.bind(1, m_rows.model);
        if (info.path.empty()) s.bindNull(2);
        else s.bind(2, info.path);
        s.bind(3, fileName(info.path));
        s.bind(4, info.format);
        if (info.path.empty()) s.bindNull(5);
        else s.bind(5, static_cast<int64_t>(info.bytes));
        s.bind(6, info.hash);
        if (source == 0) s.bindNull(7);
        else s.bind(7, source);
        return s.run();
    }

    /// The row of a model that this one, or the one before, was made from: what is known of its file, unless the trace has it.
    Result<int64_t> sourceRow(const Derivation& from, int64_t source)
    {
        LS_TRY(Statement find, m_database.prepare("SELECT id FROM model WHERE hash = ? AND hash <> '' ORDER BY id LIMIT 1"));
        find.bind(1, from.hash);
        LS_TRY(const bool isThere, find.step());
        if (isThere) return find.integer(0);
        LS_TRY(const int64_t id, m_database.integer("SELECT coalesce(max(id), 0) + 1 FROM model"));
        LS_TRY(Statement s, m_database.prepare("INSERT INTO model VALUES (?, NULL, ?, ?, ?, ?, ?)"));
        s.bind(1, id);
        s.bind(2, from.name);
        s.bind(3, from.format);
        s.bind(4, static_cast<int64_t>(from.bytes));
        s.bind(5, from.hash);
        if (source == 0) s.bindNull(6);
        else s.bind(6, source);
        LS_CHECK_OK(s.run());
        return id;
    }

    Status prepare()
    {
        const auto make = [this](Statement& statement, const char* sql) -> Status {
            LS_TRY(statement, m_database.prepare(sql));
            return {};
        };
        LS_CHECK_OK(make(m_graph, "INSERT INTO graph VALUES (?, ?, ?, ?, ?)"));
        LS_CHECK_OK(make(m_op, "INSERT INTO op VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"));
        LS_CHECK_OK(make(m_value, "INSERT INTO value VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"));
        LS_CHECK_OK(make(m_operand, "INSERT INTO operand VALUES (?, ?, ?)"));
        LS_CHECK_OK(make(m_result, "INSERT INTO result VALUES (?, ?, ?)"));
        LS_CHECK_OK(make(m_call, "INSERT INTO call VALUES (?, ?, ?, ?, ?, NULL)"));
        LS_CHECK_OK(make(m_carry, "INSERT INTO carry VALUES (?, ?, ?, ?, ?)"));
        LS_CHECK_OK(make(m_blob, "INSERT OR IGNORE INTO blob VALUES (?, ?, ?, ?, ?, 0, ?, ?, ?)"));
        return make(m_chunk, "INSERT INTO chunk VALUES (?, ?)");
    }

    Status writeGraph(size_t g)
    {
        const Graph& graph = m_model.graphs[g];
        TraceListing listing;
        if (m_options.listing) listing = m_options.listing(m_model, GraphId(static_cast<int64_t>(g)));
        m_graph.bind(1, m_rows.graphs[g]);
        m_graph.bind(2, m_rows.model);
        m_graph.bind(3, static_cast<int64_t>(g));
        m_graph.bind(4, graph.id);
        m_graph.bind(5, listing.text);
        LS_CHECK_OK(m_graph.run());
        LS_CHECK_OK(writeValues(g));
        for (size_t i = 0; i < graph.operators.size(); ++i) {
            const int64_t line = i < listing.operatorLines.size() ? listing.operatorLines[i] : -1;
            LS_CHECK_OK(writeOperator(g, i, line));
        }
        return {};
    }

    Status writeValues(size_t g)
    {
        const Graph& graph = m_model.graphs[g];
        std::vector<int64_t> position(graph.values.size(), -1);
        std::vector<bool> isOutput(graph.values.size(), false);
        for (size_t i = graph.outputs.size(); i-- > 0;) {
            const ValueId id = graph.outputs[i].value;
            if (!id.valid() || static_cast<size_t>(id.index) >= graph.values.size()) continue;
            position[static_cast<size_t>(id.index)] = static_cast<int64_t>(i);
            isOutput[static_cast<size_t>(id.index)] = true;
        }
        for (size_t i = graph.inputs.size(); i-- > 0;) {
            const ValueId id = graph.inputs[i];
            if (id.valid() && static_cast<size_t>(id.index) < graph.values.size())
                position[static_cast<size_t>(id.index)] = static_cast<int64_t>(i);
        }
        for (size_t i = 0; i < graph.values.size(); ++i) {
            const Value& value = graph.values[i];
            const Shape shape = value.type.dynamicShape();
            const std::string quantization = quantizationText(graph, value.type.quantization.get());
            m_value.bind(1, m_rows.firstValues[g] + static_cast<int64_t>(i));
            m_value.bind(2, m_rows.graphs[g]);
            m_value.bind(3, value.id);
            m_value.bind(4, dtypeName(value.type.dtype));
            if (shape.hasRank()) m_value.bind(5, toString(shape));
            else m_value.bindNull(5);
            m_value.bind(6, roleOf(value, isOutput[i]));
            if (position[i] >= 0) m_value.bind(7, position[i]);
            else m_value.bindNull(7);
            if (quantization.empty()) m_value.bindNull(8);
            else m_value.bind(8, quantization);
            m_value.bindNull(9);
            if (value.role == ValueRole::constant && value.constant && value.constant->hasBytes() && !value.constant->sparsity) {
                LS_TRY(const int64_t key, storeConstant(value));
                m_value.bind(9, key);
            }
            LS_CHECK_OK(m_value.run());
        }
        return {};
    }

    Result<int64_t> storeConstant(const Value& value)
    {
        // Buffers are shared between values: each is hashed once per type.
        const std::span<const std::byte> bytes = value.constant->bytes().view();
        const ContentKey key = contentKey(value.type.dtype, value.type.shape, bytes);
        if (bytes.size() > kLargestStoredConstant && !m_options.allConstants) return key.key;
        if (!m_stored.insert(key.key).second) return key.key;
        const int64_t first = m_nextChunk;
        size_t offset = 0;
        do {
            const size_t size = std::min(kChunkBytes, bytes.size() - offset);
            m_chunk.bind(1, m_nextChunk++);
            m_chunk.bindBlob(2, bytes.subspan(offset, size));
            LS_CHECK_OK(m_chunk.run());
            offset += size;
        } while (offset < bytes.size());
        m_blob.bind(1, key.key);
        m_blob.bind(2, key.guard);
        m_blob.bind(3, dtypeName(value.type.dtype));
        m_blob.bind(4, toString(value.type.shape));
        m_blob.bind(5, static_cast<int64_t>(bytes.size()));
        m_blob.bind(6, static_cast<int64_t>(bytes.size()));
        m_blob.bind(7, first);
        m_blob.bind(8, m_nextChunk - first);
        LS_CHECK_OK(m_blob.run());
        return key.key;
    }

    Status writeOperator(size_t g, size_t i, int64_t line)
    {
        const Graph& graph = m_model.graphs[g];
        const Operator& op = graph.operators[i];
        const int64_t id = m_rows.firstOps[g] + static_cast<int64_t>(i);
        const int64_t macs = multiplyAdds(graph, op);
        m_op.bind(1, id);
        m_op.bind(2, m_rows.graphs[g]);
        m_op.bind(3, static_cast<int64_t>(i));
        m_op.bind(4, operatorLabel(op, static_cast<int64_t>(i)));
        if (op.name.empty()) m_op.bindNull(5);
        else m_op.bind(5, op.name);
        m_op.bind(6, op.kind.full());
        m_op.bind(7, attributesJson(op.attributes));
        const std::vector<std::string>& origin = m_origins.empty() ? op.origin : m_origins[g][i];
        if (origin.empty()) m_op.bindNull(8);
        else m_op.bind(8, jsonList(origin));
        if (line >= 0) m_op.bind(9, line);
        else m_op.bindNull(9);
        if (macs >= 0) m_op.bind(10, macs);
        else m_op.bindNull(10);
        LS_CHECK_OK(m_op.run());
        LS_CHECK_OK(writeSlots(m_operand, g, id, op.inputs));
        LS_CHECK_OK(writeSlots(m_result, g, id, op.results));
        return writeCalls(g, id, op);
    }

    Status writeSlots(Statement& statement, size_t g, int64_t op, const std::vector<ValueId>& values)
    {
        for (size_t slot = 0; slot < values.size(); ++slot) {
            if (!values[slot].valid()) continue;
            statement.bind(1, op);
            statement.bind(2, static_cast<int64_t>(slot));
            statement.bind(3, m_rows.firstValues[g] + values[slot].index);
            LS_CHECK_OK(statement.run());
        }
        return {};
    }

    Status writeCalls(size_t g, int64_t id, const Operator& op)
    {
        GraphId cond, body;
        for (const Callee& callee : calleesOf(op)) {
            if (!m_model.hasGraph(callee.graph)) continue;
            if (callee.role == "cond") cond = callee.graph;
            else if (callee.role == "body") body = callee.graph;
            else LS_CHECK_OK(writeCall(id, callee.role, callee.graph, GraphId()));
        }
        if (!body.valid()) return {};
        LS_CHECK_OK(writeCall(id, "loop", body, cond));
        return writeCarry(g, id, op, cond, body);
    }

    Status writeCall(int64_t op, const std::string& role, GraphId graph, GraphId cond)
    {
        const int64_t id = m_rows.nextCall++;
        m_rows.calls.push_back({id, op, role});
        m_call.bind(1, id);
        m_call.bind(2, op);
        m_call.bind(3, role);
        m_call.bind(4, m_rows.graphs[static_cast<size_t>(graph.index)]);
        if (cond.valid()) m_call.bind(5, m_rows.graphs[static_cast<size_t>(cond.index)]);
        else m_call.bindNull(5);
        return m_call.run();
    }

    Status writeCarry(size_t, int64_t id, const Operator& op, GraphId cond, GraphId body)
    {
        const auto bindValue = [this](int parameter, GraphId graph, ValueId value, bool isUsed) {
            if (isUsed) m_carry.bind(parameter, m_rows.firstValues[static_cast<size_t>(graph.index)] + value.index);
            else m_carry.bindNull(parameter);
        };
        const std::vector<bool> condUses = usedInputs(cond), bodyUses = usedInputs(body);
        const Graph& bodyGraph = m_model.graph(body);
        for (size_t slot = 0; slot < op.inputs.size(); ++slot) {
            m_carry.bind(1, id);
            m_carry.bind(2, static_cast<int64_t>(slot));
            bindValue(3, cond, cond.valid() && slot < condUses.size() ? m_model.graph(cond).inputs[slot] : ValueId(),
                      slot < condUses.size() && condUses[slot]);
            bindValue(4, body, slot < bodyUses.size() ? bodyGraph.inputs[slot] : ValueId(), slot < bodyUses.size() && bodyUses[slot]);
            const bool hasOutput = slot < bodyGraph.outputs.size() && bodyGraph.outputs[slot].value.valid();
            bindValue(5, body, hasOutput ? bodyGraph.outputs[slot].value : ValueId(), hasOutput);
            LS_CHECK_OK(m_carry.run());
        }
        return {};
    }

    /// By input position: read by an operator, or handed out.
    std::vector<bool> usedInputs(GraphId id) const
    {
        if (!id.valid()) return {};
        const Graph& graph = m_model.graph(id);
        std::unordered_set<int32_t> used;
        for (const Operator& op : graph.operators) {
            for (const ValueId value : op.inputs) used.insert(value.index);
        }
        for (const GraphOutput& output : graph.outputs) used.insert(output.value.index);
        std::vector<bool> result;
        for (const ValueId input : graph.inputs) result.push_back(used.contains(input.index));
        return result;
    }

    Database& m_database;
    const Model& m_model;
    const RecorderOptions& m_options;
    std::vector<std::vector<std::vector<std::string>>> m_origins; ///< of a raised, fused or lowered model, by graph and operator
    ModelRows m_rows;
    int64_t m_nextChunk = 1;
    std::unordered_set<int64_t> m_stored;
    Statement m_graph, m_op, m_value, m_operand, m_result, m_call, m_carry, m_blob, m_chunk;
};

} // namespace

std::string madeCallKey(std::string_view role, int64_t graph, int64_t op, std::string_view frame)
{
    return std::string(role) + " " + std::to_string(graph) + " " + std::to_string(op) + " " + std::string(frame);
}

std::string quantizationText(const Graph& graph, const Quantization* q)
{
    if (q == nullptr) return "";
    switch (q->kind) {
    case Quantization::Kind::none: return "";
    case Quantization::Kind::custom: return "q(custom)";
    case Quantization::Kind::unresolved: return "q(axis=" + std::to_string(q->axis) + ", #" + q->scalesHash + ")";
    case Quantization::Kind::blockwise: {
        const bool isNamed = q->blockScales >= 0 && static_cast<size_t>(q->blockScales) < graph.values.size();
        return "q(block=" + std::to_string(q->blockSize) +
               (isNamed ? ", scales=" + graph.values[static_cast<size_t>(q->blockScales)].id : "") + ")";
    }
    case Quantization::Kind::affine: break;
    }
    if (q->isPerTensor() && !q->perChannel) return "q(" + floatText(q->scale()) + ", " + std::to_string(q->zeroPoint()) + ")";
    return "q(axis=" + std::to_string(q->axis) + ", " + std::to_string(q->scales.size()) + " channels)";
}

int64_t multiplyAdds(const Graph& graph, const Operator& op)
{
    const std::span<const int64_t> out = staticDims(graph, op.results, 0);
    const std::span<const int64_t> in = staticDims(graph, op.inputs, 0);
    const std::span<const int64_t> weights = staticDims(graph, op.inputs, 1);
    if (out.empty() || in.empty() || weights.empty()) return -1;
    // Sizes come from a file: a product beyond what an estimate needs is not counted.
    double total = 1;
    for (const int64_t dim : out) total *= static_cast<double>(dim);
    const std::string& name = op.kind.name;
    if (name == "conv_2d" && weights.size() == 4) {
        total *= static_cast<double>(weights[1]) * static_cast<double>(weights[2]) * static_cast<double>(weights[3]);
    } else if (name == "depthwise_conv_2d" && weights.size() == 4) {
        total *= static_cast<double>(weights[1]) * static_cast<double>(weights[2]);
    } else if (name == "conv_3d" && weights.size() == 5) {
        total *= static_cast<double>(weights[0]) * static_cast<double>(weights[1]) * static_cast<double>(weights[2]) *
                 static_cast<double>(weights[3]);
    } else if (name == "fully_connected" && weights.size() == 2) {
        total *= static_cast<double>(weights[1]);
    } else if (name == "batch_matmul" && in.size() >= 2) {
        total *= static_cast<double>(attributeBool(op.attributes, "adj_x", false) ? in[in.size() - 2] : in.back());
    } else {
        return -1;
    }
    return total < 9e18 ? static_cast<int64_t>(total) : -1;
}

Result<ModelRows> writeModel(Database& database, const Model& model, const RecorderOptions& options)
{
    return ModelWriter(database, model, options).write();
}

Status writePlace(Statement& insert, int64_t run, const PlaceItem& place, std::string_view profile)
{
    insert.bind(1, run);
    insert.bind(2, place.op);
    insert.bind(3, place.device);
    insert.bind(4, profile);
    insert.bind(5, place.rank);
    return insert.run();
}

} // namespace loopscope
