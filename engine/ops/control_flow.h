// How operators call graphs: which graphs, with which operands, and what must hold between the two. The planner, the interpreter and the
// model inference share these rules.
#pragma once

#include "engine/base/result.h"
#include "engine/ir/model.h"
#include "engine/tensor/tensor.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace loopscope {

enum class CallKind : uint8_t {
    none,
    branch, ///< if: two callees, chosen by a predicate
    select, ///< case: any number of callees, chosen by an index
    loop,   ///< while: callees cond and body
    call,   ///< one callee
    once,   ///< one callee, run once in a session, without operands and results
};

/// An operator seen as a call. Operands before `firstArgument` steer it, the others are the callees' inputs in order.
struct CallForm {
    CallKind kind = CallKind::none;
    int firstArgument = 0;
    /// TensorFlow: what steers may have any dtype and shape (tfTruth); an index is i32 and out of range the last branch.
    bool tensorflow = false;
    std::vector<Callee> callees; ///< loop: cond, body; branch: then, else; a graph may be invalid (the attribute is missing)
};

/// `kind` is none for operators that call nothing.
CallForm callForm(const Operator& op);

/// The rules that the operator obeys whatever the shapes: graphs exist, counts and dtypes of operands, inputs, outputs and results
/// agree. Result dtypes of branches are left to branchTypesAgree. Errors: badFile, "C4: …", without the operator's place.
Status checkCall(const Model& model, const Graph& graph, const Operator& op);

/// Whether the body of a loop hands its input `i` on as it is.
bool bodyHandsOn(const Graph& body, size_t i);

/// What only the branch that is taken must obey: its outputs have the dtypes of the operator's results.
Status branchTypesAgree(const Model& model, const Graph& graph, const Operator& op, GraphId branch);

/// True where a value of dtype `actual` may stand for one of dtype `formal`: equal, one of them not known, or both a handle
/// (LiteRT kernels/assign_variable.cc takes resources and their int32 numbers alike).
bool dtypesAgree(DType formal, DType actual);

/// TensorFlow's truth of a condition (core/kernels/functional_ops.cc, ToBool): a scalar number is true if it is not zero (NaN is, −0.0 is
/// not), a string if it is not empty; any other tensor if it has elements. Errors: InvalidArgument for other dtypes.
Result<bool> tfTruth(const Tensor& tensor);

/// Attribute of a model that was selected for a run: the graph that is to run once when a session begins, before any other. Absent: there
/// is none.
inline constexpr std::string_view kInitialiserGraph = "@initialiser_graph";

/// A place in the model where LiteRT is known to go wrong and Loopscope does not.
struct ModelWarning {
    GraphId graph;
    OperatorId op;
    std::string address; ///< of the operator: "main/while#0", by one static way that leads there
    std::string text;    ///< "body swaps its inputs; LiteRT 2.3 computes a different answer here"
};

/// Every loop and branch reachable from the model's graphs that LiteRT 2.3 computes differently (docs/execution.md).
std::vector<ModelWarning> loopWarnings(const Model& model);

} // namespace loopscope
