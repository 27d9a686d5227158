// A backend for tests of panels: a model in text, a session, and the commands that panels send, with the answers of a debugger.
#pragma once

#include "converters/lsir/lsir.h"
#include "engine/api/session.h"
#include "engine/exec/dataflow_executor.h"
#include "engine/exec/make_executor.h"
#include "viewer/bridge/document.h"

#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace loopscope::viewer {

class PanelBackend : public Backend {
public:
    PanelBackend(Model model, std::map<std::string, std::string> sources) : m_model(std::move(model)), m_sources(std::move(sources))
    {
        auto cancel = std::make_unique<CancelFlag>();
        ExecutionOptions options;
        options.cancel = cancel.get();
        options.keepAll = true;
        Result<std::unique_ptr<Executor>> executor = makeExecutor(m_model, GraphId(0), options);
        if (!executor.ok()) qFatal("%s", executor.error().message().c_str());
        m_session = std::make_unique<Session>(std::move(executor).value(), std::move(cancel));
    }

    const Model& model() const override { return m_model; }
    std::string path() const override { return "models/test.lsir"; }
    std::string name() const override { return "test.lsir"; }
    std::string contentHash() const override { return "0123"; }
    bool isReplay() const override { return false; }
    const TraceReader* trace() const override { return nullptr; }

    std::vector<InputPort> inputs() const override
    {
        std::vector<InputPort> all;
        for (const ValueId id : ports()) {
            const Value& value = m_model.graphs.front().value(id);
            InputPort port{
                value.id, std::string(dtypeName(value.type.dtype)) + toString(value.type.shape), value.type.dtype, value.type.shape, "",
                ""};
            if (const auto found = m_sources.find(value.id); found != m_sources.end()) port.source = found->second;
            all.push_back(std::move(port));
        }
        return all;
    }
    void setInput(std::string_view name, std::string_view source) override { m_sources[std::string(name)] = source; }
    Result<Array> previewInput(std::string_view name, std::string_view source) const override
    {
        for (const ValueId id : ports()) {
            const Value& value = m_model.graphs.front().value(id);
            if (value.id != name) continue;
            if (source.starts_with('[') && value.type.shape.rank() == 0)
                return Error(ErrorCode::usage, "wrong shape").found("i32[2]").expected("i32[]");
            // One number for all elements; a seed gives itself.
            const double number = std::stod(std::string(source.starts_with('@') ? source.substr(1) : source));
            Array array;
            array.dtype = value.type.dtype;
            array.shape = value.type.shape;
            if (source.find(":[") != std::string_view::npos)
                array.shape = Shape{std::stol(std::string(source.substr(source.find(":[") + 2)))};
            const auto put = [&](auto element) {
                for (int64_t i = 0; i < array.shape.elementCount(); ++i) {
                    array.bytes.resize(array.bytes.size() + sizeof element);
                    std::memcpy(array.bytes.data() + array.bytes.size() - sizeof element, &element, sizeof element);
                }
            };
            if (array.dtype == DType::f32) put(static_cast<float>(number));
            else put(static_cast<int32_t>(number));
            return array;
        }
        return Error(ErrorCode::usage, "no such input").at(name);
    }

    bool execute(std::string_view text, const std::function<void(const ConsoleEvent&)>& sink) override
    {
        const std::string line(text);
        std::string reply;
        const Result<bool> moved = m_session->call([&](Debugger& debugger) { return run(debugger, line, reply); });
        if (!moved.ok()) {
            sink({ConsoleEvent::Kind::error, "error: " + moved.error().message() + "\n"});
            return false;
        }
        if (*moved) {
            m_started = true;
            reply = m_report.address + ", step " + std::to_string(m_report.position.step) + "\n";
        }
        if (!reply.empty()) sink({*moved ? ConsoleEvent::Kind::stopped : ConsoleEvent::Kind::reply, reply});
        return true;
    }
    std::string prompt() const override { return "(test) "; }
    std::vector<std::string> complete(std::string_view line) const override
    {
        std::vector<std::string> words;
        for (const char* word : {"lastchange", "lastwrite", "list"})
            if (std::string_view(word).starts_with(line)) words.emplace_back(word);
        return words;
    }
    Session& session() override { return *m_session; }
    bool isStarted() const override { return m_started; }
    bool isRecording() const override { return false; }
    const StopReport* lastReport() const override { return m_started ? &m_report : nullptr; }

private:
    const std::vector<ValueId>& ports() const { return m_model.graphs.front().inputs; }

    Status feed(Debugger& debugger)
    {
        int index = 0;
        for (const ValueId id : ports()) {
            const std::string name = m_model.graphs.front().value(id).id;
            LS_TRY(const Array array, previewInput(name, m_sources[name]));
            LS_CHECK_OK(debugger.executor().setInput(index++, array.view()));
        }
        return {};
    }

    /// True: it went somewhere.
    Result<bool> run(Debugger& debugger, const std::string& line, std::string& reply)
    {
        const std::string verb = line.substr(0, line.find(' ')), rest = line.size() > verb.size() ? line.substr(verb.size() + 1) : "";
        RunControl& control = debugger.control();
        BreakpointSet& set = debugger.breakpoints();
        const auto moved = [&](Result<StopReport> report) -> Result<bool> {
            LS_TRY(m_report, std::move(report));
            return true;
        };
        if (verb == "start" || verb == "run") {
            LS_CHECK_OK(feed(debugger));
            return moved(verb == "start" ? control.start() : control.run());
        }
        if (verb == "input") {
            const size_t equals = rest.find('=');
            m_sources[rest.substr(0, equals)] = rest.substr(equals + 1);
            return false;
        }
        if (verb == "order") {
            auto* const dataflow = dynamic_cast<DataflowExecutor*>(&debugger.executor());
            if (dataflow == nullptr) return Error(ErrorCode::usage, "no order");
            dataflow->setScheduleSeed(rest == "arrival" ? 0 : std::stoull(rest));
            return false;
        }
        if (verb == "step") return moved(control.step(Direction::forward));
        if (verb == "continue") return moved(control.resume(Direction::forward));
        if (verb == "iter") return moved(control.iterateBy(std::stol(rest), {}));
        if (verb == "goto") {
            LS_TRY(const TypedPlace place, resolveTyped(debugger.target(), {}, rest));
            return moved(control.goTo(place.resolved));
        }
        if (verb == "break" || verb == "watch" || verb == "log") {
            const BreakpointCommand command = verb == "break" ? BreakpointCommand::breakpoint
                                              : verb == "log" ? BreakpointCommand::log
                                                              : BreakpointCommand::watch;
            LS_TRY(const int number, set.add(command, rest, {}));
            LS_TRY(const BreakpointInfo info, set.get(number));
            reply = "breakpoint " + std::to_string(number) + " at " + info.place + "\n";
            return false;
        }
        const int number = rest.empty() ? 0 : std::atoi(rest.c_str());
        if (verb == "delete") {
            if (rest.empty()) set.removeAll();
            else LS_CHECK_OK(set.remove(number));
            return false;
        }
        if (verb == "enable" || verb == "disable") {
            LS_CHECK_OK(set.setEnabled(number, verb == "enable"));
            return false;
        }
        if (verb == "condition") {
            LS_CHECK_OK(set.setCondition(number, rest.find(' ') == std::string::npos ? "" : rest.substr(rest.find(' ') + 1), {}));
            return false;
        }
        if (verb == "mark") {
            LS_CHECK_OK(control.mark(rest));
            return false;
        }
        if (verb == "display") return false;
        return Error(ErrorCode::usage, "no such command").at(line);
    }

    Model m_model;
    std::map<std::string, std::string> m_sources;
    std::unique_ptr<Session> m_session;
    StopReport m_report;
    bool m_started = false;
};

/// A file of the samples; `inputs`: "x=27".
inline std::unique_ptr<Document> openFile(const std::string& path, const std::vector<std::string>& inputs)
{
    std::ifstream file(path);
    std::string text{std::istreambuf_iterator<char>(file), {}};
    constexpr std::string_view fed = "n = Placeholder() dtype=i32 shape=shape[]"; // what a session would cut away and feed
    if (const size_t at = text.find(fed); at != std::string::npos && !inputs.empty())
        text.replace(at, fed.size(), "n = Const() dtype=i32 value=i32[] " + inputs.front().substr(inputs.front().find('=') + 1));
    Result<Model> model = loopscope::modelFromText(text, path);
    if (!model.ok()) qFatal("%s", model.error().message().c_str());
    std::map<std::string, std::string> sources;
    for (const std::string& input : inputs) sources[input.substr(0, input.find('='))] = input.substr(input.find('=') + 1);
    return std::make_unique<Document>(std::make_unique<PanelBackend>(std::move(model).value(), std::move(sources)));
}

} // namespace loopscope::viewer
