// Kernels of TensorFlow's lists and optionals: core/kernels/list_kernels.h, optional_ops.h.
#include "engine/kernels/cpu/tf_list_ends.h"
#include "engine/kernels/cpu/tf_list_view.h"
#include "engine/kernels/cpu/tf_support.h"
#include "engine/kernels/resources.h"
#include "engine/tensor/strings.h"

#include <algorithm>
#include <deque>

using namespace loopscope;

namespace {

/// Lists longer than this are refused: a reserved element costs memory whether or not it is set.
constexpr int64_t kMostElements = int64_t{1} << 26;

/// The element shape in operand `i`, with unknown dimensions.
Result<Shape> elementShape(const KernelArgs& args, int i) { return tfShapeOperand(args.in(i), true); }

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

DType elementType(const KernelArgs& args) { return tfTypeAttribute(attributesOf(args), "element_dtype"); }

Status checkType(DType wanted, DType found)
{
    if (wanted == DType::unknown || wanted == found) return {};
    return invalidArgument("Invalid data types; op elements " + std::string(tfTypeName(wanted)) + " but list elements " +
                           std::string(tfTypeName(found)));
}

/// The list of operand 0, whose elements must be of the operator's dtype.
Result<VariantValue> typedList(const KernelArgs& args)
{
    LS_TRY(VariantValue list, listOperand(args, 0));
    LS_CHECK_OK(checkType(elementType(args), list.elementType));
    return list;
}

/// The same, not taken apart.
Result<ListView> typedView(const KernelArgs& args)
{
    LS_TRY(ListView list, ListView::of(args, 0));
    LS_CHECK_OK(checkType(elementType(args), list.elementType()));
    return list;
}

/// Whether a tensor may come into a list of those elements.
Status checkElement(DType elements, const Shape& shape, const Tensor& tensor, const char* verb)
{
    LS_CHECK_OK(checkType(tensor.dtype, elements));
    if (merged(shape, tensor.shape)) return {};
    return invalidArgument(std::string("Tried to ") + verb + " a tensor with incompatible shape to a list. Op element shape: " +
                           toString(tensor.shape) + " list shape: " + tfShapeText(shape));
}

/// Operand `i` as an element that comes into a list now.
Result<VariantTensor> newElement(const KernelArgs& args, int i, const ListView& list, const char* verb)
{
    LS_CHECK_OK(checkElement(list.elementType(), list.elementShape(), args.in(i), verb));
    VariantTensor element = variantTensor(args.in(i));
    element.origin = args.runtime->resources().iterationTick();
    if (bitWidth(element.dtype) > 0 && sharesElement(element.bytes.size())) {
        LS_TRY(element.element, args.runtime->resources().shareElement(args.in(i).view()));
        element.bytes = {};
    }
    return element;
}

Status runEmptyList(const KernelArgs& args)
{
    VariantValue list;
    list.kind = VariantKind::list;
    list.elementType = elementType(args);
    LS_TRY(list.elementShape, elementShape(args, 0));
    LS_TRY(list.maxElements, tfInteger(args, 1, "max_num_elements"));
    return writeVariant(args, 0, list);
}

Status runReserve(const KernelArgs& args)
{
    VariantValue list;
    list.kind = VariantKind::list;
    list.elementType = elementType(args);
    LS_TRY(list.elementShape, elementShape(args, 0));
    LS_TRY(const int64_t count, tfInteger(args, 1, "num_elements"));
    if (count < 0 || count > kMostElements)
        return invalidArgument("The num_elements to reserve must be a non negative number, but got " + std::to_string(count));
    list.tensors.resize(static_cast<size_t>(count));
    return writeVariant(args, 0, list);
}

Status runPushBack(const KernelArgs& args)
{
    bool isDone = false;
    LS_CHECK_OK(appendQuickly(args, isDone));
    if (isDone) return {};
    LS_TRY(const ListView list, typedView(args));
    LS_TRY(const VariantTensor element, newElement(args, 1, list, "append"));
    if (list.maxElements() >= 0 && list.count() >= list.maxElements())
        return invalidArgument("Tried to push item into a full list list size: " + std::to_string(list.count()) +
                               " max_num_elements: " + std::to_string(list.maxElements()));
    return list.writeWith(args, 0, list.count(), element);
}

/// The list's elements must be of result `k`'s dtype.
Status checkResult(const KernelArgs& args, int k, DType elements) { return checkType(args.out(k).dtype, elements); }

/// Result `k` becomes an element of a list, or zeros of `shape` if it was not set.
Status giveElement(const KernelArgs& args, int k, DType elements, const VariantTensor& element, const Shape& shape)
{
    LS_CHECK_OK(checkResult(args, k, elements));
    if (element.isSet()) LS_CHECK_OK(tfCopy(args, k, element.view(), element.shape));
    if (element.isSet()) return element.element ? swapFailure() : Status();
    if (!shape.isStatic())
        return invalidArgument("Trying to read an uninitialized tensor but element_shape is not fully defined: " + tfShapeText(shape) +
                               " and no list element is set.");
    std::deque<std::string> storage;
    return tfCopy(args, k, orZeros(element, elements, shape, storage).view(), shape);
}

Result<Shape> mergedShape(const Shape& list, const Shape& wanted)
{
    if (std::optional<Shape> shape = merged(list, wanted)) return *shape;
    return invalidArgument("Incompatible shapes during merge: " + tfShapeText(wanted) + " vs. " + tfShapeText(list));
}

/// The list's, the operator's and all set elements' shapes together. Errors: InvalidArgument if they contradict each other.
Result<Shape> knownShape(const VariantValue& list, const Shape& wanted)
{
    LS_TRY(Shape shape, mergedShape(list.elementShape, wanted));
    for (const VariantTensor& element : list.tensors) {
        if (shape.isStatic()) break;
        if (!element.isSet()) continue;
        if (std::optional<Shape> both = merged(shape, element.shape)) shape = *both;
    }
    return shape;
}

Status runPopBack(const KernelArgs& args)
{
    QuickPop done;
    LS_CHECK_OK(popQuickly(args, done));
    if (done.list) return {};
    LS_TRY(const ListView list, typedView(args));
    if (done.element) return list.writeWithoutLast(args, 0);
    if (list.count() == 0) return invalidArgument("Trying to pop from an empty list.");
    LS_TRY(const VariantTensor last, list.element(list.count() - 1));
    Shape shape; // looked at only where zeros stand for the element
    if (!last.isSet()) {
        LS_TRY(const Shape wanted, elementShape(args, 1));
        LS_TRY(shape, mergedShape(list.elementShape(), wanted));
    }
    LS_CHECK_OK(giveElement(args, 1, list.elementType(), last, shape));
    args.runtime->resources().elementTaken(last.origin, true);
    return list.writeWithoutLast(args, 0);
}

Status runGetItem(const KernelArgs& args)
{
    LS_TRY(const ListView list, typedView(args));
    LS_TRY(const int64_t index, tfInteger(args, 1, "index"));
    if (index < 0 || index >= list.count())
        return invalidArgument("Trying to access element " + std::to_string(index) + " in a list with " + std::to_string(list.count()) +
                               " elements.");
    LS_TRY(const VariantTensor element, list.element(index));
    Shape shape; // looked at only where zeros stand for the element
    if (!element.isSet()) {
        LS_TRY(const Shape wanted, elementShape(args, 2));
        LS_TRY(shape, mergedShape(list.elementShape(), wanted));
        if (!shape.isStatic()) { // other elements may know it
            LS_TRY(const VariantValue all, typedList(args));
            LS_TRY(shape, knownShape(all, wanted));
        }
    }
    args.runtime->resources().elementTaken(element.origin, false);
    return giveElement(args, 0, list.elementType(), element, shape);
}

Status runSetItem(const KernelArgs& args)
{
    LS_TRY(const ListView list, typedView(args));
    LS_TRY(const int64_t index, tfInteger(args, 1, "index"));
    const bool grows =
        index >= list.count() && index < kMostElements && attributeBool(attributesOf(args), "resize_if_index_out_of_bounds", false);
    if (index < 0 || (index >= list.count() && !grows))
        return invalidArgument("Trying to modify element " + std::to_string(index) + " in a list with " + std::to_string(list.count()) +
                               " elements.");
    LS_TRY(const VariantTensor element, newElement(args, 2, list, "set"));
    if (index <= list.count()) return list.writeWith(args, 0, index, element);
    LS_TRY(VariantValue all, typedList(args));
    all.tensors.resize(static_cast<size_t>(index) + 1);
    all.tensors.back() = element;
    return writeVariant(args, 0, all);
}

Status runLength(const KernelArgs& args)
{
    LS_TRY(const ListView list, ListView::of(args, 0));
    LS_CHECK_OK(tfAllocate(args, 0, Shape()));
    *args.out(0).as<int32_t>() = static_cast<int32_t>(list.count());
    return {};
}

Status runElementShape(const KernelArgs& args)
{
    LS_TRY(const VariantValue list, listOperand(args, 0));
    const Shape& shape = list.elementShape;
    const std::vector<int64_t> dims =
        shape.hasRank() ? std::vector<int64_t>(shape.dims().begin(), shape.dims().end()) : std::vector<int64_t>{-1};
    LS_CHECK_OK(tfAllocate(args, 0, shape.hasRank() ? Shape({shape.rank()}) : Shape()));
    for (size_t i = 0; i < dims.size(); ++i) {
        if (args.out(0).dtype == DType::i64) args.out(0).as<int64_t>()[i] = dims[i];
        else args.out(0).as<int32_t>()[i] = static_cast<int32_t>(dims[i]);
    }
    return {};
}

Status runResize(const KernelArgs& args)
{
    LS_TRY(VariantValue list, listOperand(args, 0));
    LS_TRY(const int64_t size, tfInteger(args, 1, "size"));
    if (size < 0 || size > kMostElements)
        return invalidArgument("TensorListSlice expects size to be non-negative. Got: " + std::to_string(size));
    list.tensors.resize(static_cast<size_t>(size));
    return writeVariant(args, 0, list);
}

/// Some elements of a list stacked along a new first axis.
Status stack(const KernelArgs& args, const VariantValue& list, const std::vector<VariantTensor>& elements, const Shape& wanted)
{
    LS_CHECK_OK(checkResult(args, 0, list.elementType));
    LS_TRY(Shape shape, knownShape(list, wanted));
    if (!shape.isStatic()) {
        if (elements.empty())
            return invalidArgument("Tried to stack elements of an empty list with non-fully-defined element_shape: " + tfShapeText(shape));
        return invalidArgument("Tried to stack list which only contains uninitialized tensors and has a non-fully-defined element_shape: " +
                               tfShapeText(shape));
    }
    Shape all({static_cast<int64_t>(elements.size())});
    for (const int64_t d : shape.dims()) all.append(d);
    TfTarget out;
    LS_CHECK_OK(out.begin(args, 0, all));
    const int64_t each = shape.elementCount();
    std::deque<std::string> storage;
    for (size_t i = 0; i < elements.size(); ++i) {
        if (elements[i].isSet() && !(elements[i].shape == shape))
            return invalidArgument("Tried to stack list that contains tensors of different shapes: element " + std::to_string(i) +
                                   " has shape " + toString(elements[i].shape) + ", others " + toString(shape));
        const VariantTensor element = orZeros(elements[i], list.elementType, shape, storage);
        LS_TRY(const TfSource in, TfSource::of(element.view()));
        if (each > 0) std::memcpy(out.at(static_cast<int64_t>(i) * each), in.data(), static_cast<size_t>(each * in.size()));
    }
    LS_CHECK_OK(swapFailure());
    return out.finish();
}

Status runStack(const KernelArgs& args)
{
    LS_TRY(const VariantValue list, typedList(args));
    const int64_t wanted = attributeInt(attributesOf(args), "num_elements", -1);
    if (wanted >= 0 && wanted != static_cast<int64_t>(list.tensors.size()))
        return invalidArgument("Operation expected a list with " + std::to_string(wanted) + " elements but got a list with " +
                               std::to_string(list.tensors.size()) + " elements.");
    LS_TRY(const Shape shape, elementShape(args, 1));
    return stack(args, list, list.tensors, shape);
}

Status runGather(const KernelArgs& args)
{
    LS_TRY(const VariantValue list, typedList(args));
    std::vector<VariantTensor> chosen;
    for (const int64_t index : tfIntegers(args.in(1))) {
        if (index < 0 || index >= static_cast<int64_t>(list.tensors.size()))
            return invalidArgument("Trying to gather element " + std::to_string(index) + " in a list with " +
                                   std::to_string(list.tensors.size()) + " elements.");
        chosen.push_back(list.tensors[static_cast<size_t>(index)]);
    }
    LS_TRY(const Shape shape, elementShape(args, 2));
    return stack(args, list, chosen, shape);
}

/// Rows `begin` … `begin + count − 1` of a tensor as an element. Strings and variants are packed anew, in `storage`.
Result<VariantTensor> rowsOf(const Tensor& tensor, int64_t begin, int64_t count, const Shape& shape, std::deque<std::string>& storage)
{
    const int64_t each = tensor.shape.countOf(1, tensor.shape.rank());
    VariantTensor row{tensor.dtype, shape, {}, -1, nullptr};
    if (bitWidth(tensor.dtype) == 0) {
        LS_TRY(const auto strings, readStrings(tensor));
        std::vector<std::string> own;
        for (int64_t i = begin * each; i < (begin + count) * each; ++i) own.emplace_back(strings[static_cast<size_t>(i)]);
        const std::vector<std::byte> block = packStrings(own);
        row.bytes = storage.emplace_back(reinterpret_cast<const char*>(block.data()), block.size());
        return row;
    }
    const int64_t size = each * elementBytes(tensor);
    row.bytes = {reinterpret_cast<const char*>(tensor.data) + begin * size, static_cast<size_t>(count * size)};
    return row;
}

Shape withoutFirst(const Shape& shape)
{
    Shape rest;
    for (int d = 1; d < shape.rank(); ++d) rest.append(shape[d]);
    return rest;
}

/// Puts the rows of `tensor` at the indices of operand `i`.
Status scatterRows(const KernelArgs& args, VariantValue& list, const Tensor& tensor, int i, std::deque<std::string>& storage)
{
    if (tensor.shape.rank() < 1) return invalidArgument("Tensor must be at least a vector, but saw shape: " + toString(tensor.shape));
    const std::vector<int64_t> indices = tfIntegers(args.in(i));
    if (static_cast<int64_t>(indices.size()) != tensor.shape[0])
        return invalidArgument("Invalid number of rows in input tensor. Expected: " + std::to_string(indices.size()) +
                               " Actual: " + std::to_string(tensor.shape[0]));
    const Shape shape = withoutFirst(tensor.shape);
    if (!merged(list.elementShape, shape))
        return invalidArgument("Specified a list with shape " + tfShapeText(list.elementShape) + " from a tensor with shape " +
                               toString(shape));
    for (size_t r = 0; r < indices.size(); ++r) {
        if (indices[r] < 0 || indices[r] >= kMostElements) return invalidArgument("Indices in TensorListScatter must all be non-negative.");
        if (indices[r] >= static_cast<int64_t>(list.tensors.size())) list.tensors.resize(static_cast<size_t>(indices[r]) + 1);
        LS_TRY(list.tensors[static_cast<size_t>(indices[r])], rowsOf(tensor, static_cast<int64_t>(r), 1, shape, storage));
    }
    return {};
}

Status runFromTensor(const KernelArgs& args)
{
    const Tensor& tensor = args.in(0);
    if (tensor.shape.rank() < 1) return invalidArgument("Tensor must be at least a vector, but saw shape: " + toString(tensor.shape));
    VariantValue list;
    list.kind = VariantKind::list;
    list.elementType = tensor.dtype;
    LS_TRY(list.elementShape, elementShape(args, 1));
    const Shape shape = withoutFirst(tensor.shape);
    if (!merged(list.elementShape, shape))
        return invalidArgument("Specified a list with shape " + tfShapeText(list.elementShape) + " from a tensor with shape " +
                               toString(shape));
    std::deque<std::string> storage;
    for (int64_t r = 0; r < tensor.shape[0]; ++r) {
        LS_TRY(const VariantTensor row, rowsOf(tensor, r, 1, shape, storage));
        list.tensors.push_back(row);
    }
    return writeVariant(args, 0, list);
}

Status runScatter(const KernelArgs& args)
{
    VariantValue list;
    list.kind = VariantKind::list;
    list.elementType = elementType(args);
    LS_TRY(list.elementShape, elementShape(args, 2));
    std::deque<std::string> storage;
    if (args.inputCount > 3) {
        LS_TRY(const int64_t count, tfInteger(args, 3, "num_elements"));
        if (count < -1 || count > kMostElements)
            return invalidArgument("TensorListScatter expects num_elements >= -1, found: " + std::to_string(count));
        for (const int64_t index : tfIntegers(args.in(1)))
            if (count >= 0 && index >= count)
                return invalidArgument("TensorListScatter: Trying to scatter at index " + std::to_string(index) + " in list with size " +
                                       std::to_string(count));
        if (count > 0) list.tensors.resize(static_cast<size_t>(count));
    }
    LS_CHECK_OK(scatterRows(args, list, args.in(0), 1, storage));
    return writeVariant(args, 0, list);
}

Status runScatterIntoExisting(const KernelArgs& args)
{
    LS_TRY(VariantValue list, typedList(args));
    std::deque<std::string> storage;
    LS_CHECK_OK(scatterRows(args, list, args.in(1), 2, storage));
    return writeVariant(args, 0, list);
}

Status runConcat(const KernelArgs& args)
{
    LS_TRY(const VariantValue list, typedList(args));
    LS_CHECK_OK(checkResult(args, 0, list.elementType));
    Shape wanted = tfShapeAttribute(attributesOf(args), "element_shape");
    std::vector<int64_t> leading;
    if (args.inputCount > 1) {
        LS_TRY(wanted, elementShape(args, 1));
        leading = tfIntegers(args.in(2));
    }
    LS_TRY(Shape shape, mergedShape(list.elementShape, wanted));
    if (shape.hasRank() && shape.rank() < 1)
        return invalidArgument("Concat requires elements to be at least vectors, found scalars instead.");
    Shape rest = shape.hasRank() ? withoutFirst(shape) : Shape::unknownRank();
    for (const VariantTensor& element : list.tensors) {
        if (!element.isSet()) continue;
        if (element.shape.rank() < 1) return invalidArgument("Concat saw a scalar shape at index but requires at least vectors.");
        const std::optional<Shape> both = merged(rest, withoutFirst(element.shape));
        if (!both)
            return invalidArgument("Concatenated tensors must be compatible: " + tfShapeText(rest) + " vs. " +
                                   tfShapeText(withoutFirst(element.shape)));
        rest = *both;
    }
    if (!rest.isStatic())
        return invalidArgument("All except the first dimension must be fully defined when concating an empty tensor list. element_shape: " +
                               tfShapeText(shape));
    std::vector<int64_t> lengths;
    int64_t total = 0;
    for (size_t i = 0; i < list.tensors.size(); ++i) {
        int64_t length = 0;
        if (list.tensors[i].isSet()) length = list.tensors[i].shape[0];
        else if (i < leading.size()) length = leading[i];
        else if (shape.hasRank() && shape[0] >= 0) length = shape[0];
        else
            return invalidArgument("List contains uninitialized tensor at index " + std::to_string(i) + " but leading_dims has only " +
                                   std::to_string(leading.size()) + " elements.");
        lengths.push_back(length);
        total += length;
    }
    Shape all({total});
    for (const int64_t d : rest.dims()) all.append(d);
    TfTarget out;
    LS_CHECK_OK(out.begin(args, 0, all, true));
    const int64_t each = rest.elementCount();
    int64_t at = 0;
    for (size_t i = 0; i < list.tensors.size(); ++i) {
        const int64_t count = lengths[i] * each;
        if (list.tensors[i].isSet() && count > 0) {
            const VariantTensor element = list.tensors[i]; // its bytes need not stay in memory
            LS_TRY(const TfSource in, TfSource::of(element.view()));
            std::memcpy(out.at(at), in.data(), static_cast<size_t>(count * in.size()));
        }
        at += count;
    }
    LS_CHECK_OK(swapFailure());
    LS_CHECK_OK(out.finish());
    LS_CHECK_OK(tfAllocate(args, 1, Shape({static_cast<int64_t>(lengths.size())})));
    std::copy(lengths.begin(), lengths.end(), args.out(1).as<int64_t>());
    return {};
}

Status runSplit(const KernelArgs& args)
{
    const Tensor& tensor = args.in(0);
    if (tensor.shape.rank() < 1) return invalidArgument("Tensor must be at least a vector, but saw shape: " + toString(tensor.shape));
    VariantValue list;
    list.kind = VariantKind::list;
    list.elementType = tensor.dtype;
    LS_TRY(list.elementShape, elementShape(args, 1));
    std::deque<std::string> storage;
    int64_t at = 0;
    for (const int64_t length : tfIntegers(args.in(2))) {
        if (length < 0) return invalidArgument("Invalid value in lengths: " + std::to_string(length));
        if (length > tensor.shape[0] - at)
            return invalidArgument("Attempting to slice [" + std::to_string(at) + ", " + std::to_string(at + length) +
                                   "] from tensor with length " + std::to_string(tensor.shape[0]));
        Shape shape = tensor.shape;
        shape[0] = length;
        LS_TRY(const VariantTensor piece, rowsOf(tensor, at, length, shape, storage));
        list.tensors.push_back(piece);
        at += length;
    }
    if (at != tensor.shape[0])
        return invalidArgument("Unused values in tensor. Length of tensor: " + std::to_string(tensor.shape[0]) +
                               " Values used: " + std::to_string(at));
    return writeVariant(args, 0, list);
}

Status runConcatLists(const KernelArgs& args)
{
    LS_TRY(const auto left, readStrings(args.in(0)));
    LS_TRY(const auto right, readStrings(args.in(1)));
    if (!(args.in(0).shape == args.in(1).shape))
        return invalidArgument("input tensors must have the same shape: " + toString(args.in(0).shape) + " vs. " +
                               toString(args.in(1).shape));
    std::vector<std::string> joined;
    for (size_t i = 0; i < left.size(); ++i) {
        LS_TRY(VariantValue a, decodeVariant(left[i]));
        LS_TRY(const VariantValue b, decodeVariant(right[i]));
        if (a.kind != VariantKind::list || b.kind != VariantKind::list) return invalidArgument("input is not a list");
        if (a.elementType != b.elementType || !(a.elementShape == b.elementShape))
            return invalidArgument("input_a and input_b TensorList element shapes are not identical at index " + std::to_string(i) + ".  " +
                                   tfShapeText(a.elementShape) + " vs. " + tfShapeText(b.elementShape));
        a.tensors.insert(a.tensors.end(), b.tensors.begin(), b.tensors.end());
        joined.push_back(encodeVariant(a));
    }
    const std::vector<std::string_view> views(joined.begin(), joined.end());
    return writeStrings(*args.runtime, args.out(0), args.in(0).shape, views);
}

Status runPushBackBatch(const KernelArgs& args)
{
    const Tensor& tensor = args.in(1);
    LS_TRY(const auto lists, readStrings(args.in(0)));
    if (tensor.shape.rank() < 1 || tensor.shape[0] != static_cast<int64_t>(lists.size()))
        return invalidArgument("Expected tensor.shape[0] == input_handles.size, but saw " + toString(tensor.shape) + " vs. " +
                               std::to_string(lists.size()));
    std::vector<std::string> pushed;
    const Shape shape = withoutFirst(tensor.shape);
    for (size_t i = 0; i < lists.size(); ++i) {
        std::deque<std::string> storage;
        LS_TRY(VariantValue list, decodeVariant(lists[i]));
        if (list.kind != VariantKind::list) return invalidArgument("Input handle is not a list.");
        LS_TRY(const VariantTensor row, rowsOf(tensor, static_cast<int64_t>(i), 1, shape, storage));
        LS_CHECK_OK(checkElement(list.elementType, list.elementShape, row.view(), "append"));
        list.tensors.push_back(row);
        pushed.push_back(encodeVariant(list));
    }
    const std::vector<std::string_view> views(pushed.begin(), pushed.end());
    return writeStrings(*args.runtime, args.out(0), args.in(0).shape, views);
}

Status runOptionalFromValue(const KernelArgs& args)
{
    VariantValue optional;
    optional.kind = VariantKind::optional;
    optional.maxElements = 1;
    for (int i = 0; i < args.inputCount; ++i) optional.tensors.push_back(variantTensor(args.in(i)));
    return writeVariant(args, 0, optional);
}

Status runOptionalNone(const KernelArgs& args)
{
    VariantValue optional;
    optional.kind = VariantKind::optional;
    optional.maxElements = 0;
    return writeVariant(args, 0, optional);
}

Result<VariantValue> optionalOperand(const KernelArgs& args)
{
    if (args.in(0).shape.rank() != 0) return invalidArgument("Input to OptionalHasValue must be a scalar tensor containing an optional.");
    LS_TRY(const auto strings, readStrings(args.in(0)));
    LS_TRY(VariantValue value, decodeVariant(strings[0]));
    if (value.kind != VariantKind::optional && value.kind != VariantKind::none)
        return invalidArgument("Input to OptionalGetValue must be a scalar tensor containing an optional.");
    return value;
}

Status runOptionalHasValue(const KernelArgs& args)
{
    LS_TRY(const VariantValue optional, optionalOperand(args));
    LS_CHECK_OK(tfAllocate(args, 0, Shape()));
    *args.out(0).as<bool>() = optional.maxElements > 0;
    return {};
}

Status runOptionalGetValue(const KernelArgs& args)
{
    LS_TRY(const VariantValue optional, optionalOperand(args));
    if (optional.maxElements <= 0) return invalidArgument("The given optional does not have a value.");
    if (static_cast<int>(optional.tensors.size()) != args.outputCount)
        return invalidArgument("The given optional has " + std::to_string(optional.tensors.size()) + " components, expected " +
                               std::to_string(args.outputCount) + ".");
    for (int k = 0; k < args.outputCount; ++k) {
        const VariantTensor& component = optional.tensors[static_cast<size_t>(k)];
        if (component.dtype != args.out(k).dtype)
            return invalidArgument("The given optional does not match the expected type for component " + std::to_string(k) +
                                   ". Expected: " + std::string(tfTypeName(args.out(k).dtype)) +
                                   ". Actual: " + std::string(tfTypeName(component.dtype)) + ".");
        LS_CHECK_OK(tfCopy(args, k, component.view(), component.shape));
    }
    return {};
}

} // namespace

LS_TF_MOVING_KERNEL(EmptyTensorList, runEmptyList, kAllDTypes)
LS_TF_MOVING_KERNEL(TensorListReserve, runReserve, kAllDTypes)
LS_TF_MOVING_KERNEL(TensorListPushBack, runPushBack, kAllDTypes)
LS_TF_MOVING_KERNEL(TensorListPopBack, runPopBack, kAllDTypes)
LS_TF_MOVING_KERNEL(TensorListGetItem, runGetItem, kAllDTypes)
LS_TF_MOVING_KERNEL(TensorListSetItem, runSetItem, kAllDTypes)
LS_TF_MOVING_KERNEL(TensorListLength, runLength, kAllDTypes)
LS_TF_MOVING_KERNEL(TensorListElementShape, runElementShape, kAllDTypes)
LS_TF_MOVING_KERNEL(TensorListResize, runResize, kAllDTypes)
LS_TF_MOVING_KERNEL(TensorListStack, runStack, kAllDTypes)
LS_TF_MOVING_KERNEL(TensorListFromTensor, runFromTensor, kAllDTypes)
LS_TF_MOVING_KERNEL(TensorListGather, runGather, kAllDTypes)
LS_TF_MOVING_KERNEL(TensorListScatter, runScatter, kAllDTypes)
LS_TF_MOVING_KERNEL(TensorListScatterV2, runScatter, kAllDTypes)
LS_TF_MOVING_KERNEL(TensorListScatterIntoExistingList, runScatterIntoExisting, kAllDTypes)
LS_TF_MOVING_KERNEL(TensorListConcat, runConcat, kAllDTypes)
LS_TF_MOVING_KERNEL(TensorListConcatV2, runConcat, kAllDTypes)
LS_TF_MOVING_KERNEL(TensorListSplit, runSplit, kAllDTypes)
LS_TF_MOVING_KERNEL(TensorListConcatLists, runConcatLists, kAllDTypes)
LS_TF_MOVING_KERNEL(TensorListPushBackBatch, runPushBackBatch, kAllDTypes)
LS_TF_MOVING_KERNEL(OptionalFromValue, runOptionalFromValue, kAllDTypes)
LS_TF_MOVING_KERNEL(OptionalNone, runOptionalNone, kAllDTypes)
LS_TF_MOVING_KERNEL(OptionalHasValue, runOptionalHasValue, kAllDTypes)
LS_TF_MOVING_KERNEL(OptionalGetValue, runOptionalGetValue, kAllDTypes)
