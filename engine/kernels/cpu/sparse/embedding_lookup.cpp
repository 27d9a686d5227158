// CPU kernels of embedding_lookup (rows as they are, or dequantized to f32 or f16), embedding_lookup_sparse and hashtable_lookup.
#include "engine/kernels/cpu/movement.h"
#include "engine/kernels/cpu/nn_common.h"
#include "engine/kernels/registry.h"
#include "engine/tensor/half.h"

#include <cmath>
#include <cstring>
#include <memory>
#include <string>

using namespace loopscope;

namespace {

struct EmbeddingParams {
    std::vector<float> scales; ///< one, or one for each row
    DType readAs = DType::unknown;
};

Error outOfRange(const KernelArgs& args, int64_t position)
{
    return Error(ErrorCode::execution, "id at [" + std::to_string(position) + "] is out of range")
        .found(std::to_string(args.in(0).as<int32_t>()[position]))
        .expected("0 to " + std::to_string(args.in(1).shape[0] - 1));
}

bool inRange(const KernelArgs& args, int64_t position)
{
    const int32_t id = args.in(0).as<int32_t>()[position];
    return id >= 0 && id < args.in(1).shape[0];
}

Status runCopy(const KernelArgs& args)
{
    const Tensor& table = args.in(1);
    const size_t rowBytes = byteSize(table.dtype, table.shape.countOf(1, table.shape.rank()));
    std::byte* out = args.out(0).data;
    for (int64_t i = 0; i < args.in(0).elementCount(); ++i, out += rowBytes) {
        if (!inRange(args, i)) return outOfRange(args, i);
        if (rowBytes != 0) std::memcpy(out, table.data + static_cast<size_t>(args.in(0).as<int32_t>()[i]) * rowBytes, rowBytes);
    }
    return {};
}

template <typename Store> Status dequantizeRows(const KernelArgs& args, Store store)
{
    const auto& params = args.paramsAs<EmbeddingParams>();
    Tensor table = args.in(1);
    table.dtype = params.readAs;
    const int64_t columns = table.shape.countOf(1, table.shape.rank());
    auto* row = reinterpret_cast<int16_t*>(args.runtime->scratch(static_cast<size_t>(columns) * sizeof(int16_t)));
    int64_t at = 0;
    for (int64_t i = 0; i < args.in(0).elementCount(); ++i) {
        if (!inRange(args, i)) return outOfRange(args, i);
        const int64_t id = args.in(0).as<int32_t>()[i];
        const float scale = params.scales.size() == 1 ? params.scales.front() : params.scales[static_cast<size_t>(id)];
        widen(table, id * columns, columns, 0, row);
        for (int64_t c = 0; c < columns; ++c) store(at++, static_cast<float>(row[c]) * scale);
    }
    return {};
}

Status runToF32(const KernelArgs& args)
{
    float* out = args.out(0).as<float>();
    return dequantizeRows(args, [out](int64_t at, float value) { out[at] = value; });
}

Status runToF16(const KernelArgs& args)
{
    auto* out = args.out(0).as<uint16_t>();
    return dequantizeRows(args, [out](int64_t at, float value) { out[at] = floatToF16(value); });
}

Result<PreparedKernel> prepareEmbeddingLookup(const KernelSetup& setup)
{
    const Tensor& table = setup.in(1);
    const DType result = setup.out(0).dtype;
    auto params = std::make_shared<EmbeddingParams>();
    if (table.dtype == result) {
        if (bitWidth(table.dtype) < 8 &&
            (!table.shape.isStatic() || table.shape.countOf(1, table.shape.rank()) * bitWidth(table.dtype) % 8 != 0))
            return Error(ErrorCode::unsupported, "rows of " + std::string(dtypeName(table.dtype)) + " that do not fill whole bytes");
        return PreparedKernel{runCopy, std::move(params)};
    }
    if (!table.quantization || table.quantization->kind != Quantization::Kind::affine || table.quantization->scales.empty())
        return Error(ErrorCode::unsupported, "the table's quantization").expected("one scale, or one for each row");
    if (table.quantization->zeroPoint() != 0) return Error(ErrorCode::unsupported, "a table with a zero point").expected("0");
    switch (table.dtype) {
    case DType::i2:
    case DType::i4:
    case DType::i8: params->readAs = table.dtype; break;
    case DType::u8: params->readAs = DType::i8; break; // LiteRT reads u8 tables as if they were i8
    default:
        return Error(ErrorCode::unsupported, "dequantizing a table of " + std::string(dtypeName(table.dtype))).expected("i2, i4, i8 or u8");
    }
    params->scales = table.quantization->scales;
    return PreparedKernel{result == DType::f16 ? runToF16 : runToF32, std::move(params)};
}

enum class Combiner : uint8_t { sum, mean, rootOfSquares };

/// Rows are added place by place; a place is divided when the next id goes elsewhere, as the reference does.
Status runSparse(const KernelArgs& args)
{
    const auto combiner = args.paramsAs<Combiner>();
    const Tensor& table = args.in(4);
    const int64_t lookupRank = args.in(1).shape[1];
    const int64_t width = table.shape.countOf(1, table.shape.rank());
    const int32_t* indices = args.in(1).as<int32_t>();
    const float* weights = args.in(3).as<float>();
    float* out = args.out(0).as<float>();
    std::fill(out, out + args.out(0).elementCount(), 0.0F);
    int64_t place = 0;
    int64_t added = 0;
    float total = 0.0F;
    float squares = 0.0F;
    const auto finish = [&] {
        if (combiner == Combiner::sum || added == 0) return;
        const float divisor = combiner == Combiner::mean ? total : std::sqrt(squares);
        for (int64_t k = 0; k < width; ++k) out[place * width + k] /= divisor;
    };
    for (int64_t i = 0; i < args.in(0).elementCount(); ++i) {
        const int32_t id = args.in(0).as<int32_t>()[i];
        if (id < 0 || id >= table.shape[0])
            return Error(ErrorCode::execution, "id at [" + std::to_string(i) + "] is out of range")
                .found(std::to_string(id))
                .expected("0 to " + std::to_string(table.shape[0] - 1));
        int64_t target = 0;
        for (int64_t k = 0; k + 1 < lookupRank; ++k) {
            const int64_t index = indices[i * lookupRank + k];
            const int64_t size = args.out(0).shape[static_cast<int>(k)];
            if (index < 0 || index >= size)
                return Error(ErrorCode::execution, "index at [" + std::to_string(i) + "," + std::to_string(k) + "] is out of range")
                    .found(std::to_string(index))
                    .expected("0 to " + std::to_string(size - 1));
            target = target * size + index;
        }
        if (target != place) {
            finish();
            place = target;
            added = 0;
            total = squares = 0.0F;
        }
        ++added;
        total += weights[i];
        squares += weights[i] * weights[i];
        for (int64_t k = 0; k < width; ++k) out[place * width + k] += table.as<float>()[id * width + k] * weights[i];
    }
    if (added > 0) finish();
    return {};
}

Result<PreparedKernel> prepareSparse(const KernelSetup& setup)
{
    const std::string_view word = attributeWord(setup.attributes(), "combiner", "SUM");
    const Combiner combiner = word == "MEAN" ? Combiner::mean : word == "SQRTN" ? Combiner::rootOfSquares : Combiner::sum;
    return PreparedKernel{runSparse, std::make_shared<Combiner>(combiner)};
}

/// Where `key` lies among sorted keys, or −1; halves as the C library's bsearch does, so that keys out of order are found or missed alike.
int64_t findKey(const int32_t* keys, int64_t count, int32_t key)
{
    for (int64_t low = 0, high = count; low < high;) {
        const int64_t middle = (low + high) / 2;
        if (keys[middle] == key) return middle;
        if (key < keys[middle]) high = middle;
        else low = middle + 1;
    }
    return -1;
}

Status runHashtableLookup(const KernelArgs& args)
{
    const Tensor& rows = args.in(2);
    const auto rowBytes = static_cast<size_t>(rows.shape.countOf(1, rows.shape.rank()) * elementBytes(rows));
    std::byte* out = args.out(0).data;
    for (int64_t i = 0; i < args.in(0).elementCount(); ++i, out += rowBytes) {
        const int64_t at = findKey(args.in(1).as<int32_t>(), args.in(1).elementCount(), args.in(0).as<int32_t>()[i]);
        args.out(1).as<uint8_t>()[i] = at >= 0 ? 1 : 0;
        if (rowBytes == 0) continue;
        if (at >= 0) std::memcpy(out, rows.data + static_cast<size_t>(at) * rowBytes, rowBytes);
        else std::memset(out, 0, rowBytes);
    }
    return {};
}

Result<PreparedKernel> prepareHashtableLookup(const KernelSetup& setup) { return prepareMovement(setup.in(2).dtype, runHashtableLookup); }

} // namespace

LS_DEFINE_KERNELS(tfl, hashtable_lookup) { registry.add({"tfl", "hashtable_lookup", Profile::reference, prepareHashtableLookup, "all"}); }

LS_DEFINE_KERNELS(tfl, embedding_lookup_sparse)
{
    registry.add({"tfl", "embedding_lookup_sparse", Profile::reference, prepareSparse, "f32"});
}

LS_DEFINE_KERNELS(tfl, embedding_lookup)
{
    registry.add({"tfl", "embedding_lookup", Profile::reference, prepareEmbeddingLookup, "any; i2 i4 i8 u8 to f32 f16"});
}
