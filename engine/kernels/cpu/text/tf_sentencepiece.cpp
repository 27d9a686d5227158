// Kernels of TF Text's operators for SentencePiece (tensorflow_text/core/kernels/sentencepiece_kernels.cc). A model is a variable of the
// session that holds its bytes; it is read once and kept for as long as it is among the last ones used.
#include "engine/base/hash.h"
#include "engine/kernels/cpu/movement.h"
#include "engine/kernels/cpu/state/tf_variables.h"
#include "engine/kernels/cpu/text/sentence_pieces.h"
#include "engine/tensor/strings.h"

#include <algorithm>
#include <deque>
#include <mutex>

using namespace loopscope;

namespace {

using Pieces = std::shared_ptr<const SentencePieces>;

Status runModel(const KernelArgs& args)
{
    const std::string_view model = attributeString(attributesOf(args), "model", "");
    if (model.empty()) return invalidArgument("Model argument must be specified.");
    ResourceStore& store = args.runtime->resources();
    const int32_t handle = store.handle(tfResourceName(args));
    Variable& variable = *store.variable(handle);
    if (!variable.assigned) {
        const std::string text(model);
        variable.assigned = true;
        variable.dtype = DType::string;
        variable.shape = Shape();
        variable.bytes = packStrings({&text, 1});
        tfTellWritten(args, variable);
    }
    LS_CHECK_OK(tfAllocate(args, 0, Shape()));
    *args.out(0).as<int32_t>() = handle;
    return {};
}

/// The model that operand 0 is the handle of.
Result<Pieces> modelOf(const KernelArgs& args)
{
    LS_TRY(const Variable* const variable, tfAssignedVariable(args));
    if (variable->dtype != DType::string) return tfError(TfCode::notFound, "the handle is that of no SentencePiece model");
    struct Known {
        Hash128 key;
        Pieces pieces;
    };
    static std::mutex mutex;
    static std::deque<Known> known;
    constexpr size_t kMost = 4;
    const Hash128 key = hashBytes(variable->bytes);
    const std::lock_guard lock(mutex);
    const auto found = std::ranges::find(known, key, &Known::key);
    if (found != known.end()) return found->pieces;
    LS_TRY(const auto texts, unpackStrings(variable->bytes));
    if (texts.size() != 1) return tfError(TfCode::internal, "the value of a SentencePiece model is one string");
    auto pieces = SentencePieces::read(std::string(texts[0]));
    if (!pieces.ok()) return atRunTime(std::move(pieces).takeError());
    known.push_front({key, pieces.value()});
    if (known.size() > kMost) known.pop_back();
    return known.front().pieces;
}

/// Operands `i`, `i` + 1 and `i` + 2.
Result<PieceOptions> optionsOf(const KernelArgs& args, int i)
{
    for (int k = i; k < i + 3; ++k)
        if (args.in(k).shape.elementCount() != 1)
            return invalidArgument("add_bos, add_eos and reverse must be scalars, got shape " + tfShapeText(args.in(k).shape));
    return PieceOptions{*args.in(i).as<bool>(), *args.in(i + 1).as<bool>(), *args.in(i + 2).as<bool>()};
}

Status refuseDrawing(const KernelArgs& args)
{
    if (attributeBool(attributesOf(args), "return_nbest", false))
        return Error(ErrorCode::unsupported, "return_nbest: the n best ways to cut a text into pieces");
    for (const int64_t size : tfIntegers(args.in(2)))
        if (size != 0 && size != 1)
            return Error(ErrorCode::unsupported, "pieces drawn at random").found("nbest_size " + std::to_string(size)).expected("0 or 1");
    return {};
}

Status giveSplits(const KernelArgs& args, int k, std::span<const int64_t> splits)
{
    LS_CHECK_OK(tfAllocate(args, k, Shape({std::ssize(splits)})));
    return forDType<TypeList<int32_t, int64_t>>(args.out(k).dtype, [&]<typename T>() -> Status {
        std::ranges::transform(splits, args.out(k).as<T>(), [](int64_t split) { return static_cast<T>(split); });
        return {};
    });
}

/// Results 2 and 3, if there are any, are where the pieces begin and end.
Status runTokenize(const KernelArgs& args)
{
    LS_TRY(const Pieces model, modelOf(args));
    LS_TRY(const PieceOptions options, optionsOf(args, 4));
    LS_CHECK_OK(refuseDrawing(args));
    LS_TRY(const auto texts, readStrings(args.in(1)));
    std::vector<TextPiece> pieces;
    std::vector<int64_t> splits = {0};
    for (const std::string_view text : texts) {
        auto row = model->encode(text, options);
        if (!row.ok()) return atRunTime(std::move(row).takeError());
        std::ranges::move(*row, std::back_inserter(pieces));
        splits.push_back(std::ssize(pieces));
    }
    const Shape shape({std::ssize(pieces)});
    LS_CHECK_OK(giveSplits(args, 1, splits));
    if (args.outputCount > 2) {
        LS_CHECK_OK(tfAllocate(args, 2, shape));
        LS_CHECK_OK(tfAllocate(args, 3, shape));
        std::ranges::transform(pieces, args.out(2).as<int64_t>(), &TextPiece::begin);
        std::ranges::transform(pieces, args.out(3).as<int64_t>(), &TextPiece::end);
    }
    if (args.out(0).dtype == DType::string)
        return writeStrings(*args.runtime, args.out(0), shape, [&] {
            std::vector<std::string_view> names;
            names.reserve(pieces.size());
            for (const TextPiece& piece : pieces) names.push_back(piece.text);
            return names;
        }());
    LS_CHECK_OK(tfAllocate(args, 0, shape));
    std::ranges::transform(pieces, args.out(0).as<int32_t>(), &TextPiece::id);
    return {};
}

/// The names of all pieces of operand 1, which are names or numbers.
Result<std::vector<std::string_view>> namesOf(const KernelArgs& args, const SentencePieces& model)
{
    if (args.in(1).dtype == DType::string) return readStrings(args.in(1));
    std::vector<std::string_view> names;
    for (const int64_t id : tfIntegers(args.in(1))) {
        if (!model.has(static_cast<int32_t>(id))) return tfError(TfCode::outOfRange, "Invalid id: " + std::to_string(id));
        names.push_back(model.piece(static_cast<int32_t>(id)));
    }
    return names;
}

Status runDetokenize(const KernelArgs& args)
{
    LS_TRY(const Pieces model, modelOf(args));
    LS_TRY(const PieceOptions options, optionsOf(args, 3));
    LS_TRY(const auto names, namesOf(args, *model));
    const std::vector<int64_t> splits = tfIntegers(args.in(2));
    std::vector<std::string> texts;
    for (size_t row = 1; row < splits.size(); ++row) {
        const int64_t begin = splits[row - 1], end = splits[row];
        if (begin < 0 || end < begin || end > std::ssize(names))
            return tfError(TfCode::outOfRange, "Splits and values do not match; split " + std::to_string(end) + "but values size is " +
                                                   std::to_string(names.size()));
        auto text = model->decode(std::span(names).subspan(static_cast<size_t>(begin), static_cast<size_t>(end - begin)), options);
        if (!text.ok()) return atRunTime(std::move(text).takeError());
        texts.push_back(std::move(text).value());
    }
    return writeStrings(*args.runtime, args.out(0), Shape({std::ssize(texts)}), std::vector<std::string_view>(texts.begin(), texts.end()));
}

Status runSize(const KernelArgs& args)
{
    LS_TRY(const Pieces model, modelOf(args));
    LS_CHECK_OK(tfAllocate(args, 0, Shape()));
    *args.out(0).as<int32_t>() = model->size();
    return {};
}

Status runNames(const KernelArgs& args)
{
    LS_TRY(const Pieces model, modelOf(args));
    LS_TRY(const auto names, namesOf(args, *model));
    return writeStrings(*args.runtime, args.out(0), args.in(1).shape, names);
}

Status runNumbers(const KernelArgs& args)
{
    LS_TRY(const Pieces model, modelOf(args));
    LS_TRY(const auto names, readStrings(args.in(1)));
    LS_CHECK_OK(tfAllocate(args, 0, args.in(1).shape));
    std::ranges::transform(names, args.out(0).as<int32_t>(), [&](std::string_view name) { return model->idOf(name); });
    return {};
}

} // namespace

LS_TF_KERNEL(SentencepieceOp, runModel, kAllDTypes)
LS_TF_KERNEL(SentencepieceTokenizeOp, runTokenize, "str")
LS_TF_KERNEL(SentencepieceTokenizeWithOffsetsOp, runTokenize, "str")
LS_TF_KERNEL(SentencepieceDetokenizeOp, runDetokenize, "i32 str")
LS_TF_KERNEL(SentencepieceVocabSizeOp, runSize, kAllDTypes)
LS_TF_KERNEL(SentencepieceIdToStringOp, runNames, "i32")
LS_TF_KERNEL(SentencepieceStringToIdOp, runNumbers, "str")
