#include "engine/distributed/rank_kernels.h"

#include "engine/base/interruption.h"
#include "engine/base/memory_shares.h"
#include "engine/distributed/bytes.h"
#include "engine/exec/kernel_host.h"
#include "engine/kernels/registry.h"
#include "engine/ops/catalog.h"
#include "engine/ops/op_traits.h"
#include "engine/ops/tf_registry.h"

#include <algorithm>
#include <deque>
#include <map>
#include <mutex>
#include <utility>

namespace loopscope {

namespace {

enum Tag : int32_t { call = 50, answer, quit };
/// What a call asks for, and how an operand or a result is sent.
enum class Wanted : uint8_t { kernel, kernelAndBytes, value };
enum class Sent : uint8_t { nothing, bytes, number };

constexpr int64_t kLookNs = 20'000'000;   ///< between looks for lost ranks
constexpr size_t kLeastKept = 1024;       ///< bytes: smaller results are sent at once, since somebody mostly looks at them
constexpr int64_t kMostDropped = 1 << 24; ///< bytes that a rank keeps for nobody until it is told, if nothing else is to be said to it

/// Whether an operator computes from its operands alone, which are no handles.
bool isMovable(const Graph& graph, const Operator& op)
{
    const TfOpSignature* const signature = op.kind.dialect == "tf" ? findTfOp(op.kind.name) : nullptr;
    if (!signature || signature->isStateful || opFamily(op.kind) == OpFamily::state) return false;
    const auto isPlain = [&](ValueId id) {
        if (!id.valid()) return true;
        const TensorType& type = graph.value(id).type;
        return !type.isReference && type.dtype != DType::resource && type.dtype != DType::variant;
    };
    return std::ranges::all_of(op.inputs, isPlain) && std::ranges::all_of(op.results, isPlain);
}

/// Results of one kernel that runs for another rank.
class WorkBench final : public KernelHost {
public:
    WorkBench(const ExecutionOptions& options) : KernelHost(options, m_step) {}
    Status resize(Tensor& output, const Shape& shape, size_t bytes) override
    {
        std::vector<std::byte>& room = m_rooms[static_cast<size_t>(&output - m_outputs.data())];
        room.resize(bytes);
        output.data = room.data();
        output.bytes = bytes;
        output.shape = shape;
        return {};
    }

    std::vector<Tensor> m_outputs;
    std::vector<std::vector<std::byte>> m_rooms;

private:
    Step m_step{0};
};

/// Prepared for the shapes that came last.
struct Prepared {
    PreparedKernel kernel;
    std::vector<std::pair<DType, Shape>> inputs, outputs;
};

class Server {
public:
    Server(Transport& transport, const Model& model, const ExecutionOptions& options)
        : m_transport(transport),
          m_model(model),
          m_options(options),
          m_host(options)
    {
    }

    Status run()
    {
        for (;;) {
            LS_TRY(const bool hasCome, m_transport.wait(m_message, kLookNs));
            if (!hasCome && m_transport.isLost(0)) return Error(ErrorCode::execution, "rank 0 ended without a word");
            if (!hasCome) continue;
            if (m_message.tag == Tag::quit) return {};
            if (m_message.tag == Tag::call) LS_CHECK_OK(serve());
        }
    }

private:
    Status serve()
    {
        MessageReader reader(m_message.bytes);
        const auto number = reader.number<int64_t>();
        std::vector<int64_t> dropped;
        reader.numbers(dropped);
        for (const int64_t id : dropped) m_kept.erase(id);
        if (number == 0) return {}; // nothing but that
        const auto wanted = reader.number<Wanted>();
        if (wanted == Wanted::value) return hand(number, reader.number<int64_t>());
        const GraphId graph(reader.number<int32_t>());
        const OperatorId op(reader.number<int32_t>());
        Status status = compute(reader, graph, op);
        MessageWriter message(m_room);
        message.number(number);
        message.number(static_cast<int32_t>(status.ok() ? ErrorCode() : status.detail().code));
        if (!status.ok()) message.text(status.detail().what);
        for (size_t k = 0; status.ok() && k < m_host.m_outputs.size(); ++k) answerWith(message, k, wanted == Wanted::kernelAndBytes);
        return m_transport.send(0, Tag::answer, message.bytes());
    }

    /// A large result stays here.
    void answerWith(MessageWriter& message, size_t k, bool withBytes)
    {
        Tensor& result = m_host.m_outputs[k];
        std::vector<std::byte>& room = m_host.m_rooms[k];
        const bool isKept = result.bytes >= kLeastKept && bitWidth(result.dtype) > 0 && result.data == room.data();
        message.number(isKept ? Sent::number : Sent::bytes);
        if (!isKept) return message.tensor(result);
        message.number(++m_last);
        message.number(static_cast<uint8_t>(result.dtype));
        message.numbers(result.shape.dims());
        message.number(static_cast<uint64_t>(result.bytes));
        if (withBytes) message.tensor(result);
        Kept& kept = m_kept[m_last];
        kept.tensor = result;
        kept.bytes = std::move(room); // its place stays
        kept.bytes.resize(result.bytes);
        kept.tensor.data = kept.bytes.data();
        room = {};
    }

    Status hand(int64_t number, int64_t id)
    {
        const auto kept = m_kept.find(id);
        MessageWriter message(m_room);
        message.number(number);
        message.number(static_cast<int32_t>(kept != m_kept.end() ? ErrorCode() : ErrorCode::internal));
        if (kept == m_kept.end()) message.text("rank 0 asks for a value that is not here");
        else message.tensor(kept->second.tensor);
        return m_transport.send(0, Tag::answer, message.bytes());
    }

    Status compute(MessageReader& reader, GraphId graph, OperatorId id)
    {
        const bool isKnown = m_model.hasGraph(graph) && id.valid() && static_cast<size_t>(id.index) < m_model.graph(graph).operators.size();
        if (!isKnown) return Error(ErrorCode::internal, "rank 0 asks for an operator that is not in the model");
        const Operator& op = m_model.graph(graph).op(id);
        std::vector<Tensor> operands(op.inputs.size());
        std::vector<const Tensor*> inputs(op.inputs.size(), nullptr);
        for (size_t i = 0; i < operands.size(); ++i) switch (reader.number<Sent>()) {
            case Sent::nothing: break;
            case Sent::bytes:
                operands[i] = reader.tensor();
                inputs[i] = &operands[i];
                break;
            case Sent::number: {
                const auto kept = m_kept.find(reader.number<int64_t>());
                if (kept == m_kept.end()) return Error(ErrorCode::internal, "rank 0 names a value that is not here");
                inputs[i] = &kept->second.tensor;
            }
            }
        std::vector<Tensor>& results = m_host.m_outputs;
        results.assign(op.results.size(), Tensor());
        m_host.m_rooms.resize(results.size());
        std::vector<Tensor*> outputs;
        for (size_t k = 0; k < results.size(); ++k) {
            Tensor& result = results[k];
            result.dtype = static_cast<DType>(reader.number<uint8_t>());
            if (reader.number<uint8_t>() != 0) {
                std::vector<int64_t> dims;
                reader.numbers(dims);
                result.shape = Shape(dims);
                const std::optional<int64_t> count = checkedElementCount(result.shape);
                if (!count) return Error(ErrorCode::internal, "rank 0 asks for a result without a size");
                LS_CHECK_OK(m_host.resize(result, result.shape, byteSize(result.dtype, *count)));
            } else {
                result.shape = Shape::unknownRank();
            }
            outputs.push_back(&result);
        }
        if (!reader.isWhole()) return Error(ErrorCode::internal, "what rank 0 asks for is not whole");
        LS_TRY(const Prepared* const prepared, prepare(graph, id, op, inputs));
        const KernelArgs args{inputs.data(),
                              outputs.data(),
                              prepared->kernel.params.get(),
                              &m_host,
                              static_cast<int>(inputs.size()),
                              static_cast<int>(outputs.size())};
        try {
            return prepared->kernel.run(args);
        } catch (const Interrupted&) {
            return Error(ErrorCode::cancelled, "cancelled");
        }
    }

    Result<const Prepared*> prepare(GraphId graph, OperatorId id, const Operator& op, const std::vector<const Tensor*>& inputs)
    {
        std::vector<std::pair<DType, Shape>> in, out;
        for (const Tensor* const input : inputs) in.emplace_back(input ? input->dtype : DType::unknown, input ? input->shape : Shape());
        for (const Tensor& output : m_host.m_outputs) out.emplace_back(output.dtype, output.shape);
        Prepared& prepared = m_prepared[{graph.index, id.index}];
        if (prepared.kernel.run && prepared.inputs == in && prepared.outputs == out) return &std::as_const(prepared);
        const Graph& of = m_model.graph(graph);
        std::vector<Tensor> shown(inputs.size()), results = m_host.m_outputs;
        std::vector<const Tensor*> operands(inputs.size(), nullptr), shownResults;
        for (size_t i = 0; i < inputs.size(); ++i) {
            if (!inputs[i]) continue;
            shown[i] = *inputs[i];
            const Value& value = of.value(op.inputs[i]); // only constants have data when a kernel is prepared
            if (value.role != ValueRole::result || of.op(value.producer).kind.name != "Const") shown[i].data = nullptr;
            operands[i] = &shown[i];
        }
        bool isStatic = true;
        for (Tensor& result : results) {
            result.data = nullptr;
            isStatic = isStatic && result.shape.isStatic();
            shownResults.push_back(&result);
        }
        const KernelRegistry& registry = m_options.kernels ? *m_options.kernels : KernelRegistry::builtin();
        const KernelSetup setup{op, operands, shownResults, isStatic, &m_model};
        LS_TRY(ChosenKernel chosen, chooseKernel(registry, setup, m_options.profile));
        prepared = {std::move(chosen.kernel), std::move(in), std::move(out)};
        return &std::as_const(prepared);
    }

    Transport& m_transport;
    const Model& m_model;
    const ExecutionOptions m_options;
    WorkBench m_host;
    RankMessage m_message;
    std::vector<std::byte> m_room;
    std::map<std::pair<int64_t, int64_t>, Prepared> m_prepared;
    struct Kept {
        Tensor tensor;
        std::vector<std::byte> bytes;
    };
    std::map<int64_t, Kept> m_kept; ///< results that stay here until rank 0 drops them
    int64_t m_last = 0;
};

} // namespace

/// Which values nobody on rank 0 has any more, by rank; from any thread.
class RankKernels::Keeping {
public:
    explicit Keeping(RankKernels& owner, int32_t size) : m_owner(&owner), m_dropped(static_cast<size_t>(size)) {}
    void leave()
    {
        const std::lock_guard lock(m_mutex);
        m_owner = nullptr;
    }
    /// Null: the ranks are not asked any more.
    RankKernels* owner() const
    {
        const std::lock_guard lock(m_mutex);
        return m_owner;
    }
    void drop(int32_t rank, int64_t id, size_t bytes)
    {
        const std::lock_guard lock(m_mutex);
        Dropped& dropped = m_dropped[static_cast<size_t>(rank)];
        dropped.ids.push_back(id);
        dropped.bytes += static_cast<int64_t>(bytes);
    }
    std::vector<int64_t> take(int32_t rank, int64_t least)
    {
        const std::lock_guard lock(m_mutex);
        Dropped& dropped = m_dropped[static_cast<size_t>(rank)];
        if (dropped.bytes < least) return {};
        dropped.bytes = 0;
        return std::exchange(dropped.ids, {});
    }

private:
    struct Dropped {
        std::vector<int64_t> ids;
        int64_t bytes = 0;
    };
    mutable std::mutex m_mutex;
    RankKernels* m_owner;
    std::vector<Dropped> m_dropped;
};

class RankKernels::KeptValue final : public RemoteValue {
public:
    KeptValue(std::shared_ptr<Keeping> keeping, int32_t rank, int64_t id, size_t bytes)
        : m_keeping(std::move(keeping)),
          m_rank(rank),
          m_id(id),
          m_bytes(bytes)
    {
        ++MemoryShares::all().valuesOnRanks;
        MemoryShares::all().onRanks += static_cast<int64_t>(bytes);
    }
    ~KeptValue() override
    {
        --MemoryShares::all().valuesOnRanks;
        MemoryShares::all().onRanks -= static_cast<int64_t>(m_bytes);
        m_keeping->drop(m_rank, m_id, m_bytes);
    }
    size_t bytes() const override { return m_bytes; }
    Status bring(std::span<std::byte> into) const override
    {
        RankKernels* const owner = m_keeping->owner();
        if (!owner) return Error(ErrorCode::execution, "the rank that has this value is gone");
        return owner->bring(*this, into);
    }
    int32_t rank() const { return m_rank; }
    int64_t id() const { return m_id; }

private:
    const std::shared_ptr<Keeping> m_keeping;
    const int32_t m_rank;
    const int64_t m_id;
    const size_t m_bytes;
};

RankKernels::RankKernels(Transport& transport, const CutPlan& plan, const Model& model, GraphId root, const CancelFlag* cancel)
    : m_transport(transport),
      m_plan(plan),
      m_model(model),
      m_root(root),
      m_cancel(cancel),
      m_isMovable(model.graphs.size()),
      m_keeping(std::make_shared<Keeping>(*this, transport.size()))
{
    for (const Operator& op : model.graph(root).operators) {
        const auto device = plan.rankOf.find(attributeString(op.attributes, "@device", ""));
        m_rankOf.push_back(device == plan.rankOf.end() ? 0 : device->second);
    }
}

RankKernels::~RankKernels()
{
    m_keeping->leave();
    for (int32_t rank = 1; rank < m_transport.size(); ++rank)
        if (!m_transport.isLost(rank)) static_cast<void>(!m_transport.send(rank, Tag::quit, {}).ok());
}

int32_t RankKernels::rankOf(OperatorId outermost, GraphId graph, OperatorId op)
{
    const int32_t rank = m_rankOf[static_cast<size_t>(outermost.index)];
    if (rank == 0) return 0;
    const Graph& of = m_model.graph(graph);
    std::vector<int8_t>& known = m_isMovable[static_cast<size_t>(graph.index)];
    if (known.empty()) known.assign(of.operators.size(), -1);
    int8_t& movable = known[static_cast<size_t>(op.index)];
    if (movable < 0) movable = isMovable(of, of.op(op)) ? 1 : 0;
    return movable == 1 ? rank : 0;
}

bool RankKernels::isThere(int32_t rank, const RemoteValue& value) const { return static_cast<const KeptValue&>(value).rank() == rank; }

Status RankKernels::run(int32_t rank, GraphId graph, OperatorId op, const KernelArgs& args, const Values& values)
{
    for (int32_t other = 1; other < m_transport.size(); ++other) {
        if (other == rank || m_transport.isLost(other)) continue;
        const std::vector<int64_t> dropped = m_keeping->take(other, kMostDropped);
        if (dropped.empty()) continue;
        MessageWriter message(m_room);
        message.number(int64_t{0});
        message.numbers(dropped);
        LS_CHECK_OK(m_transport.send(other, Tag::call, message.bytes()));
    }
    MessageWriter message(m_room);
    message.number(++m_number);
    message.numbers(m_keeping->take(rank, 0));
    message.number(values.areShown ? Wanted::kernelAndBytes : Wanted::kernel);
    message.number(static_cast<int32_t>(graph.index));
    message.number(static_cast<int32_t>(op.index));
    for (int i = 0; i < args.inputCount; ++i) {
        const RemoteValuePtr& remote = values.operands[static_cast<size_t>(i)];
        const bool isThere = remote && this->isThere(rank, *remote);
        message.number(!args.has(i) ? Sent::nothing : isThere ? Sent::number : Sent::bytes);
        if (isThere) message.number(static_cast<const KeptValue&>(*remote).id());
        else if (args.has(i)) message.tensor(args.in(i));
    }
    for (int k = 0; k < args.outputCount; ++k) {
        const Tensor& result = args.out(k);
        const bool isSized = result.shape.isStatic() && bitWidth(result.dtype) > 0;
        message.number(static_cast<uint8_t>(result.dtype));
        message.number(static_cast<uint8_t>(isSized ? 1 : 0));
        if (isSized) message.numbers(result.shape.dims());
    }
    LS_CHECK_OK(call(rank, message.bytes()));
    return take(rank, args, values);
}

/// The answer is in m_message.
Status RankKernels::call(int32_t rank, std::span<const std::byte> message)
{
    LS_CHECK_OK(m_transport.send(rank, Tag::call, message));
    for (;;) {
        LS_TRY(const bool hasCome, m_transport.wait(m_message, kLookNs));
        if (hasCome && m_message.tag == Tag::answer && m_message.from == rank) {
            MessageReader reader(m_message.bytes);
            if (reader.number<int64_t>() == m_number) return {};
        }
        if (hasCome) continue;
        if (m_cancel && m_cancel->requested() && !m_transport.isLost(rank)) return Error(ErrorCode::cancelled, "cancelled");
        if (m_transport.isLost(rank)) return Error(ErrorCode::execution, m_plan.nameOf(rank) + " ended without a word");
    }
}

Status RankKernels::bring(const KeptValue& value, std::span<std::byte> into)
{
    MessageWriter message(m_room);
    message.number(++m_number);
    message.numbers(m_keeping->take(value.rank(), 0));
    message.number(Wanted::value);
    message.number(value.id());
    LS_CHECK_OK(call(value.rank(), message.bytes()));
    MessageReader reader(m_message.bytes);
    reader.number<int64_t>();
    if (const auto code = reader.number<int32_t>(); code != 0) return Error(static_cast<ErrorCode>(code), reader.text());
    const Tensor tensor = reader.tensor();
    if (!reader.isWhole() || tensor.bytes != into.size())
        return Error(ErrorCode::execution, "a value came that is not whole").at(m_plan.nameOf(value.rank()));
    if (!into.empty()) std::memcpy(into.data(), tensor.data, into.size());
    return {};
}

Status RankKernels::take(int32_t rank, const KernelArgs& args, const Values& values)
{
    MessageReader reader(m_message.bytes);
    reader.number<int64_t>();
    if (const auto code = reader.number<int32_t>(); code != 0) return Error(static_cast<ErrorCode>(code), reader.text());
    const auto notWhole = [&] { return Error(ErrorCode::execution, "a result came that is not whole").at(m_plan.nameOf(rank)); };
    for (int k = 0; k < args.outputCount; ++k) {
        Tensor& output = args.out(k);
        if (reader.number<Sent>() == Sent::number) {
            const auto id = reader.number<int64_t>();
            const auto dtype = static_cast<DType>(reader.number<uint8_t>());
            std::vector<int64_t> dims;
            reader.numbers(dims);
            const auto bytes = reader.number<uint64_t>();
            const std::optional<int64_t> count = checkedElementCount(Shape(dims));
            if (!reader.isWhole() || dtype != output.dtype || !count || byteSize(dtype, *count) != bytes) return notWhole();
            output.shape = Shape(dims);
            values.results[static_cast<size_t>(k)] = std::make_shared<KeptValue>(m_keeping, rank, id, bytes);
            if (!values.areShown) continue;
        }
        const Tensor result = reader.tensor();
        if (!reader.isWhole() || result.dtype != output.dtype) return notWhole();
        if (!output.data || output.bytes != result.bytes || output.shape != result.shape)
            LS_CHECK_OK(args.runtime->resize(output, result.shape, result.bytes));
        if (result.bytes > 0) std::memcpy(output.data, result.data, result.bytes);
    }
    return {};
}

Status serveKernels(Transport& transport, const Model& model, const ExecutionOptions& options)
{
    return Server(transport, model, options).run();
}

} // namespace loopscope
