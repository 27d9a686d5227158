// Mutants of the samples and of the operators' test models: byte flips, truncations, splices and overwritten integers, from fixed seeds.
// Each mutant must open or be refused with one line; one that opens must print, read back, export and come back equal, and is run for a few
// steps. A crash or a sanitizer report fails the test. Usage: mutation_test [MUTANTS [FIRST_SEED]]; default $LOOPSCOPE_MUTANTS or 20000. A
// failure prints its seed: `mutation_test 1 SEED` repeats it.
#include "converters/formats.h"
#include "converters/graphdef/graphdef.h"
#include "converters/lsir/lsir.h"
#include "converters/tflite/tflite.h"
#include "engine/exec/interpreter.h"
#include "engine/ir/text/parser.h"
#include "engine/ir/text/printer.h"
#include "engine/ir/text/structured.h"
#include "engine/ir/verifier.h"
#include "engine/tensor/strings.h"
#include "schema_generated.h"
#include "tests/fuzz/mutators.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace loopscope {
namespace {

enum class Form : uint8_t { tflite, text, graphDef, graphDefText };

/// A sample as it is written in one format.
struct Sample {
    std::string name;
    Form form = Form::tflite;
    Content content;
};

/// What a mutant led to: how far it came, and what is wrong with that.
struct Outcome {
    bool opened = false;
    bool finished = false; ///< ran to its end
    std::string problem;
};

/// A refusal is one line in lower case that does not end in a period; the path in front is ours.
std::string badMessage(const Error& error)
{
    const std::string message = error.message();
    if (message.find('\n') != std::string::npos) return "message of several lines: " + message;
    if (message.size() < 10) return "message too short: " + message;
    if (error.code() == ErrorCode::internal) return "a fault of ours: " + message;
    // "step budget of 500 reached at main/add#0" names it in the sentence, "… has no form there: main/rms_norm#0" at its end.
    const size_t slash = message.find('/');
    const bool namesOperator = slash != std::string::npos && message.find('#', slash) != std::string::npos;
    if (error.detail().where.empty() && !namesOperator && message.find(" at ") == std::string::npos)
        return "message without a place: " + message;
    return {};
}

std::string checkTextAgain(const Model& model)
{
    const std::string text = printModel(model);
    const auto parsed = parseModel(text, "printed");
    if (!parsed.ok()) return "its text does not parse: " + parsed.error().message();
    if (!sameModel(model, *parsed)) return "differs after printing: " + firstDifference(model, *parsed);
    if (printModel(*parsed) != text) return "printing again changes the text";
    return {};
}

/// TensorFlow's messages: what was read can be written, and comes back equal.
std::string checkGraphDef(const Model& model, bool mustComeBackEqual)
{
    const auto written = exportGraphDef(model);
    if (!written.ok())
        return mustComeBackEqual ? "what was read is not written: " + written.error().message() : badMessage(written.error());
    const auto again = importGraphDef("again", Bytes::copyOf(written->data(), written->size()));
    if (!again.ok()) return mustComeBackEqual ? "what was written does not open: " + again.error().message() : badMessage(again.error());
    if (mustComeBackEqual && !sameModel(model, *again)) return "differs after export: " + firstDifference(model, *again);
    (void)structuredView(model);
    return {};
}

std::string checkExport(const Model& model, bool mustComeBackEqual)
{
    if (model.dialect == Dialect::tf) return checkGraphDef(model, mustComeBackEqual);
    const auto written = exportTflite(model);
    if (!written.ok()) return badMessage(written.error());
    flatbuffers::Verifier verifier(reinterpret_cast<const uint8_t*>(written->data()), written->size());
    if (!tflite::VerifyModelBuffer(verifier)) return "what was written does not pass the FlatBuffers verifier";
    const auto again = importTflite("again", Bytes::copyOf(*written));
    // Text says things about tensors that a file may not say (data of the wrong size, …): the import refuses them then.
    if (!again.ok()) return mustComeBackEqual ? "what was written does not open: " + again.error().message() : badMessage(again.error());
    if (mustComeBackEqual && !sameModel(model, *again)) return "differs after export: " + firstDifference(model, *again);
    return {};
}

/// Memory that the tensors of a mutant may declare; one that wants gigabytes is honest about it, but this test has other concerns.
constexpr int64_t kMostElements = 1 << 20;
constexpr int64_t kMostSteps = 500;

bool isSmall(const Model& model)
{
    for (const Graph& graph : model.graphs)
        for (const Value& value : graph.values) {
            const auto count = value.type.shape.isStatic() ? checkedElementCount(value.type.shape) : 0;
            if (!count || *count > kMostElements) return false;
        }
    return true;
}

/// Bytes of an input: zeros, ones or anything.
std::vector<std::byte> inputBytes(DType dtype, size_t count, Random& random)
{
    if (dtype == DType::string) return packStrings(std::vector<std::string>(count, "text"));
    std::vector<std::byte> bytes(byteSize(dtype, static_cast<int64_t>(count)));
    const size_t how = random.below(3);
    for (std::byte& b : bytes) b = static_cast<std::byte>(how == 0 ? 0 : how == 1 || dtype == DType::boolean ? 1 : random.below(256));
    return bytes;
}

/// Runs the first graph. Running may fail, in words.
std::string checkRun(const Model& model, Random& random, bool& finished)
{
    if (model.graphs.empty() || !isSmall(model)) return {};
    ExecutionOptions options;
    options.maxSteps = kMostSteps;
    options.maxDepth = 16;
    const auto created = Interpreter::create(model, GraphId(0), options);
    if (!created.ok()) return badMessage(created.error());
    Interpreter& interpreter = **created;
    const Graph& graph = model.graphs.front();
    for (size_t i = 0; i < graph.inputs.size(); ++i) {
        const TensorType& type = graph.value(graph.inputs[i]).type;
        Tensor input;
        input.dtype = type.dtype;
        input.shape = type.shape.isStatic() ? type.shape : Shape();
        std::vector<std::byte> bytes = inputBytes(type.dtype, static_cast<size_t>(input.shape.elementCount()), random);
        input.data = bytes.data();
        input.bytes = bytes.size();
        if (Status status = interpreter.setInput(static_cast<int>(i), input); !status.ok())
            return badMessage(std::move(status).takeError());
    }
    if (Status status = interpreter.start(); !status.ok()) return badMessage(std::move(status).takeError());
    if (Status status = interpreter.run(); !status.ok()) return badMessage(std::move(status).takeError());
    finished = true;
    return {};
}

Result<Model> open(const Content& file, Form form)
{
    switch (form) {
    case Form::text: return importLsir("mutant", Bytes::copyOf(file));
    case Form::graphDef: return importGraphDef("mutant", Bytes::copyOf(file));
    case Form::graphDefText: return importGraphDefText("mutant", Bytes::copyOf(file));
    case Form::tflite: break;
    }
    return importTflite("mutant", Bytes::copyOf(file));
}

Outcome check(const Content& file, Form form, Random& random)
{
    Outcome outcome;
    const auto model = open(file, form);
    if (!model.ok()) {
        outcome.problem = badMessage(model.error());
        return outcome;
    }
    if (Status status = verifyModel(*model); !status.ok()) {
        outcome.problem = badMessage(std::move(status).takeError());
        return outcome;
    }
    outcome.opened = true;
    outcome.problem = checkTextAgain(*model);
    if (outcome.problem.empty()) outcome.problem = checkExport(*model, form != Form::text);
    if (outcome.problem.empty()) outcome.problem = checkRun(*model, random, outcome.finished);
    return outcome;
}

void addSample(const std::string& name, const Model& model, std::vector<Sample>& out)
{
    const auto add = [&](const std::string& as, Form form, const std::string& text) {
        const auto* first = reinterpret_cast<const std::byte*>(text.data());
        out.push_back({name + as, form, Content(first, first + text.size())});
    };
    if (auto file = exportTflite(model); file.ok()) out.push_back({name + " as .tflite", Form::tflite, std::move(*file)});
    if (const auto file = exportGraphDef(model); file.ok()) add(" as .pb", Form::graphDef, *file);
    if (const auto file = exportGraphDefText(model); file.ok()) add(" as .pbtxt", Form::graphDefText, *file);
    add("", Form::text, lsirText(model, DataMode::inlineData));
}

/// The models of a text test: what stands between `== model` and the next heading.
void addTestModels(const std::string& path, std::vector<Sample>& out)
{
    std::ifstream file(path);
    std::string text;
    bool inModel = false;
    for (std::string line; std::getline(file, line);) {
        if (!line.starts_with("== ")) {
            if (inModel) text += line + "\n";
            continue;
        }
        if (inModel)
            if (const auto model = modelFromText(text, path); model.ok()) addSample(path, *model, out);
        inModel = line == "== model";
        text.clear();
    }
}

std::vector<Sample> samples()
{
    std::vector<std::string> paths{"tests/unit/tflite/every_feature.lsir"};
    for (const char* folder : {"samples", "tests/ops", "tests/control_flow", "tests/text_ir"})
        for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) paths.push_back(entry.path().string());
    std::sort(paths.begin(), paths.end());
    std::vector<Sample> out;
    for (const std::string& path : paths) {
        if (path.ends_with(".ltest")) addTestModels(path, out);
        else if (path.ends_with(".lsir") || path.ends_with(".tflite"))
            if (const auto loaded = loadModel(path); loaded.ok()) addSample(path, loaded->model, out);
    }
    return out;
}

int run(uint64_t mutants, uint64_t firstSeed)
{
    const std::vector<Sample> all = samples();
    if (all.size() < 4) {
        std::printf("no samples\n");
        return 1;
    }
    uint64_t opened = 0;
    uint64_t finished = 0;
    uint64_t failures = 0;
    for (uint64_t seed = firstSeed; seed < firstSeed + mutants && failures < 20; ++seed) {
        Random random(seed);
        const Sample& sample = all[random.below(all.size())];
        const Sample& other = all[random.below(all.size())];
        const Content mutant = mutateBytes(sample.content, other.content, random);
        const Outcome outcome = check(mutant, sample.form, random);
        opened += outcome.opened ? 1 : 0;
        finished += outcome.finished ? 1 : 0;
        if (outcome.problem.empty()) continue;
        ++failures;
        std::printf("seed %llu, %s: %s\n", static_cast<unsigned long long>(seed), sample.name.c_str(), outcome.problem.c_str());
    }
    std::printf("%llu mutants of %zu samples: %llu opened, %llu ran to their end, %llu failures\n",
                static_cast<unsigned long long>(mutants), all.size(), static_cast<unsigned long long>(opened),
                static_cast<unsigned long long>(finished), static_cast<unsigned long long>(failures));
    // Nearly all mutants refused would mean that the test reaches nothing behind the first check.
    return failures == 0 && (mutants < 100 || opened * 20 > mutants) ? 0 : 1;
}

} // namespace
} // namespace loopscope

int main(int argc, char** argv)
{
    const char* set = std::getenv("LOOPSCOPE_MUTANTS");
    const uint64_t mutants = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : set ? std::strtoull(set, nullptr, 10) : 20'000;
    return loopscope::run(mutants, argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1);
}
