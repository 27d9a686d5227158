// A backend for tests of panels: a model in text, a session, and the few commands that panels send.
#pragma once

#include "converters/lsir/lsir.h"
#include "engine/api/session.h"
#include "engine/exec/make_executor.h"
#include "viewer/bridge/document.h"

#include <QTest>

#include <memory>
#include <string>
#include <vector>

namespace loopscope::viewer::testing {

class TextBackend : public Backend {
public:
    TextBackend(Model model, std::vector<Array> inputs, bool keepAll = true) : m_model(std::move(model)), m_inputs(std::move(inputs))
    {
        auto cancel = std::make_unique<CancelFlag>();
        ExecutionOptions options;
        options.cancel = cancel.get();
        options.keepAll = keepAll;
        Result<std::unique_ptr<Executor>> executor = makeExecutor(m_model, GraphId(0), options);
        if (!executor.ok()) qFatal("%s", executor.error().message().c_str());
        for (size_t i = 0; i < m_inputs.size(); ++i)
            if (const Status set = (*executor)->setInput(static_cast<int>(i), m_inputs[i].view()); !set.ok()) qFatal("input %zu", i);
        m_session = std::make_unique<Session>(std::move(executor).value(), std::move(cancel));
    }

    const Model& model() const override { return m_model; }
    std::string path() const override { return "test.lsir"; }
    std::string name() const override { return "test.lsir"; }
    std::string contentHash() const override { return "0"; }
    bool isReplay() const override { return false; }
    const TraceReader* trace() const override { return reader; }
    std::vector<InputPort> inputs() const override { return {}; }
    void setInput(std::string_view, std::string_view) override {}
    Result<Array> previewInput(std::string_view, std::string_view) const override { return Error(ErrorCode::usage, "no inputs"); }
    bool execute(std::string_view text, const std::function<void(const ConsoleEvent&)>&) override
    {
        const std::string line(text);
        lines.push_back(line);
        Result<StopReport> report = m_session->call([&](Debugger& debugger) { return run(debugger, line); });
        if (!report.ok()) {
            errors.push_back(report.error().message());
            return false;
        }
        m_report = std::move(report).value();
        m_started = true;
        return true;
    }
    std::string prompt() const override { return "(test) "; }
    std::vector<std::string> complete(std::string_view) const override { return {}; }
    Session& session() override { return *m_session; }
    bool isStarted() const override { return m_started; }
    bool isRecording() const override { return false; }
    const StopReport* lastReport() const override { return m_started ? &m_report : nullptr; }

    std::vector<std::string> lines, errors; ///< what was asked for, and what went wrong
    const TraceReader* reader = nullptr;

private:
    static Result<StopReport> run(Debugger& debugger, const std::string& line)
    {
        const std::string verb = line.substr(0, line.find(' ')), rest = line.size() > verb.size() ? line.substr(verb.size() + 1) : "";
        RunControl& control = debugger.control();
        if (verb == "start") return control.start();
        if (verb == "step") return control.step(Direction::forward);
        if (verb == "reverse-step") return control.step(Direction::backward);
        if (verb == "until") return control.until();
        if (verb == "continue") return control.resume(Direction::forward);
        if (verb == "end") return control.goToEnd();
        if (verb == "iter" && (rest[0] == '+' || rest[0] == '-')) return control.iterateBy(std::stol(rest), {});
        if (verb == "iter") return control.iterate(std::stol(rest), {});
        if (verb == "goto" && rest.starts_with("step:")) return control.goToStep(std::stol(rest.substr(5)));
        if (verb == "goto") {
            LS_TRY(const TypedPlace place, resolveTyped(debugger.target(), {}, rest));
            return control.goTo(place.resolved);
        }
        return Error(ErrorCode::usage, "no such command").at(line);
    }

    Model m_model;
    std::vector<Array> m_inputs;
    std::unique_ptr<Session> m_session;
    StopReport m_report;
    bool m_started = false;
};

inline Model textModel(const char* text)
{
    Result<Model> model = loopscope::modelFromText(text, "test.lsir");
    if (!model.ok()) qFatal("%s", model.error().message().c_str());
    return std::move(model).value();
}

template <typename T> Array arrayOf(Shape shape, const std::vector<T>& values)
{
    Array array;
    array.dtype = dtypeOf<T>();
    array.shape = std::move(shape);
    array.bytes.resize(values.size() * sizeof(T));
    std::memcpy(array.bytes.data(), values.data(), array.bytes.size());
    return array;
}

/// Executes a line and waits until the bridge and the questions that followed are done.
inline void executeAndSettle(Document& document, const QString& line)
{
    document.execute(line);
    QTRY_VERIFY_WITH_TIMEOUT(!document.bridge().busy(), 20000);
    QTest::qWait(20);
}

} // namespace loopscope::viewer::testing
