// The library says which function is the gradient of which `_gradient_op_type`, the graph of objects what the function's last arguments
// are and which of its results are None: as tensorflow/python/saved_model/function_deserialization.py reads them.
#include "converters/savedmodel/registered_gradients.h"

#include "converters/graphdef/messages.h"

#include "graph.pb.h"
#include "object_graph.pb.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace loopscope::savedmodel {

namespace {

/// Values that are the same object, as pairs of a graph and a value.
using Places = AttributeItems;

void addPlace(Places& places, const std::string& graph, std::string value)
{
    places.emplace_back(graph);
    places.emplace_back(std::move(value));
}

/// A tensor "node:0" goes by the name of its node.
std::string valueId(const std::string& tensor) { return tensor.ends_with(":0") ? tensor.substr(0, tensor.size() - 2) : tensor; }

/// Where each object that a function binds to an argument can be had: the argument of each function that does.
std::map<int32_t, Places> boundArguments(const Model& model, const tfpb::SavedObjectGraph& saved)
{
    std::map<int32_t, Places> places;
    for (const Graph& graph : model.graphs) {
        const auto function = saved.concrete_functions().find(graph.id);
        if (function == saved.concrete_functions().end()) continue;
        const auto& objects = function->second.bound_inputs();
        const auto count = static_cast<size_t>(objects.size());
        if (count > graph.inputs.size()) continue;
        for (size_t i = 0; i < count; ++i)
            addPlace(places[objects.Get(static_cast<int>(i))], graph.id, graph.value(graph.inputs[graph.inputs.size() - count + i]).id);
    }
    return places;
}

/// What stands for an object: the tensor of a function that it was, a constant of the model's main graph, else the arguments that are it.
Places placesOf(const Model& model, const tfpb::SavedObjectGraph& saved, const std::map<int32_t, Places>& arguments, int32_t object)
{
    Places places;
    if (object < 0 || object >= saved.nodes_size()) return places;
    const tfpb::SavedObject& node = saved.nodes(object);
    if (node.has_captured_tensor()) addPlace(places, node.captured_tensor().concrete_function(), valueId(node.captured_tensor().name()));
    if (const auto bound = arguments.find(object); bound != arguments.end())
        places.insert(places.end(), bound->second.begin(), bound->second.end());
    if (node.has_constant()) addPlace(places, model.graphs.front().id, valueId(node.constant().operation()));
    return places;
}

/// For each operand the number of its gradient among the function's outputs, −1 for a None.
AttributeItems resultNumbers(const tfpb::StructuredValue& signature, size_t outputs)
{
    AttributeItems numbers;
    int64_t next = 0;
    const auto& values = signature.has_tuple_value() ? signature.tuple_value().values() : signature.list_value().values();
    for (const tfpb::StructuredValue& value : values) numbers.emplace_back(value.has_none_value() ? int64_t{-1} : next++);
    if (numbers.empty())
        while (std::cmp_less(next, outputs)) numbers.emplace_back(next++);
    return numbers;
}

} // namespace

Status nameRegisteredGradients(Model& model, std::span<const std::byte> metaGraph)
{
    const Attribute* const kept = findAttribute(model.attributes, "@library");
    if (kept == nullptr || kept->as<HexBytes>() == nullptr || model.graphs.empty()) return {};
    tfpb::FunctionDefLibrary library;
    LS_CHECK_OK(graphdef::parseBinary(library, std::as_bytes(std::span(kept->as<HexBytes>()->bytes))));
    if (library.registered_gradients().empty()) return {};
    tfpb::MetaGraphObjects message;
    LS_CHECK_OK(graphdef::parseBinary(message, metaGraph));
    const tfpb::SavedObjectGraph& saved = message.object_graph_def();
    const std::map<int32_t, Places> arguments = boundArguments(model, saved);
    for (const tfpb::RegisteredGradient& gradient : library.registered_gradients()) {
        const GraphId id = model.findGraph(gradient.gradient_func());
        if (!id.valid()) continue;
        AttributeItems captured, results;
        if (const auto function = saved.concrete_functions().find(gradient.gradient_func()); function != saved.concrete_functions().end()) {
            for (const int32_t object : function->second.bound_inputs()) captured.emplace_back(placesOf(model, saved, arguments, object));
            results = resultNumbers(function->second.output_signature(), model.graph(id).outputs.size());
        }
        AttributeList& attributes = model.graph(id).attributes;
        setAttribute(attributes, "@gradient_of", gradient.registered_op_type());
        setAttribute(attributes, "@gradient_captures", std::move(captured));
        setAttribute(attributes, "@gradient_results", std::move(results));
    }
    return {};
}

} // namespace loopscope::savedmodel
