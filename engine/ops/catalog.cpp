#include "engine/ops/catalog.h"

#include "engine/ops/flex.h"
#include "engine/ops/op_traits.h"

#include <algorithm>
#include <functional>
#include <map>

#define LS_OP(dialect, name, ...) LS_DEFINE_OP(dialect, name);
#define LS_CALL LS_OP
#include "engine/ops/ops.def"
#undef LS_OP
#undef LS_CALL

namespace loopscope {

namespace {

/// A line of ops.def.
struct CatalogLine {
    OpDef (*define)();
    std::string_view dialect, name;
    OpFamily family;
    uint32_t traits; ///< a bit for each OpTrait
};

uint32_t bitOf(OpTrait trait) { return 1U << static_cast<uint32_t>(trait); }

template <typename... Traits>
CatalogLine lineOf(OpDef (*define)(), std::string_view dialect, std::string_view name, OpFamily family, Traits... traits)
{
    return {define, dialect, name, family, (0U | ... | bitOf(traits))};
}

std::span<const CatalogLine> catalogLines()
{
    using enum OpFamily;
    using enum OpTrait;
#define LS_OP(dialect, name, file, ...) lineOf(::opDef_##dialect##_##name, #dialect, #name, __VA_ARGS__),
#define LS_CALL LS_OP
    static const CatalogLine kLines[] = {
#include "engine/ops/ops.def"
    };
#undef LS_OP
#undef LS_CALL
    return kLines;
}

const std::vector<OpDef>& catalog()
{
    static const std::vector<OpDef> defs = [] {
        std::vector<OpDef> made;
        for (const CatalogLine& line : catalogLines()) {
            OpDef& def = made.emplace_back(line.define());
            def.dialect = line.dialect;
            if (def.name.empty()) def.name = line.name; // custom operators may have names that are no words
        }
        return made;
    }();
    return defs;
}

/// Null: it is not of the catalogue's own.
const CatalogLine* lineOf(const Kind& kind)
{
    const OpDef* const def = findOp(kind);
    const std::vector<OpDef>& defs = catalog();
    const std::less<> before;
    if (!def || before(def, defs.data()) || !before(def, defs.data() + defs.size())) return nullptr;
    return &catalogLines()[static_cast<size_t>(def - defs.data())];
}

std::string countText(int low, int high)
{
    if (high < 0) return "at least " + std::to_string(low);
    return low == high ? std::to_string(low) : std::to_string(low) + " to " + std::to_string(high);
}

/// The parts of OpDef::operands ("input [N,H,W,C]", "bias? [O]"). Commas in brackets do not separate.
std::vector<std::string_view> operandTexts(const OpDef& def)
{
    std::vector<std::string_view> parts;
    size_t begin = 0;
    int depth = 0;
    for (size_t at = 0; at <= def.operands.size(); ++at) {
        const char c = at < def.operands.size() ? def.operands[at] : ',';
        depth += c == '[' ? 1 : c == ']' ? -1 : 0;
        if (c != ',' || (depth > 0 && at < def.operands.size())) continue;
        parts.push_back(def.operands.substr(begin, at - begin));
        begin = at + 1;
        while (begin < def.operands.size() && def.operands[begin] == ' ') ++begin;
    }
    return parts;
}

/// An operand may be left out (index −1) only where its description has a `?`. Operators that describe groups of operands instead of
/// each one check all but the first for themselves.
Status checkPresent(const OpDef& def, std::span<const Tensor* const> inputs)
{
    if (std::find(inputs.begin(), inputs.end(), nullptr) == inputs.end()) return {};
    const auto parts = operandTexts(def);
    const bool groups = def.maxInputs >= 0 && parts.size() != static_cast<size_t>(def.maxInputs);
    for (size_t i = 0; i < (groups ? 1 : inputs.size()); ++i) {
        const std::string_view text = parts[std::min(i, parts.size() - 1)];
        if (inputs[i] || text.find('?') != std::string_view::npos) continue;
        return Error(ErrorCode::badFile,
                     "operand " + std::to_string(i) + " (" + std::string(text.substr(0, text.find(' '))) + ") is missing");
    }
    return {};
}

} // namespace

std::string_view opFamilyName(OpFamily family)
{
    constexpr std::string_view names[kOpFamilyCount] = {"matrix",       "arithmetic", "activation", "reduction", "movement",
                                                        "control flow", "conversion", "state",      "other"};
    return names[static_cast<size_t>(family)];
}

std::optional<OpFamily> opFamily(const Kind& kind)
{
    const CatalogLine* const line = lineOf(kind);
    return line ? std::optional(line->family) : std::nullopt;
}

bool hasTrait(const Kind& kind, OpTrait trait)
{
    const CatalogLine* const line = lineOf(kind);
    return line && (line->traits & bitOf(trait)) != 0;
}

std::span<const OpDef> allOps() { return catalog(); }

const OpDef* findOp(const Kind& kind)
{
    static const auto index = [] {
        std::map<std::pair<std::string_view, std::string_view>, const OpDef*> byKind;
        for (const OpDef& def : catalog()) byKind[{def.dialect, def.name}] = &def;
        return byKind;
    }();
    const auto found = index.find({kind.dialect, kind.name});
    return found == index.end() ? findFlexOp(kind) : found->second;
}

Status inferOperator(const Operator& op, std::span<const Tensor* const> inputs, std::span<InferredType> outputs)
{
    const OpDef* def = findOp(op.kind);
    if (!def) return {};
    const auto in = static_cast<int>(inputs.size());
    const auto out = static_cast<int>(outputs.size());
    if (in < def->minInputs || (def->maxInputs >= 0 && in > def->maxInputs))
        return Error(ErrorCode::badFile, "wrong number of operands")
            .found(std::to_string(in))
            .expected(countText(def->minInputs, def->maxInputs));
    if (out < def->minOutputs || (def->maxOutputs >= 0 && out > def->maxOutputs))
        return Error(ErrorCode::badFile, "wrong number of results")
            .found(std::to_string(out))
            .expected(countText(def->minOutputs, def->maxOutputs));
    if (!def->infer) return {};
    LS_CHECK_OK(checkPresent(*def, inputs));
    InferContext context(op, inputs, outputs);
    return def->infer(context);
}

std::optional<std::vector<int64_t>> InferContext::intValues(int i) const
{
    if (!dataKnown(i)) return std::nullopt;
    const Tensor& t = input(i);
    const auto count = static_cast<size_t>(t.elementCount());
    const auto read = [&]<typename T>(const T* data) { return std::vector<int64_t>(data, data + count); };
    if (t.bytes < byteSize(t.dtype, t.elementCount())) return std::nullopt;
    switch (t.dtype) {
    case DType::i32: return read(t.as<int32_t>());
    case DType::i64: return read(t.as<int64_t>());
    case DType::i16: return read(t.as<int16_t>());
    case DType::i8: return read(t.as<int8_t>());
    case DType::u8: return read(t.as<uint8_t>());
    default: return std::nullopt;
    }
}

Error InferContext::violated(int constraint, std::string what, const char* file, int line)
{
    return Error(ErrorCode::badFile, "C" + std::to_string(constraint) + ": " + std::move(what), file, line);
}

} // namespace loopscope
