// `loopscope ops`: the status matrix of operators.
#include "app/commands/commands.h"
#include "app/output/console.h"
#include "app/output/json_writer.h"
#include "app/output/operator_status.h"
#include "app/output/table.h"

namespace loopscope::app {

Result<int> runOps(const CommandContext& context)
{
    Console& console = context.console;
    const std::string dialect = context.arguments.text("dialect");
    const std::string pattern = context.arguments.positionals.empty() ? "*" : context.arguments.positionals.front();
    std::vector<OperatorStatus> rows;
    for (OperatorStatus& row : operatorStatus())
        if ((dialect.empty() || row.dialect == dialect) && matchesWildcard(pattern, row.name)) rows.push_back(std::move(row));
    if (context.arguments.has("markdown")) {
        console.print(operatorStatusMarkdown(rows));
        return 0;
    }
    if (rows.empty()) return Error(ErrorCode::usage, "no operator matches '" + pattern + "'");
    Table table({"operator", "shape", "reference", "fast", "xnnpack", "vulkan", "dtypes"});
    const auto mark = [](bool yes) { return std::string(yes ? "yes" : "-"); };
    for (const OperatorStatus& row : rows) {
        if (console.json()) {
            JsonWriter json;
            json.beginObject().key("schema").value(1).key("op").value(row.name).key("dialect").value(row.dialect).key("import").value(true);
            json.key("shape")
                .value(row.shape)
                .key("reference")
                .value(row.reference)
                .key("fast")
                .value(row.fast)
                .key("xnnpack")
                .value(row.xnnpack)
                .key("vulkan")
                .value(row.vulkan);
            json.key("dtypes").value(row.dtypes).endObject();
            console.line(json.text());
        } else {
            table.add({row.dialect == "tfl" ? row.name : row.dialect + "." + row.name, mark(row.shape), mark(row.reference), mark(row.fast),
                       mark(row.xnnpack), mark(row.vulkan), row.dtypes});
        }
    }
    if (!console.json()) console.page(table.text());
    return 0;
}

} // namespace loopscope::app
