#include "app/wiring/variant_parts.h"

#include "engine/tensor/strings.h"
#include "engine/tensor/variants.h"

namespace loopscope::app {

namespace {

constexpr int kDeepest = 64; ///< lists in lists: a recording may be a stranger's

std::string indexed(const std::string& name, size_t index) { return name + "[" + std::to_string(index) + "]"; }

Tensor nothingOf(DType dtype)
{
    Tensor tensor;
    const bool isPlain = dtype != DType::unknown && dtype != DType::variant && dtype != DType::resource && dtype != DType::string;
    tensor.dtype = isPlain ? dtype : DType::f32;
    tensor.shape = Shape{0};
    return tensor;
}

void addParts(const std::string& name, const Tensor& variant, int depth, std::vector<NamedTensor>& parts)
{
    const auto elements = unpackStrings(variant.view());
    if (!elements.ok() || depth > kDeepest) return;
    for (size_t i = 0; i < elements->size(); ++i) {
        const Result<VariantValue> value = decodeVariant((*elements)[i]);
        if (!value.ok()) continue;
        const std::string own = variant.shape.rank() > 0 ? indexed(name, i) : name;
        if (value->tensors.empty() && value->kind == VariantKind::list) parts.push_back({own + "[]", nothingOf(value->elementType)});
        for (size_t k = 0; k < value->tensors.size(); ++k) {
            const VariantTensor& held = value->tensors[k];
            if (held.dtype == DType::variant) addParts(indexed(own, k), held.view(), depth + 1, parts);
            else if (held.dtype != DType::resource)
                parts.push_back({indexed(own, k), held.isSet() ? held.view() : nothingOf(value->elementType)});
        }
    }
}

} // namespace

std::vector<NamedTensor> variantParts(const std::string& name, const Tensor& variant)
{
    std::vector<NamedTensor> parts;
    addParts(name, variant, 0, parts);
    return parts;
}

std::vector<NamedTensor> writableParts(NamedTensor array)
{
    if (array.tensor.dtype == DType::variant) return variantParts(array.name, array.tensor);
    std::vector<NamedTensor> parts;
    if (array.tensor.dtype != DType::resource) parts.push_back(std::move(array));
    return parts;
}

} // namespace loopscope::app
