// The Debug Adapter Protocol: one client that launches a model or a recording, and is told what comes of it. Requests are functions of a
// table (requests.h); what they share is here. docs/editors.md says what each means.
#pragma once

#include "app/dap/breakpoint_book.h"
#include "app/dap/connection.h"
#include "app/dap/handles.h"
#include "app/dap/sources.h"
#include "app/output/operator_kernels.h"
#include "app/terminal/terminal.h"
#include "app/wiring/command_line.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace loopscope::app::dap {

struct RequestSpec;

/// What the client said of itself in `initialize`.
struct ClientAbilities {
    bool linesStartAt1 = true, columnsStartAt1 = true;
    bool paging = false, progress = false, invalidated = false, memory = false;
    bool uris = false;           ///< paths of files are URIs, both ways
    bool startsSessions = false; ///< it can be asked to begin another session
};

/// What `launch` or `attach` asked for, beside the model.
struct LaunchOptions {
    std::string program; ///< model or recording, for names
    bool isAttached = false;
    bool stopOnEntry = false;
    bool stopAtEnd = true; ///< the end of the run is a stop, from which the way back is open
    bool noDebug = false;
};

class Server {
public:
    /// `token`: what the client has to say before anything is opened; empty: nothing.
    Server(Connection& connection, std::string token);
    ~Server();
    Server(const Server&) = delete;
    Server& operator=(const Server&) = delete;

    /// Until the client disconnects or is gone.
    void serve();

    // For the requests.

    void event(std::string_view name, Json body = Json::object());
    /// Text for the client's console; `category` of the protocol.
    void output(std::string_view category, std::string text);
    /// Asks the client for something; whatever it answers is not waited for.
    void ask(std::string_view command, Json arguments);
    /// Done once the response has been sent.
    void later(std::function<void()> work) { m_later.push_back(std::move(work)); }
    void end() { m_ended = true; }

    ClientAbilities client;
    LaunchOptions launched;
    bool isConfigured = false; ///< configurationDone has come
    std::unique_ptr<Terminal> terminal;
    std::unique_ptr<Sources> sources;
    std::unique_ptr<OperatorKernels> kernels; ///< of a model that runs; null: a recording
    BreakpointBook book;
    Handles handles;
    std::vector<std::string> places; ///< that gotoTargets and stepInTargets have named, by id

    /// Takes a subject over; from now on requests that need a model are answered.
    void open(DebugSubject subject, bool structuredView);
    /// Everything that was opened is closed; the client is told.
    void close(int exitCode);
    /// Whether the client has said the token; from then on it may take its time.
    bool takeToken(const Json& arguments);
    const std::string& token() const { return m_token; }

    DebugSession& session() { return terminal->session(); }
    const Model& model() const { return terminal->model(); }
    const Stop& stop() const { return terminal->stop(); }
    /// Errors: usage, where nothing runs.
    Status checkStopped() const;
    /// The run goes on: nothing can be asked of it.
    bool isTravelling() const { return m_isTravelling; }
    int64_t frameIdAt(int depth) const { return m_firstFrame + depth; }
    /// The depth of a frame that was given out at this stop; none given: the innermost. Errors: usage.
    Result<int> depthOf(const Json& frameId) const;
    int64_t clientLine(int64_t line) const { return client.linesStartAt1 ? line : line - 1; }
    int64_t ownLine(int64_t line) const { return client.linesStartAt1 ? line : line + 1; }

    /// Begins or moves once the response has been sent, and tells where it stopped. `reason` of the protocol, where the stop says none.
    void thenMove(Request request, std::string reason);
    /// Runs a line of the terminal debugger. What it said; where it moved, a `stopped` event follows the response.
    Result<std::string> runCommand(const std::string& line, int depth, std::string reason = "step");
    /// Carries out a request that does not move, in a frame. Errors: as told.
    Status perform(const Request& request, int depth);
    /// What changed through an edit.
    void tellEdited();
    /// Breakpoints that came, went or changed without the client.
    void tellBreakpoints();
    /// `pause`, `cancel` of what is running.
    void stopRunning(bool wasAsked);
    /// Takes a request out that has not begun. False: there is none.
    bool withdraw(int64_t request);
    /// That another one, which is being answered, came into; 0: none.
    int64_t interruptedRequest() const { return m_outside; }
    /// Of the last stop, as `stopped` says it.
    Json stoppedBody(const std::string& reason) const;

private:
    void handle(const Json& message);
    void answer(const Json& message, const RequestSpec& spec);
    void refuse(const Json& message, const Error& error);
    void wait(DebugSession& session);
    void hear(const TerminalEvent& event);
    void move(const Request& request, const std::string& reason);
    bool moveOnce(const Request& request);
    void arrived(const std::string& reason);
    void newStop();
    void noteProgress(const SessionProgress& progress);
    void endProgress();

    Connection& m_connection;
    const std::string m_token;
    bool m_ended = false;
    std::vector<std::function<void()>> m_later;
    bool m_greeted = false; ///< `initialize` has come
    bool m_isLetIn = false; ///< the token has come
    int64_t m_firstFrame = 1, m_shownFrames = 0;

    // What runs.
    int64_t m_running = 0; ///< number of the request that is being answered
    int64_t m_outside = 0; ///< of the one that goes on meanwhile
    bool m_isTravelling = false, m_canGoOn = false;
    bool m_pauseAsked = false;     ///< somebody wants it to stop
    bool m_interrupted = false;    ///< it was stopped to do something, and is to go on
    std::set<int64_t> m_cancelled; ///< requests that have not come yet

    // What the terminal said during a request.
    std::string m_said;
    bool m_hasStopped = false, m_collects = false;
    std::optional<Error> m_failure;

    int64_t m_progressId = 0, m_progressTold = 0;
    bool m_showsProgress = false;
};

} // namespace loopscope::app::dap
