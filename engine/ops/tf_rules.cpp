#include "engine/ops/tf_rules.h"

#include <algorithm>

namespace loopscope {

namespace {

constexpr std::string_view kClassNote = "TensorFlow: ";

} // namespace

std::string_view tfCodeName(TfCode code)
{
    switch (code) {
    case TfCode::invalidArgument: return "InvalidArgumentError";
    case TfCode::failedPrecondition: return "FailedPreconditionError";
    case TfCode::outOfRange: return "OutOfRangeError";
    case TfCode::notFound: return "NotFoundError";
    case TfCode::internal: return "InternalError";
    case TfCode::unimplemented: return "UnimplementedError";
    case TfCode::resourceExhausted: return "ResourceExhaustedError";
    case TfCode::cancelled: return "CancelledError";
    }
    return "";
}

Error tfError(TfCode code, std::string what, const char* file, int line)
{
    std::string note(kClassNote);
    note += tfCodeName(code);
    return Error(ErrorCode::execution, std::move(what), file, line).note(std::move(note));
}

Error invalidArgument(std::string what, const char* file, int line)
{
    return tfError(TfCode::invalidArgument, std::move(what), file, line);
}

std::string_view tfClassOf(const ErrorDetail& error)
{
    for (const std::string& note : error.notes)
        if (note.starts_with(kClassNote)) return std::string_view(note).substr(kClassNote.size());
    return {};
}

std::string tfShapeText(const Shape& shape) { return shape.hasRank() ? toString(shape) : "<unknown>"; }

Result<Shape> tfBroadcast(const Shape& a, const Shape& b)
{
    std::optional<Shape> both = broadcastShapes(a, b);
    if (!both) return invalidArgument("Incompatible shapes: " + toString(a) + " vs. " + toString(b));
    return std::move(*both);
}

DType tfTypeAttribute(const AttributeList& list, std::string_view key, DType otherwise)
{
    const Attribute* attribute = findAttribute(list, key);
    const DType* dtype = attribute ? attribute->as<DType>() : nullptr;
    return dtype ? *dtype : otherwise;
}

Shape tfShapeAttribute(const AttributeList& list, std::string_view key)
{
    const Attribute* attribute = findAttribute(list, key);
    const Shape* shape = attribute ? attribute->as<Shape>() : nullptr;
    return shape ? *shape : Shape::unknownRank();
}

bool takesReference(const Operator& op, int i)
{
    if (op.kind.dialect != "tf") return false;
    const TfOpSignature* signature = findTfOp(op.kind.name);
    if (!signature) return false;
    int first = 0;
    for (const TfArgument& argument : signature->inputs) {
        const auto count = static_cast<int>(tfArgumentCount(*signature, argument, op.attributes).value_or(1));
        if (i < first + count) return argument.isReference;
        first += count;
    }
    return false;
}

namespace {

Status checkSlots(const Operator& op, const TfOpSignature& signature, std::span<const TfArgument> arguments,
                  std::span<const Tensor* const> tensors, const char* noun)
{
    const auto types = tfSlotTypes(signature, arguments, op.attributes);
    if (!types)
        return invalidArgument("NodeDef for " + op.kind.name + " lacks an attribute that says how many " + noun +
                               "s it has, or their types");
    if (types->size() != tensors.size())
        return invalidArgument(op.kind.name + " has " + std::to_string(tensors.size()) + " " + noun + "s, expected " +
                               std::to_string(types->size()));
    for (size_t i = 0; i < tensors.size(); ++i) {
        const DType wanted = (*types)[i].isReference ? DType::resource : (*types)[i].dtype;
        if (!tensors[i] || wanted == DType::unknown || tensors[i]->dtype == wanted) continue;
        return invalidArgument(std::string(noun) + " " + std::to_string(i) + " is expected to be " + std::string(tfTypeName(wanted)) +
                               " but is " + std::string(tfTypeName(tensors[i]->dtype)));
    }
    return {};
}

} // namespace

Status checkTfSignature(const Operator& op, std::span<const Tensor* const> inputs, std::span<const Tensor* const> outputs)
{
    const TfOpSignature* signature = findTfOp(op.kind.name);
    if (!signature) return {};
    for (const TfAttributeDef& def : signature->attributes) {
        const Attribute* value = tfAttribute(*signature, op.attributes, def.name);
        const DType* dtype = value && def.kind == "type" ? value->as<DType>() : nullptr;
        if (!dtype || def.allowedTypes.empty() ||
            std::find(def.allowedTypes.begin(), def.allowedTypes.end(), *dtype) != def.allowedTypes.end())
            continue;
        return invalidArgument("Value for attr '" + def.name + "' of " + std::string(tfTypeName(*dtype)) +
                               " is not in the list of allowed values");
    }
    LS_CHECK_OK(checkSlots(op, *signature, signature->inputs, inputs, "input"));
    return checkSlots(op, *signature, signature->outputs, outputs, "output");
}

Status inferAtRunTime(InferContext&) { return {}; }

Status inferTfSame(InferContext& context)
{
    context.output(0).shape = context.input(0).shape;
    return {};
}

Status inferTfBroadcast(InferContext& context)
{
    if (!context.input(0).shape.hasRank() || !context.input(1).shape.hasRank()) return {};
    LS_TRY(context.output(0).shape, tfBroadcast(context.input(0).shape, context.input(1).shape));
    return {};
}

Status inferTfComparison(InferContext& context)
{
    context.output(0).dtype = DType::boolean;
    return inferTfBroadcast(context);
}

OpDef tfDef(TfArity arity, std::string_view operands, std::string_view summary, Status (*infer)(InferContext&),
            const ErrorBounds& floatBound)
{
    OpDef def;
    def.minInputs = arity.minInputs;
    def.maxInputs = arity.maxInputs;
    def.minOutputs = arity.minOutputs;
    def.maxOutputs = arity.maxOutputs;
    def.operands = operands;
    def.summary = summary;
    def.source = "TensorFlow 2.21 core/ops and core/kernels";
    def.floatBound = floatBound;
    def.infer = infer;
    return def;
}

OpDef tfStatefulDef(TfArity arity, std::string_view operands, std::string_view summary)
{
    OpDef def = tfDef(arity, operands, summary);
    def.hasSideEffects = true;
    return def;
}

} // namespace loopscope
