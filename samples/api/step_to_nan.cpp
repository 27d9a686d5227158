// A face in one file: opens a model, runs to the first NaN, steps back to before it was there, and says where it came from.
//     step_to_nan samples/text/nan_at_613.lsir n=1000
// docs/api.md walks through it.
#include "converters/formats.h"
#include "engine/api/debug_session.h"

#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

using namespace loopscope;

namespace {

/// The engine knows no file format: whoever opens a session hands one in.
Result<std::shared_ptr<const Model>> readModel(const std::string& path)
{
    LS_TRY(LoadedModel file, loadModel(path));
    auto owner = std::make_shared<LoadedModel>(std::move(file)); // with the mapped file behind the constants
    return std::shared_ptr<const Model>(owner, &owner->model);
}

void say(const char* what, const Stop& stop)
{
    std::printf("%s %s, step %lld:", what, stop.report.address.c_str(), static_cast<long long>(stop.report.position.step));
    for (const StopReason& reason : stop.report.reasons) std::printf(" %s", toString(reason).c_str());
    std::printf("\n");
}

Status run(const std::string& path, std::vector<std::string> inputs)
{
    OpenOptions options;
    options.inputs = std::move(inputs);
    LS_TRY(const std::unique_ptr<DebugSession> session, DebugSession::open(path, readModel, std::move(options)));

    // To the first NaN: the run stops after the operator that wrote it.
    LS_TRY(const BreakpointInfo nan, session->addBreakpoint(breakOn("nan")));
    LS_TRY(const Stop stop, session->begin({}));
    say("stopped", stop);
    if (!stop.report.has(StopCause::nan)) return {};
    const std::string value = stop.report.reasons.front().value;

    // Why it is there: answered by looking at other moments of the run, from which the session comes back.
    LS_TRY(const Explanation why, session->ask([&](Inspector& inspector) { return inspector.why({}, "nan " + value); }));
    for (const std::string& line : why.lines) std::printf("  %s\n", line.c_str());

    // One step back it was not there yet: what its operator is about to read.
    LS_TRY(const Stop before, session->move(request::Step{Direction::backward}));
    say("before:", before);
    const FrameInfo& frame = before.stack.back();
    const Graph& graph = session->model().graph(frame.graph);
    for (const ValueId input : graph.op(frame.next).inputs) {
        const std::string name = graph.value(input).id;
        LS_TRY(const std::string text, session->ask([&](Inspector& inspector) {
            const Tensor* const tensor = inspector.value(-1, input);
            return tensor != nullptr ? inlineValue(*tensor).text : std::string("not written yet");
        }));
        std::printf("  %s = %s\n", name.c_str(), text.c_str());
    }
    return session->removeBreakpoint(nan.number);
}

} // namespace

int main(int argc, char** argv)
{
    if (argc < 2) {
        std::fprintf(stderr, "usage: step_to_nan MODEL [NAME=SOURCE...]\n");
        return static_cast<int>(ErrorCode::usage);
    }
    Status status = run(argv[1], std::vector<std::string>(argv + 2, argv + argc));
    if (status.ok()) return 0;
    const Error error = std::move(status).takeError();
    std::fprintf(stderr, "error: %s\n", error.message().c_str());
    return static_cast<int>(error.code());
}
