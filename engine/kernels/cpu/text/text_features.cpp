// CPU kernels of skip_gram and lsh_projection.
#include "engine/kernels/registry.h"
#include "engine/tensor/strings.h"

#include <array>
#include <bit>
#include <cstring>
#include <memory>
#include <string>

using namespace loopscope;

namespace {

struct SkipGramParams {
    int64_t words = 0, skip = 0;
    bool all = false; ///< shorter runs too
};

bool isSpace(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

/// Words as the reference cuts them: a blank at the very beginning belongs to the first word.
std::vector<std::string_view> wordsOf(std::string_view text)
{
    std::vector<std::string_view> words;
    size_t first = 0;
    for (size_t i = 1; i < text.size(); ++i) {
        if (!isSpace(text[i])) continue;
        if (i > first && !isSpace(text[first])) words.push_back(text.substr(first, i - first));
        first = i + 1;
    }
    if (text.size() > first) words.push_back(text.substr(first));
    return words;
}

Status runSkipGram(const KernelArgs& args)
{
    const auto& params = args.paramsAs<SkipGramParams>();
    LS_TRY(const auto texts, unpackStrings(args.in(0).view()));
    if (texts.empty()) return Error(ErrorCode::execution, "there is no text");
    const std::vector<std::string_view> words = wordsOf(texts.front());
    const auto count = static_cast<int64_t>(words.size());
    std::vector<std::string> grams;
    constexpr size_t kMostGrams = 10'000'000;
    if (count >= params.words) {
        // Words chosen so far, in rising order; the deepest is advanced first.
        std::vector<int64_t> chosen(static_cast<size_t>(params.words), 0);
        int64_t depth = 1;
        const auto canAdvance = [&] {
            if (depth >= params.words) return false;
            const int64_t word = chosen[static_cast<size_t>(depth)];
            if (word + 1 >= count) return false;
            return depth == 0 || word - chosen[static_cast<size_t>(depth) - 1] <= params.skip;
        };
        while (depth >= 0) {
            if (canAdvance()) {
                ++chosen[static_cast<size_t>(depth)];
                ++depth;
                if (depth < params.words) chosen[static_cast<size_t>(depth)] = chosen[static_cast<size_t>(depth) - 1];
                continue;
            }
            if (depth > 0 && (params.all ? depth <= params.words : depth == params.words)) {
                std::string gram(words[static_cast<size_t>(chosen[0])]);
                for (int64_t k = 1; k < depth; ++k) gram.append(" ").append(words[static_cast<size_t>(chosen[static_cast<size_t>(k)])]);
                grams.push_back(std::move(gram));
                if (grams.size() > kMostGrams)
                    return Error(ErrorCode::execution, "the text has more than " + std::to_string(kMostGrams) + " runs of words");
            }
            --depth;
        }
    }
    const std::vector<std::byte> packed = packStrings(grams);
    LS_CHECK_OK(args.runtime->resize(args.out(0), {static_cast<int64_t>(grams.size())}, packed.size()));
    std::memcpy(args.out(0).data, packed.data(), packed.size());
    return {};
}

Result<PreparedKernel> prepareSkipGram(const KernelSetup& setup)
{
    auto params = std::make_shared<SkipGramParams>();
    params->words = attributeInt(setup.attributes(), "ngram_size", 0);
    params->skip = attributeInt(setup.attributes(), "max_skip_size", 0);
    params->all = attributeBool(setup.attributes(), "include_all_ngrams", false);
    return PreparedKernel{runSkipGram, std::move(params)};
}

constexpr uint64_t kFarm1 = 0xb492b66fbe98f273;
constexpr uint64_t kFarm2 = 0x9ae16a3b2f90404f;
constexpr size_t kLongestKey = 32;

template <typename T> uint64_t load(const std::byte* at)
{
    T value;
    std::memcpy(&value, at, sizeof(T));
    return value;
}

uint64_t mix(uint64_t u, uint64_t v, uint64_t factor)
{
    uint64_t a = (u ^ v) * factor;
    a ^= a >> 47;
    uint64_t b = (v ^ a) * factor;
    b ^= b >> 47;
    return b * factor;
}

/// FarmHash's Fingerprint64 of 4 to 32 bytes (farmhashna: HashLen0to16, HashLen17to32).
uint64_t fingerprint(const std::byte* key, size_t size)
{
    const uint64_t factor = kFarm2 + 2 * size;
    if (size < 8) return mix(size + (load<uint32_t>(key) << 3), load<uint32_t>(key + size - 4), factor);
    if (size <= 16) {
        const uint64_t a = load<uint64_t>(key) + kFarm2;
        const uint64_t b = load<uint64_t>(key + size - 8);
        return mix(std::rotr(b, 37) * factor + a, (std::rotr(a, 25) + b) * factor, factor);
    }
    const uint64_t a = load<uint64_t>(key) * kFarm1;
    const uint64_t b = load<uint64_t>(key + 8);
    const uint64_t c = load<uint64_t>(key + size - 8) * factor;
    const uint64_t d = load<uint64_t>(key + size - 16) * kFarm2;
    return mix(std::rotr(a + b, 43) + std::rotr(c, 30) + d, a + std::rotr(b + kFarm2, 18) + c, factor);
}

/// Sign of the (weighted) sum of the items' hashes under a seed.
int32_t hashBit(const KernelArgs& args, float seed)
{
    const Tensor& input = args.in(1);
    const float* weights = args.has(2) ? args.in(2).as<float>() : nullptr;
    const size_t itemBytes = byteSize(input.dtype, input.shape.countOf(1, input.shape.rank()));
    std::array<std::byte, kLongestKey> key = {};
    std::memcpy(key.data(), &seed, sizeof(seed));
    double score = 0.0;
    for (int64_t i = 0; i < input.shape[0]; ++i) {
        if (itemBytes != 0) std::memcpy(key.data() + sizeof(seed), input.data + static_cast<size_t>(i) * itemBytes, itemBytes);
        const auto value = static_cast<double>(static_cast<int64_t>(fingerprint(key.data(), sizeof(seed) + itemBytes)));
        score += weights ? static_cast<double>(weights[i]) * value : value;
    }
    return score > 0 ? 1 : 0;
}

template <bool dense> Status runLsh(const KernelArgs& args)
{
    const Tensor& input = args.in(1);
    if (byteSize(input.dtype, input.shape.countOf(1, input.shape.rank())) + sizeof(float) > kLongestKey)
        return Error(ErrorCode::unsupported, "items of shape " + toString(input.shape) + " are longer than " +
                                                 std::to_string(kLongestKey - sizeof(float)) + " bytes");
    const int64_t bits = args.in(0).shape[1];
    const float* seeds = args.in(0).as<float>();
    int32_t* out = args.out(0).as<int32_t>();
    for (int64_t h = 0; h < args.in(0).shape[0]; ++h) {
        uint32_t signature = 0;
        for (int64_t b = 0; b < bits; ++b) {
            const int32_t bit = hashBit(args, seeds[h * bits + b]);
            if (dense) out[h * bits + b] = bit;
            signature = (signature << 1) | static_cast<uint32_t>(bit);
        }
        if (!dense) out[h] = static_cast<int32_t>(signature + static_cast<uint32_t>(h) * static_cast<uint32_t>(uint64_t{1} << bits));
    }
    return {};
}

Result<PreparedKernel> prepareLsh(const KernelSetup& setup)
{
    return PreparedKernel{attributeWord(setup.attributes(), "type", "") == "DENSE" ? runLsh<true> : runLsh<false>, nullptr};
}

} // namespace

LS_DEFINE_KERNELS(tfl, skip_gram) { registry.add({"tfl", "skip_gram", Profile::reference, prepareSkipGram, "str"}); }

LS_DEFINE_KERNELS(tfl, lsh_projection) { registry.add({"tfl", "lsh_projection", Profile::reference, prepareLsh, "any of whole bytes"}); }
