#include "app/wiring/outputs.h"

#include "app/output/json_writer.h"
#include "app/output/table.h"
#include "app/wiring/variant_parts.h"
#include "engine/base/bytes.h"
#include "engine/tensor/npz.h"
#include "engine/tensor/value_text.h"
#include "engine/tensor/variants.h"

#include <algorithm>
#include <filesystem>

namespace loopscope::app {

std::string outputsText(const RunTarget& target, std::span<const Tensor> outputs, bool full)
{
    size_t width = 0;
    for (const Port& port : target.outputs) width = std::max(width, displayWidth(port.name));
    std::string out;
    for (size_t k = 0; k < outputs.size(); ++k) {
        const std::string& name = target.outputs[k].name;
        out += name + std::string(width - displayWidth(name) + 2, ' ');
        if (full && outputs[k].shape.rank() > 0) out += shortType(outputs[k]) + "  " + elementsText(outputs[k]) + "\n";
        else out += valueText(outputs[k], static_cast<int>(width) + 2) + "\n";
    }
    return out;
}

Status checkWritable(const std::string& path, bool overwrite)
{
    std::error_code error;
    if (path.empty() || overwrite || !std::filesystem::exists(path, error) || std::filesystem::is_character_file(path, error)) return {};
    return Error(ErrorCode::cannotWrite, "exists; --force overwrites").at(path);
}

void OutputSink::keep(std::span<const Tensor> outputs, int64_t run)
{
    for (size_t k = 0; k < outputs.size(); ++k) {
        const std::string name = (run > 0 ? "r" + std::to_string(run) + "/" : "") + m_target.outputs[k].name;
        std::string key = name; // a graph may give one value twice: an archive holds each name once
        for (int number = 1; std::find(m_names.begin(), m_names.end(), key) != m_names.end(); ++number)
            key = name + "_" + std::to_string(number);
        m_names.push_back(std::move(key));
        m_arrays.push_back(copyOf(WholeVariant(outputs[k]).tensor()));
    }
}

Status OutputSink::write(const std::string& path, const std::string& format, bool overwrite) const
{
    const std::string kind = outputFormat(path, format);
    if (kind == "npz") {
        std::vector<NamedTensor> tensors;
        for (size_t i = 0; i < m_arrays.size(); ++i)
            for (NamedTensor& part : writableParts({m_names[i], m_arrays[i].view()})) tensors.push_back(std::move(part));
        return writeNpz(path, tensors, overwrite);
    }
    if (kind == "npy") {
        if (m_arrays.size() != 1)
            return Error(ErrorCode::usage, "a .npy file holds one array, found " + std::to_string(m_arrays.size()) + "; write .npz")
                .at(path);
        LS_TRY(const std::vector<std::byte> content, writeNpy(m_arrays.front().view()));
        return writeFile(path, content, overwrite);
    }
    if (kind == "json") {
        JsonWriter json;
        json.beginObject().key("schema").value(1).key("outputs").beginArray();
        for (size_t i = 0; i < m_arrays.size(); ++i) json.tensor(m_names[i], m_arrays[i].view(), INT64_MAX);
        json.endArray().endObject();
        return writeFile(path, json.text() + "\n", overwrite);
    }
    return Error(ErrorCode::usage, "output format").found("'" + kind + "'").expected("npz, npy or json").at(path);
}

Result<std::string> outputPath(const Arguments& arguments, std::string_view command, std::string_view example)
{
    std::string path = arguments.text("output");
    if (path == "-")
        return Error(ErrorCode::usage, "option '--output'").found("'-'").expected("the name of a file: it is written whole or not at all");
    if (!path.empty()) return path;
    return Error(ErrorCode::usage, "something is missing")
        .at("'" + std::string(command) + "'")
        .expected("-o FILE")
        .note("for example: " + std::string(example));
}

SaveOptions savingOptions(const Arguments& arguments)
{
    SaveOptions options;
    options.format = arguments.text("format");
    options.overwrite = arguments.has("force");
    return options;
}

std::string outputFormat(const std::string& path, const std::string& format)
{
    if (!format.empty()) return format;
    const std::string extension = std::filesystem::path(path).extension().string();
    return extension.empty() ? "" : extension.substr(1);
}

} // namespace loopscope::app
