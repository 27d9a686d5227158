#include "app/check/ltest_values.h"

#include "engine/api/inputs/literal.h"
#include "engine/base/text.h"
#include "engine/ir/text/structured.h"
#include "engine/tensor/value_text.h"

#include <algorithm>
#include <charconv>

namespace loopscope::app {

namespace {

/// `NAME = REST`; names may be quoted. The statement goes on over lines while a bracket is open.
struct Assignment {
    std::string name, rest;
};

Result<std::vector<Assignment>> readAssignments(const LtestSection& section)
{
    std::vector<Assignment> all;
    std::string pending;
    int open = 0;
    for (const std::string& line : section.lines) {
        if (pending.empty() && line.find_first_not_of(" \t") == std::string::npos) continue;
        pending += (pending.empty() ? "" : " ") + line;
        bool quoted = false;
        for (size_t i = 0; i < line.size(); ++i) {
            if (line[i] == '\\' && quoted) ++i;
            else if (line[i] == '"') quoted = !quoted;
            else if (!quoted && line[i] == '[') ++open;
            else if (!quoted && line[i] == ']') --open;
        }
        if (open > 0) continue;
        open = 0;
        const size_t from = pending.starts_with("\"") ? pending.find('"', 1) : 0;
        const size_t equals = from == std::string::npos ? from : pending.find('=', from);
        if (equals == std::string::npos) return Error(ErrorCode::usage, "'" + pending + "': expected NAME = VALUE");
        std::string name = trimText(pending.substr(0, equals));
        if (name.size() >= 2 && name.front() == '"' && name.back() == '"') name = name.substr(1, name.size() - 2);
        all.push_back({std::move(name), trimText(pending.substr(equals + 1))});
        pending.clear();
    }
    if (!pending.empty()) return Error(ErrorCode::usage, "'" + pending + "': a bracket is open");
    return all;
}

/// Takes a leading type such as `f32[2,3] ` or `i8[4] q(0.5, 0) ` off the text.
bool takeType(std::string& text, DType& dtype, Shape& shape)
{
    size_t end = 0;
    while (end < text.size() && (std::isalnum(static_cast<unsigned char>(text[end])) != 0 || text[end] == '_')) ++end;
    if (end == 0 || end >= text.size() || text[end] != '[') return false;
    const std::optional<DType> named = dtypeFromName(std::string_view(text).substr(0, end));
    const size_t close = text.find(']', end);
    if (!named || close == std::string::npos) return false;
    Shape dims;
    for (size_t at = end + 1; at < close;) {
        int64_t size = 0;
        const auto [stop, error] = std::from_chars(text.data() + at, text.data() + close, size);
        if (error != std::errc()) return false;
        dims.append(size);
        at = static_cast<size_t>(stop - text.data());
        while (at < close && (text[at] == ',' || text[at] == ' ')) ++at;
    }
    dtype = *named;
    shape = dims;
    text = trimText(text.substr(close + 1));
    if (text.starts_with("q(")) text = trimText(text.substr(std::min(text.find(')') + 1, text.size())));
    return true;
}

Result<Tolerance> readTolerance(std::span<const std::string> words)
{
    Tolerance tolerance;
    const auto number = [](std::string_view text, double& value) {
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
        return error == std::errc() && end == text.data() + text.size();
    };
    for (size_t i = 0; i < words.size(); ++i) {
        const std::string& word = words[i];
        double value = 0;
        if (word == "exact") continue;
        if (word == "ulp") {
            if (++i >= words.size() || !number(words[i], value)) return Error(ErrorCode::usage, "'ulp' needs a number");
            tolerance.ulp = static_cast<int64_t>(value);
        } else if (word == "close") {
            if (!tolerance.close) tolerance.close.emplace();
        } else if ((word.starts_with("rtol=") || word.starts_with("atol=")) && number(std::string_view(word).substr(5), value)) {
            if (!tolerance.close) tolerance.close.emplace();
            (word[0] == 'r' ? tolerance.close->rtol : tolerance.close->atol) = value;
        } else {
            return Error(ErrorCode::usage, "tolerance").found("'" + word + "'").expected("exact, ulp N or close rtol=R atol=A");
        }
    }
    return tolerance;
}

/// Takes a tolerance off the end of a line: the words behind the literal.
Result<Tolerance> takeTolerance(std::string& text, const Tolerance& otherwise)
{
    size_t begin = std::string::npos;
    for (const std::string_view word : {" exact", " ulp ", " close"})
        if (const size_t at = text.rfind(word); at != std::string::npos && text.find_first_of("\"]", at) == std::string::npos)
            begin = std::min(begin, at);
    if (begin == std::string::npos) return otherwise;
    std::vector<std::string> words;
    for (size_t at = begin; at < text.size();) {
        at = text.find_first_not_of(' ', at);
        if (at == std::string::npos) break;
        const size_t end = std::min(text.find(' ', at), text.size());
        words.push_back(text.substr(at, end - at));
        at = end;
    }
    text = trimText(text.substr(0, begin));
    return readTolerance(words);
}

} // namespace

std::string trimText(const std::string& text)
{
    const size_t begin = text.find_first_not_of(" \t");
    if (begin == std::string::npos) return "";
    return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

std::vector<std::string> assignedNames(const LtestSection& section)
{
    std::vector<std::string> names;
    const Result<std::vector<Assignment>> assignments = readAssignments(section);
    if (assignments.ok())
        for (const Assignment& a : *assignments) names.push_back(a.name);
    return names;
}

Result<BoundInputs> readInputs(const LtestSection& section, const RunTarget& target, uint64_t seed)
{
    BoundInputs bound;
    bound.inputs.resize(target.inputs.size());
    LS_TRY(const std::vector<Assignment> assignments, readAssignments(section));
    for (const Assignment& a : assignments) {
        LS_TRY(const Port* port, findInput(target, a.name));
        std::string text = a.rest;
        TensorType type = port->type;
        if (takeType(text, type.dtype, type.shape)) type.signature.reset();
        Result<Array> array = [&]() -> Result<Array> {
            if (text.starts_with("seed ")) {
                // `seed 7 [lo, hi]` is the command line's `@7[lo,hi]`.
                std::string source = trimText(text.substr(5));
                source.erase(std::remove(source.begin(), source.end(), ' '), source.end());
                return randomFromText(source, type, seed, port->index, bound.usedSeed);
            }
            if (text.ends_with(".npy") || text.find(".npz") != std::string::npos) {
                Port alone = *port;
                alone.index = 0;
                LS_TRY(const BoundInputs file, bindInputs(RunTarget{target.graph, "", {alone}, {}}, {a.name + "=" + text}, seed, 1));
                return file.inputs.front().arrays.front();
            }
            if (text.starts_with("splat "))
                return parseLiteral(trimText(text.substr(6)), type.dtype, type.dynamicShape(), ScalarMeans::fill);
            return parseLiteral(text, type.dtype, type.dynamicShape(), ScalarMeans::oneElement);
        }();
        if (!array.ok()) return std::move(array).takeError().at("input '" + a.name + "'");
        bound.inputs[static_cast<size_t>(port->index)] = BoundInput{{std::move(array).value()}, a.rest};
    }
    for (const Port& port : target.inputs)
        if (bound.inputs[static_cast<size_t>(port.index)].arrays.empty())
            return Error(ErrorCode::usage, "missing").at("input '" + port.name + "'");
    return bound;
}

Status readRunOptions(const LtestSection& section, ExecutionOptions& options)
{
    for (const std::string& word : section.words) {
        const size_t equals = word.find('=');
        const std::string key = word.substr(0, equals);
        if (key == "profile" || key == "signature" || key == "target" || key == "fetch" || key == "against" || key == "cosine") continue;
        int64_t number = 0;
        const char* begin = equals == std::string::npos ? word.data() + word.size() : word.data() + equals + 1;
        const char* end = word.data() + word.size();
        const auto [at, error] = std::from_chars(begin, end, number);
        if (error != std::errc() || at != end) return Error(ErrorCode::usage, "option '" + word + "': expected KEY=NUMBER");
        if (key == "seed") options.seed = static_cast<uint64_t>(number);
        else if (key == "max_steps") options.maxSteps = number;
        else if (key == "max_depth") options.maxDepth = static_cast<int32_t>(number);
        else if (key == "threads") options.threads = static_cast<int32_t>(number);
        else return Error(ErrorCode::usage, "unknown option '" + key + "' of '== " + section.name + "'");
    }
    return {};
}

Result<std::vector<Expectation>> readExpectations(const LtestSection& section, const RunTarget& target, std::span<const Tensor> outputs)
{
    LS_TRY(const Tolerance common, readTolerance(section.words));
    LS_TRY(const std::vector<Assignment> assignments, readAssignments(section));
    std::vector<Expectation> expectations;
    for (const Assignment& a : assignments) {
        const Port* const port = findPort(target.outputs, a.name);
        if (port == nullptr) {
            std::vector<std::string> names;
            for (const Port& other : target.outputs) names.push_back(other.name);
            return Error(ErrorCode::usage, "no output '" + a.name + "' (outputs: " + join(names, ", ") + ")")
                .nearest(nearestNames(a.name, names));
        }
        const auto output = static_cast<size_t>(port->index);
        std::string text = a.rest;
        LS_TRY(const Tolerance tolerance, takeTolerance(text, common));
        DType dtype = outputs[output].dtype;
        Shape shape = outputs[output].shape;
        const bool typed = takeType(text, dtype, shape);
        ScalarMeans scalar = ScalarMeans::oneElement;
        if (text.starts_with("splat ")) {
            text = trimText(text.substr(6));
            scalar = ScalarMeans::fill;
        }
        Result<Array> value = parseLiteral(text, dtype, shape, scalar);
        if (!value.ok()) {
            Error error = std::move(value).takeError();
            error.at("output '" + a.name + "'");
            if (!typed) error.detail().what += "; the run gave " + shortType(outputs[output]);
            return error;
        }
        expectations.push_back({output, std::move(value).value(), tolerance});
    }
    return expectations;
}

std::vector<std::string> structuredLines(const Model& model)
{
    std::vector<std::string> lines;
    for (const StructuredLine& line : structuredView(model)) lines.push_back(line.text);
    return lines;
}

} // namespace loopscope::app
