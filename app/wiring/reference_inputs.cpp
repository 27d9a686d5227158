#include "app/wiring/reference_inputs.h"

#include "engine/api/inputs/filled_array.h"
#include "engine/tensor/statistics.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace loopscope::app {

namespace {

bool isAffine(const TensorType& type)
{
    return isInteger(type.dtype) && type.quantization && type.quantization->isPerTensor() && type.quantization->scale() > 0;
}

bool fits(const Shape& shape, const Shape& declared)
{
    if (!declared.hasRank()) return true;
    if (shape.rank() != declared.rank()) return false;
    for (int d = 0; d < shape.rank(); ++d)
        if (declared[d] >= 0 && declared[d] != shape[d]) return false;
    return true;
}

/// Where the reference's input gets its numbers from; null: from nowhere.
const Port* partnerOf(const Port& port, const RunTarget& run, const RunTarget& reference)
{
    if (const Result<const Port*> named = findInput(run, port.name); named.ok()) return *named;
    const auto at = static_cast<size_t>(&port - reference.inputs.data());
    return at < run.inputs.size() && !findInput(reference, run.inputs[at].name).ok() ? &run.inputs[at] : nullptr;
}

} // namespace

std::optional<Array> inOtherUnits(const Array& given, const Port& from, const Port& to)
{
    if (!fits(given.shape, to.type.dynamicShape())) return std::nullopt;
    const Quantization* const source = isAffine(from.type) ? from.type.quantization.get() : nullptr;
    const Quantization* const target = isAffine(to.type) ? to.type.quantization.get() : nullptr;
    if (from.type.dtype == to.type.dtype && !source == !target && (!source || *source == *target)) return given;
    if ((!source && !isFloat(from.type.dtype)) || (!target && !isFloat(to.type.dtype))) return std::nullopt;
    Tensor numbers = given.view();
    numbers.quantization = source;
    const double low = target ? static_cast<double>(integerMin(to.type.dtype)) : 0,
                 high = target ? static_cast<double>(integerMax(to.type.dtype)) : 0;
    return filledWith(to.type.dtype, given.shape, given.shape.elementCount(), [&](int64_t i) {
        const double real = elementAsReal(numbers, i);
        if (!target) return real;
        return std::clamp(std::round(real / target->scale()) + static_cast<double>(target->zeroPoint()), low, high);
    });
}

Result<BoundInputs> referenceInputs(const RunTarget& run, const RunTarget& reference, const std::vector<std::string>& sources,
                                    uint64_t seed, const BoundInputs* last)
{
    LS_TRY(const BoundInputs given, bindInputs(run, sources, seed, 1, last));
    BoundInputs bound;
    bound.inputs.resize(reference.inputs.size());
    RunTarget rest = reference;
    rest.inputs.clear();
    for (size_t i = 0; i < reference.inputs.size(); ++i) {
        const Port& port = reference.inputs[i];
        std::optional<Array> taken;
        if (const Port* const partner = partnerOf(port, run, reference))
            taken = inOtherUnits(given.inputs[static_cast<size_t>(partner - run.inputs.data())].forRun(0), *partner, port);
        if (taken) bound.inputs[i].arrays.push_back(std::move(*taken));
        else rest.inputs.push_back(port);
    }
    // What cannot be taken over is bound from its source as typed, under the name that it has there.
    std::vector<std::string> own;
    for (const std::string& source : sources) {
        LS_TRY(const InputOption option, splitInputOption(source));
        if (option.name.empty() || option.name == "all") {
            own.push_back(source);
            continue;
        }
        const Result<const Port*> same = findInput(rest, option.name);
        const Result<const Port*> port = findInput(run, option.name);
        const auto at = port.ok() ? static_cast<size_t>(*port - run.inputs.data()) : reference.inputs.size();
        const std::string name = same.ok() ? (*same)->name : at < reference.inputs.size() ? reference.inputs[at].name : std::string();
        if (findInput(rest, name).ok()) own.push_back("\"" + name + "\"" + source.substr(source.find('=')));
    }
    if (rest.inputs.empty()) return bound;
    LS_TRY(BoundInputs others, bindInputs(rest, own, seed, 1));
    for (size_t i = 0; i < rest.inputs.size(); ++i) bound.inputs[static_cast<size_t>(rest.inputs[i].index)] = std::move(others.inputs[i]);
    return bound;
}

Result<BoundInputs> takenInputs(const RunTarget& run, const std::vector<const Tensor*>& given, const RunTarget& reference)
{
    BoundInputs bound;
    bound.inputs.resize(reference.inputs.size());
    for (size_t i = 0; i < reference.inputs.size(); ++i) {
        const Port& port = reference.inputs[i];
        const Port* const partner = partnerOf(port, run, reference);
        const Tensor* const known = partner ? given[static_cast<size_t>(partner - run.inputs.data())] : nullptr;
        std::optional<Array> taken;
        if (known && known->data) {
            Array array{known->dtype, known->shape, {}};
            const auto* const bytes = static_cast<const std::byte*>(known->data);
            array.bytes.assign(bytes, bytes + known->bytes);
            taken = inOtherUnits(array, *partner, port);
        }
        if (!taken)
            return Error(ErrorCode::usage, partner && !known ? "its value is not in the recording" : "nothing in the recording fits it")
                .at("input '" + port.name + "'")
                .note("record the run with --level values");
        bound.inputs[i].arrays.push_back(std::move(*taken));
    }
    return bound;
}

} // namespace loopscope::app
