#include "engine/ops/tf_rules.h"

#include <algorithm>
#include <array>

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

std::string_view tfTypeName(DType dtype)
{
    switch (dtype) {
    case DType::f16: return "half";
    case DType::bf16: return "bfloat16";
    case DType::f32: return "float";
    case DType::f64: return "double";
    case DType::f8e4m3fn: return "float8_e4m3fn";
    case DType::f8e5m2: return "float8_e5m2";
    case DType::i2: return "int2";
    case DType::i4: return "int4";
    case DType::i8: return "int8";
    case DType::i16: return "int16";
    case DType::i32: return "int32";
    case DType::i64: return "int64";
    case DType::u4: return "uint4";
    case DType::u8: return "uint8";
    case DType::u16: return "uint16";
    case DType::u32: return "uint32";
    case DType::u64: return "uint64";
    case DType::qi8: return "qint8";
    case DType::qu8: return "quint8";
    case DType::qi16: return "qint16";
    case DType::qu16: return "quint16";
    case DType::qi32: return "qint32";
    case DType::boolean: return "bool";
    case DType::string: return "string";
    case DType::c64: return "complex64";
    case DType::c128: return "complex128";
    case DType::resource: return "resource";
    case DType::variant: return "variant";
    default: return dtypeName(dtype);
    }
}

std::string tfShapeText(const Shape& shape)
{
    return shape.hasRank() ? toString(shape) : "<unknown>";
}

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
    // Operand 0 is the reference of everything but RefMerge, RefSelect and RefNextIteration-like forwarders of several.
    static constexpr std::array kFirst = {
        std::string_view("Assign"),     std::string_view("AssignAdd"),  std::string_view("AssignSub"),
        std::string_view("CountUpTo"),  std::string_view("IsVariableInitialized"),
        std::string_view("RefEnter"),   std::string_view("RefExit"),    std::string_view("RefIdentity"),
        std::string_view("RefNextIteration"), std::string_view("RefSwitch"),
        std::string_view("ScatterAdd"), std::string_view("ScatterDiv"), std::string_view("ScatterMax"),
        std::string_view("ScatterMin"), std::string_view("ScatterMul"), std::string_view("ScatterNdAdd"),
        std::string_view("ScatterNdSub"), std::string_view("ScatterNdUpdate"), std::string_view("ScatterSub"),
        std::string_view("ScatterUpdate"), std::string_view("ApplyGradientDescent"), std::string_view("ApplyMomentum"),
        std::string_view("ApplyAdam"),  std::string_view("StridedSliceAssign"),
    };
    if (op.kind.dialect != "tf") return false;
    if (op.kind.name == "RefMerge") return true;
    if (op.kind.name == "RefSelect") return i > 0;
    if (op.kind.name == "ApplyMomentum") return i <= 1;
    if (op.kind.name == "ApplyAdam") return i <= 2;
    return i == 0 && std::find(kFirst.begin(), kFirst.end(), op.kind.name) != kFirst.end();
}

Status inferAtRunTime(InferContext&)
{
    return {};
}

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

OpDef tfDef(TfArity arity, std::string_view operands, std::string_view summary, Status (*infer)(InferContext&), std::string_view floatBound)
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
