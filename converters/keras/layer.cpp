#include "converters/keras/layer.h"

#include <algorithm>

namespace loopscope::keras {

namespace {

std::string variablePath(const LayerCall& l, int64_t k, std::string_view part)
{
    const std::string behind = std::string(part) + "/vars/" + std::to_string(k);
    if (part.empty()) return l.path + behind;
    // Parts of a layer have names of its own kind in Keras 2: "_query_dense".
    const std::string plain = l.path + "/" + behind, hidden = l.path + "/_" + behind;
    return l.state.weights && !l.state.weights->find(plain) && l.state.weights->find(hidden) ? hidden : plain;
}

} // namespace

ValueId LayerCall::in(size_t k)
{
    const std::vector<ValueId> list = tensors();
    if (k < list.size()) return list[k];
    refuse("it is called with " + std::to_string(list.size()) + " tensors, where it takes " + std::to_string(k + 1));
    return {};
}

std::vector<ValueId> LayerCall::tensors() const
{
    std::vector<ValueId> list;
    for (const Argument& a : arguments)
        if (a.value.valid()) list.push_back(a.value);
    return list;
}

std::vector<ValueId> LayerCall::namedTensors(std::string_view key) const
{
    std::vector<ValueId> list;
    for (const auto& [name_, values] : named)
        if (name_ == key)
            for (const Argument& a : values)
                if (a.value.valid()) list.push_back(a.value);
    return list;
}

ValueId LayerCall::mask()
{
    if (const std::vector<ValueId> given = namedTensors("mask"); !given.empty()) return given.front();
    const std::vector<ValueId> list = tensors();
    const std::optional<ValueId> found = list.empty() ? std::nullopt : b.maskOf(list.front());
    if (found && !found->valid()) refuse("a mask reaches it through layers that may change it");
    return found.value_or(ValueId());
}

const Json& LayerCall::literal(size_t k, std::string_view key) const
{
    static const Json kNone;
    for (const auto& [name_, values] : named)
        if (name_ == key && values.size() == 1 && values.front().literal != nullptr) return *values.front().literal;
    return k < arguments.size() && arguments[k].literal != nullptr ? *arguments[k].literal : kNone;
}

std::optional<TensorAttribute> LayerCall::stored(int64_t k, std::string_view part)
{
    if (b.failed()) return std::nullopt;
    if (!state.weights) {
        refuse("the archive holds no weights");
        return std::nullopt;
    }
    Result<TensorAttribute> value = state.weights->read(variablePath(*this, k, part));
    if (value.ok()) return std::move(value).value();
    b.fail(std::move(value).takeError().at("model.weights.h5"));
    return std::nullopt;
}

ValueId LayerCall::weight(int64_t k, std::string_view called, std::string_view part)
{
    return weightAs(Shape::unknownRank(), k, called, part);
}

ValueId LayerCall::weightAs(const Shape& shape, int64_t k, std::string_view called, std::string_view part)
{
    const std::string key = variablePath(*this, k, part) + toString(shape);
    ValueId value = b.known(key);
    if (!value.valid()) {
        std::optional<TensorAttribute> tensor = stored(k, part);
        if (!tensor) return {};
        if (shape.hasRank()) {
            if (!shape.isStatic() || checkedElementCount(shape) != checkedElementCount(tensor->type.shape)) {
                refuse("its " + std::string(called) + " has shape " + toString(tensor->type.shape) + ", where it takes " + toString(shape));
                return {};
            }
            tensor->type.shape = shape;
        }
        value = b.constant(name + (part.empty() ? "/" : "/" + std::string(part) + "/") + std::string(called), std::move(*tensor));
        b.remember(key, value);
    }
    return isFloat(b.dtype(value)) ? b.cast(value, compute) : value;
}

void LayerCall::refuse(std::string why) { b.fail(Error(ErrorCode::unsupported, std::move(why))); }

std::vector<int64_t> LayerCall::perAxis(std::string_view key, int rank, int64_t otherwise) const
{
    const Json& value = config[key];
    std::vector<int64_t> list(static_cast<size_t>(rank), value.integer(otherwise));
    const Json::Array& items = value.items();
    for (size_t i = 0; i < list.size() && i < items.size(); ++i) list[i] = items[i].integer(otherwise);
    for (int64_t& number : list) number = std::clamp<int64_t>(number, INT32_MIN, INT32_MAX);
    return list;
}

bool LayerCall::channelsLast()
{
    if (config["data_format"].text("channels_last") == "channels_last") return true;
    refuse("its data_format is " + config["data_format"].text());
    return false;
}

ValueId extentOf(LayerCall& l, ValueId x, int axis)
{
    const Extent extent = l.b.same(x, axis);
    return extent.of.valid() ? l.b.op("Squeeze", {l.b.sizes({extent})}) : l.b.integer(extent.number);
}

LayerRule findRule(std::string_view name)
{
    for (const std::span<const NamedRule> table :
         {coreLayers(), convolutionLayers(), poolingLayers(), imageLayers(), normalizationLayers(), mergingLayers(), recurrentLayers(),
          attentionLayers(), activationLayers(), wrapperLayers(), operations(), arrayOperations(), orderOperations()})
        for (const NamedRule& rule : table)
            if (rule.name == name) return rule.rule;
    return nullptr;
}

DType dtypeOfText(std::string_view name)
{
    if (name == "float32") return DType::f32;
    if (name == "float16") return DType::f16;
    if (name == "bfloat16") return DType::bf16;
    if (name == "float64") return DType::f64;
    if (name == "int64") return DType::i64;
    if (name == "int32") return DType::i32;
    if (name == "int16") return DType::i16;
    if (name == "int8") return DType::i8;
    if (name == "uint8") return DType::u8;
    if (name == "bool") return DType::boolean;
    if (name == "string") return DType::string;
    return DType::unknown;
}

bool isKerasOwn(const Json& layer)
{
    const std::string module = layer["module"].text();
    // "Custom>Dense" is what somebody registered under that name.
    return (module.empty() || module == "keras" || module.starts_with("keras.")) &&
           layer["registered_name"].text().find('>') == std::string::npos;
}

std::string ruleName(const Json& layer)
{
    const std::string module = layer["module"].text();
    const bool isOperation = module.starts_with("keras.src.ops") || module.starts_with("keras.ops");
    return (isKerasOwn(layer) ? isOperation ? "ops." : "" : "own ") + layer["class_name"].text();
}

} // namespace loopscope::keras
