#include "engine/transform/gradient/function_gradient.h"

#include "engine/transform/gradient/backward_pass.h"

#include <algorithm>

namespace loopscope {

namespace {

/// Calls ask for their callees' gradients by SymbolicGradient; so does an operator without a rule, by its own name.
class SymbolicCalls : public CallGradients {
public:
    GradientRule ruleOf(std::string_view kind) const override { return findSymbolicRule(kind); }

    std::vector<bool> reachedResults(const Operator& op, const std::vector<bool>& reached) override
    {
        return std::vector<bool>(op.results.size(), std::ranges::any_of(reached, [](bool is) { return is; }));
    }

    Status differentiate(GradientCase& c) override
    {
        std::vector<GradientValue> operands = c.x;
        for (size_t k = 0; k < c.dy.size(); ++k) operands.push_back(c.dy[k].valid() ? c.dy[k] : c.nodes.node("ZerosLike", {c.y[k]}));
        AttributeItems results;
        for (const GradientValue& x : c.x) results.emplace_back(c.nodes.dtype(x));
        const Attribute* const callee = findAttribute(c.op.attributes, "f");
        Attribute function = callee && callee->as<GraphRef>() ? Attribute(*callee) : Attribute(AttributeMap{{"function", c.op.kind.name}});
        c.dx = c.nodes.add("SymbolicGradient", operands, {{"Tout", std::move(results)}, {"f", std::move(function)}});
        return {};
    }
};

} // namespace

void makeGradient(GraphEditor& function)
{
    SymbolicCalls calls;
    BackwardPass pass(function, calls);
    const size_t inputs = function.graph().inputs.size();
    for (const ValueId input : function.graph().inputs) pass.depend(input);
    for (size_t k = 0; k < function.graph().outputs.size(); ++k) {
        const ValueId output = function.graph().outputs[k].value;
        const TensorType type(function.value(output).type.dtype, Shape::unknownRank());
        pass.seed(output, pass.nodes().value(function.addInput(pass.prefix() + "/dy_" + std::to_string(k), type)));
    }
    if (!pass.run().ok()) return; // SymbolicCalls have no errors
    std::vector<GraphOutput> outputs;
    for (size_t i = 0; i < inputs; ++i) {
        const ValueId input = function.graph().inputs[i];
        GradientValue sum = pass.gradientOf(input);
        if (!sum.valid()) sum = pass.nodes().node("ZerosLike", {pass.nodes().value(input)});
        outputs.push_back({"dx_" + std::to_string(i), sum.id});
    }
    function.setOutputs(std::move(outputs));
    function.setControlOutputs({});
}

} // namespace loopscope
