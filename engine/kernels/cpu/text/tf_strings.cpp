// Kernels of TensorFlow's strings, and of the operators that tell people something: core/kernels/as_string_op.cc, substr_op.cc,
// logging_ops.cc; the words for values are those of core/framework/tensor.cc (SummarizeValue).
#include "engine/kernels/cpu/text/fingerprint.h"
#include "engine/kernels/cpu/text/tf_number.h"
#include "engine/kernels/cpu/tf_support.h"
#include "engine/kernels/resources.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>

using namespace loopscope;

namespace {

/// 6 digits (f64: 15) if they say the number, else 9 (17), as TensorFlow has it (tsl/platform/numbers.cc, FloatToBuffer).
std::string numberText(double value, bool single)
{
    if (std::isnan(value)) return "nan";
    if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
    std::array<char, 64> text = {};
    std::snprintf(text.data(), text.size(), "%.*g", single ? 6 : 15, value);
    const bool isExact =
        single ? std::strtof(text.data(), nullptr) == static_cast<float>(value) : std::strtod(text.data(), nullptr) == value;
    if (!isExact) std::snprintf(text.data(), text.size(), "%.*g", single ? 9 : 17, value);
    return text.data();
}

/// All elements in words. Strings in quotes if `quoted`.
Result<std::vector<std::string>> elementTexts(const Tensor& tensor, bool quoted)
{
    std::vector<std::string> texts;
    if (tensor.dtype == DType::string) {
        LS_TRY(const auto strings, readStrings(tensor));
        for (const std::string_view s : strings) texts.push_back(quoted ? "\"" + std::string(s) + "\"" : std::string(s));
        return texts;
    }
    if (tensor.dtype == DType::variant || tensor.dtype == DType::resource) {
        texts.assign(static_cast<size_t>(tensor.elementCount()), "?");
        return texts;
    }
    LS_CHECK_OK((forDType<TfFloats, TfSigned, TfUnsigned, TfComplex, TypeList<bool>>(tensor.dtype, [&]<typename T>() -> Status {
        for (int64_t i = 0, n = tensor.elementCount(); i < n; ++i) {
            const auto x = Element<T>::load(tensor.as<T>()[i]);
            using C = std::remove_const_t<decltype(x)>;
            if constexpr (std::is_same_v<C, bool>) texts.emplace_back(x ? "1" : "0");
            else if constexpr (std::is_integral_v<C>) texts.push_back(std::to_string(x));
            else if constexpr (kIsComplex<C>)
                texts.push_back("(" + numberText(x.real(), sizeof(C) == 8) + "," + numberText(x.imag(), sizeof(C) == 8) + ")");
            else texts.push_back(numberText(x, sizeof(C) == 4));
        }
        return {};
    })));
    return texts;
}

/// Nested brackets around dimensions from `d` on; the first `limit` elements, then "...".
void nest(const Shape& shape, int d, size_t& at, size_t limit, const std::vector<std::string>& texts, std::string& out)
{
    for (int64_t i = 0; i < shape[d]; ++i) {
        if (at >= limit) return;
        if (d + 1 < shape.rank()) {
            out += "[";
            nest(shape, d + 1, at, limit, texts, out);
            out += "]";
            continue;
        }
        out += (i > 0 ? " " : "") + texts[at++];
    }
}

/// As Assert says it: "0 1 1", "[1 2][3 4]", "1 2 3...".
Result<std::string> summary(const Tensor& tensor, int64_t most)
{
    LS_TRY(const std::vector<std::string> texts, elementTexts(tensor, false));
    if (tensor.shape.rank() == 0) return texts.empty() ? std::string() : texts[0];
    const size_t limit = most < 0 ? texts.size() : std::min(texts.size(), static_cast<size_t>(most));
    std::string out;
    size_t at = 0;
    nest(tensor.shape, 0, at, limit, texts, out);
    if (limit < texts.size()) out += "...";
    return out;
}

/// As tf.print says it: "[0 1 2 ... 7 8 9]", rows of matrices on lines of their own, `edge` elements at either end of each dimension
/// (core/framework/tensor.cc, PrintOneDimV2).
void describe(const Shape& shape, int d, size_t at, int64_t edge, const std::vector<std::string>& texts, std::string& out)
{
    if (d == shape.rank()) {
        out += texts[at];
        return;
    }
    const auto newLines = static_cast<size_t>(shape.rank() - d - 1);
    const std::string separator = std::string(newLines, '\n') + std::string(newLines > 0 ? static_cast<size_t>(d) + 1 : 1, ' ');
    const auto describeOne = [&](int64_t i) {
        if (i > 0) out += separator;
        describe(shape, d + 1, at + static_cast<size_t>(i * strideOf(shape, d)), edge, texts, out);
    };
    out += "[";
    for (int64_t i = 0; i < std::min(edge, shape[d]); ++i) describeOne(i);
    if (shape[d] > 2 * edge) out += separator + "...";
    for (int64_t i = std::max(edge, shape[d] - edge); i < shape[d]; ++i) describeOne(i);
    out += "]";
}

Status giveStrings(const KernelArgs& args, const Shape& shape, const std::vector<std::string>& strings)
{
    const std::vector<std::string_view> views(strings.begin(), strings.end());
    return writeStrings(*args.runtime, args.out(0), shape, views);
}

Status runAssert(const KernelArgs& args)
{
    if (args.in(0).elementCount() != 1) return invalidArgument("In[0] should be a scalar: " + toString(args.in(0).shape));
    if (*args.in(0).as<bool>()) return {};
    std::string message = "assertion failed:";
    const int64_t most = attributeInt(attributesOf(args), "summarize", 3);
    for (int i = 1; i < args.inputCount; ++i) {
        LS_TRY(const std::string text, summary(args.in(i), most));
        message += " [" + text + "]";
    }
    return invalidArgument(message);
}

/// Its data as "message[0 1 2...][3]" (core/kernels/logging_ops.cc), the first `first_n` times.
Status runPrint(const KernelArgs& args)
{
    const AttributeList& attributes = attributesOf(args);
    ResourceStore& resources = args.runtime->resources();
    const int64_t most = attributeInt(attributes, "first_n", -1);
    if (most < 0 || resources.count(nodeOf(args))++ < most) {
        std::string text(attributeString(attributes, "message", ""));
        for (int i = 1; i < args.inputCount; ++i) {
            LS_TRY(const std::string data, summary(args.in(i), attributeInt(attributes, "summarize", 3)));
            text += "[" + data + "]";
        }
        if (resources.listener) resources.listener->printed("stderr", text + "\n");
    }
    return tfCopy(args, 0, args.in(0), args.in(0).shape);
}

/// A string, and what ends it.
Status runPrintV2(const KernelArgs& args)
{
    LS_TRY(const auto strings, readStrings(args.in(0)));
    if (args.in(0).shape.rank() != 0) return invalidArgument("PrintV2 expects a scalar, got shape " + tfShapeText(args.in(0).shape));
    const std::string text = std::string(strings[0]) + std::string(attributeString(attributesOf(args), "end", "\n"));
    if (ResourceListener* listener = args.runtime->resources().listener)
        listener->printed(attributeString(attributesOf(args), "output_stream", "stderr"), text);
    return {};
}

Status runFormat(const KernelArgs& args)
{
    const std::string pattern(attributeString(attributesOf(args), "template", "%s"));
    const std::string placeholder(attributeString(attributesOf(args), "placeholder", "%s"));
    const int64_t edge = attributeInt(attributesOf(args), "summarize", 3);
    std::string text;
    int places = 0;
    for (size_t at = 0; !placeholder.empty() && (at = pattern.find(placeholder, at)) != std::string::npos; at += placeholder.size())
        ++places;
    if (places != args.inputCount)
        return invalidArgument("num placeholders in template and num inputs must match: " + std::to_string(places) + " vs. " +
                               std::to_string(args.inputCount));
    size_t from = 0;
    for (int i = 0; i < args.inputCount; ++i) {
        const size_t at = pattern.find(placeholder, from);
        text += pattern.substr(from, at - from);
        from = at + placeholder.size();
        const bool scalar = args.in(i).shape.rank() == 0;
        LS_TRY(const std::vector<std::string> texts, elementTexts(args.in(i), true));
        if (scalar && args.in(i).dtype == DType::string) {
            LS_TRY(const auto strings, readStrings(args.in(i)));
            text += "\"" + std::string(strings[0]) + "\"";
        } else if (scalar) {
            text += texts.empty() ? "" : texts[0];
        } else {
            const auto count = static_cast<int64_t>(texts.size());
            describe(args.in(i).shape, 0, 0, edge < 0 ? count : std::min(edge, count), texts, text);
        }
    }
    return giveStrings(args, Shape(), {text + pattern.substr(from)});
}

Status runJoin(const KernelArgs& args)
{
    const std::string separator(attributeString(attributesOf(args), "separator", ""));
    Shape shape;
    std::vector<std::vector<std::string_view>> parts;
    for (int i = 0; i < args.inputCount; ++i) {
        LS_TRY(auto strings, readStrings(args.in(i)));
        parts.push_back(std::move(strings));
        if (args.in(i).shape.rank() == 0) continue;
        if (shape.rank() > 0 && !(shape == args.in(i).shape))
            return invalidArgument("Input shapes do not match: " + toString(shape) + " vs. " + toString(args.in(i).shape));
        shape = args.in(i).shape;
    }
    std::vector<std::string> joined(static_cast<size_t>(shape.elementCount()));
    for (size_t e = 0; e < joined.size(); ++e)
        for (size_t p = 0; p < parts.size(); ++p) {
            if (p > 0) joined[e] += separator;
            joined[e] += parts[p][args.in(static_cast<int>(p)).shape.rank() == 0 ? 0 : e];
        }
    return giveStrings(args, shape, joined);
}

/// Applies a function to each string.
template <typename F> Status eachString(const KernelArgs& args, F&& change)
{
    LS_TRY(const auto strings, readStrings(args.in(0)));
    std::vector<std::string> changed;
    for (const std::string_view s : strings) changed.push_back(change(std::string(s)));
    return giveStrings(args, args.in(0).shape, changed);
}

Status runUpper(const KernelArgs& args)
{
    return eachString(args, [](std::string s) {
        for (char& c : s) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c;
        return s;
    });
}

Status runLower(const KernelArgs& args)
{
    return eachString(args, [](std::string s) {
        for (char& c : s) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
        return s;
    });
}

Status runStrip(const KernelArgs& args)
{
    constexpr std::string_view kBlank = " \t\n\v\f\r";
    return eachString(args, [&](const std::string& s) {
        const size_t from = s.find_first_not_of(kBlank);
        return from == std::string::npos ? std::string() : s.substr(from, s.find_last_not_of(kBlank) - from + 1);
    });
}

/// Where each character of a string begins, and its end.
std::vector<size_t> boundaries(std::string_view s, bool utf8)
{
    std::vector<size_t> starts;
    for (size_t i = 0; i < s.size(); ++i)
        if (!utf8 || (static_cast<unsigned char>(s[i]) & 0xC0U) != 0x80U) starts.push_back(i);
    starts.push_back(s.size());
    return starts;
}

bool countsCharacters(const KernelArgs& args) { return attributeString(attributesOf(args), "unit", "BYTE") == "UTF8_CHAR"; }

Status runLength(const KernelArgs& args)
{
    LS_TRY(const auto strings, readStrings(args.in(0)));
    LS_CHECK_OK(tfAllocate(args, 0, args.in(0).shape));
    for (size_t i = 0; i < strings.size(); ++i)
        args.out(0).as<int32_t>()[i] = static_cast<int32_t>(boundaries(strings[i], countsCharacters(args)).size() - 1);
    return {};
}

Status runSubstr(const KernelArgs& args)
{
    LS_TRY(const auto strings, readStrings(args.in(0)));
    LS_TRY(const Shape shape, tfBroadcast(args.in(0).shape, args.in(1).shape));
    const std::vector<int64_t> positions = tfIntegers(args.in(1));
    const std::vector<int64_t> lengths = tfIntegers(args.in(2));
    if (positions.size() != lengths.size()) return invalidArgument("pos and len should have the same shape");
    std::vector<std::string> parts;
    Status status;
    const BroadcastLoop<2> loop(shape, {&args.in(0).shape, &args.in(1).shape});
    loop.forEachRow([&](int64_t, const int64_t(&offset)[2]) {
        for (int64_t i = 0; i < loop.rowLength() && status.ok(); ++i) {
            const std::string_view s = strings[static_cast<size_t>(offset[0] + i * loop.rowStride(0))];
            const auto p = static_cast<size_t>(offset[1] + i * loop.rowStride(1));
            const std::vector<size_t> starts = boundaries(s, countsCharacters(args));
            const auto count = static_cast<int64_t>(starts.size()) - 1;
            const int64_t from = positions[p] < 0 ? positions[p] + count : positions[p];
            if (from < 0 || from > count) {
                status = invalidArgument("pos " + std::to_string(positions[p]) + " out of range for string b'" + std::string(s) +
                                         "' at index " + std::to_string(parts.size()));
                return;
            }
            const bool isRest =
                lengths[p] < 0 && !countsCharacters(args); // of bytes a negative length is all that follow, of characters none
            const int64_t to = from + (isRest ? count - from : std::clamp<int64_t>(lengths[p], 0, count - from));
            parts.emplace_back(
                s.substr(starts[static_cast<size_t>(from)], starts[static_cast<size_t>(to)] - starts[static_cast<size_t>(from)]));
        }
    });
    LS_CHECK_OK(std::move(status));
    return giveStrings(args, shape, parts);
}

/// One number by a printf format; what is longer than the buffer is cut as no result of a sensible format is.
template <typename T> std::string printedBy(const std::string& format, T value)
{
    std::array<char, 2048> text = {};
    std::snprintf(text.data(), text.size(), format.c_str(), value);
    return text.data();
}

/// The attributes make a printf format, flag, width and precision in that order (core/kernels/as_string_op.cc).
Status runAsString(const KernelArgs& args)
{
    const AttributeList& attributes = attributesOf(args);
    const auto precision = std::clamp<int64_t>(attributeInt(attributes, "precision", -1), -1, 500);
    const auto width = std::clamp<int64_t>(attributeInt(attributes, "width", -1), -1, 1000);
    const std::string fill(attributeString(attributes, "fill", ""));
    const bool scientific = attributeBool(attributes, "scientific", false), shortest = attributeBool(attributes, "shortest", false);
    const Tensor& in = args.in(0);
    if (fill.size() > 1) return invalidArgument("Fill string must be one or fewer characters");
    if (in.dtype == DType::string) return tfCopy(args, 0, in, in.shape);
    const bool isReal = isFloat(in.dtype) || in.dtype == DType::c64 || in.dtype == DType::c128;
    if (!isReal && in.dtype != DType::boolean && (scientific || shortest))
        return invalidArgument("scientific and shortest format not supported for datatype " + std::string(tfTypeName(in.dtype)));
    if (!isReal && in.dtype != DType::boolean && precision >= 0)
        return invalidArgument("precision not supported for datatype " + std::string(tfTypeName(in.dtype)));
    if (scientific && shortest) return invalidArgument("Cannot select both scientific and shortest notation");
    if (!fill.empty() && std::string_view(" +-0#").find(fill[0]) == std::string_view::npos)
        return invalidArgument("Fill argument not supported: \"" + fill + "\"");
    std::string format = "%" + fill.substr(0, 1);
    if (width >= 0) format += std::to_string(width);
    if (precision >= 0) format += "." + std::to_string(precision);
    const std::string real = format + (scientific ? 'e' : shortest ? 'g' : 'f');
    std::vector<std::string> texts;
    LS_CHECK_OK((forDType<TfFloats, TfSigned, TfUnsigned, TfComplex, TypeList<bool>>(in.dtype, [&]<typename T>() -> Status {
        for (int64_t i = 0, n = in.elementCount(); i < n; ++i) {
            const auto x = Element<T>::load(in.as<T>()[i]);
            using C = std::remove_const_t<decltype(x)>;
            if constexpr (std::is_same_v<C, bool>) texts.emplace_back(x ? "true" : "false");
            else if constexpr (std::is_integral_v<C> && std::is_signed_v<C>)
                texts.push_back(printedBy(format + "lld", static_cast<long long>(x)));
            else if constexpr (std::is_integral_v<C>) texts.push_back(printedBy(format + "llu", static_cast<unsigned long long>(x)));
            else if constexpr (kIsComplex<C>)
                texts.push_back("(" + printedBy<double>(real, x.real()) + "," + printedBy<double>(real, x.imag()) + ")");
            else texts.push_back(printedBy<double>(real, x));
        }
        return {};
    })));
    return giveStrings(args, in.shape, texts);
}

Status runToNumber(const KernelArgs& args)
{
    LS_TRY(const auto strings, readStrings(args.in(0)));
    LS_CHECK_OK(tfAllocate(args, 0, args.in(0).shape));
    return forDType<TypeList<float, double, int32_t, int64_t, uint32_t, uint64_t>>(args.out(0).dtype, [&]<typename T>() -> Status {
        for (size_t i = 0; i < strings.size(); ++i) {
            const std::optional<T> number = tfNumber<T>(strings[i]);
            if (!number) return invalidArgument("StringToNumberOp could not correctly convert string: " + std::string(strings[i]));
            args.out(0).as<T>()[i] = *number;
        }
        return {};
    });
}

Status runReduceJoin(const KernelArgs& args)
{
    const Shape& in = args.in(0).shape;
    LS_TRY(const auto strings, readStrings(args.in(0)));
    const std::string separator(attributeString(attributesOf(args), "separator", ""));
    const bool keep = attributeBool(attributesOf(args), "keep_dims", false);
    std::vector<int> order; // of the reduced dimensions, as they are joined
    for (const int64_t axis : tfIntegers(args.in(1))) {
        if (axis < -in.rank() || axis >= in.rank())
            return tfError(TfCode::outOfRange, "Invalid reduction dimension " + std::to_string(axis) + " for input with " +
                                                   std::to_string(in.rank()) + " dimension(s)");
        const int d = static_cast<int>(axis < 0 ? axis + in.rank() : axis);
        if (std::ranges::find(order, d) != order.end()) return invalidArgument("Duplicate reduction dimension " + std::to_string(d));
        order.push_back(d);
    }
    Shape shape;
    std::vector<int> kept;
    int64_t joined = 1;
    for (int d = 0; d < in.rank(); ++d) {
        const bool reduced = std::find(order.begin(), order.end(), d) != order.end();
        if (!reduced) kept.push_back(d);
        else joined *= in[d];
        if (!reduced || keep) shape.append(reduced ? 1 : in[d]);
    }
    std::vector<std::string> texts;
    for (int64_t r = 0, n = shape.elementCount(); r < n; ++r) {
        int64_t base = 0;
        int64_t rest = r;
        for (size_t k = kept.size(); k-- > 0;) {
            base += rest % in[kept[k]] * strideOf(in, kept[k]);
            rest /= in[kept[k]];
        }
        std::string text;
        for (int64_t j = 0; j < joined; ++j) {
            int64_t at = base;
            int64_t part = j;
            for (size_t k = order.size(); k-- > 0;) {
                at += part % in[order[k]] * strideOf(in, order[k]);
                part /= in[order[k]];
            }
            if (j > 0) text += separator;
            text += strings[static_cast<size_t>(at)];
        }
        texts.push_back(std::move(text));
    }
    return giveStrings(args, shape, texts);
}

/// Which of num_buckets a string falls into.
Status runHashBucket(const KernelArgs& args)
{
    LS_TRY(const auto strings, readStrings(args.in(0)));
    const int64_t buckets = attributeInt(attributesOf(args), "num_buckets", 0);
    if (buckets < 1) return invalidArgument("num_buckets must be positive, got " + std::to_string(buckets));
    LS_CHECK_OK(tfAllocate(args, 0, args.in(0).shape));
    for (size_t i = 0; i < strings.size(); ++i)
        args.out(0).as<int64_t>()[i] = static_cast<int64_t>(fingerprint64(strings[i]) % static_cast<uint64_t>(buckets));
    return {};
}

} // namespace

LS_TF_KERNEL(Assert, runAssert, kAllDTypes)
LS_TF_KERNEL(Print, runPrint, kAllDTypes)
LS_TF_KERNEL(PrintV2, runPrintV2, "str")
LS_TF_KERNEL(StringFormat, runFormat, kAllDTypes)
LS_TF_KERNEL(StringJoin, runJoin, "str")
LS_TF_KERNEL(StringUpper, runUpper, "str")
LS_TF_KERNEL(StringLower, runLower, "str")
LS_TF_KERNEL(StringStrip, runStrip, "str")
LS_TF_KERNEL(StringLength, runLength, "str")
LS_TF_KERNEL(Substr, runSubstr, "str")
LS_TF_KERNEL(AsString, runAsString, "numbers bool str")
LS_TF_KERNEL(StringToNumber, runToNumber, "f32 f64 i32 i64 u32 u64")
LS_TF_KERNEL(ReduceJoin, runReduceJoin, "str")
LS_TF_KERNEL(StringToHashBucketFast, runHashBucket, "str")
