// CPU kernels of TF Text's custom operators.
#include "engine/base/interruption.h"
#include "engine/base/visible_text.h"
#include "engine/kernels/cpu/movement.h"
#include "engine/kernels/cpu/text/fingerprint.h"
#include "engine/kernels/cpu/text/utf8_characters.h"
#include "engine/kernels/cpu/tf_support.h"
#include "engine/kernels/registry.h"
#include "engine/ops/text/custom_options.h"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>

using namespace loopscope;

namespace {

constexpr size_t kMostBytes = size_t{1} << 30; ///< of all n-grams

/// Row splits that rise from 0 to `count`.
Status risingSplits(std::span<const int64_t> splits, int64_t count)
{
    const bool isWhole = !splits.empty() && splits.front() == 0 && splits.back() == count && std::ranges::is_sorted(splits);
    if (isWhole) return {};
    return Error(ErrorCode::execution, "the row splits do not rise from 0 to " + std::to_string(count) + ", the number of strings");
}

std::span<const int64_t> splitsOf(const Tensor& tensor) { return {tensor.as<int64_t>(), static_cast<size_t>(tensor.elementCount())}; }

/// Appends the n-grams of a row.
Status addGrams(const NgramOptions& options, std::span<const std::string_view> row, std::vector<std::string>& grams, size_t& bytes)
{
    const auto width = static_cast<size_t>(options.width);
    for (size_t first = 0; first + width <= row.size(); ++first) {
        std::string gram(row[first]);
        for (size_t k = 1; k < width; ++k) gram.append(options.separator).append(row[first + k]);
        bytes += gram.size();
        if (bytes > kMostBytes) return Error(ErrorCode::execution, "the n-grams are larger than 1 GiB");
        grams.push_back(std::move(gram));
    }
    return {};
}

Status runNgrams(const KernelArgs& args)
{
    const auto& options = args.paramsAs<NgramOptions>();
    LS_TRY(const auto values, readStrings(args.in(0)));
    std::vector<std::string> grams;
    size_t bytes = 0;
    const auto write = [&](const Shape& shape) {
        return writeStrings(*args.runtime, args.out(0), shape, std::vector<std::string_view>(grams.begin(), grams.end()));
    };
    if (args.inputCount == 1) {
        Shape shape = args.in(0).shape;
        const int64_t length = shape[shape.rank() - 1];
        for (size_t at = 0; length > 0 && at < values.size(); at += static_cast<size_t>(length))
            LS_CHECK_OK(addGrams(options, std::span(values).subspan(at, static_cast<size_t>(length)), grams, bytes));
        shape[shape.rank() - 1] = std::max<int64_t>(0, length - options.width + 1);
        return write(shape);
    }
    for (int i = 1; i + 1 < args.inputCount; ++i) LS_CHECK_OK(tfCopy(args, i, args.in(i), args.in(i).shape)); // rows stay, they get shorter
    const int last = args.inputCount - 1;
    const std::span<const int64_t> splits = splitsOf(args.in(last));
    LS_CHECK_OK(risingSplits(splits, std::ssize(values)));
    LS_CHECK_OK(tfAllocate(args, last, args.in(last).shape));
    auto* const ends = args.out(last).as<int64_t>();
    ends[0] = 0;
    for (size_t r = 1; r < splits.size(); ++r) {
        const auto begin = static_cast<size_t>(splits[r - 1]), end = static_cast<size_t>(splits[r]);
        LS_CHECK_OK(addGrams(options, std::span(values).subspan(begin, end - begin), grams, bytes));
        ends[r] = std::ssize(grams);
    }
    return write({std::ssize(grams)});
}

Result<PreparedKernel> prepareNgrams(const KernelSetup& setup)
{
    return PreparedKernel{runNgrams, std::make_shared<NgramOptions>(NgramOptions::from(setup.attributes()))};
}

uint32_t codePoint(std::string_view sequence)
{
    static constexpr uint32_t kLead[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
    uint32_t code = static_cast<uint8_t>(sequence[0]) & kLead[sequence.size()];
    for (size_t i = 1; i < sequence.size(); ++i) code = code << 6U | (static_cast<uint8_t>(sequence[i]) & 0x3fU);
    return code;
}

/// The words of a text, as far as it is UTF-8.
void addWords(std::string_view text, std::vector<std::string_view>& words)
{
    size_t at = 0, start = text.size();
    const auto end = [&] {
        if (start < at) words.push_back(text.substr(start, at - start));
        start = text.size();
    };
    for (size_t length = 0; at < text.size(); at += length) {
        length = utf8Length(text, at);
        const uint32_t code = length > 0 ? codePoint(text.substr(at, length)) : 0xfffd;
        if (code == 0xfffd) break; // the reference stops where it finds none, and at the sign for one
        if (isWhiteSpace(code)) end();
        else start = std::min(start, at);
    }
    end();
}

Status runTokens(const KernelArgs& args)
{
    LS_TRY(const auto texts, readStrings(args.in(0)));
    std::vector<std::string_view> words;
    std::vector<int64_t> ends = {0};
    for (const std::string_view text : texts) {
        addWords(text, words);
        ends.push_back(std::ssize(words));
    }
    Shape shape = args.in(0).shape;
    if (args.outputCount == 1) {
        size_t most = 0;
        for (size_t i = 0; i < texts.size(); ++i) most = std::max(most, static_cast<size_t>(ends[i + 1] - ends[i]));
        if (most > 0 && texts.size() > kMostBytes / sizeof(std::string_view) / most)
            return Error(ErrorCode::execution, "words of " + std::to_string(texts.size()) + " texts, filled up to " + std::to_string(most) +
                                                   " each, are too many");
        std::vector<std::string_view> padded(texts.size() * most);
        for (size_t i = 0; i < texts.size(); ++i)
            std::copy(words.begin() + ends[i], words.begin() + ends[i + 1], padded.begin() + static_cast<std::ptrdiff_t>(i * most));
        shape.append(static_cast<int64_t>(most));
        return writeStrings(*args.runtime, args.out(0), shape, padded);
    }
    for (int k = 1; k < args.outputCount; ++k) {
        const int64_t rows = shape.countOf(0, k);
        LS_CHECK_OK(tfAllocate(args, k, {rows + 1}));
        auto* const splits = args.out(k).as<int64_t>();
        for (int64_t r = 0; r <= rows; ++r) splits[r] = k + 1 < args.outputCount ? r * shape[k] : ends[static_cast<size_t>(r)];
    }
    return writeStrings(*args.runtime, args.out(0), {std::ssize(words)}, words);
}

Result<PreparedKernel> prepareTokens(const KernelSetup&) { return PreparedKernel{runTokens, nullptr}; }

Status runProjection(const KernelArgs& args)
{
    const auto& options = args.paramsAs<ProjectionOptions>();
    LS_TRY(const auto values, readStrings(args.in(0)));
    const std::span<const int64_t> splits = splitsOf(args.in(1));
    LS_CHECK_OK(risingSplits(splits, std::ssize(values)));
    std::vector<int64_t> hashes;
    for (const std::string_view value : values)
        hashes.push_back(static_cast<int64_t>(fingerprint64(value) % static_cast<uint64_t>(options.buckets)));
    auto* out = args.out(0).as<float>();
    const int64_t half = options.buckets / 2;
    for (size_t r = 1; r < splits.size(); ++r)
        for (const int64_t seed : options.seeds) {
            double sum = 0;
            for (int64_t i = splits[r - 1]; i < splits[r]; ++i) {
                const int64_t place = std::abs(hashes[static_cast<size_t>(i)] * seed) % options.buckets; // both have 32 bits
                sum += static_cast<double>(place > half ? place - options.buckets : place);
            }
            *out++ = static_cast<float>(sum) / static_cast<float>(half) / static_cast<float>(splits[r] - splits[r - 1]);
        }
    return {};
}

Result<PreparedKernel> prepareProjection(const KernelSetup& setup)
{
    return PreparedKernel{runProjection, std::make_shared<ProjectionOptions>(ProjectionOptions::from(setup.attributes()))};
}

} // namespace

LS_DEFINE_KERNELS(custom, tftext_Ngrams) { registry.add({"custom", "tftext:Ngrams", Profile::reference, prepareNgrams, "str"}); }

LS_DEFINE_KERNELS(custom, tftext_WhitespaceTokenizer)
{
    registry.add({"custom", "tftext:WhitespaceTokenizer", Profile::reference, prepareTokens, "str"});
}

LS_DEFINE_KERNELS(custom, tftext_SgnnProjection)
{
    registry.add({"custom", "tftext:custom:SgnnProjection", Profile::reference, prepareProjection, "str"});
}
