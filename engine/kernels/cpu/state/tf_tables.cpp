// Kernels of TensorFlow's lookup tables: core/kernels/lookup_table_op.cc, lookup_table_init_op.cc, lookup_util.cc. Keys and values are kept
// as the bytes of their elements. Files are those that the model has brought along: nothing else is read.
#include "engine/kernels/cpu/state/tf_variables.h"
#include "engine/kernels/cpu/text/tf_number.h"
#include "engine/kernels/cpu/tf_assets.h"
#include "engine/kernels/resources.h"

#include <algorithm>
#include <map>

using namespace loopscope;

namespace {

void tell(const KernelArgs& args, const HashTable& table, AccessKind kind, const Tensor* value)
{
    if (ResourceListener* listener = args.runtime->resources().listener) listener->accessed(table.name, kind, value);
}

enum class TableKind { initialised, mutableOne, anonymous, anonymousMutable };

/// Mutable tables may be searched before anything is in them. One without a name is another each time that the operator runs.
template <TableKind kind> Status runTable(const KernelArgs& args)
{
    constexpr bool isMutable = kind == TableKind::mutableOne || kind == TableKind::anonymousMutable;
    constexpr bool isAnonymous = kind == TableKind::anonymous || kind == TableKind::anonymousMutable;
    const AttributeList& attributes = attributesOf(args);
    std::string name = tfResourceName(args);
    if (isAnonymous) name += "/" + std::to_string(args.runtime->resources().count(name + "/tables")++);
    ResourceStore& store = args.runtime->resources();
    const int32_t handle = store.handle(name);
    HashTable& table = *store.table(handle);
    const DType keys = tfTypeAttribute(attributes, "key_dtype"), values = tfTypeAttribute(attributes, "value_dtype");
    if (table.keyType == DType::unknown) {
        table.keyType = keys;
        table.valueType = values;
        table.initialised = isMutable;
        tell(args, table, AccessKind::create, nullptr);
    }
    if (table.keyType != keys || table.valueType != values)
        return invalidArgument("table '" + name + "' has keys or values of other dtypes");
    LS_CHECK_OK(tfAllocate(args, 0, Shape()));
    *args.out(0).as<int32_t>() = handle;
    return {};
}

/// The table of operand 0 with keys and values of these dtypes; unknown: any.
Result<HashTable*> tableOf(const KernelArgs& args, DType keys, DType values)
{
    ResourceStore& store = args.runtime->resources();
    if (args.in(0).elementCount() != 1 || args.in(0).bytes < sizeof(int32_t)) return invalidArgument("a handle is a scalar");
    const int32_t handle = *args.in(0).as<int32_t>();
    if (!store.tables().contains(handle)) return tfError(TfCode::notFound, "the handle is that of no table");
    HashTable* const table = store.table(handle);
    const auto differs = [](DType wanted, DType found) { return wanted != DType::unknown && wanted != found; };
    if (differs(keys, table->keyType) || differs(values, table->valueType))
        return invalidArgument("Conflicting key/value dtypes " + std::string(tfTypeName(keys)) + "->" + std::string(tfTypeName(values)) +
                               " with " + std::string(tfTypeName(table->keyType)) + "->" + std::string(tfTypeName(table->valueType)) +
                               " for table " + table->name);
    return table;
}

/// Each element as bytes.
Result<std::vector<std::string_view>> elementsOf(const Tensor& tensor)
{
    if (tensor.dtype == DType::string) return readStrings(tensor);
    std::vector<std::string_view> elements;
    const auto size = static_cast<size_t>(elementBytes(tensor));
    if (size == 0) return Error(ErrorCode::unsupported, "no tables of " + std::string(dtypeName(tensor.dtype)));
    for (size_t i = 0, n = static_cast<size_t>(tensor.elementCount()); i < n; ++i)
        elements.emplace_back(reinterpret_cast<const char*>(tensor.data) + i * size, size);
    return elements;
}

/// Result k from elements as bytes.
Status give(const KernelArgs& args, int k, const Shape& shape, const std::vector<std::string_view>& elements)
{
    if (args.out(k).dtype == DType::string) return writeStrings(*args.runtime, args.out(k), shape, elements);
    LS_CHECK_OK(tfAllocate(args, k, shape));
    std::byte* to = args.out(k).data;
    for (const std::string_view element : elements)
        to = std::copy_n(reinterpret_cast<const std::byte*>(element.data()), element.size(), to);
    return {};
}

/// Fills a table once: of equal keys with equal values one counts. Whoever fills it again must have as many entries: more is not compared.
Status initialise(const KernelArgs& args, HashTable& table, const std::vector<std::string>& keys, const std::vector<std::string>& values)
{
    if (table.initialised)
        return keys.size() == table.entries.size()
                   ? Status()
                   : Status(tfError(TfCode::failedPrecondition, "Table was already initialized with different data."));
    std::map<std::string, std::string> entries;
    for (size_t i = 0; i < keys.size(); ++i)
        if (const auto [at, isNew] = entries.emplace(keys[i], values[i]); !isNew && at->second != values[i])
            return invalidArgument("HashTable has different value for same key. Key " +
                                   (table.keyType == DType::string ? keys[i] : std::to_string(i)) + " is given twice");
    table.entries = std::move(entries);
    table.initialised = true;
    tell(args, table, AccessKind::write, nullptr);
    return {};
}

Status runInitialize(const KernelArgs& args)
{
    LS_TRY(HashTable* const table, tableOf(args, args.in(1).dtype, args.in(2).dtype));
    if (args.in(1).shape.rank() != 1) return invalidArgument("Keys must be a vector, but received shape " + toString(args.in(1).shape));
    LS_TRY(const auto keys, elementsOf(args.in(1)));
    LS_TRY(const auto values, elementsOf(args.in(2)));
    if (keys.size() != values.size())
        return invalidArgument("Keys and values must have the same size, " + std::to_string(keys.size()) + " vs " +
                               std::to_string(values.size()));
    return initialise(args, *table, {keys.begin(), keys.end()}, {values.begin(), values.end()});
}

/// A column of a line (from 0), the line (−2) or its number (−1), as an element of that dtype.
Result<std::string> columnOf(std::string_view line, int64_t number, int64_t column, char delimiter, DType dtype)
{
    if (column == -1) return std::string(reinterpret_cast<const char*>(&number), sizeof number);
    if (column == -2) return std::string(line);
    for (int64_t c = 0; c < column; ++c) {
        const size_t end = line.find(delimiter);
        if (end == std::string_view::npos)
            return invalidArgument("Invalid number of columns in line " + std::to_string(number) + " (" + std::string(line) +
                                   "): expected at least " + std::to_string(column + 1) + " got " + std::to_string(c + 1));
        line.remove_prefix(end + 1);
    }
    line = line.substr(0, line.find(delimiter));
    if (dtype == DType::string) return std::string(line);
    std::string element;
    LS_CHECK_OK((forDType<TypeList<int32_t, int64_t, float, double>>(dtype, [&]<typename T>() -> Status {
        const std::optional<T> value = tfNumber<T>(line);
        if (!value)
            return invalidArgument("Field " + std::string(line) + " in line " + std::to_string(number) + " is not a valid " +
                                   std::string(tfTypeName(dtype)) + ".");
        element.assign(reinterpret_cast<const char*>(&*value), sizeof(T));
        return {};
    })));
    return element;
}

Status runInitializeFromTextFile(const KernelArgs& args)
{
    const auto& params = args.paramsAs<TfFileParams>();
    LS_TRY(HashTable* const table, tableOf(args, DType::unknown, DType::unknown));
    LS_TRY(const auto names, readStrings(args.in(1)));
    if (names.size() != 1) return invalidArgument("filename should be a single string, but got " + toString(args.in(1).shape));
    LS_TRY(std::string_view rest, params.read(names[0]));
    const AttributeList& attributes = params.op.attributes;
    const int64_t keyColumn = attributeInt(attributes, "key_index", -2), valueColumn = attributeInt(attributes, "value_index", -1);
    const int64_t size = attributeInt(attributes, "vocab_size", -1), offset = attributeInt(attributes, "offset", 0);
    const std::string_view delimiter = attributeString(attributes, "delimiter", "\t");
    if (delimiter.size() != 1) return invalidArgument("delimiter should be only 1 char");
    for (const auto& [column, dtype] : {std::pair(keyColumn, table->keyType), {valueColumn, table->valueType}}) {
        if (column == -1 && dtype != DType::i64)
            return invalidArgument("Key and value of a line's number must be int64, got " + std::string(tfTypeName(dtype)));
        if (column == -2 && dtype != DType::string)
            return invalidArgument("Key and value of a whole line must be string, got " + std::string(tfTypeName(dtype)));
    }
    std::vector<std::string> keys, values;
    for (int64_t line = 0; !rest.empty() && (size < 0 || line < size + offset); ++line) {
        const size_t end = std::min(rest.find('\n'), rest.size());
        std::string_view text = rest.substr(0, end);
        rest.remove_prefix(std::min(end + 1, rest.size()));
        if (text.ends_with('\r')) text.remove_suffix(1);
        if (line < offset) continue;
        LS_TRY(std::string key, columnOf(text, line - offset, keyColumn, delimiter[0], table->keyType));
        LS_TRY(std::string value, columnOf(text, line - offset, valueColumn, delimiter[0], table->valueType));
        keys.push_back(std::move(key));
        values.push_back(std::move(value));
    }
    if (size >= 0 && static_cast<int64_t>(keys.size()) < size)
        return invalidArgument("Invalid vocab_size in " + std::string(names[0]) + ": expected " + std::to_string(size) + " but got " +
                               std::to_string(keys.size()));
    return initialise(args, *table, keys, values);
}

Status runFind(const KernelArgs& args)
{
    LS_TRY(HashTable* const table, tableOf(args, args.in(1).dtype, args.out(0).dtype));
    if (!table->initialised) return tfError(TfCode::failedPrecondition, "Table not initialized.");
    LS_TRY(const auto keys, elementsOf(args.in(1)));
    LS_TRY(const auto otherwise, elementsOf(args.in(2)));
    if (otherwise.size() != 1) return invalidArgument("Expected shape [] for default value, got " + toString(args.in(2).shape));
    std::vector<std::string_view> found;
    for (const std::string_view key : keys) {
        const auto entry = table->entries.find(std::string(key));
        found.push_back(entry == table->entries.end() ? otherwise[0] : std::string_view(entry->second));
    }
    tell(args, *table, AccessKind::read, nullptr);
    return give(args, 0, args.in(1).shape, found);
}

Status runSize(const KernelArgs& args)
{
    LS_TRY(HashTable* const table, tableOf(args, DType::unknown, DType::unknown));
    LS_CHECK_OK(tfAllocate(args, 0, Shape()));
    *args.out(0).as<int64_t>() = static_cast<int64_t>(table->entries.size());
    return {};
}

/// Keys and values, by the bytes of the keys.
Status runExport(const KernelArgs& args)
{
    LS_TRY(HashTable* const table, tableOf(args, args.out(0).dtype, args.out(1).dtype));
    std::vector<std::string_view> keys, values;
    for (const auto& [key, value] : table->entries) {
        keys.push_back(key);
        values.push_back(value);
    }
    const Shape shape({static_cast<int64_t>(keys.size())});
    LS_CHECK_OK(give(args, 0, shape, keys));
    return give(args, 1, shape, values);
}

/// Import replaces what is in the table, Insert adds to it.
template <bool replaces> Status runInsert(const KernelArgs& args)
{
    LS_TRY(HashTable* const table, tableOf(args, args.in(1).dtype, args.in(2).dtype));
    LS_TRY(const auto keys, elementsOf(args.in(1)));
    LS_TRY(const auto values, elementsOf(args.in(2)));
    if (keys.size() != values.size())
        return invalidArgument("Expected shape " + toString(args.in(1).shape) + " for value, got " + toString(args.in(2).shape));
    if (replaces) {
        table->entries.clear();
        table->initialised = true;
    }
    for (size_t i = 0; i < keys.size(); ++i) table->entries.insert_or_assign(std::string(keys[i]), std::string(values[i]));
    tell(args, *table, AccessKind::write, nullptr);
    return {};
}

Status runRemove(const KernelArgs& args)
{
    LS_TRY(HashTable* const table, tableOf(args, args.in(1).dtype, DType::unknown));
    LS_TRY(const auto keys, elementsOf(args.in(1)));
    for (const std::string_view key : keys) table->entries.erase(std::string(key));
    tell(args, *table, AccessKind::write, nullptr);
    return {};
}

constexpr std::string_view kElements = "numbers bool str";

} // namespace

LS_TF_KERNEL(HashTableV2, runTable<TableKind::initialised>, kElements)
LS_TF_KERNEL(HashTable, runTable<TableKind::initialised>, kElements)
LS_TF_KERNEL(MutableHashTableV2, runTable<TableKind::mutableOne>, kElements)
LS_TF_KERNEL(MutableHashTable, runTable<TableKind::mutableOne>, kElements)
LS_TF_KERNEL(MutableDenseHashTableV2, runTable<TableKind::mutableOne>, kElements)
LS_TF_KERNEL(AnonymousHashTable, runTable<TableKind::anonymous>, kElements)
LS_TF_KERNEL(AnonymousMutableHashTable, runTable<TableKind::anonymousMutable>, kElements)
LS_TF_KERNEL(AnonymousMutableDenseHashTable, runTable<TableKind::anonymousMutable>, kElements)
LS_TF_KERNEL(InitializeTableV2, runInitialize, kElements)
LS_TF_KERNEL(InitializeTable, runInitialize, kElements)
LS_TF_KERNEL(LookupTableFind, runFind, kElements)
LS_TF_KERNEL(LookupTableSize, runSize, kElements)
LS_TF_KERNEL(LookupTableInsert, runInsert<false>, kElements)
LS_DEFINE_KERNELS(tf, InitializeTableFromTextFileV2)
{
    registry.add(
        {"tf", "InitializeTableFromTextFileV2", Profile::reference, prepareTfFile<runInitializeFromTextFile>, "i32 i64 f32 f64 str"});
}
LS_TF_KERNEL(LookupTableFindV2, runFind, kElements)
LS_TF_KERNEL(LookupTableSizeV2, runSize, kElements)
LS_TF_KERNEL(LookupTableExportV2, runExport, kElements)
LS_TF_KERNEL(LookupTableImportV2, runInsert<true>, kElements)
LS_TF_KERNEL(LookupTableInsertV2, runInsert<false>, kElements)
LS_TF_KERNEL(LookupTableRemoveV2, runRemove, kElements)
