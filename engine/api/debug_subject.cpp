#include "engine/api/debug_subject.h"

#include "engine/exec/executor.h"
#include "engine/exec/make_executor.h"

#include <filesystem>

namespace loopscope {

Result<DebugSubject> subjectOf(const Model& model, const std::string& name, OpenOptions options)
{
    DebugSubject subject;
    subject.name = name;
    subject.model = &model;
    Result<RunTarget> target = selectTarget(model, options.signature);
    if (!target.ok()) {
        const bool isOfFile = target.error().code() == ErrorCode::badFile;
        return isOfFile ? std::move(target).takeError().at(name) : std::move(target).takeError();
    }
    subject.target = std::move(target).value();
    subject.inputs = std::move(options.inputs);
    subject.seed = options.execution.seed;
    subject.cancel = std::make_unique<CancelFlag>();
    ExecutionOptions execution = std::move(options.execution);
    execution.signature = subject.target.signature;
    execution.cancel = subject.cancel.get();
    execution.keepAll = true; // a debugger shows values that the rest of the run does not need any more
    if (execution.kernels == nullptr && GivenResults::areNeeded(model)) {
        subject.given = std::make_unique<GivenResults>(model);
        execution.kernels = subject.given.get();
    }
    LS_TRY(subject.executor, makeExecutor(model, subject.target.graph, execution));
    return subject;
}

Result<DebugSubject> openModel(const std::string& path, const ModelReader& reader, OpenOptions options)
{
    LS_TRY(std::shared_ptr<const Model> model, reader(path));
    LS_TRY(DebugSubject subject, subjectOf(*model, std::filesystem::path(path).filename().string(), std::move(options)));
    subject.owner = std::move(model);
    return subject;
}

} // namespace loopscope
