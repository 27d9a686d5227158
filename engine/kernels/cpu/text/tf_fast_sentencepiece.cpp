// Kernels of TF Text's SentencePiece for phones: its model is a FlatBuffer in operand 0 (tensorflow_text/core/kernels/sentencepiece:
// encoder_config.fbs, decoder_config.fbs, optimized_encoder.cc, optimized_decoder.cc). TFLite files call the same operators
// TFSentencepieceTokenizeOp and TFSentencepieceDetokenizeOp.
#include "engine/base/interruption.h"
#include "engine/kernels/cpu/movement.h"
#include "engine/kernels/cpu/text/double_array.h"
#include "engine/kernels/cpu/text/flat_table.h"
#include "engine/kernels/cpu/text/piece_normalizer.h"
#include "engine/kernels/cpu/tf_support.h"

#include <algorithm>

using namespace loopscope;

namespace {

Error damaged(std::string what) { return invalidArgument("the SentencePiece model " + std::move(what)); }

std::span<const std::byte> bytesOf(const Tensor& tensor) { return {tensor.data, tensor.bytes}; }

struct Encoder {
    int32_t begin = 0, end = 0, unknown = -1, shift = 0;
    float penalty = 0;
    bool removesSpaces = false, addsPrefix = false, escapesSpaces = false;
    DoubleArray pieces, rules;
    std::span<const std::byte> scores;
    std::string_view replacements;

    static Result<Encoder> read(std::span<const std::byte> model);
    Result<std::string> normalize(std::string_view text) const;
    Status encode(const std::string& text, std::vector<int32_t>& ids) const;
    float score(size_t i) const
    {
        float value = 0;
        std::memcpy(&value, scores.data() + i * sizeof value, sizeof value);
        return value;
    }
};

Result<Encoder> Encoder::read(std::span<const std::byte> model)
{
    const auto root = FlatTable::root(model);
    if (!root) return damaged("is no FlatBuffer");
    if (root->number<int8_t>(0, 0) != 0) return damaged("has version " + std::to_string(root->number<int8_t>(0, 0)) + ", expected 0");
    Encoder out;
    out.begin = root->number<int32_t>(1, 0);
    out.end = root->number<int32_t>(2, 0);
    out.unknown = root->number<int32_t>(3, -1);
    out.penalty = root->number<float>(4, 0);
    out.shift = root->number<int32_t>(5, 0);
    out.removesSpaces = root->number<uint8_t>(8, 0) != 0;
    out.addsPrefix = root->number<uint8_t>(9, 0) != 0;
    out.escapesSpaces = root->number<uint8_t>(10, 0) != 0;
    const auto trie = [&](int field) {
        const auto table = root->table(field);
        const auto units = table ? table->vector(0, sizeof(uint32_t)) : std::nullopt;
        return units ? DoubleArray(*units) : DoubleArray();
    };
    out.pieces = trie(6);
    const auto scores = root->vector(7, sizeof(float));
    if (out.pieces.isEmpty() || !scores) return damaged("has no pieces");
    out.scores = *scores;
    if (const auto texts = root->vector(12, 1)) {
        out.rules = trie(11);
        out.replacements = {reinterpret_cast<const char*>(texts->data()), texts->size()};
    }
    return out;
}

bool isSpace(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

/// What the text becomes by the rules, and its spaces.
Result<std::string> Encoder::normalize(std::string_view text) const
{
    if (text.empty()) return std::string();
    std::string in = (addsPrefix ? " " : "") + std::string(text), out;
    for (size_t at = 0; at < in.size();) {
        size_t longest = 0, start = 0;
        rules.prefixesOf(std::string_view(in).substr(at), [&](size_t length, int32_t value) {
            longest = length;
            start = static_cast<size_t>(value);
        });
        if (longest == 0) {
            out.push_back(in[at++]);
            continue;
        }
        const size_t end = start < replacements.size() ? replacements.find('\0', start) : std::string_view::npos;
        if (end == std::string_view::npos) return damaged("has a rule that names text that is not there");
        out.append(replacements.substr(start, end - start));
        at += longest;
    }
    if (removesSpaces) {
        in.clear();
        for (size_t at = 0; at < out.size();) {
            size_t end = at;
            while (end < out.size() && isSpace(out[end])) ++end;
            in.push_back(end > at + 1 ? ' ' : out[at]);
            at = std::max(end, at + 1);
        }
        if (!in.empty() && isSpace(in.back())) in.pop_back();
        out.swap(in);
    }
    if (!escapesSpaces) return out;
    in.clear();
    for (const char c : out) {
        if (isSpace(c)) in.append(kPieceSpace);
        else in.push_back(c);
    }
    return in;
}

/// Appends the pieces whose scores have the largest sum.
Status Encoder::encode(const std::string& text, std::vector<int32_t>& ids) const
{
    struct End {
        float score = 0;
        int32_t id = -1;
        int64_t start = -1;
    };
    std::vector<End> ends(text.size() + 1);
    bool isDamaged = false;
    LoopPace pace;
    for (size_t at = 0; at < text.size(); ++at) {
        const auto i = static_cast<int64_t>(at);
        if (at > 0 && ends[at].start < 0) continue;
        const End here = ends[at];
        const auto improve = [&](size_t length, float by, int32_t id, int64_t start) {
            End& there = ends[at + length];
            if (there.start < 0 || there.score < here.score + by) there = {here.score + by, id, start};
        };
        if (unknown >= 0) improve(1, penalty, unknown, here.id == unknown ? here.start : i); // unknown ones that follow each other are one
        pieces.prefixesOf(std::string_view(text).substr(at), [&](size_t length, int32_t id) {
            const bool fits = static_cast<size_t>(id) < scores.size() / sizeof(float);
            if (fits) improve(length, score(static_cast<size_t>(id)), id, i);
            isDamaged = isDamaged || !fits;
        });
        pace.did(64);
    }
    if (isDamaged) return damaged("has a piece without a score");
    if (ends.back().start < 0) return {};
    const auto first = std::ssize(ids);
    for (int64_t at = std::ssize(text); at > 0; at = ends[static_cast<size_t>(at)].start) {
        const int32_t id = ends[static_cast<size_t>(at)].id;
        ids.push_back(id == unknown ? id : static_cast<int32_t>(static_cast<uint32_t>(id) + static_cast<uint32_t>(shift)));
    }
    std::reverse(ids.begin() + first, ids.end());
    return {};
}

Status runTokenize(const KernelArgs& args)
{
    LS_TRY(const Encoder encoder, Encoder::read(bytesOf(args.in(0))));
    if (args.out(0).dtype != DType::i32) return Error(ErrorCode::unsupported, "pieces by their names: the model holds none");
    for (int i = 4; i < 7; ++i)
        if (args.in(i).shape.elementCount() != 1)
            return invalidArgument("add_bos, add_eos and reverse must be scalars, got shape " + tfShapeText(args.in(i).shape));
    LS_TRY(const auto texts, readStrings(args.in(1)));
    std::vector<int32_t> ids;
    std::vector<size_t> splits = {0};
    for (const std::string_view text : texts) {
        LS_TRY(const std::string normal, encoder.normalize(text));
        if (*args.in(4).as<bool>()) ids.push_back(encoder.begin);
        LS_CHECK_OK(encoder.encode(normal, ids));
        if (*args.in(5).as<bool>()) ids.push_back(encoder.end);
        if (*args.in(6).as<bool>()) std::reverse(ids.begin() + static_cast<std::ptrdiff_t>(splits.back()), ids.end());
        splits.push_back(ids.size());
    }
    LS_CHECK_OK(tfAllocate(args, 0, Shape({std::ssize(ids)})));
    std::ranges::copy(ids, args.out(0).as<int32_t>());
    LS_CHECK_OK(tfAllocate(args, 1, Shape({std::ssize(splits)})));
    return forDType<TypeList<int32_t, int64_t>>(args.out(1).dtype, [&]<typename T>() -> Status {
        std::ranges::transform(splits, args.out(1).as<T>(), [](size_t split) { return static_cast<T>(split); });
        return {};
    });
}

Status runDetokenize(const KernelArgs& args)
{
    const auto root = FlatTable::root(bytesOf(args.in(0)));
    const auto pieces = root ? root->vector(2, sizeof(uint32_t)) : std::nullopt;
    if (!pieces || root->number<int8_t>(0, 0) != 0) return damaged("is no FlatBuffer with pieces");
    const int64_t shift = root->number<int32_t>(1, 0);
    const bool losesPrefix = root->number<uint8_t>(5, 0) != 0;
    const std::vector<int64_t> ids = tfIntegers(args.in(1)), splits = tfIntegers(args.in(2));
    std::vector<std::string> texts;
    for (size_t row = 1; row < splits.size(); ++row) {
        const int64_t begin = splits[row - 1], end = splits[row];
        if (begin < 0 || end < begin || end > std::ssize(ids))
            return invalidArgument("the row splits do not rise from 0 to " + std::to_string(ids.size()) + ", the number of pieces");
        std::string text;
        for (int64_t i = begin; i < end; ++i) {
            const int64_t id = ids[static_cast<size_t>(i)] - shift;
            const auto piece = id >= 0 ? root->string(*pieces, static_cast<size_t>(id)) : std::nullopt;
            if (!piece) return invalidArgument("Sentencepiece decoding failed: there is no piece " + std::to_string(id + shift));
            std::string_view name(reinterpret_cast<const char*>(piece->data()), piece->size());
            name = name.substr(0, name.find('\0'));
            if (i == begin && losesPrefix && name.starts_with(' ')) name.remove_prefix(1);
            text.append(name);
        }
        texts.push_back(std::move(text));
    }
    return writeStrings(*args.runtime, args.out(0), Shape({std::ssize(texts)}), std::vector<std::string_view>(texts.begin(), texts.end()));
}

} // namespace

LS_DEFINE_KERNELS(tf, TFText_FastSentencepieceTokenize)
{
    registry.add({"tf", "TFText>FastSentencepieceTokenize", Profile::reference, prepareTf<runTokenize>, "u8"});
}

LS_DEFINE_KERNELS(tf, TFText_FastSentencepieceDetokenize)
{
    registry.add({"tf", "TFText>FastSentencepieceDetokenize", Profile::reference, prepareTf<runDetokenize>, "u8"});
}
