// Kernels of TF Text's operators that cut texts into words (tensorflow_text/core/kernels: whitespace_tokenize_kernel.cc,
// whitespace_tokenizer.cc, unicode_script_tokenize_kernel.cc), and of TensorFlow's UnicodeScript.
#include "engine/kernels/cpu/movement.h"
#include "engine/kernels/cpu/text/unicode_scripts.h"
#include "engine/kernels/cpu/text/utf8_characters.h"
#include "engine/kernels/cpu/tf_support.h"

#include <algorithm>
#include <iterator>

using namespace loopscope;

namespace {

int32_t scriptOf(int32_t code)
{
    constexpr int32_t kInvalid = -1, kLast = 0x10ffff;
    if (code < 0 || code > kLast) return kInvalid;
    const auto after = std::ranges::upper_bound(kUnicodeScripts, static_cast<uint32_t>(code) << 8U | 0xffU);
    return static_cast<int32_t>(*std::prev(after) & 0xffU);
}

Status runScript(const KernelArgs& args)
{
    LS_CHECK_OK(tfAllocate(args, 0, args.in(0).shape));
    const auto* codes = args.in(0).as<int32_t>();
    std::transform(codes, codes + args.in(0).elementCount(), args.out(0).as<int32_t>(), scriptOf);
    return {};
}

template <typename T, typename From> Status give(const KernelArgs& args, int k, const std::vector<From>& values)
{
    LS_CHECK_OK(tfAllocate(args, k, Shape({std::ssize(values)})));
    std::ranges::transform(values, args.out(k).as<T>(), [](From value) { return static_cast<T>(value); });
    return {};
}

/// The words of rows of code points; places count from the beginning of their row.
struct CodeWords {
    std::vector<int32_t> values;
    std::vector<int64_t> begins, ends, rows;
    std::vector<size_t> splits;
    bool isOpen = false;

    void add(int32_t code, int64_t place)
    {
        if (!isOpen) {
            begins.push_back(place);
            splits.push_back(values.size());
        }
        isOpen = true;
        values.push_back(code);
    }
    void close(int64_t place)
    {
        if (isOpen) ends.push_back(place);
        isOpen = false;
    }
    Status give(const KernelArgs& args) const;
};

Status CodeWords::give(const KernelArgs& args) const
{
    LS_CHECK_OK(::give<int32_t>(args, 0, values));
    LS_CHECK_OK(::give<int64_t>(args, 2, begins));
    LS_CHECK_OK(::give<int64_t>(args, 3, ends));
    return forDType<TypeList<int32_t, int64_t>>(args.in(1).dtype, [&]<typename T>() -> Status {
        LS_CHECK_OK(::give<T>(args, 1, splits));
        return ::give<T>(args, 4, rows);
    });
}

/// Calls row(codes, words) for each row of operand 0.
template <typename F> Status eachRow(const KernelArgs& args, F&& row)
{
    const std::vector<int64_t> splits = tfIntegers(args.in(1));
    const int64_t count = args.in(0).elementCount();
    if (splits.empty() || splits.front() != 0 || splits.back() != count || !std::ranges::is_sorted(splits))
        return invalidArgument("the row splits do not rise from 0 to " + std::to_string(count) + ", the number of code points");
    CodeWords words;
    words.rows.push_back(0);
    for (size_t r = 1; r < splits.size(); ++r) {
        row(std::span(args.in(0).as<int32_t>() + splits[r - 1], static_cast<size_t>(splits[r] - splits[r - 1])), words);
        words.rows.push_back(std::ssize(words.begins));
    }
    words.splits.push_back(words.values.size());
    return words.give(args);
}

bool isSpace(int32_t code) { return code >= 0 && isWhiteSpace(static_cast<uint32_t>(code)); }

Status runWhiteSpace(const KernelArgs& args)
{
    return eachRow(args, [](std::span<const int32_t> codes, CodeWords& words) {
        for (size_t i = 0; i < codes.size(); ++i) {
            const auto place = static_cast<int64_t>(i);
            if (isSpace(codes[i])) words.close(place);
            else words.add(codes[i], place);
        }
        words.close(std::ssize(codes));
    });
}

/// White space, which belongs to the common script, is left out or cut off, as the attribute says. Left out at an end, it does not count.
Status runScripts(const KernelArgs& args)
{
    const bool keeps = attributeBool(attributesOf(args), "keep_whitespace", false);
    return eachRow(args, [keeps](std::span<const int32_t> codes, CodeWords& words) {
        int32_t before = -1;
        bool wasSpace = false;
        int64_t skipped = 0;
        for (size_t i = 0; i < codes.size(); ++i) {
            const auto place = static_cast<int64_t>(i);
            const bool space = isSpace(codes[i]);
            const int32_t script = scriptOf(codes[i]);
            if (script != before || (keeps && space != wasSpace)) words.close(place - skipped);
            before = script;
            if (!space || keeps) words.add(codes[i], place);
            skipped = space && !keeps ? skipped + 1 : 0;
            wasSpace = space;
        }
        words.close(std::ssize(codes) - skipped);
    });
}

/// A word's end lies one byte before the end of the white space behind it, also where that has several: so the reference has it.
Status runWhiteSpaceOfTexts(const KernelArgs& args)
{
    LS_TRY(const auto configs, readStrings(args.in(1)));
    if (configs.size() != 1) return invalidArgument("input_config must be a scalar, got shape " + tfShapeText(args.in(1).shape));
    LS_TRY(const auto texts, readStrings(args.in(0)));
    const auto space = [config = configs[0]](const TextCharacter& character) {
        const size_t byte = character.code >> 3U;
        return !character.isMalformed && byte < config.size() && (static_cast<uint8_t>(config[byte]) >> (character.code & 7U) & 1U) != 0;
    };
    std::vector<std::string_view> words;
    std::vector<size_t> splits = {0}, begins, ends;
    for (const std::string_view text : texts) {
        bool isOpen = false;
        const auto close = [&](size_t end) {
            if (isOpen) {
                ends.push_back(end);
                words.push_back(text.substr(begins.back(), end - begins.back()));
            }
            isOpen = false;
        };
        for (size_t at = 0; at < text.size();) {
            const TextCharacter character = readUtf8(text.substr(at));
            if (space(character)) close(at + character.bytes - 1);
            else if (!isOpen) {
                begins.push_back(at);
                isOpen = true;
            }
            at += character.bytes;
        }
        close(text.size());
        splits.push_back(words.size());
    }
    LS_CHECK_OK(give<int64_t>(args, 1, splits));
    LS_CHECK_OK(give<int32_t>(args, 2, begins));
    LS_CHECK_OK(give<int32_t>(args, 3, ends));
    return writeStrings(*args.runtime, args.out(0), Shape({std::ssize(words)}), words);
}

} // namespace

LS_TF_KERNEL(UnicodeScript, runScript, "i32")
LS_TF_KERNEL(WhitespaceTokenizeWithOffsets, runWhiteSpace, "i32")
LS_TF_KERNEL(UnicodeScriptTokenizeWithOffsets, runScripts, "i32")

LS_DEFINE_KERNELS(tf, TFText_WhitespaceTokenizeWithOffsetsV2)
{
    registry.add({"tf", "TFText>WhitespaceTokenizeWithOffsetsV2", Profile::reference, prepareTf<runWhiteSpaceOfTexts>, "str"});
}
