#include "app/wiring/timings.h"

#include "app/output/json_writer.h"
#include "app/wiring/signals.h"
#include "engine/base/clock.h"
#include "engine/base/text.h"
#include "engine/tensor/npz.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
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

/// Prints a line a run, of those that count the duration in nanoseconds. Each input has all names that it is known by; only where none of
/// them is one of the interpreter's are inputs taken in their order.
constexpr const char* kLiteRtScript = R"(
import json, sys, time
import numpy as np
try:
    from ai_edge_litert.interpreter import Interpreter
except ImportError:
    try:
        from tflite_runtime.interpreter import Interpreter
    except ImportError:
        from tensorflow.lite import Interpreter
model, arrays, threads, warmup, repeat = sys.argv[1], np.load(sys.argv[2]), *map(int, sys.argv[3:6])
asked = json.loads(sys.argv[6])
interpreter = Interpreter(model_path=model, num_threads=threads)
values = [arrays[name] for name in arrays.files]
def named(wanted):
    found = [next((i for i, names in enumerate(asked["inputs"]) if name in names), -1) for name in wanted]
    return found if sorted(found) == list(range(len(values))) else list(range(len(values)))
if asked["signature"]:
    runner = interpreter.get_signature_runner(asked["signature"])
    names = list(runner.get_input_details())
    given = {name: values[i] for name, i in zip(names, named(names))}
    call = lambda: runner(**given)
else:
    details = interpreter.get_input_details()
    pairs = [(detail, values[i]) for detail, i in zip(details, named([detail["name"] for detail in details]))]
    for detail, value in pairs:
        if list(detail["shape"]) != list(value.shape):
            interpreter.resize_tensor_input(detail["index"], value.shape)
    interpreter.allocate_tensors()
    def call():
        for detail, value in pairs:
            interpreter.set_tensor(detail["index"], value)
        interpreter.invoke()
for run in range(warmup + repeat):
    started = time.perf_counter_ns()
    call()
    print(time.perf_counter_ns() - started if run >= warmup else "", flush=True)
)";

/// A session of one signature or of what is fetched, like it is run here: files of both TensorFlows open so.
constexpr const char* kTensorFlowScript = R"(
import json, os, sys, time
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
import numpy as np
import tensorflow.compat.v1 as tf
from google.protobuf import text_format
model, arrays, threads, warmup, repeat = sys.argv[1], np.load(sys.argv[2]), *map(int, sys.argv[3:6])
asked = json.loads(sys.argv[6])
values = [arrays[name] for name in arrays.files]
if asked["is_folder"] and not os.path.isdir(model):
    model = os.path.dirname(model)
session = tf.Session(graph=tf.Graph(), config=tf.ConfigProto(intra_op_parallelism_threads=threads, inter_op_parallelism_threads=threads))
graph = session.graph
def tensor(names, known):
    for name in names:
        name = known.get(name, name)
        try:
            return graph.get_tensor_by_name(name if ":" in name else name + ":0")
        except (KeyError, ValueError):
            pass
    raise SystemExit("no tensor " + " or ".join(names))
inputs, outputs = {}, {}
with graph.as_default():
    if asked["is_folder"]:
        from tensorflow.core.protobuf import saved_model_pb2
        saved = saved_model_pb2.SavedModel()
        if os.path.exists(os.path.join(model, "saved_model.pb")):
            saved.ParseFromString(open(os.path.join(model, "saved_model.pb"), "rb").read())
        else:
            text_format.Parse(open(os.path.join(model, "saved_model.pbtxt")).read(), saved)
        key = asked["signature"] or "serving_default"
        meta = next((m for m in saved.meta_graphs if key in m.signature_def), saved.meta_graphs[0])
        loaded = tf.saved_model.loader.load(session, list(meta.meta_info_def.tags), model)
        if key in loaded.signature_def:
            signature = loaded.signature_def[key]
            inputs = {name: info.name for name, info in signature.inputs.items()}
            outputs = {name: info.name for name, info in signature.outputs.items()}
    else:
        definition, data = tf.GraphDef(), open(model, "rb").read()
        try:
            definition.ParseFromString(data)
        except Exception:
            definition = text_format.Parse(data.decode(), tf.GraphDef())
        tf.import_graph_def(definition, name="")
operations = lambda names: [graph.get_operation_by_name(name) for name in names]
fetches = [tensor(names, outputs) for names in asked["outputs"]]
feeds = [tensor(names, inputs) for names in asked["inputs"]]
for operation in operations(asked["init"]):
    session.run(operation)
call = session.make_callable(fetches + operations(asked["targets"]), feed_list=feeds)
for run in range(warmup + repeat):
    started = time.perf_counter_ns()
    call(*values)
    print(time.perf_counter_ns() - started if run >= warmup else "", flush=True)
)";

constexpr double kStarting = 60; ///< seconds that Python may take until its first run

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

/// Runs a program with its output in a file. `timeout`: seconds that may pass between two pieces of output, more at the start; ≤ 0: any.
/// The exit status. Errors: unsupported, if it cannot be started; execution (the time limit); cancelled.
Result<int> runProgram(const std::vector<std::string>& words, const std::string& outPath, const std::string& errorPath, double timeout)
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
    const auto end = [pid] {
        kill(pid, SIGKILL);
        while (waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
        }
    };
    uintmax_t printed = 0;
    int64_t since = nowNs();
    int status = 0;
    for (pid_t ended = 0; ended != pid; ended = waitpid(pid, &status, WNOHANG)) {
        if (ended < 0 && errno != EINTR)
            return Error(ErrorCode::execution, "cannot wait for '" + words.front() + "'").found(std::strerror(errno));
        if (interruptFlag().requested()) {
            end();
            return Error(ErrorCode::cancelled, "cancelled");
        }
        std::error_code ignored;
        if (const uintmax_t size = std::filesystem::file_size(outPath, ignored); !ignored && size != printed) {
            printed = size;
            since = nowNs();
        }
        const double waited = static_cast<double>(nowNs() - since) / 1e9;
        if (timeout > 0 && waited > timeout + (printed == 0 ? kStarting : 0)) {
            end();
            return timeLimitError(timeout);
        }
        usleep(5'000);
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

/// What the script has to know beside the numbers of runs: each input and output with all names that it is known by.
std::string asksOf(const AskedRun& asked, const BesideRun& beside)
{
    JsonWriter asks;
    asks.beginObject().key("signature").value(asked.target.signature);
    asks.key("is_folder").value(asked.file.formatName == "SavedModel");
    const auto list = [&](const char* key, const std::vector<Port>& ports) {
        asks.key(key).beginArray();
        for (const Port& port : ports) {
            asks.beginArray().value(port.name);
            for (const std::string& alias : port.aliases) asks.value(alias);
            asks.endArray();
        }
        asks.endArray();
    };
    const auto names = [&](const char* key, const std::vector<std::string>& all) {
        asks.key(key).beginArray();
        for (const std::string& name : all) asks.value(name);
        asks.endArray();
    };
    list("inputs", asked.target.inputs);
    list("outputs", asked.target.outputs);
    names("init", beside.initialisers);
    names("targets", beside.targets);
    return asks.endObject().text();
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

const Peer* peerOf(std::string_view name)
{
    static constexpr Peer kPeers[] = {
        {"litert", "LiteRT", "ai_edge_litert", kLiteRtScript},
        {"tensorflow", "TensorFlow", "tensorflow", kTensorFlowScript},
    };
    const auto* const found = std::ranges::find(kPeers, name, &Peer::name);
    return found == std::end(kPeers) ? nullptr : found;
}

Result<Timing> timeBeside(const Peer& peer, const AskedRun& asked, const BesideRun& beside)
{
    const bool isTflite = asked.file.formatName == "TFLite", isLiteRt = peer.name == "litert";
    const bool isGraph =
        asked.file.formatName == "SavedModel" || asked.file.formatName == "GraphDef" || asked.file.formatName == "GraphDef text";
    if (isLiteRt && !isTflite) return Error(ErrorCode::unsupported, "LiteRT runs .tflite files").found(std::string(asked.file.formatName));
    if (!isLiteRt && !isGraph)
        return Error(ErrorCode::unsupported, "TensorFlow runs SavedModels and GraphDefs").found(std::string(asked.file.formatName));
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
    LS_TRY(const int status, runProgram({python != nullptr ? python : "python3", "-c", peer.script, asked.file.path, arrays,
                                         std::to_string(asked.options.threads), std::to_string(beside.warmup),
                                         std::to_string(beside.repeat), asksOf(asked, beside)},
                                        out, errors, asked.timeout));
    const std::string title(peer.title);
    if (status != 0) {
        const std::string said = lastLine(errors);
        return Error(ErrorCode::unsupported, title + " beside it: " + (said.empty() ? "exit status " + std::to_string(status) : said))
            .note("LOOPSCOPE_PYTHON names a Python that has " + std::string(peer.package));
    }
    std::vector<int64_t> ns;
    std::ifstream file(out);
    for (int64_t value = 0; file >> value;) ns.push_back(value);
    if (ns.empty()) return Error(ErrorCode::unsupported, title + " beside it: no times");
    return timingOf(std::string(peer.name), std::move(ns));
}

} // namespace loopscope::app
