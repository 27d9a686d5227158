// Importing a GraphDef of 100,000 nodes: loops of the size that v1 programs unroll to, so with Enter, Merge, Switch, constants with
// control inputs, and attributes as TensorFlow writes them.
#include "converters/graphdef/graphdef.h"
#include "engine/base/clock.h"
#include "engine/ir/text/structured.h"
#include "engine/ir/verifier.h"
#include "graph.pb.h"
#include "tests/bench/report.h"

#include <cstdio>
#include <ctime>
#include <string>

namespace {

using namespace loopscope;

constexpr int kNodes = 100000;

tfpb::NodeDef& add(tfpb::GraphDef& graph, const std::string& op, const std::string& name, std::initializer_list<std::string> inputs)
{
    tfpb::NodeDef& node = *graph.add_node();
    node.set_name(name);
    node.set_op(op);
    node.set_device("/device:CPU:0");
    for (const std::string& input : inputs) node.add_input(input);
    (*node.mutable_attr())["T"].set_type(tfpb::DT_FLOAT);
    (*node.mutable_attr())["_class"].mutable_list()->add_s("loc:@" + name);
    return node;
}

void addLoop(tfpb::GraphDef& graph, int number)
{
    const std::string at = "scope/while_" + std::to_string(number) + "/";
    tfpb::NodeDef& zero = add(graph, "Const", at + "zero", {});
    zero.mutable_attr()->erase("T");
    (*zero.mutable_attr())["dtype"].set_type(tfpb::DT_FLOAT);
    tfpb::TensorProto& value = *(*zero.mutable_attr())["value"].mutable_tensor();
    value.set_dtype(tfpb::DT_FLOAT);
    value.mutable_tensor_shape();
    value.add_float_val(1);
    (*add(graph, "Enter", at + "Enter", {at + "zero"}).mutable_attr())["frame_name"].set_s(at);
    (*add(graph, "Merge", at + "Merge", {at + "Enter", at + "NextIteration"}).mutable_attr())["N"].set_i(2);
    add(graph, "Less", at + "Less", {at + "Merge", at + "Merge"});
    add(graph, "LoopCond", at + "LoopCond", {at + "Less"});
    add(graph, "Switch", at + "Switch", {at + "Merge", at + "LoopCond"});
    add(graph, "Identity", at + "Identity", {at + "Switch:1"});
    add(graph, "AddV2", at + "add", {at + "Identity", at + "Identity", "^" + at + "Identity"});
    add(graph, "NextIteration", at + "NextIteration", {at + "add"});
    add(graph, "Exit", at + "Exit", {at + "Switch"});
}

} // namespace

int main()
{
    tfpb::GraphDef graph;
    graph.mutable_versions()->set_producer(2474);
    for (int i = 0; i < kNodes / 10; ++i) addLoop(graph, i);
    const std::string content = graph.SerializeAsString();
    const Bytes bytes = Bytes::copyOf(content.data(), content.size());

    const std::clock_t cpuBegin = std::clock();
    const int64_t begin = nowNs();
    const auto model = importGraphDef("bench", bytes);
    const int64_t imported = nowNs();
    if (!model.ok() || !verifyModel(*model).ok()) {
        std::fprintf(stderr, "error: %s\n", model.ok() ? "not well-formed" : model.error().message().c_str());
        return 1;
    }
    const int64_t verified = nowNs();
    const std::clock_t cpuEnd = std::clock();
    const auto written = exportGraphDef(*model);
    const int64_t end = nowNs();
    if (!written.ok() || written->size() != content.size()) return 1;
    bench::report("graphdef_import_100k", static_cast<double>(verified - begin) / 1e9, "s", 1);
    const int64_t viewBegin = nowNs();
    const size_t lines = structuredView(*model).size();
    const int64_t viewEnd = nowNs();
    if (lines < kNodes / 2) return 1;
    bench::note("graphdef_view_100k", static_cast<double>(viewEnd - viewBegin) / 1e9, "s");
    bench::note("graphdef_import_rate", kNodes / (static_cast<double>(imported - begin) / 1e9), "nodes/s");
    bench::note("graphdef_import_cpu", static_cast<double>(cpuEnd - cpuBegin) / CLOCKS_PER_SEC, "s");
    bench::note("graphdef_export_100k", static_cast<double>(end - verified) / 1e9, "s");
    return 0;
}
