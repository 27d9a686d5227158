// Operators on hash tables: hashtable, hashtable_import, hashtable_find, hashtable_size.
#include "engine/ops/catalog.h"
#include "engine/ops/movement.h"

using namespace loopscope;

namespace {

Status requireTable(const InferContext& c)
{
    const Tensor& handle = c.input(0);
    if (handle.dtype != DType::resource && handle.dtype != DType::unknown)
        return InferContext::violated(1, "dtype of operand 0").found(std::string(dtypeName(handle.dtype))).expected("resource");
    if (handle.shape.isStatic() && checkedElementCount(handle.shape) != 1)
        return InferContext::violated(1, "elements of operand 0 " + toString(handle.shape)).expected("1");
    return {};
}

Status inferTable(InferContext& c)
{
    const DType key = attributeDType(c.attributes(), "key_dtype", DType::f32);
    const DType value = attributeDType(c.attributes(), "value_dtype", DType::f32);
    if (!((key == DType::i64 && value == DType::string) || (key == DType::string && value == DType::i64)))
        return InferContext::violated(1, "key_dtype and value_dtype")
            .found(std::string(dtypeName(key)) + " and " + std::string(dtypeName(value)))
            .expected("i64 and str, or str and i64");
    c.setOutput(0, DType::resource, Shape{1}); // LiteRT insists on one dimension
    return {};
}

Status inferImport(InferContext& c)
{
    LS_CHECK_OK(requireTable(c));
    const Shape& keys = c.input(1).shape;
    const Shape& values = c.input(2).shape;
    if (keys.isStatic() && values.isStatic() && !(keys == values))
        return InferContext::violated(2, "shape of the values").found(toString(values)).expected(toString(keys) + ", as the keys have");
    return {};
}

Status inferFind(InferContext& c)
{
    LS_CHECK_OK(requireTable(c));
    const Shape& otherwise = c.input(2).shape;
    if (otherwise.isStatic() && checkedElementCount(otherwise).value_or(0) < 1)
        return InferContext::violated(2, "elements of the default value").found("0").expected("1");
    c.setOutput(0, c.input(2).dtype, c.input(1).shape);
    return {};
}

Status inferSize(InferContext& c)
{
    LS_CHECK_OK(requireTable(c));
    c.setOutput(0, DType::i64, Shape{1});
    return {};
}

} // namespace

LS_DEFINE_OP(tfl, hashtable)
{
    // C1: keys are i64 and values str, or the other way round.
    OpDef def = movementDef<inferTable>(0, "", "The handle of the table table_id of the session.", "LiteRT kernels/hashtable.cc");
    def.hasSideEffects = true;
    return def;
}

LS_DEFINE_OP(tfl, hashtable_import)
{
    // C1: the first operand is one handle. C2: there is a value for each key. C3 (running): dtypes are those of the table.
    OpDef def = movementDef<inferImport>(3, "table [1], keys, values", "Fills a table, the first time only.",
                                         "LiteRT kernels/hashtable_import.cc, experimental/resource/static_hashtable.cc");
    def.minOutputs = def.maxOutputs = 0;
    def.hasSideEffects = true;
    return def;
}

LS_DEFINE_OP(tfl, hashtable_find)
{
    // C1: the first operand is one handle. C2: there is a default value. C3 (running): dtypes are those of the table. C4 (running): the
    // table was filled.
    OpDef def =
        movementDef<inferFind>(3, "table [1], keys, default", "The value of each key, or the default.", "LiteRT kernels/hashtable_find.cc");
    def.hasSideEffects = true;
    return def;
}

LS_DEFINE_OP(tfl, hashtable_size)
{
    // C1: the operand is one handle.
    OpDef def = movementDef<inferSize>(1, "table [1]", "The number of keys in a table, as [1].", "LiteRT kernels/hashtable_size.cc");
    def.hasSideEffects = true;
    return def;
}
