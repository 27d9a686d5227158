// The desktop's backend: the terminal debugger without a terminal. What the window does is what a person would type, and the console shows
// it.
#pragma once

#include "app/terminal/terminal.h"
#include "app/wiring/command_line.h"
#include "viewer/bridge/measuring.h"
#include "viewer/bridge/partial.h"
#include "viewer/bridge/proving.h"
#include "viewer/window/window_services.h"

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace loopscope {
struct FusionReport;
}

namespace loopscope::app {

class TerminalBackend : public viewer::Backend, public viewer::Measuring, public viewer::Partial, public viewer::Proving {
public:
    /// A model or recording with the options of `debug`: positionals, input, seed, against, … Errors: of openSubject().
    static Result<std::unique_ptr<viewer::Backend>> open(const Arguments& arguments);
    /// What can be read of a damaged file. It can be looked at; runs are refused. Errors: of loadWhatCanBeRead().
    static Result<std::unique_ptr<viewer::Backend>> openPart(const std::string& path);
    ~TerminalBackend() override;

    const Model& model() const override { return m_terminal->model(); }
    std::string path() const override { return m_path; }
    std::string name() const override { return m_terminal->session().name(); }
    std::string contentHash() const override { return m_hash; }
    bool isReplay() const override { return m_terminal->isReplay(); }
    const TraceReader* trace() const override { return m_trace.get(); }

    std::vector<viewer::InputPort> inputs() const override;
    void setInput(std::string_view name, std::string_view source) override;
    Result<Array> previewInput(std::string_view name, std::string_view source) const override;

    bool perform(const Request& request, const viewer::ConsoleSink& sink) override;
    bool execute(std::string_view line, const viewer::ConsoleSink& sink) override;
    std::string prompt() const override { return m_terminal->prompt(); }
    std::vector<std::string> complete(std::string_view line) const override;
    DebugSession& session() override { return m_terminal->session(); }
    bool isStarted() const override { return m_terminal->isStarted(); }
    bool isRecording() const override { return m_terminal->session().isRecording(); }
    const StopReport* lastReport() const override { return m_terminal->isStarted() ? &m_terminal->stop().report : nullptr; }
    viewer::ComparedRun compared() const override;
    Result<std::shared_ptr<const viewer::RaisedModel>> raised() const override;
    std::shared_ptr<const viewer::FusedSide> fused() const override { return m_fusedSide; }
    Result<std::vector<std::string>> whyNotFused(std::string_view op) const override;
    Result<std::vector<viewer::OperatorFigure>> measured(const std::stop_token& stop) const override;
    Result<viewer::ProvedForm> proveRaised(const std::stop_token& stop) const override;
    Result<std::vector<viewer::ProvedRewrite>> proveFused(const std::stop_token& stop) const override;
    Result<viewer::KernelsApart> kernelsApart(const std::stop_token& stop) const override;
    const std::vector<viewer::FileFault>& faults() const override { return m_faults; }
    uint64_t seed() const override { return m_terminal->session().seed(); }
    std::string profile() const override { return m_profile; }

private:
    TerminalBackend() = default;
    void listen(DebugSubject subject);
    std::string problemOf(const Port& port, const std::string& source) const;

    struct Checked {
        std::string source, problem;
    };
    mutable std::mutex m_checkedMutex;
    mutable std::map<std::string, Checked> m_checked; ///< sources that were tried last, by input

    std::shared_ptr<const viewer::FusedSide> m_fusedSide; ///< null: the other side is another file
    mutable std::mutex m_fusionMutex;
    mutable std::shared_ptr<const FusionReport> m_fusion; ///< of the model; made when it is first asked for

    /// Labels of classes that the files say; those of the other one are read when there is a model of it.
    mutable std::shared_ptr<const std::vector<std::string>> m_labels, m_labelsThere;

    std::vector<viewer::FileFault> m_faults;
    std::string m_path, m_against, m_hash, m_profile = "reference";
    std::unique_ptr<TraceReader> m_trace;
    const std::function<void(const viewer::ConsoleEvent&)>* m_sink = nullptr; ///< while execute() runs
    std::unique_ptr<Terminal> m_terminal;
};

/// Files, subcommands and samples for the window. `defaults` are the options of the command line that apply to everything opened; its
/// inputs only to the first file. One file may be opened while another still is.
class DesktopServices : public viewer::WindowServices {
public:
    explicit DesktopServices(Arguments defaults) : m_defaults(std::move(defaults)) {}
    Result<std::unique_ptr<viewer::Backend>> open(const std::string& path, std::stop_token stop) override;
    Result<std::unique_ptr<viewer::Backend>> openAgainst(const std::string& path, const std::string& other, double cosine,
                                                         std::stop_token stop) override;
    Result<std::unique_ptr<viewer::Backend>> openPart(const std::string& path, std::stop_token stop) override;
    Result<std::string> runCommand(const std::vector<std::string>& words) override;
    std::vector<Sample> samples() const override;

private:
    std::mutex m_mutex;
    Arguments m_defaults; ///< under the mutex
};

} // namespace loopscope::app
