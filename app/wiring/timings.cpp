#include "app/wiring/timings.h"

#include "engine/base/clock.h"
#include "engine/base/text.h"
#include "engine/tensor/npz.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace loopscope::app {

namespace {

/// Prints one duration in nanoseconds a line. Inputs are found by their position: names differ between signatures and graphs.
constexpr const char* kLiteRtScript = R"(
import sys, time
import numpy as np
try:
    from ai_edge_litert.interpreter import Interpreter
except ImportError:
    try:
        from tflite_runtime.interpreter import Interpreter
    except ImportError:
        from tensorflow.lite import Interpreter
model, arrays, threads, warmup, repeat = sys.argv[1], np.load(sys.argv[2]), *map(int, sys.argv[3:6])
interpreter = Interpreter(model_path=model, num_threads=threads)
values = [arrays[name] for name in arrays.files]
details = interpreter.get_input_details()
for detail, value in zip(details, values):
    if list(detail["shape"]) != list(value.shape):
        interpreter.resize_tensor_input(detail["index"], value.shape)
interpreter.allocate_tensors()
for run in range(warmup + repeat):
    started = time.perf_counter_ns()
    for detail, value in zip(details, values):
        interpreter.set_tensor(detail["index"], value)
    interpreter.invoke()
    if run >= warmup:
        print(time.perf_counter_ns() - started)
)";

double seconds(const timeval& t) { return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6; }

/// A folder that goes with whoever holds it.
struct TemporaryFolder {
    TemporaryFolder()
    {
        std::string pattern = (std::filesystem::temp_directory_path() / "loopscope-XXXXXX").string();
        if (mkdtemp(pattern.data()) != nullptr) path = pattern;
    }
    ~TemporaryFolder()
    {
        std::error_code ignored;
        if (!path.empty()) std::filesystem::remove_all(path, ignored);
    }
    TemporaryFolder(const TemporaryFolder&) = delete;
    TemporaryFolder& operator=(const TemporaryFolder&) = delete;

    std::string path; ///< empty: it could not be made
};

/// Runs a program with its output in a file. Errors: execution, if it cannot be started. The exit status.
Result<int> runProgram(const std::vector<std::string>& words, const std::string& outPath, const std::string& errorPath)
{
    std::vector<char*> argv;
    for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
    argv.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, outPath.c_str(), O_WRONLY | O_CREAT, 0600);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, errorPath.c_str(), O_WRONLY | O_CREAT, 0600);
    pid_t pid = 0;
    const int failed = posix_spawnp(&pid, argv[0], &actions, nullptr, argv.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    if (failed != 0) return Error(ErrorCode::unsupported, "cannot start '" + words.front() + "': " + std::strerror(failed));
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

/// The last line that is not empty: what Python says of an exception.
std::string lastLine(const std::string& path)
{
    std::ifstream file(path);
    std::string line, last;
    while (std::getline(file, line))
        if (!line.empty()) last = line;
    return last;
}

} // namespace

Timing timingOf(std::string name, std::vector<int64_t> ns)
{
    std::sort(ns.begin(), ns.end());
    const size_t last = ns.size() - 1;
    return {std::move(name), static_cast<int64_t>(ns.size()), ns[last / 2], ns[last * 95 / 100], ns.front()};
}

MachineLoad machineLoad()
{
    MachineLoad load;
    load.wall = static_cast<double>(nowNs()) / 1e9;
    rusage usage = {};
    getrusage(RUSAGE_SELF, &usage);
    load.own = seconds(usage.ru_utime) + seconds(usage.ru_stime);
    std::ifstream file("/proc/stat");
    std::string word;
    // cpu user nice system idle iowait irq softirq steal
    int64_t value = 0;
    file >> word;
    for (int field = 0; field < 8 && file >> value; ++field)
        if (field != 3 && field != 4) load.busy += static_cast<double>(value) / static_cast<double>(sysconf(_SC_CLK_TCK));
    return load;
}

double foreignCores(const MachineLoad& before, const MachineLoad& after)
{
    const double wall = after.wall - before.wall;
    return wall > 0 ? std::max(0.0, (after.busy - before.busy) - (after.own - before.own)) / wall : 0;
}

std::string ratioText(double ratio)
{
    std::array<char, 32> text = {};
    std::snprintf(text.data(), text.size(), "%.2f", ratio);
    return text.data();
}

Result<Timing> timeLiteRt(const AskedRun& asked, int64_t warmup, int64_t repeat)
{
    if (asked.file.formatName != "TFLite")
        return Error(ErrorCode::unsupported, "LiteRT runs .tflite files").found(std::string(asked.file.formatName));
    const TemporaryFolder folder;
    if (folder.path.empty()) return Error(ErrorCode::cannotWrite, "cannot make a temporary folder").found(std::strerror(errno));
    const std::string arrays = folder.path + "/in.npz", out = folder.path + "/out", errors = folder.path + "/errors";
    std::vector<NamedTensor> inputs;
    std::vector<Tensor> views;
    views.reserve(asked.inputs.inputs.size());
    for (size_t i = 0; i < asked.inputs.inputs.size(); ++i) {
        views.push_back(asked.inputs.inputs[i].forRun(0).view());
        inputs.push_back({"input" + std::to_string(i), views.back()});
    }
    LS_CHECK_OK(writeNpz(arrays, inputs, false));
    const char* const python = std::getenv("LOOPSCOPE_PYTHON");
    LS_TRY(const int status, runProgram({python != nullptr ? python : "python3", "-c", kLiteRtScript, asked.file.path, arrays,
                                         std::to_string(asked.options.threads), std::to_string(warmup), std::to_string(repeat)},
                                        out, errors));
    if (status != 0) {
        const std::string said = lastLine(errors);
        return Error(ErrorCode::unsupported, "LiteRT beside it: " + (said.empty() ? "exit status " + std::to_string(status) : said))
            .note("LOOPSCOPE_PYTHON names a Python that has ai_edge_litert");
    }
    std::vector<int64_t> ns;
    std::ifstream file(out);
    for (int64_t value = 0; file >> value;) ns.push_back(value);
    if (ns.empty()) return Error(ErrorCode::unsupported, "LiteRT beside it: no times");
    return timingOf("litert", std::move(ns));
}

} // namespace loopscope::app
