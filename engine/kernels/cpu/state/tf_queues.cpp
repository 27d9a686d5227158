// Kernels of TensorFlow's queues: core/kernels/fifo_queue.cc, padding_fifo_queue.cc, priority_queue.cc, random_shuffle_queue_op.cc,
// queue_base.cc. A queue is a variable of the session whose value is one variant, the components of its elements one after the other, so
// that snapshots, forks and recordings hold it. Nothing waits here: where TensorFlow would, for another step that fills the queue or makes
// room, the operator fails.
#include "engine/kernels/cpu/movement.h"
#include "engine/kernels/cpu/state/tf_variables.h"
#include "engine/kernels/cpu/tf_variant.h"
#include "engine/tensor/strings.h"

#include <algorithm>

using namespace loopscope;

namespace {

enum class QueueKind : uint8_t { fifo, padding, priority, shuffled };

/// The queue of operand 0 while an operator works on it; `value` views the variable's bytes until keep().
struct Queue {
    Variable* variable = nullptr;
    ResourceStore* store = nullptr;
    VariantValue value;

    int64_t& fact(const char* name) const { return store->count(variable->name + "/queue/" + name); }
    QueueKind kind() const { return static_cast<QueueKind>(fact("kind")); }
    size_t components() const { return static_cast<size_t>(std::max<int64_t>(fact("components"), 1)); }
    int64_t size() const { return static_cast<int64_t>(value.tensors.size() / components()); }
    bool isClosed() const { return fact("closed") != 0; }
    /// Elements that may be taken: as long as it is filled, a shuffled queue keeps some to choose from.
    int64_t available() const { return isClosed() ? size() : std::max<int64_t>(size() - fact("kept"), 0); }
    std::string text() const
    {
        constexpr const char* kNames[] = {"FIFOQueue", "PaddingFIFOQueue", "PriorityQueue", "RandomShuffleQueue"};
        return std::string(kNames[static_cast<size_t>(kind())]) + " '" + variable->name + "'";
    }
    void keep(const KernelArgs& args)
    {
        const std::string encoded = encodeVariant(value);
        variable->bytes = packStrings({&encoded, 1});
        tfTellWritten(args, *variable);
    }
};

/// Component types and shapes are those that the operator states; a priority is a first component of its own.
template <QueueKind kind> Status runQueue(const KernelArgs& args)
{
    const AttributeList& attributes = attributesOf(args);
    const std::string name = tfResourceName(args);
    ResourceStore& store = args.runtime->resources();
    const int32_t handle = store.handle(name);
    Queue queue{store.variable(handle), &store, {}};
    if (!queue.variable->assigned) {
        const Attribute* const types = findAttribute(attributes, "component_types");
        const auto* const list = types ? types->as<AttributeItems>() : nullptr;
        queue.variable->assigned = true;
        queue.variable->dtype = DType::variant;
        queue.variable->shape = Shape();
        queue.value.kind = VariantKind::tensors;
        queue.fact("kind") = static_cast<int64_t>(kind);
        queue.fact("components") = (list ? static_cast<int64_t>(list->size()) : 1) + (kind == QueueKind::priority ? 1 : 0);
        queue.fact("capacity") = attributeInt(attributes, "capacity", -1);
        if (kind == QueueKind::shuffled) {
            queue.fact("kept") = std::max<int64_t>(attributeInt(attributes, "min_after_dequeue", 0), 0);
            queue.fact("seed") = attributeInt(attributes, "seed", 0);
            queue.fact("seed2") = attributeInt(attributes, "seed2", 0);
            if (queue.fact("seed") == 0 && queue.fact("seed2") == 0) queue.fact("seed") = args.runtime->random().next32();
        }
        queue.keep(args);
    }
    LS_CHECK_OK(tfAllocate(args, 0, Shape()));
    *args.out(0).as<int32_t>() = handle;
    return {};
}

Result<Queue> queueOf(const KernelArgs& args)
{
    LS_TRY(Variable* const variable, tfAssignedVariable(args));
    Queue queue{variable, &args.runtime->resources(), {}};
    if (variable->dtype != DType::variant || queue.fact("components") == 0)
        return tfError(TfCode::notFound, "the handle is that of no queue");
    LS_TRY(const auto texts, unpackStrings(variable->bytes));
    if (texts.size() != 1) return tfError(TfCode::internal, "a queue's value is one variant");
    LS_TRY(queue.value, decodeVariant(texts[0]));
    return queue;
}

/// Piece `i` of `tensor` along its first dimension.
Result<Tensor> pieceOf(const Tensor& tensor, int64_t i)
{
    if (tensor.dtype == DType::string) return Error(ErrorCode::unsupported, "queues of many strings at once");
    Tensor piece = tensor;
    piece.shape = Shape(tensor.shape.dims().subspan(1));
    piece.bytes = static_cast<size_t>(piece.shape.elementCount() * elementBytes(tensor));
    piece.data = tensor.data + static_cast<size_t>(i) * piece.bytes;
    return piece;
}

Status put(Queue& queue, std::vector<VariantTensor> element)
{
    const int64_t capacity = queue.fact("capacity");
    if (capacity >= 0 && queue.size() >= capacity)
        return tfError(TfCode::resourceExhausted,
                       queue.text() + " is full, and nothing takes from it while this waits (capacity " + std::to_string(capacity) + ")");
    auto at = queue.value.tensors.end();
    if (queue.kind() == QueueKind::priority) {
        const auto priorityOf = [](const VariantTensor& tensor) { return tensor.bytes.size() == 8 ? *tensor.view().as<int64_t>() : 0; };
        if (element[0].dtype != DType::i64 || element[0].bytes.size() != 8)
            return invalidArgument("Expected the priority element to be a scalar int64");
        for (size_t i = 0; i < queue.value.tensors.size() && at == queue.value.tensors.end(); i += queue.components())
            if (priorityOf(element[0]) < priorityOf(queue.value.tensors[i])) at = queue.value.tensors.begin() + static_cast<ptrdiff_t>(i);
    }
    queue.value.tensors.insert(at, element.begin(), element.end());
    return {};
}

template <bool many> Status runEnqueue(const KernelArgs& args)
{
    LS_TRY(Queue queue, queueOf(args));
    if (queue.isClosed()) return tfError(TfCode::cancelled, queue.text() + " is closed.");
    if (static_cast<size_t>(args.inputCount - 1) != queue.components())
        return invalidArgument("Mismatch in the number of components: queue has " + std::to_string(queue.components()) + ", got " +
                               std::to_string(args.inputCount - 1));
    int64_t count = 1;
    for (int c = 1; many && c < args.inputCount; ++c) {
        const Shape& shape = args.in(c).shape;
        if (shape.rank() < 1 || shape[0] != args.in(1).shape[0])
            return invalidArgument("All components of EnqueueMany must have the same size in the 0th dimension, got " + toString(shape));
        count = shape[0];
    }
    for (int64_t i = 0; i < count; ++i) {
        std::vector<VariantTensor> element;
        for (int c = 1; c < args.inputCount; ++c) {
            Tensor component = args.in(c);
            if (many) {
                LS_TRY(component, pieceOf(args.in(c), i));
            }
            element.push_back(variantTensor(component));
        }
        LS_CHECK_OK(put(queue, std::move(element)));
    }
    queue.keep(args);
    return {};
}

Status insufficient(const Queue& queue, int64_t wanted)
{
    const std::string figures = " (requested " + std::to_string(wanted) + ", current size " + std::to_string(queue.size()) + ")";
    if (queue.isClosed()) return tfError(TfCode::outOfRange, queue.text() + " is closed and has insufficient elements" + figures);
    return tfError(TfCode::outOfRange, queue.text() + " has insufficient elements, and nothing fills it while this waits" + figures);
}

/// The next word of the queue's own random numbers.
uint32_t draw(const Queue& queue)
{
    PhiloxStream stream{static_cast<uint64_t>(queue.fact("seed")), 0, static_cast<uint64_t>(queue.fact("seed2"))};
    const int64_t drawn = queue.fact("drawn")++;
    stream.skip(static_cast<uint64_t>(drawn / 4));
    return stream.next()[static_cast<size_t>(drawn % 4)];
}

/// Of a shuffled queue the elements that come out, one after the other, in front; the last one takes the place of each.
void chooseFirst(Queue& queue, int64_t count)
{
    if (queue.kind() != QueueKind::shuffled) return;
    const size_t width = queue.components();
    std::vector<VariantTensor>& rest = queue.value.tensors;
    std::vector<VariantTensor> chosen;
    for (int64_t k = 0; k < count; ++k) {
        const size_t at = draw(queue) % (rest.size() / width) * width;
        chosen.insert(chosen.end(), rest.begin() + static_cast<ptrdiff_t>(at), rest.begin() + static_cast<ptrdiff_t>(at + width));
        std::copy(rest.end() - static_cast<ptrdiff_t>(width), rest.end(), rest.begin() + static_cast<ptrdiff_t>(at));
        rest.resize(rest.size() - width);
    }
    rest.insert(rest.begin(), chosen.begin(), chosen.end());
}

Status runDequeue(const KernelArgs& args)
{
    LS_TRY(Queue queue, queueOf(args));
    if (queue.available() < 1) return insufficient(queue, 1);
    chooseFirst(queue, 1);
    for (int c = 0; c < args.outputCount; ++c) {
        const Tensor element = queue.value.tensors[static_cast<size_t>(c)].view();
        if (element.dtype != args.out(c).dtype)
            return invalidArgument("Type mismatch in tuple component " + std::to_string(c) + ". Expected " +
                                   std::string(tfTypeName(args.out(c).dtype)) + ", got " + std::string(tfTypeName(element.dtype)));
        LS_CHECK_OK(tfCopy(args, c, element, element.shape));
    }
    queue.value.tensors.erase(queue.value.tensors.begin(), queue.value.tensors.begin() + static_cast<ptrdiff_t>(queue.components()));
    queue.keep(args);
    return {};
}

/// Component `c` of the first `count` elements, one behind the other; a padding queue fills them up with zeros to one shape.
Status giveJoined(const KernelArgs& args, const Queue& queue, int c, int64_t count)
{
    const auto element = [&](int64_t i) {
        return queue.value.tensors[static_cast<size_t>(i) * queue.components() + static_cast<size_t>(c)].view();
    };
    const bool pads = queue.kind() == QueueKind::padding;
    Shape shape = count > 0 ? element(0).shape : Shape();
    for (int64_t i = 0; i < count; ++i) {
        const Shape own = element(i).shape;
        if (element(i).dtype == DType::string) return Error(ErrorCode::unsupported, "queues of many strings at once");
        bool fits = own.rank() == shape.rank() && element(i).dtype == args.out(c).dtype;
        for (int d = 0; fits && d < own.rank(); ++d) {
            fits = pads || own[d] == shape[d];
            shape[d] = std::max(shape[d], own[d]);
        }
        if (!fits)
            return invalidArgument(queue.text() + ": shape mismatch in tuple component " + std::to_string(c) + ". Expected " +
                                   toString(shape) + ", got " + toString(own));
    }
    Shape joined({count});
    for (const int64_t d : shape.dims()) joined.append(d);
    LS_CHECK_OK(tfAllocate(args, c, joined));
    if (args.out(c).bytes > 0) std::memset(args.out(c).data, 0, args.out(c).bytes);
    const int64_t size = elementBytes(args.out(c)), each = shape.elementCount() * size;
    for (int64_t i = 0; i < count; ++i) {
        const Tensor from = element(i);
        StridedCopy copy;
        for (int d = 0; d < from.shape.rank(); ++d) copy.add(from.shape[d], strideOf(from.shape, d), strideOf(shape, d));
        LS_CHECK_OK(copy.runChecked(from.data, args.out(c).data + i * each, size));
    }
    return {};
}

template <bool upTo> Status runDequeueMany(const KernelArgs& args)
{
    LS_TRY(Queue queue, queueOf(args));
    LS_TRY(const int64_t wanted, tfInteger(args, 1, "n"));
    if (wanted < 0) return invalidArgument("DequeueMany requested " + std::to_string(wanted) + " < 0 elements");
    int64_t count = wanted;
    if (queue.available() < wanted) {
        if (!upTo || !queue.isClosed() || queue.size() == 0) return insufficient(queue, wanted);
        count = queue.size();
    }
    chooseFirst(queue, count);
    for (int c = 0; c < args.outputCount; ++c) LS_CHECK_OK(giveJoined(args, queue, c, count));
    queue.value.tensors.erase(queue.value.tensors.begin(),
                              queue.value.tensors.begin() + static_cast<ptrdiff_t>(static_cast<size_t>(count) * queue.components()));
    queue.keep(args);
    return {};
}

Status runClose(const KernelArgs& args)
{
    LS_TRY(const Queue queue, queueOf(args));
    if (queue.isClosed()) return tfError(TfCode::cancelled, queue.text() + " is already closed.");
    queue.fact("closed") = 1;
    return {};
}

Status runIsClosed(const KernelArgs& args)
{
    LS_TRY(const Queue queue, queueOf(args));
    LS_CHECK_OK(tfAllocate(args, 0, Shape()));
    *args.out(0).as<bool>() = queue.isClosed();
    return {};
}

Status runSize(const KernelArgs& args)
{
    LS_TRY(const Queue queue, queueOf(args));
    LS_CHECK_OK(tfAllocate(args, 0, Shape()));
    *args.out(0).as<int32_t>() = static_cast<int32_t>(queue.size());
    return {};
}

} // namespace

LS_TF_KERNEL(FIFOQueueV2, runQueue<QueueKind::fifo>, kAllDTypes)
LS_TF_KERNEL(PaddingFIFOQueueV2, runQueue<QueueKind::padding>, kAllDTypes)
LS_TF_KERNEL(PriorityQueueV2, runQueue<QueueKind::priority>, kAllDTypes)
LS_TF_KERNEL(RandomShuffleQueueV2, runQueue<QueueKind::shuffled>, kAllDTypes)
LS_TF_KERNEL(QueueEnqueueV2, runEnqueue<false>, kAllDTypes)
LS_TF_KERNEL(QueueEnqueueManyV2, runEnqueue<true>, kAllDTypes)
LS_TF_KERNEL(QueueDequeueV2, runDequeue, kAllDTypes)
LS_TF_KERNEL(QueueDequeueManyV2, runDequeueMany<false>, kAllDTypes)
LS_TF_KERNEL(QueueDequeueUpToV2, runDequeueMany<true>, kAllDTypes)
LS_TF_KERNEL(QueueCloseV2, runClose, kAllDTypes)
LS_TF_KERNEL(QueueIsClosedV2, runIsClosed, kAllDTypes)
LS_TF_KERNEL(QueueSizeV2, runSize, kAllDTypes)
