#include "app/dap/handles.h"

#include "engine/tensor/value_text.h"

#include <algorithm>

namespace loopscope::app::dap {

namespace {

constexpr int64_t kLongestList = 1000;       ///< children that are given at once
constexpr int64_t kWholeStatistics = 65'536; ///< elements up to which a row says more than its beginning

/// Elements of one entry of the first axis behind `indices`.
int64_t strideOf(const Shape& shape, size_t axis)
{
    int64_t stride = 1;
    for (int d = static_cast<int>(axis) + 1; d < shape.rank(); ++d) stride *= shape[d];
    return stride;
}

int64_t offsetOf(const Shape& shape, const std::vector<int64_t>& indices)
{
    int64_t offset = 0;
    for (size_t axis = 0; axis < indices.size(); ++axis) offset += indices[axis] * strideOf(shape, axis);
    return offset;
}

bool isOneElement(const Tensor& tensor, const std::vector<int64_t>& indices)
{
    return static_cast<int>(indices.size()) >= tensor.shape.rank();
}

/// The part of a tensor that `indices` lead to; without data where elements are no whole bytes or the quantization differs along it.
Tensor partOf(const Tensor& tensor, const std::vector<int64_t>& indices)
{
    if (indices.empty()) return tensor;
    Tensor part = tensor;
    std::vector<int64_t> dims;
    for (int d = static_cast<int>(indices.size()); d < tensor.shape.rank(); ++d) dims.push_back(tensor.shape[d]);
    part.shape = Shape(dims);
    const int64_t count = tensor.elementCount();
    const bool isPlain = tensor.dtype != DType::string && count > 0 && tensor.bytes % static_cast<size_t>(count) == 0 &&
                         (isFloat(tensor.dtype) || isInteger(tensor.dtype) || tensor.dtype == DType::boolean);
    const bool isPerChannel =
        tensor.quantization != nullptr && !tensor.quantization->isPerTensor() && tensor.quantization->kind != Quantization::Kind::none;
    if (!isPlain || isPerChannel || tensor.data == nullptr) {
        part.data = nullptr;
        part.bytes = 0;
        return part;
    }
    const size_t each = tensor.bytes / static_cast<size_t>(count);
    part.data = tensor.data + static_cast<size_t>(offsetOf(tensor.shape, indices)) * each;
    part.bytes = static_cast<size_t>(part.elementCount()) * each;
    return part;
}

std::string textOf(const Tensor& tensor, const std::vector<int64_t>& indices)
{
    if (isOneElement(tensor, indices))
        return tensor.data != nullptr || tensor.bytes == 0 ? elementText(tensor, offsetOf(tensor.shape, indices)) : "not recorded";
    const Tensor part = partOf(tensor, indices);
    if (part.data == nullptr) return part.elementCount() == 0 ? "[]" : shortType(part);
    if (part.elementCount() > kWholeStatistics) return firstElements(part, 4).text;
    return inlineValue(part).text;
}

std::string rangeName(int64_t begin, int64_t end) { return "[" + std::to_string(begin) + ".." + std::to_string(end - 1) + "]"; }

} // namespace

int64_t Handles::add(Handle handle)
{
    if (m_handles.size() >= kMost) return 0; // nothing more unfolds here
    m_handles.push_back(std::move(handle));
    return m_first + std::ssize(m_handles) - 1;
}

Result<Handle> Handles::find(int64_t reference) const
{
    if (reference < m_first || reference >= m_first + std::ssize(m_handles))
        return Error(ErrorCode::usage, "no variables at this stop").found("reference " + std::to_string(reference));
    return m_handles[static_cast<size_t>(reference - m_first)];
}

void Handles::clear()
{
    m_first += std::ssize(m_handles);
    m_handles.clear();
}

std::string expressionFor(const std::string& value, const std::vector<int64_t>& indices)
{
    const auto isWordByte = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == '/'; };
    std::string text = std::ranges::all_of(value, isWordByte) ? "%" + value : "%\"" + value + "\"";
    for (size_t i = 0; i < indices.size(); ++i) text += (i == 0 ? "[" : ",") + std::to_string(indices[i]);
    return indices.empty() ? text : text + "]";
}

Json tensorRow(const std::string& name, const Tensor& tensor, Handle handle, Handles& handles)
{
    Json row = Json::object();
    row.set("name", name).set("value", textOf(tensor, handle.indices));
    const bool isLeaf = isOneElement(tensor, handle.indices);
    row.set("type", isLeaf && !handle.indices.empty() ? std::string(dtypeName(tensor.dtype)) : shortType(partOf(tensor, handle.indices)));
    const int64_t length = isLeaf ? 0 : tensor.shape[static_cast<int>(handle.indices.size())];
    const int64_t reference = length > 0 && (tensor.data != nullptr) ? handles.add(std::move(handle)) : 0;
    row.set("variablesReference", reference);
    if (reference != 0) row.set("indexedVariables", length).set("namedVariables", 0);
    return row;
}

Json elementRows(const Tensor& tensor, const Handle& handle, int64_t start, int64_t count, Handles& handles)
{
    Json rows = Json::array();
    if (isOneElement(tensor, handle.indices) || tensor.data == nullptr) return rows;
    const int64_t length = tensor.shape[static_cast<int>(handle.indices.size())];
    const int64_t begin = std::clamp<int64_t>(handle.begin, 0, length);
    const int64_t end = handle.end < 0 ? length : std::clamp(handle.end, begin, length);
    if (count <= 0 && start <= 0 && end - begin > kLongestList) {
        int64_t width = kLongestList;
        while ((end - begin + width - 1) / width > kLongestList) width *= kLongestList;
        for (int64_t at = begin; at < end; at += width) {
            Handle part = handle;
            part.begin = at;
            part.end = std::min(end, at + width);
            Json row = Json::object();
            row.set("name", rangeName(part.begin, part.end)).set("value", "");
            row.set("variablesReference", handles.add(part)).set("presentationHint", Json::object().set("kind", "virtual"));
            rows.push(std::move(row));
        }
        return rows;
    }
    const int64_t first = begin + std::clamp<int64_t>(start, 0, end - begin);
    const int64_t last = std::min({end, first + kLongestList, count > 0 ? first + std::min(count, kLongestList) : end});
    for (int64_t i = first; i < last; ++i) {
        Handle element = handle;
        element.begin = 0;
        element.end = -1;
        element.indices.push_back(i);
        rows.push(tensorRow("[" + std::to_string(i) + "]", tensor, std::move(element), handles));
    }
    return rows;
}

} // namespace loopscope::app::dap
