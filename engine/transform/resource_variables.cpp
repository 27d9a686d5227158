// References become handles in two steps: first what makes references or hands them on, then who reads values through them.
#include "engine/transform/resource_variables.h"

#include "engine/ir/frames.h"
#include "engine/ops/catalog.h"
#include "engine/ops/tf_registry.h"
#include "engine/transform/graph_editor.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>

namespace loopscope {

namespace {

/// An operator that changes a variable or looks at it, as it is called where it takes a handle.
struct Form {
    const TfOpSignature* resource;
    std::string typeName; ///< the attribute that names the variable's dtype, which is T in the first form; empty: none does
};

constexpr std::array<std::string_view, 6> kFlow = {"RefEnter", "RefExit", "RefSwitch", "RefMerge", "RefNextIteration", "RefIdentity"};

/// Most are called so with "Resource" before their name.
std::optional<Form> formOf(const Operator& op)
{
    const TfOpSignature* const first = findTfOp(op.kind.name);
    if (!first || first->inputs.empty() || !first->inputs[0].isReference) return std::nullopt;
    constexpr auto kOwnNames = std::to_array<std::pair<std::string_view, std::string_view>>({
        {"Assign", "AssignVariableOp"},
        {"AssignAdd", "AssignAddVariableOp"},
        {"AssignSub", "AssignSubVariableOp"},
        {"IsVariableInitialized", "VarIsInitializedOp"},
    });
    const auto own = std::ranges::find(kOwnNames, op.kind.name, &std::pair<std::string_view, std::string_view>::first);
    const std::string name = own == kOwnNames.end() ? "Resource" + op.kind.name : std::string(own->second);
    const TfOpSignature* const signature = findTfOp(name);
    if (!signature || !findOp({"tf", name})) return std::nullopt;
    for (const char* const type : {"dtype", "T"})
        if (const TfAttributeDef* const attribute = signature->findAttribute(type); attribute && attribute->kind == "type")
            return Form{signature, type};
    return Form{signature, ""};
}

bool isVariable(const Operator& op) { return op.kind.name == "VariableV2" || op.kind.name == "Variable"; }
bool isFlow(const Operator& op) { return std::ranges::find(kFlow, op.kind.name) != kFlow.end(); }

/// Which operands or results of a node are references.
std::vector<bool> references(const Operator& op, bool ofResults)
{
    std::vector<bool> found(ofResults ? op.results.size() : op.inputs.size(), false);
    const TfOpSignature* const signature = op.kind.dialect == "tf" ? findTfOp(op.kind.name) : nullptr;
    if (!signature) return found;
    const auto types = tfSlotTypes(*signature, ofResults ? signature->outputs : signature->inputs, op.attributes);
    for (size_t k = 0; types && k < std::min(found.size(), types->size()); ++k) found[k] = (*types)[k].isReference;
    return found;
}

TensorType handleOf(const TensorType& variable)
{
    TensorType held = variable;
    held.isReference = false;
    TensorType handle(DType::resource, Shape{});
    handle.elementTypes = {std::move(held)};
    return handle;
}

class References {
public:
    References(GraphEditor& editor, std::span<const std::string> asked) : m_editor(editor), m_ids(editor.order())
    {
        for (const std::string& name : asked) m_asked.insert(name.substr(0, name.find(':')));
    }

    /// What references go to that has no form with handles.
    std::vector<std::pair<std::string, std::string>> obstacles() const
    {
        std::vector<std::pair<std::string, std::string>> found;
        for (const OperatorId id : m_ids) {
            const Operator& op = m_editor.op(id);
            const bool touches =
                std::ranges::any_of(references(op, false), std::identity()) || std::ranges::any_of(references(op, true), std::identity());
            if (touches && !isVariable(op) && !isFlow(op) && !formOf(op))
                found.emplace_back(op.name, op.kind.name + " takes or gives a reference, and has no form that takes a handle");
        }
        addRaces(found);
        return found;
    }

    void rewrite(ResourceVariables& result)
    {
        for (const OperatorId id : m_ids)
            for (size_t k = 0; k < m_editor.op(id).results.size(); ++k)
                if (references(m_editor.op(id), true)[k]) note(m_editor.op(id).results[k]);
        for (const OperatorId id : m_ids) readThrough(id);
        for (const OperatorId id : m_ids) {
            const Operator& op = m_editor.op(id);
            if (isVariable(op)) {
                result.variables.push_back(op.name);
                makeHandle(id);
            } else if (isFlow(op)) {
                handOn(id);
            } else if (const std::optional<Form> form = formOf(op)) {
                change(id, *form);
            }
        }
        readOutputs();
    }

private:
    /// An Identity hands a reference on, and who reads it looks at the variable late; a handle is read at once. With a loop that writes the
    /// variable and nothing that orders the two, that makes a difference.
    void addRaces(std::vector<std::pair<std::string, std::string>>& found) const
    {
        const FrameAnalysis frames = analyzeFrames(m_editor.graph());
        if (frames.frames.size() < 2) return;
        std::vector<std::pair<OperatorId, OperatorId>> writes; // in loops: who, which variable
        for (const OperatorId id : m_ids)
            if (frames.frameOf[static_cast<size_t>(id.index)] != 0 && formOf(m_editor.op(id)) &&
                m_editor.op(id).kind.name != "IsVariableInitialized")
                if (const OperatorId variable = variableOf(m_editor.op(id).inputs[0]); variable.valid()) writes.emplace_back(id, variable);
        for (const OperatorId id : m_ids) {
            const Operator& op = m_editor.op(id);
            if (writes.empty() || op.kind != Kind{"tf", "Identity"} || frames.frameOf[static_cast<size_t>(id.index)] != 0) continue;
            const OperatorId variable = variableOf(op.inputs[0]);
            for (const auto& [write, written] : writes)
                if (variable.valid() && written == variable && !waitsFor(id, write) && !waitsFor(write, id)) {
                    found.emplace_back(op.name, "it reads '" + m_editor.op(variable).name + "', which '" + m_editor.op(write).name +
                                                    "' writes in a loop, and nothing orders the two");
                    break;
                }
        }
    }

    /// The variable that a reference leads to through Enters, Switches and the like; invalid: to none, or to one of several.
    OperatorId variableOf(ValueId reference) const
    {
        for (size_t steps = 0; reference.valid() && steps < m_ids.size(); ++steps) {
            const OperatorId producer = m_editor.value(reference).producer;
            if (!producer.valid()) return {};
            if (isVariable(m_editor.op(producer))) return producer;
            if (!isFlow(m_editor.op(producer)) && !formOf(m_editor.op(producer))) return {};
            reference = m_editor.op(producer).inputs[0];
        }
        return {};
    }

    bool waitsFor(OperatorId id, OperatorId other) const
    {
        std::unordered_set<OperatorId> seen = {id};
        std::vector<OperatorId> open = {id};
        while (!open.empty()) {
            const Operator& op = m_editor.op(open.back());
            open.pop_back();
            std::vector<OperatorId> before = op.controlInputs;
            for (const ValueId input : op.inputs)
                if (input.valid() && m_editor.value(input).producer.valid()) before.push_back(m_editor.value(input).producer);
            for (const OperatorId next : before) {
                if (next == other) return true;
                if (seen.insert(next).second) open.push_back(next);
            }
        }
        return false;
    }

    void note(ValueId value) { m_variables.emplace(value.index, m_editor.value(value).type); }
    bool isReference(ValueId value) const { return value.valid() && m_variables.contains(value.index); }
    DType dtypeOf(ValueId value) const { return m_variables.at(value.index).dtype; }

    OperatorDraft read(ValueId handle, std::string name) const
    {
        OperatorDraft draft;
        draft.kind = {"tf", "ReadVariableOp"};
        draft.name = std::move(name);
        draft.inputs = {handle};
        draft.attributes = {{"dtype", dtypeOf(handle)}};
        TensorType type = m_variables.at(handle.index);
        type.isReference = false;
        draft.results = {std::move(type)};
        return draft;
    }

    /// Operands that a node takes by value are read when all its others are there, as TensorFlow's executor does.
    void readThrough(OperatorId id)
    {
        const std::vector<bool> taken = references(m_editor.op(id), false);
        if (m_editor.op(id).kind == Kind{"tf", "Identity"} && isReference(m_editor.op(id).inputs[0])) {
            const DType dtype = dtypeOf(m_editor.op(id).inputs[0]);
            m_editor.setKind(id, {"tf", "ReadVariableOp"});
            m_editor.removeAttribute(id, "T");
            m_editor.setAttribute(id, "dtype", dtype);
            return;
        }
        for (size_t k = 0; k < m_editor.op(id).inputs.size(); ++k) {
            const Operator& op = m_editor.op(id);
            const ValueId value = op.inputs[k];
            if (taken[k] || !isReference(value)) continue;
            OperatorDraft draft = read(value, op.name + "/read");
            draft.controlInputs = op.controlInputs;
            for (const ValueId other : op.inputs) {
                const OperatorId producer = other.valid() ? m_editor.value(other).producer : OperatorId();
                const bool isOrdered = op.kind.name != "Merge" && producer.valid() && !isReference(other);
                if (isOrdered && m_editor.op(producer).kind.name != "Const") draft.controlInputs.push_back(producer);
            }
            const OperatorId made = m_editor.append(std::move(draft), id);
            m_editor.setInput(id, static_cast<int32_t>(k), m_editor.op(made).results[0]);
        }
    }

    bool isAsked(OperatorId id) const { return m_asked.contains(m_editor.op(id).name); }

    /// A node of this name gives the value from now on, to whoever asks for it by name.
    void becomeRead(OperatorId id, ValueId handle, OperatorId after)
    {
        const OperatorDraft draft = read(handle, "");
        m_editor.setKind(id, draft.kind);
        m_editor.setAttributes(id, draft.attributes);
        m_editor.setInputs(id, {handle});
        m_editor.setType(m_editor.op(id).results[0], draft.results[0]);
        if (after.valid()) m_editor.addControlInput(id, after);
    }

    void makeHandle(OperatorId id)
    {
        const Operator op = m_editor.op(id);
        const ValueId reference = op.results[0];
        const TensorType type = handleOf(m_editor.value(reference).type);
        AttributeList attributes;
        for (const auto& attribute : op.attributes)
            if (attribute.key != "shared_name") attributes.push_back(attribute);
        const std::string_view shared = attributeString(op.attributes, "shared_name", "");
        attributes.push_back({"allowed_devices", AttributeItems()});
        attributes.push_back({"shared_name", std::string(shared.empty() ? std::string_view(op.name) : shared)});
        if (!isAsked(id)) {
            m_editor.setKind(id, {"tf", "VarHandleOp"});
            m_editor.setAttributes(id, std::move(attributes));
            m_editor.setType(reference, type);
            return;
        }
        OperatorDraft draft;
        draft.kind = {"tf", "VarHandleOp"};
        draft.name = op.name + "/handle";
        draft.attributes = std::move(attributes);
        draft.results = {type};
        const ValueId handle = m_editor.op(m_editor.append(std::move(draft), id)).results[0];
        m_variables.emplace(handle.index, m_variables.at(reference.index));
        m_editor.replaceUses(reference, handle);
        becomeRead(id, handle, {});
    }

    void handOn(OperatorId id)
    {
        const Operator& op = m_editor.op(id);
        m_editor.setKind(id, {"tf", op.kind.name.substr(3)});
        m_editor.setAttribute(id, "T", DType::resource);
        for (const ValueId result : std::vector<ValueId>(m_editor.op(id).results))
            if (isReference(result)) m_editor.setType(result, handleOf(m_editor.value(result).type));
    }

    void change(OperatorId id, const Form& form)
    {
        const Operator op = m_editor.op(id);
        AttributeList attributes;
        for (const auto& attribute : op.attributes) {
            const bool isType = attribute.key == "T";
            if (isType && form.typeName.empty()) continue;
            if (attribute.key == "use_locking" && !form.resource->findAttribute("use_locking")) continue;
            attributes.push_back({isType ? form.typeName : attribute.key, attribute.value});
        }
        const bool gives = !op.results.empty() && isReference(op.results[0]);
        if (gives && isAsked(id)) {
            OperatorDraft draft;
            draft.kind = {"tf", form.resource->name};
            draft.name = op.name + "/resource";
            draft.attributes = std::move(attributes);
            draft.inputs = op.inputs;
            draft.controlInputs = op.controlInputs;
            const OperatorId made = m_editor.append(std::move(draft), id);
            handleAfter(op.results[0], op.inputs[0], made, id);
            becomeRead(id, op.inputs[0], made);
            return;
        }
        if (gives) handleAfter(op.results[0], op.inputs[0], id, id);
        m_editor.setKind(id, {"tf", form.resource->name});
        m_editor.setAttributes(id, std::move(attributes));
        if (gives) m_editor.setResults(id, {});
    }

    /// Who took the variable from what changed it takes it behind that.
    void handleAfter(ValueId reference, ValueId handle, OperatorId after, OperatorId source)
    {
        if (m_editor.uses(reference).empty()) return;
        OperatorDraft draft;
        draft.kind = {"tf", "Identity"};
        draft.name = m_editor.op(source).name + "/handle";
        draft.attributes = {{"T", DType::resource}};
        draft.inputs = {handle};
        draft.controlInputs = {after};
        draft.results = {handleOf(m_variables.at(reference.index))};
        const ValueId made = m_editor.op(m_editor.append(std::move(draft), source)).results[0];
        m_variables.emplace(made.index, m_variables.at(reference.index));
        m_editor.replaceUses(reference, made);
    }

    void readOutputs()
    {
        for (size_t k = 0; k < m_editor.graph().outputs.size(); ++k) {
            const ValueId value = m_editor.graph().outputs[k].value;
            if (!isReference(value) || m_editor.value(value).type.dtype != DType::resource) continue;
            const OperatorId made = m_editor.append(read(value, m_editor.graph().outputs[k].name + "/read"), Sources::none());
            m_editor.setOutput(static_cast<int32_t>(k), m_editor.op(made).results[0]);
        }
    }

    GraphEditor& m_editor;
    const std::vector<OperatorId> m_ids; ///< those that were there
    std::unordered_set<std::string> m_asked;
    std::unordered_map<int64_t, TensorType> m_variables; ///< values that are or were references: what they refer to
};

} // namespace

Result<ResourceVariables> useResourceVariables(Model& model, GraphId id, std::span<const std::string> asked)
{
    ResourceVariables result;
    if (std::ranges::none_of(model.graph(id).values, [](const Value& value) { return value.type.isReference; })) return result;
    GraphEditor editor(model, id);
    References references(editor, asked);
    result.without = references.obstacles();
    if (!result.without.empty()) return result;
    references.rewrite(result);
    if (!editor.isInOrder()) editor.sortTopologically();
    LS_CHECK_OK(editor.finish(GraphEditor::Values::dropUnused)); // the results of what gives none any more
    return result;
}

} // namespace loopscope
