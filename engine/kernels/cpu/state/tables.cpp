// Kernels of hash tables. Entries are kept as the bytes of key and value, so that one code serves i64 and strings.
#include "engine/kernels/cpu/movement.h"
#include "engine/kernels/registry.h"
#include "engine/kernels/resources.h"
#include "engine/ops/movement.h"

#include <algorithm>
#include <new>

using namespace loopscope;

namespace {

struct TableParams {
    std::string name;
    DType keyType = DType::unknown, valueType = DType::unknown;
};

void tell(const KernelArgs& args, const std::string& name, AccessKind kind, const Tensor* value)
{
    if (ResourceListener* listener = args.runtime->resources().listener) listener->accessed(name, kind, value);
}

Status runTable(const KernelArgs& args)
{
    const auto& params = args.paramsAs<TableParams>();
    ResourceStore& store = args.runtime->resources();
    const int32_t handle = store.handle(params.name);
    HashTable& table = *store.table(handle);
    if (table.keyType == DType::unknown) {
        table.keyType = params.keyType;
        table.valueType = params.valueType;
        tell(args, params.name, AccessKind::create, nullptr);
    }
    *args.out(0).as<int32_t>() = handle;
    return {};
}

/// The table of operand 0, made by `hashtable`, with keys like `keys` and values like `values`.
Result<HashTable*> tableOf(const KernelArgs& args, const Tensor* keys, const Tensor* values)
{
    ResourceStore& store = args.runtime->resources();
    const int32_t handle = *args.in(0).as<int32_t>();
    // table() would make one for the handle of a variable.
    const auto found = store.tables().find(handle);
    HashTable* table = found == store.tables().end() ? nullptr : store.table(handle);
    if (!table || table->keyType == DType::unknown)
        return kernelError(1, "handle").found(std::to_string(handle)).expected("one that hashtable gave out");
    if (keys && (keys->dtype != table->keyType || values->dtype != table->valueType))
        return kernelError(3, "dtypes of keys and values of '" + table->name + "'")
            .found(std::string(dtypeName(keys->dtype)) + " and " + std::string(dtypeName(values->dtype)))
            .expected(std::string(dtypeName(table->keyType)) + " and " + std::string(dtypeName(table->valueType)));
    return table;
}

/// Each element as bytes.
Result<std::vector<std::string_view>> elementsOf(const Tensor& tensor)
{
    if (tensor.dtype == DType::string) return readStrings(tensor);
    std::vector<std::string_view> out;
    const auto size = static_cast<size_t>(elementBytes(tensor));
    const auto count = static_cast<size_t>(tensor.elementCount());
    for (size_t i = 0; i < count; ++i) out.emplace_back(reinterpret_cast<const char*>(tensor.data) + i * size, size);
    return out;
}

Status runImport(const KernelArgs& args)
{
    LS_TRY(HashTable* const table, tableOf(args, &args.in(1), &args.in(2)));
    if (table->initialised) return {}; // converters leave the initialiser in the graph, so that it runs every time
    LS_TRY(const auto keys, elementsOf(args.in(1)));
    LS_TRY(const auto values, elementsOf(args.in(2)));
    if (keys.size() != values.size())
        return kernelError(2, "number of values").found(std::to_string(values.size())).expected(std::to_string(keys.size()));
    for (size_t i = 0; i < keys.size(); ++i) table->entries.emplace(keys[i], values[i]); // of equal keys the first counts
    table->initialised = true;
    tell(args, table->name, AccessKind::write, &args.in(2));
    return {};
}

Status runFind(const KernelArgs& args)
{
    Tensor& out = args.out(0);
    LS_TRY(HashTable* const table, tableOf(args, &args.in(1), &args.in(2)));
    if (!table->initialised) return kernelError(4, "table '" + table->name + "' is searched before it was filled");
    LS_TRY(const auto keys, elementsOf(args.in(1)));
    LS_TRY(const auto otherwise, elementsOf(args.in(2)));
    if (otherwise.empty()) return kernelError(2, "elements of the default value").found("0").expected("1");
    std::vector<std::string_view> found;
    for (const std::string_view key : keys) {
        const auto entry = table->entries.find(std::string(key));
        found.push_back(entry == table->entries.end() ? otherwise.front() : std::string_view(entry->second));
    }
    if (out.dtype == DType::string) {
        const Shape shape = out.shape;
        LS_CHECK_OK(writeStrings(*args.runtime, out, shape, found));
    } else {
        std::byte* at = out.data;
        for (const std::string_view value : found) at = std::copy_n(reinterpret_cast<const std::byte*>(value.data()), value.size(), at);
    }
    tell(args, table->name, AccessKind::read, &out);
    return {};
}

Status runSize(const KernelArgs& args)
{
    LS_TRY(const HashTable* const table, tableOf(args, nullptr, nullptr));
    *args.out(0).as<int64_t>() = static_cast<int64_t>(table->entries.size());
    return {};
}

template <Status (*run)(const KernelArgs&)> Status guarded(const KernelArgs& args)
{
    try {
        return run(args);
    } catch (const std::bad_alloc&) {
        return Error(ErrorCode::execution, "out of memory for a table");
    }
}

} // namespace

LS_DEFINE_KERNELS(tfl, hashtable)
{
    registry.add({"tfl", "hashtable", Profile::reference,
                  [](const KernelSetup& setup) -> Result<PreparedKernel> {
                      const auto dtypeOf = [&](std::string_view key) { return attributeDType(setup.attributes(), key, DType::unknown); };
                      return PreparedKernel{runTable, std::make_shared<TableParams>(TableParams{
                                                          "table" + std::to_string(attributeInt(setup.attributes(), "table_id", 0)),
                                                          dtypeOf("key_dtype"), dtypeOf("value_dtype")})};
                  },
                  "i64 str"});
}

LS_DEFINE_KERNELS(tfl, hashtable_import)
{
    registry.add({"tfl", "hashtable_import", Profile::reference,
                  [](const KernelSetup&) -> Result<PreparedKernel> {
                      return PreparedKernel{guarded<runImport>, nullptr};
                  },
                  "i64 str"});
}

LS_DEFINE_KERNELS(tfl, hashtable_find)
{
    registry.add({"tfl", "hashtable_find", Profile::reference,
                  [](const KernelSetup&) -> Result<PreparedKernel> {
                      return PreparedKernel{guarded<runFind>, nullptr};
                  },
                  "i64 str"});
}

LS_DEFINE_KERNELS(tfl, hashtable_size)
{
    registry.add({"tfl", "hashtable_size", Profile::reference,
                  [](const KernelSetup&) -> Result<PreparedKernel> {
                      return PreparedKernel{runSize, nullptr};
                  },
                  "i64 str"});
}
