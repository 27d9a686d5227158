#include "app/wiring/backend.h"

#include "app/wiring/command_line.h"
#include "app/wiring/placement.h"
#include "app/wiring/tf_target.h"
#include "engine/device/vulkan_memory.h"

#include <cstdlib>
#include <deque>
#include <memory>

namespace loopscope::app {

namespace {

std::string environment(const char* name)
{
    const char* const value = std::getenv(name);
    return value ? value : "";
}

Result<std::string> backendOption(const Arguments& arguments)
{
    std::string backend = arguments.text("backend", "cpu");
    if (backend == "cpu" || backend == "vulkan" || backend == "auto") return backend;
    return Error(ErrorCode::usage, "option '--backend'").found("'" + backend + "'").expected("cpu, vulkan or auto");
}

Error withoutDevice(Error error)
{
    error.detail().what += "; --backend auto would use cpu";
    return std::move(error).at("backend 'vulkan'");
}

} // namespace

void chooseDevice(const Arguments& arguments, bool isOptional)
{
    DeviceChoice choice;
    choice.isOptional = isOptional;
    choice.wanted = arguments.text("device", environment("LOOPSCOPE_DEVICE"));
    choice.validates = environment("LOOPSCOPE_VALIDATE") == "1";
    choice.cacheFolder = environment("LOOPSCOPE_CACHE");
    if (choice.cacheFolder.empty() && !environment("HOME").empty()) choice.cacheFolder = environment("HOME") + "/.cache/loopscope";
    VulkanDevice::choose(std::move(choice));
}

Result<std::unique_ptr<DeviceMemory>> deviceMemoryFor(const ExecutionOptions& options)
{
    if (options.profile != Profile::vulkan) return std::unique_ptr<DeviceMemory>();
    LS_TRY(std::shared_ptr<VulkanDevice> device, VulkanDevice::opened());
    return std::unique_ptr<DeviceMemory>(std::make_unique<VulkanMemory>(std::move(device)));
}

Status giveDevice(ExecutionOptions& options)
{
    // Executors are given a pointer; the memory of each lasts, since nobody knows which of them is the last. Drivers end before it would.
    static auto& memories = *new std::deque<std::unique_ptr<DeviceMemory>>; // NOLINT(cppcoreguidelines-owning-memory)
    LS_TRY(std::unique_ptr<DeviceMemory> memory, deviceMemoryFor(options));
    options.device = memory.get();
    if (memory) memories.push_back(std::move(memory));
    return {};
}

Status openDevice(const Arguments& arguments)
{
    chooseDevice(arguments);
    const Result<std::shared_ptr<VulkanDevice>> device = VulkanDevice::opened();
    return device.ok() ? Status() : Status(device.error().copy().at("backend 'vulkan'"));
}

Status chooseBackend(const Arguments& arguments, ExecutionOptions& options, std::string* whyNoDevice)
{
    LS_TRY(const std::string backend, backendOption(arguments));
    if (backend == "cpu") return {};
    chooseDevice(arguments, backend == "auto");
    const Profile before = options.profile;
    options.profile = Profile::vulkan;
    Status status = giveDevice(options);
    if (status.ok()) return {};
    Error error = std::move(status).takeError();
    if (backend == "vulkan") return withoutDevice(std::move(error));
    options.profile = before;
    const std::string why = error.message();
    if (whyNoDevice && !why.starts_with("no device (")) *whyNoDevice = "backend 'auto': " + why + "; everything runs on the cpu";
    return {};
}

Result<bool> wantsDevice(const Arguments& arguments)
{
    LS_TRY(const std::string backend, backendOption(arguments));
    if (backend == "cpu") return false;
    chooseDevice(arguments);
    const Result<std::vector<DeviceInfo>> devices = vulkanDevices();
    if (!devices.ok() && backend == "vulkan") return withoutDevice(devices.error().copy());
    return devices.ok();
}

Status placeOperators(const Arguments& arguments, Model& model)
{
    const std::vector<std::string>& texts = arguments.all("place");
    if (asksForDevices(texts) || arguments.has("distributed")) {
        const Result<CutReport> report = cutAsAsked(texts, model, rootOf(model, arguments.text("signature")));
        return report.ok() ? Status() : Status(report.error().copy());
    }
    for (const std::string& text : texts) {
        const std::string pattern = text.substr(0, text.rfind('='));
        bool fits = false;
        for (Graph& graph : model.graphs)
            for (size_t o = 0; o < graph.operators.size(); ++o) {
                if (!fitsPlace(pattern, graph, o)) continue;
                setAttribute(graph.operators[o].attributes, "@place", Word{"cpu"});
                fits = true;
            }
        if (!fits) return Error(ErrorCode::usage, "option '--place'").found("'" + pattern + "', which fits no operator");
    }
    return {};
}

std::string fullDeviceText(const DeviceMemory* device)
{
    const auto* const memory = dynamic_cast<const VulkanMemory*>(device);
    if (!memory || memory->traffic().spills == 0) return {};
    const auto counted = [](uint64_t n, const char* what) { return std::to_string(n) + " " + what + (n == 1 ? "" : "s"); };
    const DeviceTraffic& traffic = memory->traffic();
    return "the device was full " + counted(traffic.spills, "time") + " and gave back what it held" +
           (traffic.onHost == 0 ? "" : ", " + counted(traffic.onHost, "operator") + " ran on the cpu");
}

Status checkStrict(const Arguments& arguments, const Executor& executor)
{
    if (!arguments.has("strict")) return {};
    const std::string text =
        fallbackText(executor.model(), executor.kernelReport(),
                     executor.kernelReport().fallbacks().empty() ? Profile::reference : executor.kernelReport().fallbacks()[0].wanted);
    if (text.empty()) return {};
    return Error(ErrorCode::unsupported, text).at("option '--strict'");
}

} // namespace loopscope::app
