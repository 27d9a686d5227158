// A backend for tests of panels: a session on a model in text, which carries out what panels ask for and keeps it as commands.
#pragma once

#include "converters/lsir/lsir.h"
#include "engine/api/debug_session.h"
#include "engine/exec/make_executor.h"
#include "viewer/bridge/document.h"

#include <QTemporaryDir>

#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace loopscope::viewer::testing {

/// The few commands that tests type.
inline std::optional<Request> requestOf(const std::string& line)
{
    const std::string verb = line.substr(0, line.find(' ')), rest = line.size() > verb.size() ? line.substr(verb.size() + 1) : "";
    using namespace request;
    if (verb == "start" || verb == "run") return Begin{{}, verb == "run"};
    if (verb == "step") return Move(request::Step());
    if (verb == "reverse-step") return Move(request::Step{Direction::backward});
    if (verb == "until") return Move(Until());
    if (verb == "continue") return Move(Resume());
    if (verb == "end") return Move(GoToEnd());
    if (verb == "iter" && (rest[0] == '+' || rest[0] == '-')) return Move(Iterate{Iterate::To::offset, std::stol(rest)});
    if (verb == "iter") return Move(Iterate{Iterate::To::number, std::stol(rest)});
    if (verb == "goto" && rest.starts_with("step:")) return Move(GoToStep{std::stol(rest.substr(5))});
    if (verb == "goto") return Move(GoToPlace{rest});
    if (verb == "input") return GiveInput{rest};
    if (verb == "order") return SetOrder{rest == "arrival" ? 0 : std::stoull(rest)};
    if (verb == "drift") return FindDrift();
    if (verb == "mark") return SetMark{rest};
    if (verb == "display") return Display{rest};
    if (const std::optional<BreakpointCommand> command = breakpointCommand(verb)) {
        Result<BreakpointSpec> spec = parseSpec(*command, rest);
        if (!spec.ok()) return std::nullopt;
        return AddBreakpoint{std::move(*spec)};
    }
    const int number = rest.empty() ? 0 : std::atoi(rest.c_str());
    if (verb == "delete") return RemoveBreakpoint{rest.empty() ? std::nullopt : std::optional(number)};
    if (verb == "enable" || verb == "disable") return EnableBreakpoint{number, verb == "enable"};
    if (verb == "condition") return SetCondition{number, rest.find(' ') == std::string::npos ? "" : rest.substr(rest.find(' ') + 1)};
    return std::nullopt;
}

class SessionBackend : public Backend {
public:
    /// `complete`: makes more of the subject before it is opened.
    explicit SessionBackend(Model model, bool keepAll = true, const std::function<void(DebugSubject&)>& complete = {})
        : m_model(std::move(model))
    {
        Result<DebugSubject> subject = subjectOf(m_model, "test.lsir");
        if (!subject.ok()) qFatal("%s", subject.error().message().c_str());
        if (!keepAll) {
            ExecutionOptions options;
            options.cancel = subject->cancel.get();
            Result<std::unique_ptr<Executor>> executor = makeExecutor(m_model, GraphId(0), options);
            if (!executor.ok()) qFatal("%s", executor.error().message().c_str());
            subject->executor = std::move(*executor);
        }
        if (complete) complete(*subject);
        m_session = std::make_unique<DebugSession>(std::move(*subject));
    }

    const Model& model() const override { return m_model; }
    std::string path() const override { return "test.lsir"; }
    std::string name() const override { return "test.lsir"; }
    std::string contentHash() const override { return "0"; }
    bool isReplay() const override { return false; }
    const TraceReader* trace() const override { return nullptr; }
    std::vector<InputPort> inputs() const override { return {}; }
    void setInput(std::string_view, std::string_view) override {}
    Result<Array> previewInput(std::string_view, std::string_view) const override { return Error(ErrorCode::usage, "no inputs"); }
    bool perform(const Request& request, const ConsoleSink& sink) override
    {
        lines.push_back(commandText(request));
        const Result<Outcome> outcome = m_session->perform(request);
        if (!outcome.ok()) {
            const std::string message = outcome.error().message();
            errors.push_back(message);
            sink({ConsoleEvent::Kind::error, "error: " + message + "\n", message});
            return false;
        }
        if (outcome->stop) {
            m_report = outcome->stop->report;
            sink({ConsoleEvent::Kind::stopped, m_report.address + ", step " + std::to_string(m_report.position.step) + "\n", {}});
        } else if (outcome->breakpoint) {
            sink({ConsoleEvent::Kind::reply,
                  "breakpoint " + std::to_string(outcome->breakpoint->number) + " at " + outcome->breakpoint->place + "\n",
                  {}});
        }
        return true;
    }
    bool execute(std::string_view line, const ConsoleSink& sink) override
    {
        if (const std::optional<Request> request = requestOf(std::string(line))) return perform(*request, sink);
        const std::string message = std::string(line) + ": no such command";
        lines.emplace_back(line);
        errors.push_back(message);
        sink({ConsoleEvent::Kind::error, "error: " + message + "\n", message});
        return false;
    }
    std::string prompt() const override { return "(test) "; }
    std::vector<std::string> complete(std::string_view) const override { return {}; }
    DebugSession& session() override { return *m_session; }
    const DebugSession& session() const { return *m_session; }
    bool isStarted() const override { return m_session->isStarted(); }
    bool isRecording() const override { return false; }
    const StopReport* lastReport() const override { return isStarted() ? &m_report : nullptr; }

    std::vector<std::string> lines, errors; ///< what was asked for, and what went wrong

protected:
    /// Gives an input of the next run as it is.
    void give(const std::string& name, const Array& array)
    {
        const std::string path = (m_folder.path() + "/" + QString::number(++m_files) + ".npy").toStdString();
        const Result<std::vector<std::byte>> file = writeNpy(array.view());
        if (!file.ok()) qFatal("%s", file.error().message().c_str());
        std::ofstream(path, std::ios::binary)
            .write(reinterpret_cast<const char*>(file->data()), static_cast<std::streamsize>(file->size()));
        if (const Status given = m_session->giveInput({name + "=" + path}); !given.ok()) qFatal("%s", given.detail().what.c_str());
    }

private:
    Model m_model;
    QTemporaryDir m_folder;
    int m_files = 0;
    std::unique_ptr<DebugSession> m_session;
    StopReport m_report;
};

} // namespace loopscope::viewer::testing
