// Tables: what they hold is known when a model is converted. Those that TFLite has (texts to i64, i64 to texts) are filled before the first
// run; of others keys and values are constants, and a key is found by comparing it with all.
#include "converters/lower/graph_lowering.h"
#include "converters/lower/shapes.h"
#include "engine/tensor/strings.h"

#include <memory>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

namespace loopscope::lowering {

namespace {

const TensorAttribute* columnOf(const Operator& op, std::string_view key)
{
    const Attribute* const said = findAttribute(op.attributes, key);
    const auto* const column = said ? said->as<TensorAttribute>() : nullptr;
    return column && column->data && column->data->hasBytes() ? column : nullptr;
}

Status table(GraphLowering& l)
{
    const TensorAttribute *const keys = columnOf(l.op(), "@keys"), *const values = columnOf(l.op(), "@values");
    if (!keys || !values) return noForm("nothing fills the table before the first run; --init NODE says what does");
    const DType key = keys->type.dtype, value = values->type.dtype;
    if ((key == DType::string && value == DType::i64) || (key == DType::i64 && value == DType::string))
        return l.finish("hashtable", {},
                        {{"table_id", l.model().addTable(l.op(), *keys, *values)}, {"key_dtype", key}, {"value_dtype", value}});
    const ValueId handle = l.realConstant(DType::i32, 0);
    l.markTable(handle, {l.constant(keys->type, keys->data), l.constant(values->type, values->data)});
    l.bind(0, handle);
    return {};
}

/// As i32[keys]: one more than the number of the table's key that it is; 0: none.
Result<ValueId> placesOf(GraphLowering& l, ValueId wanted, ValueId keys)
{
    const int64_t count = l.type(keys).shape[0];
    LS_TRY(const ValueId column, l.emit("reshape", {wanted, numbers(l, {-1, 1})}, {}, l.type(wanted).dtype));
    if (count == 0) {
        LS_TRY(const ValueId dims, l.shapeOf(column));
        LS_TRY(const ValueId length, part(l, dims, 0, 1));
        return l.emit("fill", {length, number(l, 0)}, {}, DType::i32);
    }
    LS_TRY(const ValueId isIt, l.emit("equal", {column, keys}, {}, DType::boolean));
    std::vector<int64_t> order(static_cast<size_t>(count));
    std::iota(order.begin(), order.end(), 1);
    LS_TRY(const ValueId found, l.emit("select_v2", {isIt, l.integerConstant(DType::i32, order), number(l, 0)}, {}, DType::i32));
    return l.emit("reduce_max", {found, numbers(l, {1})}, {}, DType::i32);
}

/// What is found where nothing is, and behind it the values. LiteRT joins no texts: those must be known.
Result<ValueId> withDefault(GraphLowering& l, ValueId otherwise, ValueId values)
{
    const DType dtype = l.type(values).dtype;
    if (dtype != DType::string) {
        LS_TRY(const ValueId one, l.emit("reshape", {otherwise, numbers(l, {1})}, {}, dtype));
        return joined(l, one, values);
    }
    std::vector<std::string> texts;
    for (const ValueId part : {otherwise, values}) {
        const Value& value = l.graph().value(part);
        if (value.role != ValueRole::constant || !value.constant || !value.constant->hasBytes()) return noForm("its default is computed");
        const Bytes bytes = value.constant->bytes();
        LS_TRY(const std::vector<std::string_view> own, unpackStrings(bytes.view()));
        texts.insert(texts.end(), own.begin(), own.end());
    }
    const std::vector<std::byte> block = packStrings(texts);
    return l.constant(TensorType(dtype, Shape{static_cast<int64_t>(texts.size())}), std::make_shared<Constant>(Bytes::copyOf(block)));
}

Status find(GraphLowering& l)
{
    if (l.type(l.input(0)).dtype == DType::resource) return l.finish("hashtable_find", l.inputs());
    const GraphLowering::Table* const known = l.tableOf(l.input(0));
    if (!known) return noForm("a table of other dtypes that comes into a loop or a branch");
    LS_TRY(const ValueId places, placesOf(l, l.input(1), known->keys));
    LS_TRY(const ValueId all, withDefault(l, l.input(2), known->values));
    LS_TRY(const ValueId found, l.emit("gather", {all, places}, {{"axis", int64_t{0}}}, l.declared(0).dtype));
    LS_TRY(const ValueId shape, l.shapeOf(l.input(1)));
    return l.finish("reshape", {found, shape});
}

Status size(GraphLowering& l)
{
    if (const GraphLowering::Table* const known = l.tableOf(l.input(0))) {
        const int64_t count = l.type(known->keys).shape[0];
        l.bind(0, l.integerConstant(DType::i64, std::span(&count, 1), true));
        return {};
    }
    if (l.type(l.input(0)).dtype != DType::resource) return noForm("a table of other dtypes that comes into a loop or a branch");
    LS_TRY(const ValueId count, l.emit("hashtable_size", {l.input(0)}, {}, DType::i64));
    return l.finish("reshape", {count, l.integerConstant(DType::i32, {})});
}

constexpr NamedRule kTablesRules[] = {
    {"HashTableV2", table},
    {"LookupTableFindV2", find},
    {"LookupTableSizeV2", size},
    {"MutableHashTableV2", table},
};

} // namespace

std::span<const NamedRule> tableRules() { return kTablesRules; }

} // namespace loopscope::lowering
