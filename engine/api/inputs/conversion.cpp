#include "engine/api/inputs/conversion.h"

#include "engine/api/inputs/filled_array.h"
#include "engine/tensor/statistics.h"
#include "engine/tensor/value_text.h"

#include <algorithm>
#include <cmath>

namespace loopscope {

namespace {

Error inputError(const Port& port, std::string what) { return Error(ErrorCode::usage, std::move(what)).at("input '" + port.name + "'"); }

bool hasScale(const TensorType& type)
{
    return type.quantization && type.quantization->kind == Quantization::Kind::affine && !type.quantization->scales.empty() &&
           isInteger(type.dtype);
}

Array castTo(const Array& array, DType dtype)
{
    const Tensor view = array.view();
    if (isInteger(array.dtype) && bitWidth(array.dtype) == 64 && bitWidth(dtype) == 64 && isInteger(dtype)) {
        Array same = array; // i64 ↔ u64 must not pass through a double
        same.dtype = dtype;
        return same;
    }
    return filledWith(dtype, array.shape, view.elementCount(), [&](int64_t i) { return elementAsReal(view, i); });
}

/// What a cast to integers did to elements that had no such value.
struct Loss {
    int64_t changed = 0;
    int64_t first = -1; ///< index of the first of them
};

Loss lossOf(const Array& before, const Array& after)
{
    Loss loss;
    const Tensor from = before.view(), to = after.view();
    const int64_t count = from.elementCount();
    for (int64_t i = 0; i < count; ++i) {
        if (elementAsReal(from, i) == elementAsReal(to, i)) continue;
        if (loss.changed++ == 0) loss.first = i;
    }
    return loss;
}

Result<Array> cast(const Port& port, const Array& array, std::vector<std::string>& notes)
{
    const TensorType& type = port.type;
    if (!isNumeric(array.dtype) || !isNumeric(type.dtype))
        return inputError(port, "cannot convert " + std::string(dtypeName(array.dtype)) + " to " + std::string(dtypeName(type.dtype)));
    Array converted = castTo(array, type.dtype);
    std::string note =
        "input '" + port.name + "': " + std::string(dtypeName(array.dtype)) + " converted to " + std::string(dtypeName(type.dtype));
    if (isInteger(type.dtype))
        if (const Loss loss = lossOf(array, converted); loss.changed > 0) {
            const std::string example = elementText(array.view(), loss.first) + " becomes " + elementText(converted.view(), loss.first);
            if (hasScale(type) && isFloat(array.dtype))
                return inputError(port, "':cast' would change " + std::to_string(loss.changed) + " of " +
                                            std::to_string(converted.view().elementCount()) + " elements (" + example +
                                            "); ':quantize' converts with the input's scale and zero point");
            note += "; " + std::to_string(loss.changed) + " of " + std::to_string(converted.view().elementCount()) + " elements change (" +
                    example + ")";
        }
    notes.push_back(std::move(note));
    return converted;
}

Result<Array> quantize(const Port& port, const Array& array, std::vector<std::string>& notes)
{
    const TensorType& type = port.type;
    if (!hasScale(type)) return inputError(port, "':quantize' needs a scale and a zero point").found(shortType(type));
    if (!isFloat(array.dtype)) return inputError(port, "':quantize' is for real numbers").found(std::string(dtypeName(array.dtype)));
    const Quantization& q = *type.quantization;
    int64_t channels = 1, inner = 1; // elements that share a scale stand `inner` apart
    if (q.scales.size() > 1) {
        if (q.axis < 0 || q.axis >= array.shape.rank() || array.shape[q.axis] != static_cast<int64_t>(q.scales.size()))
            return inputError(port, "found " + shortType(array.view()) + ", expected " + shortType(type));
        channels = array.shape[q.axis];
        for (int d = q.axis + 1; d < array.shape.rank(); ++d) inner *= array.shape[d];
    }
    const Tensor view = array.view();
    const auto least = static_cast<double>(integerMin(type.dtype)), most = static_cast<double>(integerMax(type.dtype));
    int64_t clamped = 0, nans = 0;
    Array stored = filledWith(type.dtype, array.shape, view.elementCount(), [&](int64_t i) {
        const auto channel = static_cast<size_t>(i / inner % channels);
        const double zero = channel < q.zeroPoints.size() ? static_cast<double>(q.zeroPoints[channel]) : 0;
        const double real = elementAsReal(view, i);
        if (std::isnan(real)) {
            ++nans;
            return zero;
        }
        const double wanted = std::round(real / static_cast<double>(q.scales[channel])) + zero;
        if (wanted < least || wanted > most) ++clamped;
        return std::clamp(wanted, least, most);
    });
    if (nans > 0) return inputError(port, std::to_string(nans) + " NaN cannot be quantized");
    std::string note = "input '" + port.name + "': " + std::string(dtypeName(array.dtype)) + " quantized to " + shortType(type);
    if (clamped > 0)
        note += "; " + std::to_string(clamped) + " of " + std::to_string(view.elementCount()) + " elements lie outside of its range";
    notes.push_back(std::move(note));
    return stored;
}

} // namespace

bool isNumeric(DType dtype)
{
    return isFloat(dtype) || dtype == DType::boolean || (isInteger(dtype) && dtypeClass(dtype) != DTypeClass::handle);
}

Result<Array> conform(const Port& port, Array array, Conversion conversion, std::vector<std::string>& notes)
{
    const TensorType& type = port.type;
    if (array.dtype != type.dtype && npyStorageType(type.dtype) == array.dtype && conversion != Conversion::quantize) {
        Result<Array> converted = fromNpyStorage(std::move(array), type.dtype);
        if (!converted.ok()) return std::move(converted).takeError().at("input '" + port.name + "'");
        array = std::move(converted).value();
    }
    if (conversion == Conversion::quantize) {
        LS_TRY(array, quantize(port, array, notes));
    } else if (array.dtype != type.dtype) {
        if (conversion == Conversion::none)
            return inputError(port, "found " + std::string(dtypeName(array.dtype)) + ", expected " + std::string(dtypeName(type.dtype)) +
                                        (hasScale(type) && isFloat(array.dtype)
                                             ? "; add ':quantize' to convert with scale and zero point of the input"
                                             : "; add ':cast' to convert"));
        LS_TRY(array, cast(port, array, notes));
    }
    const Shape declared = type.dynamicShape();
    if (declared.hasRank() && declared.rank() != array.shape.rank())
        return inputError(port, "found " + shortType(array.view()) + ", expected " + shortType(type));
    bool resized = false;
    for (int d = 0; declared.hasRank() && d < declared.rank(); ++d)
        resized = resized || (declared[d] >= 0 && declared[d] != array.shape[d]);
    if (resized) notes.push_back("input '" + port.name + "': resized from " + toString(declared) + " to " + toString(array.shape));
    return array;
}

Array dequantized(const Tensor& tensor)
{
    const bool known = tensor.quantization != nullptr && tensor.quantization->kind == Quantization::Kind::affine && isInteger(tensor.dtype);
    if (!known) return copyOf(tensor);
    return filledWith(DType::f32, tensor.shape, tensor.elementCount(), [&](int64_t i) { return elementAsReal(tensor, i); });
}

} // namespace loopscope
