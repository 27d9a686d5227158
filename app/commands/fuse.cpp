// `loopscope fuse`: operators become the one that computes what they compute together; what was not fused says why.
#include "converters/fuse/fuse.h"
#include "app/commands/commands.h"
#include "app/output/console.h"
#include "app/output/json_writer.h"
#include "app/wiring/outputs.h"
#include "app/wiring/tf_target.h"
#include "converters/formats.h"
#include "engine/api/inputs/run_target.h"
#include "engine/base/text.h"
#include "engine/ir/verifier.h"

#include <string>
#include <vector>

namespace loopscope::app {

namespace {

std::vector<std::string> wordsOf(const std::string& list)
{
    std::vector<std::string> words;
    for (size_t at = 0; at < list.size();) {
        const size_t end = std::min(list.find(',', at), list.size());
        if (end > at) words.push_back(list.substr(at, end - at));
        at = end + 1;
    }
    return words;
}

std::string jsonReport(const FusionReport& report)
{
    JsonWriter json;
    json.beginObject().key("schema").value(1).key("rewrites").beginArray();
    for (const Fusion& fusion : report.rewrites) {
        json.beginObject().key("name").value(fusion.rule).key("graph").value(fusion.graph).key("operator").value(fusion.name);
        json.key("from").beginArray();
        for (const std::string& name : fusion.from) json.value(name);
        json.endArray().key("to").value(fusion.to).key("class").value(equalityText(fusion.equality)).endObject();
    }
    json.endArray().key("declined").beginArray();
    for (const FusionDeclined& declined : report.declined)
        json.beginObject()
            .key("name")
            .value(declined.rule)
            .key("graph")
            .value(declined.graph)
            .key("where")
            .value(declined.where)
            .key("to")
            .value(declined.to)
            .key("reason")
            .value(declined.reason)
            .endObject();
    json.endArray().key("labels").beginArray();
    for (const FusionLabel& label : report.labels)
        json.beginObject().key("graph").value(label.graph).key("where").value(label.where).key("name").value(label.name).endObject();
    return json.endArray().endObject().text();
}

/// A cell of a table.
std::string cell(const std::string& text)
{
    std::string safe;
    for (const char c : text) {
        if (c == '|') safe += '\\';
        safe += c == '\n' ? ' ' : c;
    }
    return safe;
}

std::string markdownReport(const std::string& path, const FusionReport& report)
{
    std::string text = "# Fusion of " + path + "\n\n";
    text += std::to_string(report.rewrites.size()) + " rewrites, " + std::to_string(report.declined.size()) + " refused.\n\n";
    if (!report.rewrites.empty()) text += "| rule | from | to | operator | class |\n|---|---|---|---|---|\n";
    for (const Fusion& fusion : report.rewrites)
        text += "| " + fusion.rule + " | " + cell(join(fusion.from, ", ")) + " | " + cell(fusion.to) + " | " +
                cell(fusion.graph + "/" + fusion.name) + " | " + std::string(equalityText(fusion.equality)) + " |\n";
    if (!report.declined.empty()) text += "\n## Not fused\n\n| rule | where | would be | reason |\n|---|---|---|---|\n";
    for (const FusionDeclined& declined : report.declined)
        text += "| " + declined.rule + " | " + cell(declined.graph + "/" + declined.where) + " | " + cell(declined.to) + " | " +
                cell(declined.reason) + " |\n";
    return text;
}

std::string plainReport(const FusionReport& report)
{
    std::string text;
    for (const Fusion& fusion : report.rewrites)
        text += fusion.to + "  " + fusion.graph + "/" + fusion.name + "  from " + join(fusion.from, ", ") + "  (" + fusion.rule + ", " +
                std::string(equalityText(fusion.equality)) + ")\n";
    for (const FusionLabel& label : report.labels)
        text += "is " + label.name + ", which TFLite has no operator for: " + label.graph + "/" + label.where + "\n";
    for (const FusionDeclined& declined : report.declined)
        text += "not fused: " + declined.to + " at " + declined.graph + "/" + declined.where + ": " + declined.reason + " (" +
                declined.rule + ")\n";
    if (text.empty()) text = "nothing to fuse\n";
    return text;
}

Status writeReport(const std::string& path, const std::string& source, const FusionReport& report, bool overwrite)
{
    const std::string format = outputFormat(path, "");
    if (format == "json") return writeFile(path, jsonReport(report) + "\n", overwrite);
    if (format == "md") return writeFile(path, markdownReport(source, report), overwrite);
    return Error(ErrorCode::usage, "option '--report'").found("'" + path + "'").expected("a file that ends in .md or .json");
}

} // namespace

Result<int> runFuse(const CommandContext& context)
{
    const Arguments& arguments = context.arguments;
    LS_TRY(const std::string out, outputPath(arguments, "fuse", "loopscope fuse model.pb -o fused.lsir"));
    SaveOptions saving;
    saving.format = arguments.text("format");
    saving.overwrite = arguments.has("force");
    LS_TRY(LoadedModel file, loadModel(arguments.positionals[0]));
    saving.source = file.content;
    LS_TRY(const Format* const format, formatToSave(out, saving));
    LS_CHECK_OK(checkWritable(out, saving.overwrite));
    FusionOptions options;
    options.only = wordsOf(arguments.text("passes"));
    if (file.model.dialect == Dialect::tf) {
        LS_TRY(const RunSelection selection, selectionFromArguments(file, arguments));
        for (const auto* names : {&selection.fetches, &selection.feeds, &selection.targets})
            options.keeps.insert(options.keeps.end(), names->begin(), names->end());
        options.selection = selection;
        const Signature* const chosen = chooseSignature(file.model, arguments.text("signature"));
        options.signature = chosen != nullptr ? chosen->key : "";
        options.root = rootOf(file.model, options.signature);
    }
    LS_TRY(const FusionReport report, fuseOperators(file.model, options));
    LS_CHECK_OK(verifyModel(file.model));
    LS_CHECK_OK(format->save(file.model, out, saving));
    if (const std::string path = arguments.text("report"); !path.empty())
        LS_CHECK_OK(writeReport(path, arguments.positionals[0], report, saving.overwrite));
    if (context.console.json()) context.console.line(jsonReport(report));
    else context.console.print(plainReport(report));
    return 0;
}

} // namespace loopscope::app
