#include "engine/debug/evaluate.h"

#include "engine/base/trimmed.h"
#include "engine/debug/evaluate_after.h"
#include "engine/debug/expression/expression.h"
#include "engine/debug/expression/functions.h"
#include "engine/debug/expression/syntax.h"
#include "engine/debug/stop_source.h"
#include "engine/exec/executor.h"
#include "engine/tensor/half.h"
#include "engine/tensor/statistics.h"
#include "engine/tensor/strings.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace loopscope {

namespace {

Status checkStarted(const DebugTarget& target)
{
    if (target.executor.position().depth > 0) return {};
    return Error(ErrorCode::usage, "no run was started");
}

/// The value that an expression is, if it is nothing else.
std::optional<uint32_t> plainPlace(StopSource& source, std::string_view text, const SyntaxNode& node)
{
    const std::string_view written = text.substr(node.begin, node.end - node.begin);
    if (node.kind == SyntaxKind::address) {
        auto place = source.findAddress(node.text);
        return place.ok() ? std::optional(place->handle) : std::nullopt;
    }
    if (node.kind == SyntaxKind::named && node.quoted) {
        auto place = source.findNamed(node.text);
        return place.ok() ? std::optional(place->handle) : std::nullopt;
    }
    const auto place = source.findValue(node.kind == SyntaxKind::named ? std::string_view(node.text) : written);
    return place ? std::optional(place->handle) : std::nullopt;
}

/// Copies what a result shows, so that it outlives the source.
void detach(EvaluatedValue& result, const ExpressionValue& value, StopSource& source)
{
    result.value.assign(value);
    const Tensor* view = value.view();
    if (!view) return;
    result.bytes = source.bytesOf(*view);
    if (!result.bytes) result.bytes = std::make_shared<std::vector<std::byte>>(view->data, view->data + view->bytes);
    Tensor own = *view;
    own.data = const_cast<std::byte*>(result.bytes->data());
    result.value.setView(own, value.isRaw());
}

Result<EvaluatedValue> evaluateOne(StopSource& source, Expression& expression, std::optional<uint32_t> plain)
{
    EvaluatedValue result;
    result.text = trimmed(expression.text());
    LS_TRY(const ExpressionValue* value, expression.evaluate(source));
    detach(result, *value, source);
    for (const ExpressionDependency& dependency : expression.dependencies()) {
        if (!value->isNone() || dependency.history != ExpressionHistory::current) continue;
        LS_TRY(const Tensor* tensor, source.current(dependency.place));
        if (tensor) continue;
        result.absence = source.absenceOf(dependency.place);
        break;
    }
    if (!plain) return result;
    const LivePlace& place = source.place(*plain);
    if (place.kind == LivePlace::Kind::file) return result;
    const Value& described = source.model().graph(place.graph).value(place.value);
    result.id = described.id;
    result.type = described.type;
    LS_TRY(const Tensor* tensor, source.current(*plain));
    if (!tensor) return result;
    result.tensor = *tensor;
    if (!result.bytes) result.bytes = std::make_shared<std::vector<std::byte>>(tensor->data, tensor->data + tensor->bytes);
    result.tensor.data = const_cast<std::byte*>(result.bytes->data());
    result.type.dtype = tensor->dtype;
    result.type.shape = tensor->shape;
    return result;
}

/// Left side of `set`: a value, and which of its elements.
struct Target {
    uint32_t place = 0;
    bool isRaw = false; ///< stored integers
    bool isWhole = true;
    ExpressionValue indices; ///< flat indices of the elements, if not whole
};

Error atColumn(std::string_view text, uint32_t offset, std::string what)
{
    return Error(ErrorCode::usage, expressionPosition(text, offset) + ": " + std::move(what));
}

Result<uint32_t> targetPlace(StopSource& source, std::string_view text, const SyntaxNode& node, bool& isRaw)
{
    if (node.kind == SyntaxKind::word || node.kind == SyntaxKind::named || node.kind == SyntaxKind::address) {
        if (const auto place = plainPlace(source, text, node)) return *place;
        if (node.kind == SyntaxKind::word && node.text.ends_with(".q")) {
            isRaw = true;
            if (const auto place = source.findValue(std::string_view(node.text).substr(0, node.text.size() - 2))) return place->handle;
        }
    }
    // The compiler says best what is wrong with it.
    const std::string_view written = text.substr(node.begin, node.end - node.begin);
    auto compiled = Expression::compile(written, source, ExpressionUse::value);
    if (!compiled.ok()) return std::move(compiled).takeError();
    return atColumn(text, node.begin, "only a value, an element or a slice of it can be set").found(std::string(written));
}

/// The number that an index expression gives.
Result<int64_t> indexNumber(StopSource& source, std::string_view text, const SyntaxNode& node)
{
    LS_TRY(Expression expression, Expression::compile(text.substr(node.begin, node.end - node.begin), source, ExpressionUse::value));
    LS_TRY(const ExpressionValue* value, expression.evaluate(source));
    if (value->type() == ExpressionType::integer && value->elementCount() == 1) return value->integerAt(0);
    return atColumn(text, node.begin, "an index must be an int").found(describe(*value));
}

Status selectElements(StopSource& source, std::string_view text, const Syntax& syntax, const SyntaxNode& node, const Tensor& tensor,
                      ExpressionValue& selected)
{
    ExpressionValue all;
    all.setTensor(ExpressionType::integer, DType::i64, tensor.shape);
    for (int64_t i = 0; i < all.elementCount(); ++i) all.setIntegerAt(i, i);
    std::vector<IndexValue> indices;
    for (size_t c = 1; c < node.children.size(); ++c) {
        const SyntaxNode& written = syntax.nodes[node.children[c]];
        IndexValue index;
        if (written.kind == SyntaxKind::ellipsis) {
            index.kind = IndexValue::Kind::ellipsis;
        } else if (written.kind == SyntaxKind::slice) {
            index.kind = IndexValue::Kind::slice;
            for (size_t part = 0; part < written.children.size() && part < 3; ++part) {
                const SyntaxNode& bound = syntax.nodes[written.children[part]];
                if (bound.kind == SyntaxKind::missing) continue;
                LS_TRY(const int64_t number, indexNumber(source, text, bound));
                if (part == 0) index.hasBegin = true;
                if (part == 1) index.hasEnd = true;
                (part == 0 ? index.begin : part == 1 ? index.end : index.step) = number;
            }
        } else {
            LS_TRY(Expression expression,
                   Expression::compile(text.substr(written.begin, written.end - written.begin), source, ExpressionUse::value));
            LS_TRY(const ExpressionValue* value, expression.evaluate(source));
            if (value->type() == ExpressionType::boolean && node.children.size() == 2) return computeMask(all, *value, selected);
            LS_TRY(index.begin, indexNumber(source, text, written));
        }
        indices.push_back(index);
    }
    size_t bad = 0;
    Status status = computeIndex(all, indices, bad, selected);
    if (status.ok()) return {};
    Error error = std::move(status).takeError();
    error.detail().code = ErrorCode::usage;
    return std::move(error).at(expressionPosition(text, syntax.nodes[node.children[bad + 1]].begin));
}

/// Real number → stored integer (LiteRT kernels/quantize.cc: half away from zero, saturating).
int64_t quantized(const Tensor& tensor, int64_t flat, double real)
{
    const Quantization& q = *tensor.quantization;
    size_t channel = 0;
    if (q.scales.size() > 1 && q.axis >= 0 && q.axis < tensor.shape.rank())
        channel = static_cast<size_t>(flat / tensor.shape.countOf(q.axis + 1, tensor.shape.rank()) % tensor.shape[q.axis]);
    const double scale = channel < q.scales.size() ? static_cast<double>(q.scales[channel]) : 1.0;
    const double zero = channel < q.zeroPoints.size() ? static_cast<double>(q.zeroPoints[channel]) : 0.0;
    const double stored = std::round(real / scale) + zero;
    const auto low = static_cast<double>(integerMin(tensor.dtype));
    const auto high = static_cast<double>(integerMax(tensor.dtype));
    return static_cast<int64_t>(std::clamp(stored, low, high));
}

Error doesNotFit(const Tensor& tensor, std::string found)
{
    return Error(ErrorCode::usage, "a value of another type").found(std::move(found)).expected(std::string(dtypeName(tensor.dtype)));
}

/// Sets an element of an integer tensor whose elements have one byte or more, or are packed.
void storeInteger(std::vector<std::byte>& bytes, DType dtype, int64_t flat, int64_t value)
{
    const int bits = bitWidth(dtype);
    if (bits >= 8) { // little-endian: the low bytes come first
        std::memcpy(bytes.data() + static_cast<size_t>(flat) * static_cast<size_t>(bits / 8), &value, static_cast<size_t>(bits / 8));
        return;
    }
    const auto at = static_cast<size_t>(flat * bits / 8);
    const auto shift = static_cast<unsigned>(flat * bits % 8);
    const unsigned mask = ((1U << static_cast<unsigned>(bits)) - 1U) << shift;
    const unsigned old = std::to_integer<unsigned>(bytes[at]) & ~mask;
    bytes[at] = static_cast<std::byte>(old | ((static_cast<unsigned>(value) << shift) & mask));
}

Status storeReal(std::vector<std::byte>& bytes, DType dtype, int64_t flat, double value)
{
    const auto put = [&](auto stored) { std::memcpy(bytes.data() + static_cast<size_t>(flat) * sizeof stored, &stored, sizeof stored); };
    switch (dtype) {
    case DType::f32: put(static_cast<float>(value)); return {};
    case DType::f64: put(value); return {};
    case DType::f16: put(floatToF16(static_cast<float>(value))); return {};
    case DType::bf16: put(floatToBf16(static_cast<float>(value))); return {};
    case DType::f8e4m3fn: put(floatToF8e4m3fn(static_cast<float>(value))); return {};
    case DType::f8e5m2: put(floatToF8e5m2(static_cast<float>(value))); return {};
    default: return Error(ErrorCode::usage, "elements of this type cannot be set").found(std::string(dtypeName(dtype)));
    }
}

/// Element `from` of `value` into element `flat` of the tensor over `bytes`.
Status setElement(const Tensor& tensor, std::vector<std::byte>& bytes, int64_t flat, const ExpressionValue& value, int64_t from, bool isRaw)
{
    const bool isNumber = value.type() == ExpressionType::integer || value.type() == ExpressionType::real;
    const DTypeClass kind = dtypeClass(tensor.dtype);
    if (kind == DTypeClass::boolean) {
        if (value.type() != ExpressionType::boolean) return doesNotFit(tensor, describe(value));
        bytes[static_cast<size_t>(flat)] = static_cast<std::byte>(value.booleanAt(from) ? 1 : 0);
        return {};
    }
    if (!isNumber) return doesNotFit(tensor, describe(value));
    if (kind == DTypeClass::floating) return storeReal(bytes, tensor.dtype, flat, value.realAt(from));
    if (!isInteger(tensor.dtype))
        return Error(ErrorCode::usage, "elements of this type cannot be set").found(std::string(dtypeName(tensor.dtype)));
    const bool isQuantized = tensor.quantization && tensor.quantization->kind == Quantization::Kind::affine && !isRaw;
    if (isQuantized) {
        const double real = value.realAt(from);
        if (std::isnan(real)) return doesNotFit(tensor, "nan");
        storeInteger(bytes, tensor.dtype, flat, quantized(tensor, flat, real));
        return {};
    }
    if (value.type() == ExpressionType::real) {
        const double real = value.realAt(from);
        const bool isU64 = tensor.dtype == DType::u64 && real >= 9223372036854775808.0 && real < 18446744073709551616.0;
        if (!isU64) return doesNotFit(tensor, describe(value));
        storeInteger(bytes, tensor.dtype, flat, static_cast<int64_t>(static_cast<uint64_t>(real)));
        return {};
    }
    const int64_t number = value.integerAt(from);
    const bool tooLarge = number > 0 && static_cast<uint64_t>(number) > integerMax(tensor.dtype);
    if (number < integerMin(tensor.dtype) || tooLarge)
        return Error(ErrorCode::usage, "a number that " + std::string(dtypeName(tensor.dtype)) + " cannot hold")
            .found(std::to_string(number));
    storeInteger(bytes, tensor.dtype, flat, number);
    return {};
}

Status setStrings(const Tensor& tensor, std::vector<std::byte>& bytes, const Target& target, const ExpressionValue& value)
{
    if (value.type() != ExpressionType::text) return doesNotFit(tensor, describe(value));
    LS_TRY(const std::vector<std::string_view> views, unpackStrings(bytes));
    std::vector<std::string> texts(views.begin(), views.end());
    const int64_t count = target.isWhole ? static_cast<int64_t>(texts.size()) : target.indices.elementCount();
    for (int64_t i = 0; i < count; ++i) {
        const int64_t flat = target.isWhole ? i : target.indices.integerAt(i);
        texts[static_cast<size_t>(flat)] = value.textAt(value.elementCount() == 1 ? 0 : i);
    }
    bytes = packStrings(texts);
    return {};
}

Result<std::vector<EvaluatedValue>> evaluateAll(StopSource& source, std::string_view text)
{
    LS_TRY(const Syntax syntax, parseExpression(text, true));
    LS_TRY(std::vector<Expression> expressions, Expression::compileList(text, source));
    std::vector<EvaluatedValue> values;
    for (size_t i = 0; i < expressions.size(); ++i) {
        const auto plain = plainPlace(source, text, syntax.nodes[syntax.roots[i]]);
        const bool isPlain = plain &&
                             std::ranges::all_of(expressions[i].dependencies(),
                                                 [&](const ExpressionDependency& dependency) {
                                                     return dependency.place == *plain && dependency.history == ExpressionHistory::current;
                                                 }) &&
                             !expressions[i].dependencies().empty();
        LS_TRY(EvaluatedValue value, evaluateOne(source, expressions[i], isPlain ? plain : std::nullopt));
        values.push_back(std::move(value));
    }
    return values;
}

} // namespace

Result<std::vector<EvaluatedValue>> evaluateList(const DebugTarget& target, FrameContext frame, std::string_view text,
                                                 ReferenceValues* reference)
{
    LS_CHECK_OK(checkStarted(target));
    StopSource source(target, frame, reference, {text});
    return evaluateAll(source, text);
}

Result<std::vector<EvaluatedValue>> evaluateAfter(const DebugTarget& target, const OperatorEvent& ran, std::string_view text)
{
    LS_CHECK_OK(checkStarted(target));
    StopSource source(target, {}, nullptr, {text});
    StatisticsCache statistics;
    source.lookAtInnermost(target.executor.position().depth, ran.step + 1, &ran, &statistics);
    return evaluateAll(source, text);
}

Result<Edit> evaluateEdit(const DebugTarget& target, FrameContext frame, std::string_view placeText, std::string_view expression,
                          ReferenceValues* reference)
{
    LS_CHECK_OK(checkStarted(target));
    StopSource source(target, frame, reference, {placeText, expression});
    LS_TRY(const Syntax syntax, parseExpression(placeText, false));
    const SyntaxNode& root = syntax.nodes[syntax.roots[0]];
    Target left;
    const SyntaxNode* named = &root;
    if (root.kind == SyntaxKind::index) {
        left.isWhole = false;
        named = &syntax.nodes[root.children[0]];
    }
    if (named->kind == SyntaxKind::member && named->text == "q") {
        left.isRaw = true;
        named = &syntax.nodes[named->children[0]];
    }
    LS_TRY(left.place, targetPlace(source, placeText, *named, left.isRaw));
    const LivePlace& place = source.place(left.place);
    const std::optional<int> depth = source.depthOf(place);
    if (!depth) return Error(ErrorCode::usage, "lies in no frame of this stop; go there first").at(placeText);
    const Value& described = target.model.graph(place.graph).value(place.value);
    if (described.role == ValueRole::constant) return Error(ErrorCode::usage, "'" + described.id + "' is a constant");
    LS_TRY(const Tensor* tensor, source.current(left.place));
    if (!tensor) {
        const Absence absence = source.absenceOf(left.place);
        return Error(ErrorCode::usage, "'" + described.id + "' is " +
                                           (absence == Absence::freed  ? "freed"
                                            : absence == Absence::lost ? "lost with the device"
                                                                       : "not written yet"));
    }
    if (left.isRaw && !(tensor->quantization && tensor->quantization->kind == Quantization::Kind::affine))
        return Error(ErrorCode::usage, "'" + described.id + "' is not quantized");
    if (!left.isWhole) LS_CHECK_OK(selectElements(source, placeText, syntax, root, *tensor, left.indices));

    LS_TRY(Expression right, Expression::compile(expression, source, ExpressionUse::value));
    LS_TRY(const ExpressionValue* value, right.evaluate(source));
    if (value->isNone()) return Error(ErrorCode::usage, "there is no such value here").at(trimmed(expression));
    const bool hasElements = value->type() != ExpressionType::dtype && value->type() != ExpressionType::shape;
    if (!hasElements) return doesNotFit(*tensor, describe(*value));
    const Shape& shape = left.isWhole ? tensor->shape : left.indices.shape();
    const bool isSingle = value->elementCount() == 1;
    if (!isSingle && value->shape() != shape)
        return Error(ErrorCode::usage, "another shape").found(describe(*value)).expected(toString(shape));

    Edit edit;
    edit.depth = *depth;
    edit.value = place.value;
    auto bytes = std::make_shared<std::vector<std::byte>>(tensor->data, tensor->data + tensor->bytes);
    if (tensor->dtype == DType::string) {
        LS_CHECK_OK(setStrings(*tensor, *bytes, left, *value));
    } else {
        const int64_t count = left.isWhole ? tensor->elementCount() : left.indices.elementCount();
        for (int64_t i = 0; i < count; ++i)
            LS_CHECK_OK(setElement(*tensor, *bytes, left.isWhole ? i : left.indices.integerAt(i), *value, isSingle ? 0 : i, left.isRaw));
    }
    edit.tensor = *tensor;
    edit.tensor.data = bytes->data();
    edit.tensor.bytes = bytes->size();
    edit.bytes = std::move(bytes);
    return edit;
}

} // namespace loopscope
