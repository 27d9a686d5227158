#include "engine/exec/list_sweep.h"

#include "engine/tensor/variants.h"

#include <utility>

namespace loopscope {

namespace {

/// The elements that a value refers to.
void collect(const Tensor& value, ElementSet& found)
{
    if (value.dtype != DType::variant || value.data == nullptr) return;
    visitElements(value, [&](const ElementKey& key) {
        if (ElementHandle element = sharedElement(key)) found.insert(element);
    });
}

void collect(const StoredTensor& stored, ElementSet& found)
{
    if (stored.dtype == DType::variant) collect(StoredTensor(stored).view(), found);
}

void collectOfVariables(const ResourceStore& resources, ElementSet& found)
{
    for (const auto& [handle, variable] : resources.variables()) {
        Tensor tensor;
        tensor.dtype = variable.dtype;
        tensor.shape = variable.shape;
        tensor.data = const_cast<std::byte*>(variable.bytes.data()); // NOLINT(cppcoreguidelines-pro-type-const-cast): only read from here
        tensor.bytes = variable.bytes.size();
        collect(tensor, found);
    }
}

} // namespace

void holdListElements(const std::vector<const Tensor*>& inputs, ResourceStore& resources)
{
    ElementSet given;
    for (const Tensor* const input : inputs)
        if (input) collect(*input, given);
    collectOfVariables(resources, given);
    resources.objects().elements().sweep(std::move(given));
}

void sweepListElements(ResourceStore& resources, const std::function<void(const ValueVisit&)>& visitValues)
{
    ElementSet needed;
    visitValues([&](const Tensor& value) { collect(value, needed); });
    collectOfVariables(resources, needed);
    StepObjects& objects = resources.objects();
    for (const auto& [handle, array] : objects.arrays())
        for (const TensorArray::Element& element : array.elements) collect(element.value, needed);
    for (const auto& [handle, stack] : objects.stacks()) {
        if (stack.dtype == DType::variant)
            for (size_t i = 0; i < stack.elements.size(); ++i) collect(stack.elements.at(i), needed);
    }
    objects.elements().sweep(std::move(needed));
}

} // namespace loopscope
