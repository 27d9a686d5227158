#include "app/output/json_writer.h"

#include "engine/base/json_text.h"
#include "engine/tensor/statistics.h"
#include "engine/tensor/strings.h"
#include "engine/tensor/value_text.h"

#include <array>
#include <charconv>
#include <cmath>

namespace loopscope::app {

namespace {

constexpr int64_t kLargestExact = int64_t{1} << 53;

} // namespace

void JsonWriter::separate()
{
    if (m_needComma) m_text += ',';
    m_needComma = true;
}

JsonWriter& JsonWriter::open(char c)
{
    separate();
    m_text += c;
    m_needComma = false;
    return *this;
}

JsonWriter& JsonWriter::close(char c)
{
    m_text += c;
    m_needComma = true;
    return *this;
}

JsonWriter& JsonWriter::key(std::string_view name)
{
    separate();
    m_text += jsonQuoted(name);
    m_text += ':';
    m_needComma = false;
    return *this;
}

JsonWriter& JsonWriter::value(std::string_view text)
{
    separate();
    m_text += jsonQuoted(text);
    return *this;
}

JsonWriter& JsonWriter::value(int64_t number)
{
    separate();
    const bool exact = number <= kLargestExact && number >= -kLargestExact;
    m_text += exact ? std::to_string(number) : '"' + std::to_string(number) + '"';
    return *this;
}

JsonWriter& JsonWriter::value(uint64_t number)
{
    separate();
    m_text += number <= static_cast<uint64_t>(kLargestExact) ? std::to_string(number) : '"' + std::to_string(number) + '"';
    return *this;
}

JsonWriter& JsonWriter::value(double number)
{
    separate();
    if (std::isnan(number)) m_text += "\"nan\"";
    else if (std::isinf(number)) m_text += number > 0 ? "\"inf\"" : "\"-inf\"";
    else {
        std::array<char, 40> digits = {};
        const auto [end, error] = std::to_chars(digits.data(), digits.data() + digits.size(), number);
        m_text.append(digits.data(), end);
    }
    return *this;
}

JsonWriter& JsonWriter::value(bool truth)
{
    separate();
    m_text += truth ? "true" : "false";
    return *this;
}

JsonWriter& JsonWriter::null()
{
    separate();
    m_text += "null";
    return *this;
}

JsonWriter& JsonWriter::raw(std::string_view json)
{
    separate();
    m_text += json;
    m_needComma = true;
    return *this;
}

JsonWriter& JsonWriter::tensor(std::string_view name, const Tensor& tensor, int64_t limit)
{
    beginObject().key("name").value(name).key("dtype").value(dtypeName(tensor.dtype)).key("shape").beginArray();
    for (int64_t dim : tensor.shape.dims()) value(dim);
    endArray();
    const int64_t count = tensor.elementCount();
    const DTypeClass kind = dtypeClass(tensor.dtype);
    const bool numeric = kind == DTypeClass::floating || kind == DTypeClass::signedInteger || kind == DTypeClass::unsignedInteger ||
                         kind == DTypeClass::boolean || kind == DTypeClass::complex;
    if (numeric) {
        const TensorStatistics s = computeStatistics(tensor);
        key("stats").beginObject();
        if (s.finite > 0) key("min").value(s.min).key("max").value(s.max).key("mean").value(s.mean).key("std").value(s.std);
        key("zeros").value(s.zeros).key("nan").value(s.nan).key("inf").value(s.positiveInf + s.negativeInf).endObject();
    }
    if (count > limit) return key("truncated").value(count).endObject();
    key("data").beginArray();
    if (kind == DTypeClass::string) {
        if (const auto strings = unpackStrings(tensor.view()); strings.ok())
            for (std::string_view s : *strings) value(s);
    } else {
        for (int64_t i = 0; i < count; ++i) {
            if (kind == DTypeClass::boolean) value(elementAsInteger(tensor, i) != 0);
            else if (isInteger(tensor.dtype) && tensor.quantization == nullptr)
                tensor.dtype == DType::u64 ? value(static_cast<uint64_t>(elementAsInteger(tensor, i))) : value(elementAsInteger(tensor, i));
            else if (kind == DTypeClass::complex) value(elementText(tensor, i));
            else if (tensor.dtype == DType::f32) {
                // The shortest digits of the f32 itself, not of the double it widens to.
                const double real = elementAsReal(tensor, i);
                if (std::isfinite(real)) {
                    separate();
                    std::array<char, 40> digits = {};
                    m_text.append(digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), static_cast<float>(real)).ptr);
                } else value(real);
            } else value(elementAsReal(tensor, i));
        }
    }
    return endArray().endObject();
}

} // namespace loopscope::app
