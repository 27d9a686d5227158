#include "viewer/tensor/held_values.h"

#include "engine/api/machine.h"
#include "engine/base/text.h"
#include "engine/tensor/strings.h"
#include "engine/tensor/value_text.h"
#include "engine/tensor/variants.h"

#include <cstring>
#include <functional>

namespace loopscope::viewer {

namespace {

std::string plural(int64_t count, const std::string& noun) { return groupThousands(count) + " " + noun + (count == 1 ? "" : "s"); }

/// Collects rows; items beyond what a table shows are counted only.
class Holder {
public:
    explicit Holder(int64_t item) : m_item(item)
    {
        m_held.grid.columnNames = {"type", "elements"};
        m_held.grid.allCols = m_held.grid.cols = 2;
    }

    void addRow(const std::string& name, const std::string& type, const std::string& elements)
    {
        Grid& grid = m_held.grid;
        ++grid.allRows;
        if (grid.allRows > kMostCells / 2) return;
        grid.rows = grid.allRows;
        grid.rowNames.push_back(name);
        grid.rowFlat.push_back(grid.rows - 1);
        grid.texts.insert(grid.texts.end(), {type, elements});
        Cell known;
        known.known = true;
        grid.cells.insert(grid.cells.end(), 2, known);
    }
    /// `view`: null: the place is empty.
    void add(const std::string& name, const Tensor* view)
    {
        if (view == nullptr) return addRow(name, "", "not set");
        if (m_held.grid.allRows == m_item) m_held.opened = copyOf(*view);
        addRow(name, shortType(*view), firstElements(*view, 6).text);
    }
    void add(const std::string& name, const StoredTensor& stored)
    {
        if (!stored.isSet()) return add(name, nullptr);
        const bool isOpened = m_held.grid.allRows == m_item;
        m_onDisk += stored.bytes.isOnDisk() ? 1 : 0;
        if (stored.bytes.isOnDisk() && !isOpened) return addRow(name, shortType(TensorType(stored.dtype, stored.shape)), "on disk");
        const StoredTensor looked = stored; // its bytes need not stay in memory
        const Tensor view = looked.view();
        add(name, &view);
    }
    HeldValues take(std::string summary)
    {
        m_held.summary = std::move(summary);
        if (m_onDisk > 0) m_held.summary += ", " + groupThousands(m_onDisk) + " of them on disk";
        m_held.grid.shape = Shape{m_held.grid.allRows};
        return std::move(m_held);
    }

private:
    int64_t m_item, m_onDisk = 0;
    HeldValues m_held;
};

std::string place(size_t index) { return "[" + std::to_string(index) + "]"; }

HeldValues ofResource(const MachineState& state, int32_t handle, int64_t item)
{
    Holder holder(item);
    const ResourceStore& store = state.resources;
    if (const auto found = store.variables().find(handle); found != store.variables().end()) {
        const Variable& variable = found->second;
        Tensor view;
        view.data =
            const_cast<std::byte*>(variable.bytes.data()); // NOLINT(cppcoreguidelines-pro-type-const-cast): Tensor has no const form
        view.bytes = variable.bytes.size();
        view.dtype = variable.dtype;
        view.shape = variable.shape;
        holder.add("value", variable.assigned ? &view : nullptr);
        return holder.take("variable " + variable.name);
    }
    if (const auto found = store.tables().find(handle); found != store.tables().end()) {
        const HashTable& table = found->second;
        const auto text = [](const std::string& bytes, DType dtype) {
            if (dtype == DType::string) return quotedText(bytes);
            Array one{dtype, Shape{}, std::vector<std::byte>(bytes.size())};
            std::memcpy(one.bytes.data(), bytes.data(), bytes.size());
            return elementText(one.view(), 0);
        };
        for (const auto& [key, value] : table.entries)
            holder.addRow(text(key, table.keyType), std::string(dtypeName(table.valueType)), text(value, table.valueType));
        return holder.take("table " + table.name + ": " + groupThousands(static_cast<int64_t>(table.entries.size())) +
                           (table.entries.size() == 1 ? " entry" : " entries"));
    }
    ResourceStore objects = store; // looking an object up is not const
    if (const TensorArray* const array = objects.objects().array(handle)) {
        for (size_t i = 0; i < array->elements.size(); ++i) holder.add(place(i), array->elements[i].value);
        return holder.take("tensor array " + array->name + ": " + plural(static_cast<int64_t>(array->elements.size()), "tensor"));
    }
    if (const TensorStack* const stack = objects.objects().stack(handle)) {
        for (size_t i = 0; i < stack->elements.size(); ++i) holder.add(place(i), stack->elements.at(i));
        return holder.take("stack " + stack->name + ": " + plural(static_cast<int64_t>(stack->elements.size()), "tensor"));
    }
    return holder.take("resource " + std::to_string(handle) + ", not created yet");
}

std::string kindOf(const VariantValue& value)
{
    switch (value.kind) {
    case VariantKind::list:
        return "tensor list of " + std::string(dtypeName(value.elementType)) +
               (value.elementShape.hasRank() ? toString(value.elementShape) : "");
    case VariantKind::optional: return "optional";
    case VariantKind::ragged: return "ragged tensor";
    case VariantKind::tensors: return "tensors";
    default: return "empty variant";
    }
}

HeldValues ofVariant(const Tensor& tensor, int64_t item)
{
    Holder holder(item);
    const auto elements = unpackStrings(tensor.view());
    if (!elements.ok()) return holder.take("variant of another kind");
    for (size_t i = 0; i < elements->size(); ++i) {
        const Result<VariantValue> value = decodeVariant((*elements)[i]);
        const std::string kind = value.ok() ? kindOf(*value) : "variant of another kind";
        const auto count = value.ok() ? static_cast<int64_t>(value->tensors.size()) : 0;
        if (elements->size() > 1) { // a row for each variant
            holder.addRow(place(i), kind, plural(count, "tensor"));
            continue;
        }
        for (size_t k = 0; value.ok() && k < value->tensors.size(); ++k) {
            const VariantTensor held = value->tensors[k]; // its bytes need not stay in memory
            if (held.element) {
                holder.add(place(k), StoredTensor{held.dtype, held.shape, held.element->bytes, -1});
                continue;
            }
            const Tensor view = held.isSet() ? held.view() : Tensor();
            holder.add(place(k), held.isSet() ? &view : nullptr);
        }
        return holder.take(kind + ": " + plural(count, "tensor"));
    }
    return holder.take(plural(static_cast<int64_t>(elements->size()), "variant"));
}

} // namespace

HeldValues heldBy(const Inspector& inspector, const Tensor& tensor, int64_t item)
{
    if (tensor.dtype == DType::variant) return ofVariant(tensor, item);
    int32_t handle = -1;
    if (tensor.bytes >= sizeof handle) std::memcpy(&handle, tensor.data, sizeof handle);
    return ofResource(inspector.state(), handle, item);
}

} // namespace loopscope::viewer
