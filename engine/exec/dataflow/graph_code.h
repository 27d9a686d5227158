// A TensorFlow graph compiled for the dataflow executor: one flat record for each node, edges in arrays, and for each static frame what
// an iteration of it needs. docs/dataflow.md describes the rules that the records stand for.
#pragma once

#include "engine/base/result.h"
#include "engine/ir/model.h"
#include "engine/ops/control_flow.h"

#include <cstdint>
#include <string>
#include <vector>

namespace loopscope::dataflow {

/// What executing a node means.
enum class NodeKind : uint8_t {
    kernel,
    forward,    ///< hands its operand on: Identity, LoopCond, RefIdentity
    constant,   ///< Const: its tensor is part of the code
    nothing,    ///< NoOp, ControlTrigger: only control edges
    switchNode, ///< Switch, RefSwitch
    switchMany, ///< _SwitchN
    merge,      ///< Merge, RefMerge
    enter,
    constantEnter, ///< Enter with is_constant: its value is there in every iteration
    exit,
    nextIteration,
    send,
    receive,
    call, ///< runs another graph
    abort,
};

/// From a result (or, `slot` −1, from the node itself) to a node that waits for it.
struct Edge {
    int32_t slot = -1;  ///< where the value lies, in the iteration that the edge leads into
    int32_t node = -1;  ///< who waits; −1: the graph's output `input`
    int32_t input = -1; ///< which operand of it
};

/// One node. Nodes of one frame are neighbours, in an order of execution that ignores back edges.
struct Node {
    NodeKind kind = NodeKind::kernel;
    bool isMerge = false;        ///< waits as Merge does
    bool isTrigger = false;      ///< ControlTrigger: never dead
    bool readsReference = false; ///< an operand is a variable of TensorFlow 1 that is to be seen as its value
    uint8_t traps = 0;
    OperatorId op;
    int32_t frame = 0;    ///< in which it runs
    int32_t position = 0; ///< among the nodes of its frame
    int32_t inputCount = 0, outputCount = 0;
    int32_t firstInput = 0;                                ///< in GraphCode::inputs
    int32_t firstOutput = 0;                               ///< in GraphCode::outputs
    int32_t firstEdge = 0, firstControl = 0, lastEdge = 0; ///< in GraphCode::edges: data edges, then control edges
    int32_t childFrame = -1;                               ///< Enter: the frame that it opens
    int32_t channel = -1;                                  ///< Send and Recv: in GraphCode::channels
};

/// What a node waits for in one iteration. A Merge counts 2 for each control input, and 1 while no live operand has come.
struct Waiting {
    int32_t pending = 0;
    int32_t dead = 0;    ///< dead inputs so far
    int32_t chosen = -1; ///< Merge: the operand that it hands on; kFired when it ran dead
    bool operator==(const Waiting&) const = default;
};
inline constexpr int32_t kFired = -2;
/// FrameCode::uses of a value that a Merge reads.
inline constexpr int32_t kManyUses = 1 << 30;

/// What running an iteration of a frame in one go needs, where that is possible: all its nodes run, one after the other by position.
struct StraightCode {
    bool isStraight = false;
    std::vector<int32_t> heads;       ///< positions of the Merges that iterations begin with
    int32_t invariantCount = 0;       ///< constant Enters that lead into the frame
    std::vector<int32_t> releases;    ///< slots, in the order in which they are read for the last time
    std::vector<int32_t> releaseEnds; ///< by position: the end in `releases` of what nobody reads behind that node
};

/// All nodes that run under one frame name.
struct FrameCode {
    std::string name; ///< empty: the graph itself
    int32_t parent = -1;
    int32_t firstNode = 0, nodeCount = 0;
    int32_t enterCount = 0; ///< Enters that lead into it
    OperatorId enter;       ///< the first of them; the `site` of its invocations
    int32_t parallelIterations = 1;
    std::vector<Waiting> waiting; ///< at the start of an iteration, by position
    std::vector<ValueId> slots;   ///< the values that lie in an iteration
    std::vector<int32_t> uses;    ///< by slot: how often it is read; a value that a Merge reads is never used up
    StraightCode straight;
};

/// Where a value lies: in iterations of which frame, at which slot.
struct ValuePlace {
    int32_t frame = -1;
    int32_t slot = -1;
};

struct InputCode {
    int32_t slot = -1; ///< −1: missing optional operand
    bool readsReference = false;
};

/// What Sends hand to Recvs: the attributes that both of them have.
struct ChannelCode {
    std::string sendDevice, recvDevice, tensorName;
    bool isWithinCall = false; ///< TensorFlow has put it where it cut a graph; what a program sends may be received in another call
    bool operator==(const ChannelCode&) const = default;
};

/// How a call node calls.
struct CallCode {
    CallForm form;
    bool isFor = false; ///< start, limit, delta, then the carried values
};

struct GraphCode {
    GraphId id;
    const Graph* graph = nullptr;
    std::vector<Node> nodes;
    std::vector<InputCode> inputs;
    std::vector<int32_t> outputs; ///< slots, in the frame where the result lies
    std::vector<Edge> edges;
    std::vector<Edge> inputEdges;       ///< from the graph's inputs, in order
    std::vector<int32_t> inputEdgeEnds; ///< by input: where its edges end
    std::vector<FrameCode> frames;      ///< [0]: the graph itself
    std::vector<int32_t> roots;         ///< nodes that wait for nothing
    std::vector<ValuePlace> values;     ///< by ValueId
    std::vector<int32_t> nodeOf;        ///< by operator; −1: it cannot be reached
    std::vector<CallCode> calls;        ///< by operator of kind call: CallCode index in callOf
    std::vector<int32_t> callOf;        ///< by node; −1: no call
    std::vector<ChannelCode> channels;
    std::vector<std::string> warnings; ///< what TensorFlow logs
};

/// Compiles a graph. Errors: execution with TensorFlow's words, where frames do not fit together or nodes form a cycle.
Result<GraphCode> compileGraph(const Model& model, GraphId graph);

/// "{{node while/Add}}": how TensorFlow's messages name a node.
std::string nodeText(const Operator& op);

} // namespace loopscope::dataflow
