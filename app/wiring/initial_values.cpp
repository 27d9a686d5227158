#include "app/wiring/initial_values.h"

#include "app/wiring/session.h"
#include "engine/exec/executor.h"
#include "engine/kernels/resources.h"
#include "engine/tensor/strings.h"

#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace loopscope::app {

namespace {

/// As kernels name variables and tables.
std::string resourceName(const Operator& op)
{
    std::string name(attributeString(op.attributes, "shared_name", ""));
    if (name.empty()) name = op.name;
    const std::string_view container = attributeString(op.attributes, "container", "");
    return container.empty() ? name : std::string(container) + "/" + name;
}

Attribute columnOf(DType dtype, const HashTable& table, bool isKeys)
{
    std::vector<std::string> elements;
    for (const auto& [key, value] : table.entries) elements.push_back(isKeys ? key : value);
    std::vector<std::byte> bytes;
    if (dtype == DType::string) bytes = packStrings(elements);
    else
        for (const std::string& element : elements)
            bytes.insert(bytes.end(), reinterpret_cast<const std::byte*>(element.data()),
                         reinterpret_cast<const std::byte*>(element.data()) + element.size());
    return TensorAttribute{TensorType(dtype, Shape{static_cast<int64_t>(elements.size())}),
                           std::make_shared<Constant>(Bytes::copyOf(bytes))};
}

void tellValues(Model& model, const ResourceStore& store)
{
    std::map<std::string, const Variable*> variables;
    std::map<std::string, const HashTable*> tables;
    for (const auto& [handle, variable] : store.variables())
        if (variable.assigned) variables[variable.name] = &variable;
    for (const auto& [handle, table] : store.tables())
        if (table.initialised) tables[table.name] = &table;
    for (Graph& graph : model.graphs)
        for (Operator& op : graph.operators) {
            const std::string& kind = op.kind.name;
            if (kind == "VarHandleOp" || kind == "VariableV2" || kind == "Variable") {
                const auto found = variables.find(resourceName(op));
                if (found == variables.end()) continue;
                const Variable& variable = *found->second;
                setAttribute(
                    op.attributes, "@value",
                    TensorAttribute{TensorType(variable.dtype, variable.shape), std::make_shared<Constant>(Bytes::copyOf(variable.bytes))});
            } else if (kind == "HashTableV2" || kind == "MutableHashTableV2") {
                const auto found = tables.find(resourceName(op));
                if (found == tables.end()) continue;
                setAttribute(op.attributes, "@keys", columnOf(found->second->keyType, *found->second, true));
                setAttribute(op.attributes, "@values", columnOf(found->second->valueType, *found->second, false));
            }
        }
}

} // namespace

Status takeInitialValues(Model& model, GraphId root)
{
    std::istringstream names(std::string(attributeString(model.attributes, "init_op", "")));
    RunSelection selection; // whatever is run, these nodes are run before
    if (!(names >> selection.targets.emplace_back())) return {};
    ModelSession session(model, ExecutionOptions());
    RunTarget target;
    LS_TRY(Executor* const executor, session.enter(root, selection, target));
    const MachineState state = executor->snapshot();
    tellValues(model, state.resources);
    std::erase_if(model.attributes, [](const NamedAttribute& attribute) { return attribute.key == "init_op"; });
    return {};
}

} // namespace loopscope::app
