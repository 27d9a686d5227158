#include "tests/fuzz/debugged.h"

#include "app/wiring/subject.h"
#include "converters/formats.h"

#include <cstdlib>

namespace loopscope {

app::Terminal& debugged()
{
    static const Result<LoadedModel> file = loadModel("samples/text/collatz.lsir");
    static const std::unique_ptr<app::Terminal> terminal = [] {
        if (!file.ok()) std::abort(); // run from the top of the tree
        ExecutionOptions options;
        options.maxSteps = 5000;
        auto subject = app::liveSubject(file->model, "model", "", options);
        if (!subject.ok()) std::abort();
        auto made = std::make_unique<app::Terminal>(std::move(subject).value(), app::TerminalSettings(), [](const app::TerminalEvent&) {});
        // Commands of breakpoints may be endless.
        made->setInterrupted([asked = 0]() mutable { return ++asked % 64 == 0; });
        return made;
    }();
    return *terminal;
}

} // namespace loopscope
