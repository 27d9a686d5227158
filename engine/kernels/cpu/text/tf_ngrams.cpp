// Kernel of TensorFlow's n-grams: core/kernels/string_ngrams_op.cc.
#include "engine/kernels/cpu/tf_support.h"

#include <algorithm>

using namespace loopscope;

namespace {

constexpr int64_t kMost = int64_t{1} << 26; ///< grams, and strings in all of them

struct GramRules {
    std::string separator, left, right;
    int64_t padding = 0; ///< −1: as much as the width needs

    int64_t paddingOf(int64_t width) const { return std::min(padding < 0 ? width - 1 : padding, width - 1); }
    int64_t countOf(int64_t length, int64_t width) const { return std::max<int64_t>(0, length + 2 * paddingOf(width) - width + 1); }
};

/// Gram `index` of `count` over `data`.
std::string gramOf(const GramRules& rules, std::span<const std::string_view> data, int64_t index, int64_t count, int64_t width)
{
    const int64_t padding = rules.paddingOf(width);
    const int64_t left = std::max<int64_t>(0, padding - index), right = std::max<int64_t>(0, padding - (count - (index + 1)));
    const int64_t tokens = width - left - right, first = left > 0 ? 0 : index - padding;
    std::string gram;
    auto append = [&, isFirst = true](std::string_view part) mutable {
        if (!isFirst) gram += rules.separator;
        isFirst = false;
        gram += part;
    };
    for (int64_t i = 0; i < left; ++i) append(rules.left);
    for (int64_t i = 0; i < tokens; ++i) append(data[static_cast<size_t>(first + i)]);
    for (int64_t i = 0; i < right; ++i) append(rules.right);
    return gram;
}

Status checkSplits(const std::vector<int64_t>& splits, int64_t size)
{
    if (splits.empty()) return {};
    if (splits[0] != 0) return invalidArgument("First split value must be 0, got " + std::to_string(splits[0]));
    for (size_t i = 1; i < splits.size(); ++i)
        if (splits[i] < splits[i - 1] || splits[i] > size)
            return invalidArgument("Invalid split value " + std::to_string(splits[i]) + ", must be in [" + std::to_string(splits[i - 1]) +
                                   ", " + std::to_string(size) + "]");
    if (splits.back() == size) return {};
    return invalidArgument("Last split value must be data size. Expected " + std::to_string(size) + ", got " +
                           std::to_string(splits.back()));
}

Status runNGrams(const KernelArgs& args)
{
    const AttributeList& attributes = attributesOf(args);
    GramRules rules;
    rules.separator = attributeString(attributes, "separator", "");
    rules.left = attributeString(attributes, "left_pad", "");
    rules.right = attributeString(attributes, "right_pad", "");
    rules.padding = attributeInt(attributes, "pad_width", 0);
    const std::vector<int64_t> widths = attributeInts(attributes, "ngram_widths");
    if (rules.padding > kMost) return invalidArgument("pad_width is too large").found(std::to_string(rules.padding));
    const bool keepsShort = attributeBool(attributes, "preserve_short_sequences", false);
    for (const int64_t width : widths)
        if (width <= 0 || width > kMost) return invalidArgument("ngram_widths must contain positive values");
    LS_TRY(const auto data, readStrings(args.in(0)));
    const std::vector<int64_t> splits = tfIntegers(args.in(1));
    LS_CHECK_OK(checkSplits(splits, std::ssize(data)));
    std::vector<std::string> grams;
    std::vector<int64_t> ends(splits.size(), 0);
    for (size_t i = 1; i < splits.size(); ++i) {
        const int64_t length = splits[i] - splits[i - 1];
        const std::span<const std::string_view> row(data.data() + splits[i - 1], static_cast<size_t>(length));
        const size_t before = grams.size();
        const auto add = [&](int64_t count, int64_t width) -> Status {
            if (count > kMost / width || std::ssize(grams) + count > kMost) return invalidArgument("too many n-grams");
            for (int64_t g = 0; g < count; ++g) grams.push_back(gramOf(rules, row, g, count, width));
            return {};
        };
        for (const int64_t width : widths) LS_CHECK_OK(add(rules.countOf(length, width), width));
        if (keepsShort && length > 0 && grams.size() == before)
            LS_CHECK_OK(add(1, rules.padding >= 0 ? length + 2 * rules.padding : length));
        ends[i] = std::ssize(grams);
    }
    const std::vector<std::string_view> views(grams.begin(), grams.end());
    LS_CHECK_OK(writeStrings(*args.runtime, args.out(0), Shape({std::ssize(grams)}), views));
    LS_CHECK_OK(tfAllocate(args, 1, args.in(1).shape));
    for (size_t i = 0; i < ends.size(); ++i) {
        if (args.out(1).dtype == DType::i64) args.out(1).as<int64_t>()[i] = ends[i];
        else args.out(1).as<int32_t>()[i] = static_cast<int32_t>(ends[i]);
    }
    return {};
}

} // namespace

LS_TF_KERNEL(StringNGrams, runNGrams, "str")
