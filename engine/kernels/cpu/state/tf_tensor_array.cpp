// Kernels of TensorFlow's tensor arrays and stacks: core/kernels/tensor_array.h, tensor_array_ops.cc, stack.cc.
#include "engine/base/swapped_bytes.h"
#include "engine/kernels/cpu/tf_support.h"
#include "engine/kernels/resources.h"
#include "engine/tensor/strings.h"

#include <algorithm>

using namespace loopscope;

namespace {

constexpr int64_t kMostElements = int64_t{1} << 26;

Result<TensorArray*> arrayOf(const KernelArgs& args)
{
    if (args.in(0).elementCount() != 1 || args.in(0).bytes < sizeof(int32_t)) return invalidArgument("a handle is a scalar");
    TensorArray* array = args.runtime->resources().objects().array(*args.in(0).as<int32_t>());
    if (!array) return tfError(TfCode::notFound, "the handle is that of no TensorArray");
    if (array->isClosed) return invalidArgument("TensorArray " + array->name + " has already been closed.");
    return array;
}

Error arrayError(const TensorArray& array, const std::string& what) { return invalidArgument("TensorArray " + array.name + ": " + what); }

/// The dimensions that both know. None if they contradict each other.
std::optional<Shape> merged(const Shape& a, const Shape& b)
{
    if (!a.hasRank()) return b;
    if (!b.hasRank()) return a;
    if (a.rank() != b.rank()) return std::nullopt;
    Shape both = a;
    for (int d = 0; d < a.rank(); ++d) {
        if (a[d] == kUnknownDim) both[d] = b[d];
        else if (b[d] != kUnknownDim && a[d] != b[d]) return std::nullopt;
    }
    return both;
}

Status giveHandle(const KernelArgs& args, int32_t handle)
{
    LS_CHECK_OK(tfAllocate(args, 0, Shape()));
    *args.out(0).as<int32_t>() = handle;
    if (args.outputCount < 2) return {};
    LS_CHECK_OK(tfAllocate(args, 1, Shape()));
    *args.out(1).as<float>() = 0;
    return {};
}

Status giveFlow(const KernelArgs& args)
{
    LS_CHECK_OK(tfAllocate(args, 0, Shape()));
    const Tensor& flow = args.in(args.inputCount - 1);
    *args.out(0).as<float>() = flow.elementCount() > 0 ? *flow.as<float>() : 0;
    return {};
}

Status runArray(const KernelArgs& args)
{
    LS_TRY(const int64_t size, tfInteger(args, 0, "TensorArray size"));
    if (size < 0 || size > kMostElements) return invalidArgument("Size should be >= 0.");
    const AttributeList& attributes = attributesOf(args);
    TensorArray array;
    array.name = attributeString(attributes, "tensor_array_name", "");
    if (array.name.empty()) array.name = nodeOf(args);
    array.dtype = tfTypeAttribute(attributes, "dtype");
    array.elementShape = tfShapeAttribute(attributes, "element_shape");
    array.isDynamic = attributeBool(attributes, "dynamic_size", false);
    array.clearsAfterRead = attributeBool(attributes, "clear_after_read", true);
    array.identicalShapes = attributeBool(attributes, "identical_element_shapes", false);
    array.elements.resize(static_cast<size_t>(size));
    StepObjects& objects = args.runtime->resources().objects();
    const int32_t handle = objects.addArray(std::move(array));
    TensorArray& made = *objects.array(handle);
    made.name += "_" + std::to_string(objects.arrays().size() - 1);
    return giveHandle(args, handle);
}

/// The gradient array of operand 0 for the attribute `source`, made when it is first asked for.
Status makeGradient(const KernelArgs& args, const Shape& prepended)
{
    LS_TRY(TensorArray* const array, arrayOf(args));
    const std::string source(attributeString(attributesOf(args), "source", ""));
    if (const auto found = array->gradients.find(source); found != array->gradients.end()) return giveHandle(args, found->second);
    if (array->isGradient && array->hasAggregated)
        return arrayError(*array, "Could not write to TensorArray: a gradient array whose elements were added to has no gradient");
    array->isDynamic = false;
    TensorArray gradient;
    gradient.name = array->name + "@" + source;
    gradient.dtype = array->dtype;
    gradient.isGradient = true;
    gradient.clearsAfterRead = false;
    gradient.identicalShapes = array->identicalShapes;
    const auto withPrepended = [&](const Shape& shape) {
        if (!shape.hasRank()) return shape;
        Shape all = prepended;
        for (const int64_t d : shape.dims()) all.append(d);
        return all;
    };
    gradient.elementShape = withPrepended(array->elementShape);
    gradient.elements.resize(array->elements.size());
    for (size_t i = 0; i < array->elements.size(); ++i) { // unwritten gradients read as zeros of the element's shape
        gradient.elements[i].value.shape = Shape::unknownRank();
        if (array->elements[i].written) gradient.elements[i].value.shape = withPrepended(array->elements[i].value.shape);
    }
    const int32_t handle = args.runtime->resources().objects().addArray(std::move(gradient));
    array->gradients.emplace(source, handle);
    return giveHandle(args, handle);
}

Status runGradient(const KernelArgs& args) { return makeGradient(args, Shape()); }

Status runGradientWithShape(const KernelArgs& args)
{
    LS_TRY(const Shape prepended, tfShapeOperand(args.in(2)));
    return makeGradient(args, prepended);
}

/// Adds `value` to an element of a gradient array.
Status aggregate(TensorArray& array, int64_t index, StoredTensor& element, const Tensor& value)
{
    if (!(element.shape == value.shape))
        return arrayError(array, "Could not aggregate to TensorArray index " + std::to_string(index) + " because the existing shape is " +
                                     toString(element.shape) + " but the new input shape is " + toString(value.shape) + ".");
    const Bytes before = element.bytes.pinned();
    std::vector<std::byte> sum(before.view().begin(), before.view().end());
    LS_CHECK_OK((forDType<TfFloats, TfSigned, TfUnsigned, TfComplex>(array.dtype, [&]<typename T>() -> Status {
        T* to = reinterpret_cast<T*>(sum.data());
        for (int64_t i = 0, n = value.elementCount(); i < n; ++i)
            to[i] = Element<T>::store(wrappingAdd(Element<T>::load(to[i]), Element<T>::load(value.as<T>()[i])));
        return {};
    })));
    LS_TRY(element.bytes, keptCopy(sum));
    array.hasAggregated = true;
    return {};
}

Status write(TensorArray& array, int64_t index, const Tensor& value)
{
    const auto size = static_cast<int64_t>(array.elements.size());
    if (index < 0 || (index >= size && !array.isDynamic))
        return arrayError(array, "Tried to write to index " + std::to_string(index) +
                                     " but array is not resizeable and size is: " + std::to_string(size));
    if (index >= kMostElements) return arrayError(array, "index " + std::to_string(index) + " is too large");
    if (value.dtype != array.dtype)
        return arrayError(array, "Could not write to TensorArray index " + std::to_string(index) + " because the value dtype is " +
                                     std::string(tfTypeName(value.dtype)) + " but TensorArray dtype is " +
                                     std::string(tfTypeName(array.dtype)) + ".");
    if (!merged(array.elementShape, value.shape))
        return arrayError(array, "Could not write to TensorArray index " + std::to_string(index) + " because the value shape is " +
                                     toString(value.shape) + " which is incompatible with the TensorArray's inferred element shape: " +
                                     tfShapeText(array.elementShape) + " (consider setting infer_shape=False).");
    if (index >= size) array.elements.resize(static_cast<size_t>(index) + 1);
    TensorArray::Element& element = array.elements[static_cast<size_t>(index)];
    if (element.read)
        return arrayError(array, "Could not write to TensorArray index " + std::to_string(index) + " because it has already been read.");
    if (array.identicalShapes) array.elementShape = *merged(array.elementShape, value.shape);
    if (element.written && array.isGradient) return aggregate(array, index, element.value, value);
    if (element.written)
        return arrayError(array,
                          "Could not write to TensorArray index " + std::to_string(index) + " because it has already been written to.");
    LS_TRY(KeptBytes kept, keptCopy(value.view()));
    element.value = {value.dtype, value.shape, std::move(kept), -1};
    element.written = true;
    return {};
}

/// Reads an element as `wanted` says; zeros if it was not written and its shape is known.
Result<StoredTensor> read(TensorArray& array, int64_t index, const Shape& wanted)
{
    const auto size = static_cast<int64_t>(array.elements.size());
    if (index < 0 || index >= size)
        return arrayError(array, "Tried to read from index " + std::to_string(index) + " but array size is: " + std::to_string(size));
    TensorArray::Element& element = array.elements[static_cast<size_t>(index)];
    if (element.cleared)
        return arrayError(array,
                          "Could not read index " + std::to_string(index) +
                              " twice because it was cleared after a previous read (perhaps try setting clear_after_read = false?).");
    if (!element.written) {
        Shape shape =
            element.value.isSet() || !element.value.shape.hasRank() || array.isGradient ? element.value.shape : Shape::unknownRank();
        if (!shape.isStatic()) shape = merged(array.elementShape, wanted).value_or(array.elementShape);
        if (!shape.isStatic())
            return arrayError(array,
                              "Could not read from TensorArray index " + std::to_string(index) +
                                  ".  Furthermore, the element shape is not fully defined: " + tfShapeText(shape) +
                                  ".  It is possible you are working with a resizeable TensorArray and stop_gradients is not allowing "
                                  "the gradients to be written.  If you set the full element_shape property on the forward "
                                  "TensorArray, the proper all-zeros tensor will be returned instead of incurring this error.");
        StoredTensor zeros;
        zeros.dtype = array.dtype;
        zeros.shape = shape;
        const auto count = static_cast<size_t>(shape.elementCount());
        zeros.bytes = KeptBytes::inHeap(bitWidth(array.dtype) == 0 ? packStrings(std::vector<std::string>(count))
                                                                   : std::vector<std::byte>(byteSize(array.dtype, shape.elementCount())));
        element.value = zeros;
        element.written = true;
    }
    StoredTensor value = element.value;
    element.read = true;
    if (array.clearsAfterRead) {
        element.cleared = true;
        element.value.bytes = KeptBytes();
    }
    return value;
}

/// Result 0 becomes an element.
Status give(const KernelArgs& args, const StoredTensor& value)
{
    LS_CHECK_OK(tfCopy(args, 0, value.view(), value.shape));
    return swapFailure();
}

Status runWrite(const KernelArgs& args)
{
    LS_TRY(TensorArray* const array, arrayOf(args));
    LS_TRY(const int64_t index, tfInteger(args, 1, "TensorArray index"));
    LS_CHECK_OK(write(*array, index, args.in(2)));
    array->elements[static_cast<size_t>(index)].value.origin = args.runtime->resources().iterationTick();
    return giveFlow(args);
}

/// The array's elements must be of result 0's dtype.
Status checkDType(const KernelArgs& args, const TensorArray& array)
{
    if (array.dtype == args.out(0).dtype) return {};
    return arrayError(array, "dtype is " + std::string(tfTypeName(array.dtype)) + " but Op requested dtype " +
                                 std::string(tfTypeName(args.out(0).dtype)) + ".");
}

Status runRead(const KernelArgs& args)
{
    LS_TRY(TensorArray* const array, arrayOf(args));
    LS_TRY(const int64_t index, tfInteger(args, 1, "TensorArray index"));
    LS_CHECK_OK(checkDType(args, *array));
    LS_TRY(const StoredTensor value, read(*array, index, Shape::unknownRank()));
    args.runtime->resources().elementTaken(value.origin, false);
    return give(args, value);
}

Status runGather(const KernelArgs& args)
{
    LS_TRY(TensorArray* const array, arrayOf(args));
    LS_CHECK_OK(checkDType(args, *array));
    const Shape wanted = tfShapeAttribute(attributesOf(args), "element_shape");
    std::vector<StoredTensor> elements;
    for (const int64_t index : tfIntegers(args.in(1))) {
        LS_TRY(StoredTensor value, read(*array, index, wanted));
        elements.push_back(std::move(value));
    }
    Shape each = merged(array->elementShape, wanted).value_or(wanted);
    if (!elements.empty()) each = elements[0].shape;
    if (!each.isStatic())
        return tfError(TfCode::unimplemented,
                       "TensorArray has size zero, but element shape " + tfShapeText(each) +
                           " is not fully defined. Currently only static shapes are supported when packing zero-size TensorArrays.");
    Shape shape({static_cast<int64_t>(elements.size())});
    for (const int64_t d : each.dims()) shape.append(d);
    TfTarget out;
    LS_CHECK_OK(out.begin(args, 0, shape));
    const int64_t count = each.elementCount();
    for (size_t i = 0; i < elements.size(); ++i) {
        if (!(elements[i].shape == each))
            return invalidArgument("TensorArray has inconsistent shapes.  Index 0 has shape: " + toString(each) + " but index " +
                                   std::to_string(i) + " has shape: " + toString(elements[i].shape));
        LS_TRY(const TfSource in, TfSource::of(elements[i].view()));
        if (count > 0) std::memcpy(out.at(static_cast<int64_t>(i) * count), in.data(), static_cast<size_t>(count * in.size()));
    }
    LS_CHECK_OK(swapFailure());
    return out.finish();
}

/// Rows `begin` … of a tensor as a tensor of shape `shape`. Strings are packed anew.
Result<StoredTensor> rowsOf(const Tensor& tensor, int64_t begin, const Shape& shape)
{
    const int64_t each = tensor.shape.countOf(1, tensor.shape.rank());
    const int64_t count = shape.elementCount();
    StoredTensor row;
    row.dtype = tensor.dtype;
    row.shape = shape;
    if (bitWidth(tensor.dtype) == 0) {
        LS_TRY(const auto strings, readStrings(tensor));
        std::vector<std::string> own;
        for (int64_t i = 0; i < count; ++i) own.emplace_back(strings[static_cast<size_t>(begin * each + i)]);
        row.bytes = KeptBytes::inHeap(packStrings(own));
        return row;
    }
    const int64_t size = elementBytes(tensor);
    LS_TRY(row.bytes, keptCopy(tensor.view().subspan(static_cast<size_t>(begin * each * size), static_cast<size_t>(count * size))));
    return row;
}

Status runScatter(const KernelArgs& args)
{
    LS_TRY(TensorArray* const array, arrayOf(args));
    const Tensor& value = args.in(2);
    const std::vector<int64_t> indices = tfIntegers(args.in(1));
    if (value.shape.rank() < 1)
        return invalidArgument("Input value for unpack must be at least a vector but received shape: " + toString(value.shape));
    if (static_cast<int64_t>(indices.size()) != value.shape[0])
        return invalidArgument("Expected len(indices) == values.shape[0], but saw: " + std::to_string(indices.size()) + " vs. " +
                               std::to_string(value.shape[0]));
    int64_t last = -1;
    for (const int64_t index : indices) last = std::max(last, index);
    const auto size = static_cast<int64_t>(array->elements.size());
    if (last >= size && !array->isDynamic)
        return invalidArgument("Max scatter index must be < array size (" + std::to_string(last) + " vs. " + std::to_string(size) + ")");
    Shape shape;
    for (int d = 1; d < value.shape.rank(); ++d) shape.append(value.shape[d]);
    for (size_t i = indices.size(); i-- > 0;) { // from the last one, as TensorFlow writes them
        LS_TRY(const StoredTensor row, rowsOf(value, static_cast<int64_t>(i), shape));
        LS_CHECK_OK(write(*array, indices[i], row.view()));
    }
    return giveFlow(args);
}

Status runSplit(const KernelArgs& args)
{
    LS_TRY(TensorArray* const array, arrayOf(args));
    const Tensor& value = args.in(1);
    const std::vector<int64_t> lengths = tfIntegers(args.in(2));
    if (value.shape.rank() < 1)
        return invalidArgument("Expected value to be at least a vector, but received shape: " + toString(value.shape));
    int64_t sum = 0;
    for (const int64_t length : lengths) {
        if (length < 0) return invalidArgument("Lengths must be >= 0");
        sum += length;
    }
    if (sum != value.shape[0])
        return invalidArgument("Expected sum of lengths to be equal to values.shape[0], but sum of lengths is " + std::to_string(sum) +
                               " and value's shape is: " + toString(value.shape));
    const auto size = static_cast<int64_t>(array->elements.size());
    if (static_cast<int64_t>(lengths.size()) != size && !(array->isDynamic && static_cast<int64_t>(lengths.size()) > size))
        return invalidArgument("TensorArray's size is not equal to the size of lengths (" + std::to_string(size) + " vs. " +
                               std::to_string(lengths.size()) + "), and the TensorArray is not marked as dynamically resizeable");
    int64_t at = 0;
    for (size_t i = 0; i < lengths.size(); ++i) {
        Shape shape = value.shape;
        shape[0] = lengths[i];
        LS_TRY(const StoredTensor piece, rowsOf(value, at, shape));
        LS_CHECK_OK(write(*array, static_cast<int64_t>(i), piece.view()));
        at += lengths[i];
    }
    return giveFlow(args);
}

Status runConcat(const KernelArgs& args)
{
    LS_TRY(TensorArray* const array, arrayOf(args));
    LS_CHECK_OK(checkDType(args, *array));
    Shape rest = tfShapeAttribute(attributesOf(args), "element_shape_except0");
    std::vector<StoredTensor> elements;
    std::vector<int64_t> lengths;
    int64_t total = 0;
    for (size_t i = 0; i < array->elements.size(); ++i) {
        LS_TRY(StoredTensor value, read(*array, static_cast<int64_t>(i), Shape::unknownRank()));
        if (value.shape.rank() < 1)
            return invalidArgument("Concat saw a scalar shape at index " + std::to_string(i) +
                                   " but requires at least vectors.  Did you mean to call pack?");
        Shape own;
        for (int d = 1; d < value.shape.rank(); ++d) own.append(value.shape[d]);
        if (i == 0) rest = own;
        if (!(own == rest))
            return invalidArgument("TensorArray has inconsistent shapes.  Index 0 has (excepting dimension 0) shape: " + toString(rest) +
                                   " but index " + std::to_string(i) + " has (excepting dimension 0) shape: " + toString(own));
        lengths.push_back(value.shape[0]);
        total += value.shape[0];
        elements.push_back(std::move(value));
    }
    if (!rest.isStatic())
        return tfError(TfCode::unimplemented,
                       "TensorArray has size zero, but element_shape_except0 " + tfShapeText(rest) + " is not fully defined.");
    Shape shape({total});
    for (const int64_t d : rest.dims()) shape.append(d);
    TfTarget out;
    LS_CHECK_OK(out.begin(args, 0, shape));
    int64_t at = 0;
    for (const StoredTensor& element : elements) {
        LS_TRY(const TfSource in, TfSource::of(element.view()));
        const int64_t count = element.shape.elementCount();
        if (count > 0) std::memcpy(out.at(at), in.data(), static_cast<size_t>(count * in.size()));
        at += count;
    }
    LS_CHECK_OK(swapFailure());
    LS_CHECK_OK(out.finish());
    LS_CHECK_OK(tfAllocate(args, 1, Shape({static_cast<int64_t>(lengths.size())})));
    std::copy(lengths.begin(), lengths.end(), args.out(1).as<int64_t>());
    return {};
}

Status runArraySize(const KernelArgs& args)
{
    LS_TRY(const TensorArray* const array, arrayOf(args));
    LS_CHECK_OK(tfAllocate(args, 0, Shape()));
    *args.out(0).as<int32_t>() = static_cast<int32_t>(array->elements.size());
    return {};
}

Status runArrayClose(const KernelArgs& args)
{
    LS_TRY(TensorArray* const array, arrayOf(args));
    array->isClosed = true;
    array->elements.clear();
    return {};
}

Result<TensorStack*> stackOf(const KernelArgs& args)
{
    if (args.in(0).elementCount() != 1 || args.in(0).bytes < sizeof(int32_t)) return invalidArgument("a handle is a scalar");
    TensorStack* stack = args.runtime->resources().objects().stack(*args.in(0).as<int32_t>());
    if (!stack) return tfError(TfCode::notFound, "the handle is that of no stack");
    if (stack->isClosed) return invalidArgument("Stack[" + stack->name + "] has already been closed.");
    return stack;
}

Status runStack(const KernelArgs& args)
{
    LS_TRY(const int64_t size, tfInteger(args, 0, "Stack size"));
    TensorStack stack;
    stack.name = attributeString(attributesOf(args), "stack_name", "");
    if (stack.name.empty()) stack.name = nodeOf(args);
    stack.dtype = tfTypeAttribute(attributesOf(args), "elem_type");
    stack.maxSize = size < 0 ? -1 : size;
    StepObjects& objects = args.runtime->resources().objects();
    stack.name += "_" + std::to_string(objects.stacks().size());
    return giveHandle(args, objects.addStack(std::move(stack)));
}

Status runPush(const KernelArgs& args)
{
    LS_TRY(TensorStack* const stack, stackOf(args));
    const Tensor& value = args.in(1);
    if (value.dtype != stack->dtype)
        return invalidArgument("Must have type " + std::string(tfTypeName(stack->dtype)) + " but got " +
                               std::string(tfTypeName(value.dtype)));
    if (stack->maxSize >= 0 && static_cast<int64_t>(stack->elements.size()) >= stack->maxSize)
        return invalidArgument("Stack[" + stack->name + "] overflowed its max_size (" + std::to_string(stack->maxSize) + ")");
    LS_TRY(KeptBytes kept, keptCopy(value.view()));
    stack->elements.push({value.dtype, value.shape, std::move(kept), args.runtime->resources().iterationTick()});
    return tfCopy(args, 0, value, value.shape);
}

Status runPop(const KernelArgs& args)
{
    LS_TRY(TensorStack* const stack, stackOf(args));
    if (stack->elements.empty()) return invalidArgument("Stack[" + stack->name + "] is empty when calling Pop().");
    const StoredTensor value = stack->elements.pop();
    if (value.dtype != args.out(0).dtype)
        return invalidArgument("Must have type " + std::string(tfTypeName(value.dtype)) + " but got " +
                               std::string(tfTypeName(args.out(0).dtype)));
    args.runtime->resources().elementTaken(value.origin, true);
    return give(args, value);
}

Status runStackClose(const KernelArgs& args)
{
    LS_TRY(TensorStack* const stack, stackOf(args));
    stack->isClosed = true;
    stack->elements.clear();
    return {};
}

} // namespace

LS_TF_KERNEL(TensorArrayV3, runArray, kAllDTypes)
LS_TF_KERNEL(TensorArrayGradV3, runGradient, kAllDTypes)
LS_TF_KERNEL(TensorArrayGradWithShape, runGradientWithShape, kAllDTypes)
LS_TF_KERNEL(TensorArrayWriteV3, runWrite, kAllDTypes)
LS_TF_KERNEL(TensorArrayReadV3, runRead, kAllDTypes)
LS_TF_KERNEL(TensorArrayGatherV3, runGather, kAllDTypes)
LS_TF_KERNEL(TensorArrayScatterV3, runScatter, kAllDTypes)
LS_TF_KERNEL(TensorArrayConcatV3, runConcat, kAllDTypes)
LS_TF_KERNEL(TensorArraySplitV3, runSplit, kAllDTypes)
LS_TF_KERNEL(TensorArraySizeV3, runArraySize, kAllDTypes)
LS_TF_KERNEL(TensorArrayCloseV3, runArrayClose, kAllDTypes)
LS_TF_KERNEL(StackV2, runStack, kAllDTypes)
LS_TF_KERNEL(StackPushV2, runPush, kAllDTypes)
LS_TF_KERNEL(StackPopV2, runPop, kAllDTypes)
LS_TF_KERNEL(StackCloseV2, runStackClose, kAllDTypes)
