// What the region of a StableHLO operator computes, as far as kernels know it: one of its arguments, or one operation on both.
#pragma once

#include "engine/ir/model.h"
#include "engine/kernels/kernel.h"

#include <string>
#include <type_traits>

namespace loopscope {

enum class Combination { first, second, add, multiply, maximum, minimum, logicalAnd, logicalOr };

/// Reads the graph `region` of the operator. Errors: badFile if it is not there, unsupported if it computes something else.
inline Result<Combination> combinationOf(const KernelSetup& setup)
{
    const GraphId id = attributeGraph(setup.attributes(), "region");
    if (!setup.model || !setup.model->hasGraph(id)) return Error(ErrorCode::badFile, "the operator's region is not there");
    const Graph& region = setup.model->graph(id);
    if (region.inputs.size() == 2 && region.outputs.size() == 1) {
        const ValueId result = region.outputs[0].value;
        const auto isInput = [&](ValueId v) { return v == region.inputs[0] || v == region.inputs[1]; };
        if (region.operators.empty() && isInput(result)) return result == region.inputs[0] ? Combination::first : Combination::second;
        const Operator* op = region.operators.size() == 1 ? &region.operators.front() : nullptr;
        if (op && op->inputs.size() == 2 && op->results.size() == 1 && op->results[0] == result && op->inputs[0] != op->inputs[1] &&
            isInput(op->inputs[0]) && isInput(op->inputs[1])) {
            const std::string& name = op->kind.name;
            if (name == "stablehlo_add" || name == "add") return Combination::add;
            if (name == "stablehlo_multiply" || name == "mul") return Combination::multiply;
            if (name == "stablehlo_maximum" || name == "maximum") return Combination::maximum;
            if (name == "stablehlo_minimum" || name == "minimum") return Combination::minimum;
            if (name == "stablehlo_and" || name == "logical_and") return Combination::logicalAnd;
            if (name == "stablehlo_or" || name == "logical_or") return Combination::logicalOr;
        }
    }
    return Error(ErrorCode::unsupported, "region '" + region.id + "' is none of its arguments, add, multiply, maximum, minimum, and, or");
}

/// Arithmetic on the stored type: integers wrap; and, or give 0 or 1.
template <typename T> T combine(Combination how, T a, T b)
{
    switch (how) {
    case Combination::first: return a;
    case Combination::second: return b;
    case Combination::add:
        if constexpr (std::is_integral_v<T>) return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
        else return a + b;
    case Combination::multiply:
        if constexpr (std::is_integral_v<T>) return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
        else return a * b;
    case Combination::maximum: // NaN wins (StableHLO: IEEE 754 maximum)
        if constexpr (std::is_floating_point_v<T>)
            if (a != a) return a;
        return a >= b ? a : b;
    case Combination::minimum:
        if constexpr (std::is_floating_point_v<T>)
            if (a != a) return a;
        return a <= b ? a : b;
    case Combination::logicalAnd: return static_cast<T>(a != T{0} && b != T{0});
    case Combination::logicalOr: return static_cast<T>(a != T{0} || b != T{0});
    }
    return b;
}

} // namespace loopscope
