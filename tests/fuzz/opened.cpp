#include "tests/fuzz/opened.h"

#include "converters/graphdef/graphdef.h"
#include "converters/tflite/tflite.h"
#include "engine/base/allocation.h"
#include "engine/exec/make_executor.h"
#include "engine/ir/text/printer.h"
#include "engine/ir/text/structured.h"
#include "engine/ir/verifier.h"
#include "engine/tensor/strings.h"

#include <deque>
#include <memory>
#include <vector>

namespace loopscope {

namespace {

constexpr int64_t kMostElements = 1 << 16;
constexpr int64_t kMostSteps = 200;

bool isSmall(const Model& model)
{
    for (const Graph& graph : model.graphs)
        for (const Value& value : graph.values) {
            const auto count = value.type.shape.isStatic() ? checkedElementCount(value.type.shape) : 0;
            if (!count || *count > kMostElements) return false;
        }
    return true;
}

Status runSome(const Model& model)
{
    ExecutionOptions options;
    options.maxSteps = kMostSteps;
    options.maxDepth = 16;
    LS_TRY(const std::unique_ptr<Executor> executor, makeExecutor(model, GraphId(0), options));
    const Graph& graph = model.graphs.front();
    std::deque<std::vector<std::byte>> kept;
    for (size_t i = 0; i < graph.inputs.size(); ++i) {
        const TensorType& type = graph.value(graph.inputs[i]).type;
        Tensor input;
        input.dtype = type.dtype;
        input.shape = type.shape.isStatic() ? type.shape : Shape();
        const int64_t count = input.shape.elementCount();
        if (type.dtype == DType::string) kept.push_back(packStrings(std::vector<std::string>(static_cast<size_t>(count), "text")));
        else kept.emplace_back(byteSize(type.dtype, count), std::byte{1});
        input.data = kept.back().data();
        input.bytes = kept.back().size();
        LS_CHECK_OK(executor->setInput(static_cast<int>(i), input));
    }
    LS_CHECK_OK(executor->start());
    return executor->run();
}

} // namespace

void lookAtModel(const Model& model)
{
    static_cast<void>(allocating([&]() -> Status {
        LS_CHECK_OK(verifyModel(model));
        static_cast<void>(printModel(model));
        static_cast<void>(structuredView(model));
        if (model.dialect == Dialect::tf) static_cast<void>(exportGraphDef(model));
        else static_cast<void>(exportTflite(model));
        return !model.graphs.empty() && isSmall(model) ? runSome(model) : Status();
    }));
}

} // namespace loopscope
