#include "app/desktop/terminal_backend.h"

#include "app/commands/commands.h"
#include "app/desktop/file_rewrites.h"
#include "app/desktop/rewrites.h"
#include "app/output/console.h"
#include "app/terminal/completion.h"
#include "app/wiring/model_file.h"
#include "app/wiring/subject.h"
#include "converters/partial_model.h"
#include "converters/tflite/model_metadata.h"
#include "engine/api/inputs/inputs.h"
#include "engine/base/bytes.h"
#include "engine/base/hash.h"
#include "engine/tensor/value_text.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

namespace loopscope::app {

namespace {

constexpr size_t kHashedWhole = size_t{64} << 20; ///< larger files are known by both ends and their size

/// Of a file's content, or of what says what is in a folder.
std::string hashOf(const std::string& path)
{
    std::error_code failure;
    std::string file = path;
    if (std::filesystem::is_directory(path, failure)) file += "/saved_model.pb";
    const Result<Bytes> content = mapFile(file);
    if (!content.ok()) return {};
    const std::span<const std::byte> bytes = content->view();
    if (bytes.size() <= kHashedWhole) return toHex(hashBytes(bytes));
    const uint64_t size = bytes.size();
    const uint64_t first = hash64(bytes.first(kHashedWhole / 2), size), last = hash64(bytes.last(kHashedWhole / 2), size);
    return toHex(first) + toHex(last);
}

/// What makes as many elements as nobody should wait for: a seed or a constant of a large input, or of one whose size the source says.
bool makesMany(const Port& port, std::string_view source)
{
    constexpr int64_t kMany = 1 << 14;
    const Shape shape = port.type.dynamicShape();
    if (source.starts_with("@last") || !shape.hasRank()) return true;
    int64_t count = 1;
    for (int axis = 0; axis < shape.rank(); ++axis) {
        if (shape[axis] < 0 && source.find('[') != std::string_view::npos) return true;
        count *= std::max<int64_t>(1, std::min<int64_t>(shape[axis], kMany));
        if (count > kMany) return true;
    }
    return false;
}

/// `in.npy:cast; x[0]=1` begins with the path of a file that takes a while to read.
bool namesLargeFile(std::string_view source)
{
    constexpr uintmax_t kLarge = 1 << 20;
    std::error_code failure;
    for (size_t end = source.size(); end != std::string_view::npos && end > 0; end = source.find_last_of(":;[ ", end - 1)) {
        const std::string path(source.substr(0, end));
        if (std::filesystem::is_regular_file(path, failure)) return std::filesystem::file_size(path, failure) > kLarge;
    }
    return false;
}

viewer::ConsoleEvent::Kind kindOf(TerminalEvent::Kind kind)
{
    using Kind = viewer::ConsoleEvent::Kind;
    switch (kind) {
    case TerminalEvent::Kind::stopped: return Kind::stopped;
    case TerminalEvent::Kind::log: return Kind::log;
    case TerminalEvent::Kind::error: return Kind::error;
    default: return Kind::reply;
    }
}

/// The labels of classes in a TFLite file; empty: it has none.
std::shared_ptr<const std::vector<std::string>> labelsOf(const std::string& path, const Model& model)
{
    std::vector<std::string> labels;
    if (model.dialect == Dialect::tfl)
        if (const Result<Bytes> content = mapFile(path); content.ok())
            for (const AssociatedFile& file : readModelMetadata(model, *content).files)
                if (file.role == "labels" && file.content && labels.empty()) labels = textLines(*file.content);
    return std::make_shared<const std::vector<std::string>>(std::move(labels));
}

} // namespace

TerminalBackend::~TerminalBackend() = default;

viewer::ComparedRun TerminalBackend::compared() const
{
    const std::shared_ptr<const Reference> reference = m_terminal->session().reference();
    if (!m_labels) m_labels = labelsOf(m_path, model());
    if (reference && reference->model() && !m_labelsThere) m_labelsThere = labelsOf(viewer::fileOfSide(m_against), *reference->model());
    return {.reference = reference,
            .root = m_terminal->target().graph,
            .path = m_against,
            .labelsHere = m_labels,
            .labelsThere = m_labelsThere,
            .drift = m_terminal->session().drift()};
}

Result<std::unique_ptr<viewer::Backend>> TerminalBackend::open(const Arguments& arguments)
{
    const std::string against = arguments.text("against");
    const bool isFused = against.starts_with(viewer::kFusedSide);
    const std::string other = viewer::fileOfSide(against);
    const bool isKernels = against.starts_with(viewer::kKernelsSide);
    const bool isModel = !against.empty() && !isFused && !isKernels && !other.ends_with(".npz") && !isTraceFile(other);
    Arguments alone = arguments;
    if (isFused || isKernels || isModel) alone.unset("against");
    LS_TRY(DebugSubject subject, openSubject(alone));
    std::unique_ptr<TerminalBackend> backend(new TerminalBackend);
    if (isFused) {
        LS_TRY(backend->m_fusedSide, holdAgainstFused(subject, viewer::switchedOff(against), arguments));
    } else if (isKernels) {
        LS_CHECK_OK(holdAgainstKernels(subject, against.substr(viewer::kKernelsSide.size()), arguments));
    } else if (isModel && !subject.isReplay) {
        LS_TRY(backend->m_fusedSide, holdAgainstRewritten(subject, other, viewer::switchedOff(against), arguments));
    } else if (isModel) { // the subject of a recording knows what it was recorded from
        LS_TRY(subject, openSubject(arguments));
    }
    subject.inputs = inputsByName(subject.target, subject.inputs); // a field for each input
    backend->m_path = arguments.has("trace") ? arguments.text("trace") : arguments.positionals.front();
    backend->m_against = against;
    backend->m_hash = hashOf(backend->m_path);
    backend->m_profile = arguments.text("profile", "reference");
    if (subject.isReplay) {
        LS_TRY(backend->m_trace, TraceReader::open(backend->m_path));
    }
    backend->listen(std::move(subject));
    return std::unique_ptr<viewer::Backend>(std::move(backend));
}

Result<std::unique_ptr<viewer::Backend>> TerminalBackend::openPart(const std::string& path)
{
    LS_TRY(PartialModel part, loadWhatCanBeRead(path));
    auto file = std::make_shared<LoadedModel>(std::move(part.file));
    LS_TRY(DebugSubject subject, liveSubject(file->model, fileNameOf(path), "", {}));
    subject.owner = file;
    subject.record = {};
    subject.target.inputs.clear(); // nobody is to fill them
    // Asked for whenever a run is to begin.
    subject.reference = [](const std::vector<std::string>&, const BoundInputs*) -> Result<std::unique_ptr<Reference>> {
        return Error(ErrorCode::badFile, "only a part of the file could be read: it can be looked at, not run");
    };
    std::unique_ptr<TerminalBackend> backend(new TerminalBackend);
    backend->m_path = path;
    backend->m_hash = hashOf(path);
    for (const Error& fault : part.faults) {
        const std::string& where = fault.detail().where;
        backend->m_faults.push_back({where.empty() ? fault.message() : fault.message().substr(where.size() + 2), where});
    }
    backend->listen(std::move(subject));
    return std::unique_ptr<viewer::Backend>(std::move(backend));
}

void TerminalBackend::listen(DebugSubject subject)
{
    m_terminal = std::make_unique<Terminal>(std::move(subject), TerminalSettings{}, [this](const TerminalEvent& event) {
        if (event.kind == TerminalEvent::Kind::done) return;
        if (m_sink) (*m_sink)({kindOf(event.kind), event.text, event.error ? event.error->message() : std::string()});
    });
    m_terminal->prepare();
}

std::vector<viewer::InputPort> TerminalBackend::inputs() const
{
    std::vector<viewer::InputPort> ports;
    if (isReplay()) return ports;
    const RunTarget& target = m_terminal->target();
    for (const Port& port : target.inputs) {
        viewer::InputPort shown{port.name, shortType(port.type), port.type.dtype, port.type.dynamicShape(), {}, {}};
        for (const std::string& typed : m_terminal->session().inputs()) {
            const Result<InputOption> option = splitInputOption(typed);
            if (!option.ok()) continue;
            const bool mine = option->name == port.name || option->name == "all" || (option->name.empty() && target.inputs.size() == 1) ||
                              std::ranges::find(port.aliases, option->name) != port.aliases.end();
            if (!mine) continue;
            const size_t equals = option->name.empty() ? std::string::npos : typed.find('=');
            shown.source = equals == std::string::npos ? typed : typed.substr(equals + 1);
        }
        if (!shown.source.empty()) shown.problem = problemOf(port, shown.source);
        ports.push_back(std::move(shown));
    }
    return ports;
}

/// Files are read once: whoever asks again gets the answer of then. Of a large source that nobody has looked into yet there is no answer:
/// this is asked on the GUI thread, and the run says what is wrong with it.
std::string TerminalBackend::problemOf(const Port& port, const std::string& source) const
{
    {
        const std::scoped_lock lock(m_checkedMutex);
        const auto known = m_checked.find(port.name);
        if (known != m_checked.end() && known->second.source == source && !source.starts_with("@last")) return known->second.problem;
    }
    if (namesLargeFile(source) || makesMany(port, source)) return {};
    const Result<Array> bound = previewInput(port.name, source);
    return bound.ok() ? std::string() : bound.error().message();
}

void TerminalBackend::setInput(std::string_view name, std::string_view source)
{
    static_cast<void>(m_terminal->session().giveInput({"\"" + std::string(name) + "\"=" + std::string(source)}).ok());
}

Result<Array> TerminalBackend::previewInput(std::string_view name, std::string_view source) const
{
    LS_TRY(const Port* const port, findInput(m_terminal->target(), name));
    Result<Array> bound = m_terminal->session().previewInput(name, source);
    const std::scoped_lock lock(m_checkedMutex);
    m_checked[port->name] = {std::string(source), bound.ok() ? std::string() : bound.error().message()};
    return bound;
}

bool TerminalBackend::perform(const Request& request, const viewer::ConsoleSink& sink)
{
    m_sink = &sink;
    const bool fine = m_terminal->perform(request);
    m_sink = nullptr;
    return fine;
}

bool TerminalBackend::execute(std::string_view line, const viewer::ConsoleSink& sink)
{
    m_sink = &sink;
    const bool fine = m_terminal->execute(line, LineOrigin::prompt);
    m_sink = nullptr;
    return fine;
}

std::vector<std::string> TerminalBackend::complete(std::string_view line) const
{
    std::vector<std::string> words;
    for (Candidate& candidate : completionsOf(*m_terminal, line).candidates) words.push_back(std::move(candidate.text));
    return words;
}

Result<std::unique_ptr<viewer::Backend>> DesktopServices::open(const std::string& path, std::stop_token stop)
{
    return openAgainst(path, {}, 0, std::move(stop));
}

Result<std::unique_ptr<viewer::Backend>> DesktopServices::openAgainst(const std::string& path, const std::string& other, double cosine,
                                                                      std::stop_token stop)
{
    Arguments arguments = [this] {
        const std::scoped_lock lock(m_mutex);
        return m_defaults;
    }();
    arguments.positionals = {path};
    if (!other.empty()) arguments.set("against", {other});
    if (cosine > 0) arguments.set("cosine", {std::to_string(cosine)});
    Result<std::unique_ptr<viewer::Backend>> opened = TerminalBackend::open(arguments);
    if (stop.stop_requested()) return Error(ErrorCode::cancelled, "opening was cancelled").at(fileNameOf(path));
    if (opened.ok()) { // inputs were meant for the first file
        const std::scoped_lock lock(m_mutex);
        m_defaults.set("input", {});
        m_defaults.set("feed", {});
    }
    return opened;
}

Result<std::unique_ptr<viewer::Backend>> DesktopServices::openPart(const std::string& path, std::stop_token stop)
{
    Result<std::unique_ptr<viewer::Backend>> opened = TerminalBackend::openPart(path);
    if (stop.stop_requested()) return Error(ErrorCode::cancelled, "opening was cancelled").at(fileNameOf(path));
    return opened;
}

Result<std::string> DesktopServices::runCommand(const std::vector<std::string>& words)
{
    char *out = nullptr, *err = nullptr;
    size_t outSize = 0, errSize = 0;
    FILE* const outFile = open_memstream(&out, &outSize);
    FILE* const errFile = open_memstream(&err, &errSize);
    if (!outFile || !errFile) return Error(ErrorCode::device, "no memory for the command's output");
    Result<int> code = 0;
    {
        Console console(outFile, errFile);
        code = runWords(console, words);
    }
    std::fclose(outFile);
    std::fclose(errFile);
    std::string output(out, outSize), errors(err, errSize);
    std::free(out);
    std::free(err);
    if (!code.ok()) return std::move(code).takeError();
    if (*code == 0 || *code == 1) return output; // 1: `diff` found differences
    return Error(static_cast<ErrorCode>(*code), errors.substr(0, errors.find('\n')));
}

namespace {

/// Installed beside the program, or the folder of the source tree that it was built in.
std::string samplesFolder()
{
    if (const char* const set = std::getenv("LOOPSCOPE_SAMPLES")) return set;
    std::error_code failure;
    const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", failure);
    const std::filesystem::path here = program.parent_path();
    for (const char* const way :
         {"../share/loopscope/samples/text", "../../samples/text", "../../../samples/text", "../../../../samples/text"}) {
        const std::filesystem::path folder = (here / way).lexically_normal();
        if (std::filesystem::exists(folder / "collatz.lsir", failure)) return folder.string();
    }
    return {};
}

} // namespace

std::vector<viewer::Services::Sample> DesktopServices::samples() const
{
    const std::string folder = samplesFolder();
    if (folder.empty()) return {};
    const auto in = [&](const char* name) { return folder + "/" + name; };
    std::vector<Sample> samples;
    samples.push_back({"Watch a While run",
                       "collatz: an If in a While, 111 iterations. Drag the slider.",
                       "Run and stop inside",
                       in("collatz.lsir"),
                       "",
                       {"run x=27", "goto main/while#0@0:body"},
                       "debug"});
    samples.push_back({"See a dead branch",
                       "v1_collatz: a TensorFlow 1 loop with a Switch whose other side is dead.",
                       "Open dataflow",
                       in("v1_collatz.lsir"),
                       "",
                       {"tbreak dead half", "run n=6"},
                       "debug"});
    samples.push_back({"Find the worst layer",
                       "layers: int8 weights against float32. Stops in the first layer that differs.",
                       "Compare",
                       in("layers_int8.lsir"),
                       in("layers_float.lsir"),
                       {"run x=@7", "drift"},
                       "compare"});
    samples.push_back({"Go back to a wrong value",
                       "nan_at_613: a NaN after 613 iterations. Ask who wrote it.",
                       "Run to the NaN",
                       in("nan_at_613.lsir"),
                       "",
                       {"tbreak nan", "run n=1000"},
                       "debug"});
    return samples;
}

} // namespace loopscope::app
