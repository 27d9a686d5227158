// `loopscope devices`: what there is to run on, its limits, and what they rule out.
#include "app/commands/commands.h"
#include "app/output/console.h"
#include "app/output/json_writer.h"
#include "app/output/table.h"
#include "engine/base/text.h"
#include "engine/device/vulkan_device.h"

namespace loopscope::app {

namespace {

std::string sizeText(uint64_t bytes)
{
    const bool isGibi = bytes >= uint64_t{1} << 30;
    const uint64_t unit = isGibi ? uint64_t{1} << 30 : bytes >= uint64_t{1} << 20 ? uint64_t{1} << 20 : uint64_t{1} << 10;
    return std::to_string(bytes / unit) + (isGibi ? " GiB" : unit == uint64_t{1} << 20 ? " MiB" : " KiB");
}

void addJson(JsonWriter& json, size_t index, const DeviceInfo& device)
{
    json.beginObject().key("index").value(static_cast<int64_t>(index)).key("name").value(device.name).key("type").value(device.type);
    json.key("driver").value(device.driver).key("api").value(device.api).key("usable").value(device.isUsable());
    json.key("memory").value(static_cast<int64_t>(device.memoryBytes));
    json.key("largest_tensor").value(static_cast<int64_t>(device.largestBuffer));
    json.key("workgroup").value(static_cast<int64_t>(device.largestWorkgroup));
    json.key("shared_memory").value(static_cast<int64_t>(device.sharedBytes));
    json.key("subgroup").value(static_cast<int64_t>(device.subgroup)).key("f64").value(device.hasDoubles);
    json.key("lacks").beginArray();
    for (const std::string& name : device.lacks) json.value(name);
    json.endArray().endObject();
}

} // namespace

Result<int> runDevices(const CommandContext& context)
{
    Console& console = context.console;
    const Result<std::vector<DeviceInfo>> devices = vulkanDevices();
    if (console.json()) {
        JsonWriter json;
        json.beginObject().key("schema").value(1).key("devices").beginArray();
        if (devices.ok())
            for (size_t i = 0; i < devices->size(); ++i) addJson(json, i, (*devices)[i]);
        json.endArray().key("reason").value(devices.ok() ? std::string() : devices.error().message()).endObject();
        console.line(json.text());
        return 0;
    }
    if (!devices.ok()) {
        console.line("vulkan: " + devices.error().message() + "; everything runs on the cpu");
        return 0;
    }
    Table table({"", "device", "type", "memory", "largest tensor", "workgroup", "shared", "subgroup", "driver"});
    for (size_t c : {3, 4, 5, 6, 7}) table.align(c, Align::right);
    for (size_t i = 0; i < devices->size(); ++i) {
        const DeviceInfo& device = (*devices)[i];
        table.add({std::to_string(i), device.name, device.type, sizeText(device.memoryBytes), sizeText(device.largestBuffer),
                   std::to_string(device.largestWorkgroup), sizeText(device.sharedBytes), std::to_string(device.subgroup),
                   device.driver + ", Vulkan " + device.api});
    }
    console.print(table.text());
    for (const DeviceInfo& device : *devices) {
        if (!device.isUsable()) console.line("'" + device.name + "' is not used: it lacks " + join(device.lacks, ", "));
        else if (!device.hasDoubles) console.line("'" + device.name + "' has no 64-bit floats: quantized fully_connected runs on the cpu");
    }
    return 0;
}

} // namespace loopscope::app
