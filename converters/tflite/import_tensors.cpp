// Tensors: dtype, shape, quantization, sparsity, and the data behind them.
#include "converters/tflite/format_schema.h"
#include "converters/tflite/import_state.h"
#include "engine/tensor/strings.h"
#include "schema_generated.h"

#include <algorithm>

namespace loopscope::tflite_format {

namespace {

/// A vector's elements as std::vector<T>; empty for an absent one.
template <typename T, typename Stored> Result<std::vector<T>> elements(FileView& file, const flatbuffers::Vector<Stored>* vector)
{
    std::vector<T> out;
    if (!vector) return out;
    LS_CHECK_OK(file.spend(vector, uint64_t{vector->size()} * sizeof(T)));
    out.reserve(vector->size());
    for (size_t i = 0; i < vector->size(); ++i) out.push_back(static_cast<T>(elementAt<Stored>(vector->Data(), i)));
    return out;
}

Result<Shape> readShape(FileView& file, const std::string& place, const flatbuffers::Vector<int32_t>* dims)
{
    Shape shape;
    if (!dims) return shape;
    LS_CHECK_OK(file.spend(dims, uint64_t{dims->size()} * sizeof(int64_t)));
    for (flatbuffers::uoffset_t i = 0; i < dims->size(); ++i) {
        if (dims->Get(i) < kUnknownDim)
            return file.fault(dims->Data() + i * sizeof(int32_t), element(place, i) + " is " + std::to_string(dims->Get(i)))
                .expected("-1 or more");
        shape.append(dims->Get(i));
    }
    return shape;
}

Result<DType> readDType(const ImportState& state, const std::string& place, const void* at, int64_t code)
{
    const ElementTypes& types = state.format.schema.elementTypes();
    if (const auto dtype = types.dtypeOf(code)) return *dtype;
    return state.file.fault(at, place + ".type is " + std::to_string(code)).expected(types.range());
}

/// The place of a field in the file; that of the table if the field is not stored.
const void* fieldAt(const flatbuffers::Table* table, flatbuffers::voffset_t field)
{
    const uint8_t* at = table->GetAddressOf(field);
    return at ? static_cast<const void*>(at) : table;
}

const flatbuffers::Table* asTable(const void* generated) { return static_cast<const flatbuffers::Table*>(generated); }

Status readType(ImportState& state, const std::string& place, const tflite::Tensor& tensor, TensorType& type)
{
    FileView& file = state.file;
    LS_TRY(type.dtype, readDType(state, place, fieldAt(asTable(&tensor), tflite::Tensor::VT_TYPE), tensor.type()));
    LS_TRY(type.shape, readShape(file, place + ".shape", tensor.shape()));
    if (type.shape.rank() == 0 && !tensor.has_rank()) {
        // Old writers do not know has_rank, and most others leave it out where it is false. So it says something where other tensors
        // have it, or where the field is stored as false. A resource is a scalar in either case.
        const bool said = asTable(&tensor)->CheckField(tflite::Tensor::VT_HAS_RANK);
        if (said || (state.writerKnowsRank && type.dtype != DType::resource)) type.shape = Shape::unknownRank();
    }
    LS_TRY(Shape signature, readShape(file, place + ".shape_signature", tensor.shape_signature()));
    if (std::ranges::count(signature.dims(), kUnknownDim) > 0) type.signature = std::move(signature);
    // A −1 in the shape itself, which runtimes refuse, says what 1 there and −1 in the signature says.
    if (std::ranges::count(type.shape.dims(), kUnknownDim) > 0) {
        if (!type.signature) type.signature = type.shape;
        for (int i = 0; i < type.shape.rank(); ++i)
            if (type.shape[i] == kUnknownDim) type.shape[i] = 1;
    }
    if (const auto* held = tensor.variant_tensors()) {
        for (flatbuffers::uoffset_t i = 0; i < held->size(); ++i) {
            const std::string at = element(place + ".variant_tensors", i);
            LS_CHECK_OK(file.spend(held->Get(i), sizeof(TensorType)));
            TensorType inner;
            const void* typeAt = fieldAt(asTable(held->Get(i)), tflite::VariantSubType::VT_TYPE);
            LS_TRY(inner.dtype, readDType(state, at, typeAt, held->Get(i)->type()));
            LS_TRY(inner.shape, readShape(file, at + ".shape", held->Get(i)->shape()));
            if (inner.shape.rank() == 0 && !held->Get(i)->has_rank()) inner.shape = Shape::unknownRank();
            type.elementTypes.push_back(std::move(inner));
        }
    }
    return {};
}

Status readBlockwise(ImportState& state, const std::string& place, const tflite::SubGraph& graph, const void* details, int64_t scales,
                     int64_t zeroPoints, int32_t blockSize, Quantization& q)
{
    const int64_t count = graph.tensors()->size();
    if (scales < 0 || scales >= count) return badIndex(state.file, details, place + ".details.scales", "tensor", scales, 0, count);
    if (zeroPoints < -1 || zeroPoints >= count)
        return badIndex(state.file, details, place + ".details.zero_points", "tensor", zeroPoints, -1, count);
    if (!q.scales.empty()) return state.file.fault(details, place + " has both scales and block-wise details").expected("one of them");
    q.kind = Quantization::Kind::blockwise;
    q.blockScales = static_cast<int32_t>(scales);
    q.blockZeros = static_cast<int32_t>(zeroPoints);
    q.blockSize = blockSize;
    return {};
}

/// Details that go beyond scale and zero point.
Status readDetails(ImportState& state, const std::string& place, const tflite::SubGraph& graph,
                   const tflite::QuantizationParameters& source, Quantization& q, AttributeList& facts)
{
    if (const auto* custom = source.details_as_CustomQuantization()) {
        HexBytes bytes;
        if (custom->custom()) {
            LS_CHECK_OK(state.file.spend(custom, custom->custom()->size()));
            bytes.bytes.assign(reinterpret_cast<const char*>(custom->custom()->Data()), custom->custom()->size());
        }
        if (q.scales.empty()) {
            q.kind = Quantization::Kind::custom;
            q.custom = std::move(bytes.bytes);
        } else {
            setAttribute(facts, "custom_quantization", std::move(bytes));
        }
    } else if (const auto tag = static_cast<uint8_t>(source.details_type()); !source.details() || tag == 0) {
        return {};
    } else if (tag == state.format.blockwiseTag) {
        const auto* blocks = static_cast<const tflite::BlockwiseQuantization*>(source.details());
        return readBlockwise(state, place, graph, blocks, blocks->scales(), blocks->zero_points(), blocks->block_size(), q);
    } else if (tag == state.format.mxTag) {
        // A table with the axis alone.
        const auto& mx = *static_cast<const flatbuffers::Table*>(source.details());
        const auto axis = mx.GetField<int32_t>(flatbuffers::FieldIndexToOffset(0), 0);
        setAttribute(facts, "mx_axis", int64_t{axis});
    } else if (tag == state.format.multiAxisTag) {
        const auto* axes = static_cast<const tflite::MultiAxisQuantization*>(source.details());
        LS_CHECK_OK(readBlockwise(state, place, graph, axes, axes->scales(), axes->zero_points(), axes->block_size(), q));
        LS_TRY(const std::vector<int64_t> dims, elements<int64_t>(state.file, axes->quantized_dimensions()));
        setAttribute(facts, "quantized_dimensions", AttributeItems(dims.begin(), dims.end()));
    }
    return {};
}

Status readQuantization(ImportState& state, const std::string& place, const tflite::SubGraph& graph, const tflite::Tensor& tensor,
                        ImportedTensor& out)
{
    const tflite::QuantizationParameters& source = *tensor.quantization();
    Quantization q;
    LS_TRY(q.min, elements<float>(state.file, source.min()));
    LS_TRY(q.max, elements<float>(state.file, source.max()));
    LS_TRY(q.scales, elements<float>(state.file, source.scale()));
    LS_TRY(q.zeroPoints, elements<int64_t>(state.file, source.zero_point()));
    if (!q.scales.empty()) {
        q.kind = Quantization::Kind::affine;
        // One zero point may stand for all channels.
        if (q.zeroPoints.size() == 1) q.zeroPoints.resize(q.scales.size(), q.zeroPoints.front());
        if (!q.zeroPoints.empty() && q.zeroPoints.size() != q.scales.size())
            return state.file.fault(source.zero_point(), place + " has " + std::to_string(q.zeroPoints.size()) + " zero points")
                .expected("none, 1 or " + std::to_string(q.scales.size()) + ", one for each scale");
        const int32_t axis = source.quantized_dimension();
        q.perChannel = q.scales.size() > 1 || axis != 0;
        q.axis = axis;
        const Shape& shape = out.value.type.shape;
        if (q.perChannel && shape.hasRank() && (axis < 0 || axis >= shape.rank())) {
            // Published files have biases that repeat the axis of their filter. What it can only mean is axis 0.
            setAttribute(out.facts, "quantized_dimension", int64_t{axis});
            q.axis = 0;
            q.perChannel = q.scales.size() > 1;
            if (q.perChannel && shape.rank() == 0)
                return state.file.fault(source.scale(), place + " has " + std::to_string(q.scales.size()) + " scales for a scalar")
                    .expected("1");
        }
        // Kernels look scales up by the index along the axis. A dimension that is open now is checked when it is known.
        if (q.scales.size() > 1 && shape.hasRank() && !out.value.type.signature && static_cast<int64_t>(q.scales.size()) != shape[q.axis])
            return state.file.fault(source.scale(), place + " has " + std::to_string(q.scales.size()) + " scales")
                .expected("1 or " + std::to_string(shape[q.axis]) + ", the size of dimension " + std::to_string(q.axis));
    } else if (!q.zeroPoints.empty()) {
        // They mean nothing without scales.
        setAttribute(out.facts, "zero_point", AttributeItems(q.zeroPoints.begin(), q.zeroPoints.end()));
        q.zeroPoints.clear();
    }
    LS_CHECK_OK(readDetails(state, place, graph, source, q, out.facts));
    if (q.kind != Quantization::Kind::none || !q.min.empty() || !q.max.empty())
        out.value.type.quantization = std::make_shared<const Quantization>(std::move(q));
    return {};
}

Result<std::vector<int32_t>> sparseIndices(FileView& file, const std::string& place, const void* at, uint8_t tag, const void* vector)
{
    switch (vector ? tag : uint8_t{tflite::SparseIndexVector_NONE}) {
    case tflite::SparseIndexVector_NONE: return std::vector<int32_t>();
    case tflite::SparseIndexVector_Int32Vector: return elements<int32_t>(file, static_cast<const tflite::Int32Vector*>(vector)->values());
    case tflite::SparseIndexVector_Uint16Vector: return elements<int32_t>(file, static_cast<const tflite::Uint16Vector*>(vector)->values());
    case tflite::SparseIndexVector_Uint8Vector: return elements<int32_t>(file, static_cast<const tflite::Uint8Vector*>(vector)->values());
    default: return file.fault(at, place + " is a vector of type " + std::to_string(tag)).expected("1 to 3");
    }
}

Result<Sparsity> readSparsity(FileView& file, const std::string& place, const tflite::SparsityParameters& source)
{
    Sparsity out;
    LS_TRY(out.traversalOrder, elements<int32_t>(file, source.traversal_order()));
    LS_TRY(out.blockMap, elements<int32_t>(file, source.block_map()));
    if (!source.dim_metadata()) return out;
    for (flatbuffers::uoffset_t i = 0; i < source.dim_metadata()->size(); ++i) {
        const tflite::DimensionMetadata& dim = *source.dim_metadata()->Get(i);
        const std::string at = element(place + ".dim_metadata", i);
        LS_CHECK_OK(file.spend(&dim, sizeof(SparseDimension)));
        SparseDimension stored;
        if (dim.format() == tflite::DimensionType_SPARSE_CSR) {
            stored.compressed = true;
            LS_TRY(stored.segments, sparseIndices(file, at + ".array_segments", &dim, dim.array_segments_type(), dim.array_segments()));
            LS_TRY(stored.indices, sparseIndices(file, at + ".array_indices", &dim, dim.array_indices_type(), dim.array_indices()));
        } else if (dim.format() == tflite::DimensionType_DENSE) {
            stored.denseSize = dim.dense_size();
            if (stored.denseSize < 0)
                return file.fault(&dim, at + ".dense_size is " + std::to_string(stored.denseSize)).expected("0 or more");
        } else {
            return file.fault(&dim, at + ".format is " + std::to_string(static_cast<int>(dim.format()))).expected("0 or 1");
        }
        out.dimensions.push_back(std::move(stored));
    }
    return out;
}

/// The bytes that kernels may read at their element's alignment: where the file has none, a copy.
Bytes aligned(const Bytes& bytes, DType dtype)
{
    const auto alignment = static_cast<uintptr_t>(std::clamp(bitWidth(dtype) / 8, dtype == DType::string ? 4 : 1, 8));
    return reinterpret_cast<uintptr_t>(bytes.data()) % alignment == 0 ? bytes : Bytes::copyOf(bytes.view());
}

/// Refuses data that does not fill the tensor exactly. Sparse, handle, block and compressed (`isPacked`) data have layouts of their own.
Status checkSize(const FileView& file, const tflite::Tensor& tensor, const std::string& place, const Value& value, const Bytes& data,
                 bool isPacked)
{
    const TensorType& type = value.type;
    const std::string described = std::string(dtypeName(type.dtype)) + toString(type.shape);
    const auto count = type.shape.isStatic() ? checkedElementCount(type.shape) : std::nullopt;
    if (!count)
        return file.fault(&tensor, place + " has data and the type " + described).expected("a static shape of a size that memory can hold");
    const std::string holds = "buffer " + std::to_string(tensor.buffer()) + " holds ";
    const std::string needs = "tensor '" + value.name + "' " + described + " needs ";
    if (type.dtype == DType::string && !isPacked) {
        const auto strings = unpackStrings(data.view());
        if (!strings.ok()) return strings.error().copy().at(place).at("at " + hexNumber(file.offsetOf(data.data())));
        if (static_cast<int64_t>(strings->size()) != *count)
            return file.fault(data.data(), holds + std::to_string(strings->size()) + " strings, " + needs + std::to_string(*count));
        return {};
    }
    const DTypeClass kind = dtypeClass(type.dtype);
    if (kind == DTypeClass::handle || kind == DTypeClass::block || tensor.sparsity() || isPacked) return {};
    const uint64_t needed = byteSize(type.dtype, *count);
    if (data.size() != needed)
        return file.fault(data.data(), holds + std::to_string(data.size()) + " bytes, " + needs + std::to_string(needed));
    return {};
}

Status readData(ImportState& state, const std::string& place, const tflite::Tensor& tensor, ImportedTensor& out)
{
    const size_t bufferCount = state.source->buffers() ? state.source->buffers()->size() : 0;
    const uint32_t buffer = tensor.buffer();
    // Buffer 0 means "no data", also in a file without any buffers.
    if (buffer != 0 && buffer >= bufferCount)
        return badIndex(state.file, fieldAt(asTable(&tensor), tflite::Tensor::VT_BUFFER), place + ".buffer", "buffer", buffer, 0,
                        static_cast<int64_t>(bufferCount));
    Value& value = out.value;
    const uint16_t compressionSlot = state.format.compressionSlot;
    const int8_t compression = compressionSlot == 0 ? int8_t{0} : asTable(&tensor)->GetField<int8_t>(compressionSlot, 0);
    if (compression != 0)
        setAttribute(out.facts, "compression_type", compression == 1 ? Attribute(Word{"HUFFMAN"}) : Attribute(int64_t{compression}));
    if (buffer < bufferCount) {
        LS_TRY(value.constant, bufferData(state, buffer));
    }
    if (value.constant) {
        // Data of a tensor that is no constant is checked too: nobody gains by a buffer that does not fit.
        if (!value.type.shape.hasRank()) value.type.shape = Shape();
        LS_CHECK_OK(checkSize(state.file, tensor, place, value, value.constant->bytes(), compression != 0));
        const Bytes bytes = aligned(value.constant->bytes(), value.type.dtype);
        if (tensor.sparsity() || bytes.data() != value.constant->bytes().data()) {
            auto own = std::make_shared<Constant>(bytes);
            if (tensor.sparsity()) {
                LS_TRY(own->sparsity, readSparsity(state.file, place + ".sparsity", *tensor.sparsity()));
            }
            value.constant = std::move(own);
        }
    } else if (tensor.sparsity()) {
        LS_TRY(const Sparsity sparsity, readSparsity(state.file, place + ".sparsity", *tensor.sparsity()));
        setAttribute(out.facts, "sparsity", sparsityFact(sparsity));
    }
    if (const uint32_t external = state.format.hasExternalBuffers ? tensor.external_buffer() : 0; external != 0) {
        if (external > INT32_MAX)
            return state.file.fault(&tensor, place + ".external_buffer is " + std::to_string(external)).expected("at most 2147483647");
        if (value.constant) setAttribute(out.facts, "external_buffer", int64_t{external});
        else value.constant = Constant::external(static_cast<int32_t>(external));
    }
    return {};
}

} // namespace

Attribute sparsityFact(const Sparsity& sparsity)
{
    const auto numbers = [](const auto& values) {
        AttributeItems items;
        for (const auto value : values) items.emplace_back(int64_t{value});
        return items;
    };
    AttributeItems dims;
    for (const SparseDimension& dim : sparsity.dimensions)
        dims.emplace_back(dim.compressed ? AttributeMap{{"segments", numbers(dim.segments)}, {"indices", numbers(dim.indices)}}
                                         : AttributeMap{{"size", int64_t{dim.denseSize}}});
    return AttributeMap{{"order", numbers(sparsity.traversalOrder)}, {"blocks", numbers(sparsity.blockMap)}, {"dims", std::move(dims)}};
}

Error badIndex(const FileView& file, const void* at, const std::string& place, const std::string& noun, int64_t found, int64_t lowest,
               int64_t count)
{
    const bool any = count > lowest;
    return file.fault(at, place + " is " + noun + " " + std::to_string(found))
        .expected(any ? std::to_string(lowest) + " to " + std::to_string(count - 1) : "none, since there are no " + noun + "s");
}

Result<ConstantPtr> bufferData(ImportState& state, size_t index)
{
    ConstantPtr& known = state.buffers[index];
    if (known) return known;
    const tflite::Buffer& buffer = *state.source->buffers()->Get(static_cast<flatbuffers::uoffset_t>(index));
    const FileView& file = state.file;
    if (buffer.offset() > 1) {
        if (buffer.offset() > file.size() || buffer.size() > file.size() - buffer.offset())
            return file.fault(fieldAt(asTable(&buffer), tflite::Buffer::VT_OFFSET),
                              element("buffers", index) + " lies at " + hexNumber(buffer.offset()) + " and has " +
                                  std::to_string(buffer.size()) + " bytes, file ends at " + hexNumber(file.size()));
        if (buffer.size() > 0) known = std::make_shared<Constant>(file.content().slice(buffer.offset(), buffer.size()));
    } else if (const auto* data = buffer.data(); data && data->size() > 0) {
        known = std::make_shared<Constant>(file.content().slice(file.offsetOf(data->Data()), data->size()));
    }
    return known;
}

Result<ImportedTensor> importTensor(ImportState& state, const std::string& place, const tflite::SubGraph& graph,
                                    const tflite::Tensor& tensor)
{
    ImportedTensor out;
    LS_CHECK_OK(state.file.spend(&tensor, 16));
    if (tensor.name()) {
        LS_CHECK_OK(state.file.spend(tensor.name(), tensor.name()->size()));
        out.value.name = tensor.name()->str();
    }
    out.isVariable = tensor.is_variable();
    LS_CHECK_OK(readType(state, place, tensor, out.value.type));
    if (tensor.quantization()) LS_CHECK_OK(readQuantization(state, place + ".quantization", graph, tensor, out));
    LS_CHECK_OK(readData(state, place, tensor, out));
    return out;
}

} // namespace loopscope::tflite_format
