// How each TensorFlow operator's gradient is computed from its operands, its results and their gradients. The rules are those that
// TensorFlow registers (core/ops/math_grad.cc, array_grad.cc, nn_grad.cc; python/ops/*_grad.py): one file of rules per family, one line
// per operator in its table (docs/gradients.md).
#pragma once

#include "engine/transform/gradient/gradient_nodes.h"

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace loopscope {

/// One operator whose gradient is asked for.
struct GradientCase {
    GradientNodes& nodes;
    GraphEditor& editor;
    OperatorId id;
    const Operator op; ///< a copy: nodes are added to its graph
    std::vector<GradientValue> x, y, dy;
    std::vector<GradientValue> dx; ///< the answer; invalid: zeros
    std::vector<bool> wanted;      ///< operands whose gradient somebody uses

    void give(GradientValue gradient) { dx[0] = gradient; }
    void give(GradientValue first, GradientValue second)
    {
        dx[0] = first;
        dx[1] = second;
    }
    std::string refusal;          ///< why this operator has no gradient after all: "batch_dims is 2"
    std::string arraySource = {}; ///< names the arrays that gradients of arrays lie in, so that no two gradients share them

    DType dtype() const { return nodes.dtype(x[0]); }
};

using GradientRule = void (*)(GradientCase&);

/// TensorFlow has rules of its C++ library, which SymbolicGradient uses, and more of its Python library, which tf.gradients uses.
inline constexpr bool kSymbolic = true, kGraphsOnly = false;

struct NamedGradientRule {
    std::string_view kind;
    bool isSymbolic;
    GradientRule rule;
};

std::span<const NamedGradientRule> gradientRulesOfMath();
std::span<const NamedGradientRule> gradientRulesOfReductions();
std::span<const NamedGradientRule> gradientRulesOfMovement();
std::span<const NamedGradientRule> gradientRulesOfMatrices();
std::span<const NamedGradientRule> gradientRulesOfLayers();
std::span<const NamedGradientRule> gradientRulesOfPictures();
std::span<const NamedGradientRule> gradientRulesOfSparse();
std::span<const NamedGradientRule> gradientRulesOfState();

/// The rule of an operator, or null.
GradientRule findGradientRule(std::string_view kind);
/// The same for SymbolicGradient.
GradientRule findSymbolicRule(std::string_view kind);
/// Operators with a rule, by name.
std::vector<std::string_view> operatorsWithGradientRules();

// --- What rules share -------------------------------------------------------------------------------------------------------------------

/// The type says all dimensions.
bool hasStaticShape(const GradientCase& c, GradientValue v);
GradientValue shapeOf(GradientCase& c, GradientValue v); ///< i32; a constant if the type says it
GradientValue reshape(GradientCase& c, GradientValue v, GradientValue shape);
GradientValue sumOver(GradientCase& c, GradientValue v, GradientValue axes);
GradientValue sumOfLast(GradientCase& c, GradientValue v); ///< the last dimension stays as 1
GradientValue zerosLike(GradientCase& c, GradientValue v);
GradientValue expandDims(GradientCase& c, GradientValue v, int axis);
GradientValue call(GradientCase& c, std::string_view kind, GradientValue v);
GradientValue square(GradientCase& c, GradientValue v);
GradientValue number(GradientCase& c, double value);
GradientValue castTo(GradientCase& c, GradientValue v, DType dtype);
GradientValue sizeOf(GradientCase& c, GradientValue v); ///< how many elements, i32
GradientValue rankOf(GradientCase& c, GradientValue v);
GradientValue range(GradientCase& c, GradientValue from, GradientValue to);
GradientValue select(GradientCase& c, GradientValue condition, GradientValue yes, GradientValue no);
/// The conjugate of complex values, which gradients of holomorphic functions take; others as they are.
GradientValue conj(GradientCase& c, GradientValue v);
/// What is handed back to two operands that were broadcast to each other: sums over the dimensions in which each was repeated.
void giveBroadcast(GradientCase& c, GradientValue gx, GradientValue gy);
/// The same for operands i and k.
void giveBroadcast(GradientCase& c, size_t i, GradientValue gi, size_t k, GradientValue gk);
/// `g`, summed over what the operand was repeated in to have the shape of the operator's result.
GradientValue reduceTo(GradientCase& c, GradientValue g, GradientValue operand);
/// Elements `from` and those behind it of a list of integers, `count` of them (−1: all).
GradientValue part(GradientCase& c, GradientValue list, GradientValue from, int32_t count);
GradientValue joined(GradientCase& c, std::span<const GradientValue> lists); ///< lists of integers, one behind the other
GradientValue asList(GradientCase& c, GradientValue scalar);                 ///< [scalar]
GradientValue flat(GradientCase& c, GradientValue v);                        ///< all elements as a list
/// Rows of `v` by their numbers.
GradientValue rows(GradientCase& c, GradientValue v, GradientValue numbers);
/// `values` (shape of numbers, then of a row) summed into `count` rows.
GradientValue sumRows(GradientCase& c, GradientValue values, GradientValue numbers, GradientValue count);
/// The operator's attributes with these keys.
AttributeList attributesOf(const GradientCase& c, std::initializer_list<const char*> keys);

} // namespace loopscope
