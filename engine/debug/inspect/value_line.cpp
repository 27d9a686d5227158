#include "engine/debug/inspect/value_line.h"

#include "engine/tensor/compare.h"
#include "engine/tensor/statistics.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace loopscope {

namespace {

constexpr int64_t kFullElements = 16;
constexpr int kListDigits = 4;
constexpr int64_t kScanned = 1 << 20; ///< for NaN, in lists that must stay quick

bool hasNumbers(DType dtype)
{
    const DTypeClass kind = dtypeClass(dtype);
    return kind != DTypeClass::string && kind != DTypeClass::handle && kind != DTypeClass::block && kind != DTypeClass::none;
}

std::string onOneLine(const std::string& text)
{
    std::string out;
    for (size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '\n') {
            out += text[i];
            continue;
        }
        while (i + 1 < text.size() && text[i + 1] == ' ') ++i;
        out += ' ';
    }
    return out;
}

/// "  nan 1, first [0,1]"; the first place is left out where every element is abnormal.
std::string abnormalText(const Tensor& tensor, const TensorStatistics& s)
{
    const int64_t inf = s.positiveInf + s.negativeInf;
    std::string out = " ";
    if (s.nan > 0) out += " nan " + std::to_string(s.nan);
    if (inf > 0) out += " inf " + std::to_string(inf);
    if (s.nan + inf < s.elements) out += ", first " + elementIndexText(tensor.shape, s.firstAbnormal);
    return out;
}

/// A computed tensor as one that the texts of values know: elements are copied.
Array computedArray(const ExpressionValue& value)
{
    Array array;
    array.shape = value.shape();
    const auto count = static_cast<size_t>(value.elementCount());
    const auto put = [&](size_t i, auto element) { std::memcpy(array.bytes.data() + i * sizeof element, &element, sizeof element); };
    if (value.type() == ExpressionType::real) {
        // Computed numbers have no dtype of their own: what an f32 holds exactly deserves no more digits than one.
        bool narrow = value.dtype() != DType::f64;
        for (int64_t i = 0; value.dtype() == DType::unknown && i < value.elementCount(); ++i) {
            const double element = value.realAt(i);
            narrow = narrow && (std::isnan(element) || static_cast<double>(static_cast<float>(element)) == element);
        }
        array.dtype = narrow ? DType::f32 : DType::f64;
        array.bytes.resize(count * (narrow ? 4 : 8));
        for (size_t i = 0; i < count; ++i) {
            const double element = value.realAt(static_cast<int64_t>(i));
            if (narrow) put(i, static_cast<float>(element));
            else put(i, element);
        }
    } else if (value.type() == ExpressionType::boolean) {
        array.dtype = DType::boolean;
        array.bytes.resize(count);
        for (size_t i = 0; i < count; ++i) put(i, static_cast<uint8_t>(value.booleanAt(static_cast<int64_t>(i)) ? 1 : 0));
    } else {
        array.dtype = DType::i64;
        array.bytes.resize(count * 8);
        for (size_t i = 0; i < count; ++i) put(i, value.integerAt(static_cast<int64_t>(i)));
    }
    return array;
}

} // namespace

std::string computedText(const ExpressionValue& value, const NumberFormat& format, bool withType)
{
    const bool numeric =
        value.type() == ExpressionType::real || value.type() == ExpressionType::integer || value.type() == ExpressionType::boolean;
    if (!numeric) return value.type() == ExpressionType::text && !value.isTensor() ? quotedText(value.textAt(0)) : toString(value);
    const Array array = computedArray(value);
    const Tensor tensor = array.view();
    if (!value.isTensor() || value.elementCount() == 1) return elementText(tensor, 0, format);
    const std::string text = inlineValue(tensor, format).text;
    return withType ? describe(value) + "  " + text : text;
}

InlineValue inlineValue(const Tensor& tensor, const NumberFormat& format)
{
    const int64_t count = tensor.elementCount();
    InlineValue shown;
    const bool numbers = hasNumbers(tensor.dtype);
    TensorStatistics s;
    if (numbers && (isFloat(tensor.dtype) || count > kFullElements)) s = computeStatistics(tensor);
    shown.abnormal = s.firstAbnormal >= 0;
    if (count > kFullElements && numbers) {
        shown.text = s.finite > 0 ? "min " + realText(s.min, 5) + "  max " + realText(s.max, 5) + "  mean " + realText(s.mean, 5)
                                  : "no finite element";
    } else if (count > kFullElements) {
        shown.text = std::to_string(count) + " elements";
    } else {
        shown.text = onOneLine(elementsText(tensor, format));
    }
    if (shown.abnormal && count > 1) shown.text += abnormalText(tensor, s);
    return shown;
}

InlineValue inlineStatistics(const TensorStatistics& s, DType dtype)
{
    InlineValue shown;
    shown.abnormal = s.nan + s.positiveInf + s.negativeInf > 0;
    if (s.elements == 1 && s.finite == 1)
        shown.text = dtype == DType::boolean ? (s.mean != 0 ? "true" : "false") : realText(s.mean, significantDigits(dtype));
    else if (s.finite > 0) shown.text = "min " + realText(s.min, 5) + "  max " + realText(s.max, 5) + "  mean " + realText(s.mean, 5);
    else shown.text = "no finite element";
    if (shown.abnormal && s.elements > 1)
        shown.text += "  nan " + std::to_string(s.nan) + " inf " + std::to_string(s.positiveInf + s.negativeInf);
    return shown;
}

InlineValue typedInlineValue(const Tensor& tensor, const NumberFormat& format)
{
    InlineValue shown = inlineValue(tensor, format);
    shown.text = shortType(tensor) + (tensor.shape.rank() == 0 ? " = " : "  ") + shown.text;
    return shown;
}

InlineValue firstElements(const Tensor& tensor, int most)
{
    const int64_t count = tensor.elementCount();
    NumberFormat format;
    if (isFloat(tensor.dtype) || tensor.quantization != nullptr) format.digits = kListDigits;
    InlineValue shown;
    if (count == 0) return {"empty", false};
    for (int64_t i = 0; i < std::min<int64_t>(count, most); ++i) {
        std::string element = elementText(tensor, i, format);
        if (const size_t stored = element.find('('); stored != std::string::npos && tensor.quantization != nullptr) element.resize(stored);
        shown.text += (i > 0 ? " " : "") + element;
    }
    if (count > most) shown.text += " … " + std::to_string(count);
    if (isFloat(tensor.dtype) && count <= kScanned) shown.abnormal = computeStatistics(tensor).firstAbnormal >= 0;
    return shown;
}

std::string absenceText(Absence absence)
{
    switch (absence) {
    case Absence::notWritten: return "not written yet";
    case Absence::dead: return "dead";
    case Absence::notRecorded: return "not recorded";
    case Absence::freed: return "freed already";
    case Absence::lost: return "lost with the device";
    default: return "";
    }
}

std::string bareText(const EvaluatedValue& value, const NumberFormat& format)
{
    if (value.absence != Absence::present) return absenceText(value.absence);
    if (value.tensor.data != nullptr) return inlineValue(value.tensor, format).text;
    return computedText(value.value, format, false);
}

std::optional<Tensor> elementsOf(const EvaluatedValue& value, Array& storage)
{
    if (value.absence != Absence::present) return std::nullopt;
    if (value.tensor.data != nullptr) return value.tensor;
    const ExpressionType type = value.value.type();
    if (type != ExpressionType::real && type != ExpressionType::integer && type != ExpressionType::boolean) return std::nullopt;
    storage = computedArray(value.value);
    return storage.view();
}

} // namespace loopscope
