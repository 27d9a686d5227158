#include "app/dap/server.h"

#include "app/dap/requests.h"
#include "engine/base/clock.h"
#include "engine/base/text.h"

#include <algorithm>
#include <variant>

namespace loopscope::app::dap {

namespace {

constexpr int64_t kShownAfterNs = 250'000'000;  ///< work that takes longer shows progress
constexpr int64_t kNsToLaunch = 60'000'000'000; ///< for the token of a client that has come through a port
constexpr int kOneThread = 1;                   ///< the run is one thread

WhileRunning behaviourOf(const Json& message)
{
    const RequestSpec* const spec = findRequest(message["command"].text());
    return spec == nullptr || !message["type"].isText() ? WhileRunning::isAnswered : spec->whileRunning;
}

std::function<bool(const Json&)> thatIs(WhileRunning behaviour)
{
    return [behaviour](const Json& message) { return behaviourOf(message) == behaviour; };
}

/// A run that was interrupted goes on without anybody noticing.
bool goesOn(const Request& request)
{
    if (std::holds_alternative<request::Begin>(request)) return true;
    const auto* const move = std::get_if<request::Move>(&request);
    const auto* const resume = move != nullptr ? std::get_if<request::Resume>(move) : nullptr;
    return resume != nullptr && resume->count == 1;
}

/// What goes on after an interruption.
Request rest(const Request& request)
{
    return std::holds_alternative<request::Begin>(request) ? Request(request::Move(request::Resume{})) : request;
}

/// Nothing comes after the end: whoever wants to go on wants to leave.
bool leavesAtEnd(const Request& request)
{
    const auto* const move = std::get_if<request::Move>(&request);
    if (move == nullptr) return false;
    if (const auto* const resume = std::get_if<request::Resume>(move)) return resume->direction == Direction::forward;
    if (const auto* const step = std::get_if<request::Step>(move)) return step->direction == Direction::forward;
    const auto* const finish = std::get_if<request::Finish>(move);
    return finish != nullptr && finish->direction == Direction::forward;
}

Json responseTo(const Json& message, bool success)
{
    Json response = Json::object();
    response.set("type", "response").set("request_seq", message["seq"].integer()).set("success", success);
    return response.set("command", message["command"].text());
}

} // namespace

Server::Server(Connection& connection, std::string token) : m_connection(connection), m_token(std::move(token)) {}
Server::~Server() = default;

void Server::serve()
{
    const int64_t deadline = nowNs() + kNsToLaunch; // however much it says until then
    while (!m_ended) {
        const bool mayWait = m_token.empty() || m_isLetIn;
        const double left = static_cast<double>(deadline - nowNs()) / 1e9;
        if (!mayWait && left <= 0) break;
        const std::optional<Json> message = m_connection.take(mayWait ? -1 : left);
        if (!message) break;
        handle(*message);
    }
}

bool Server::takeToken(const Json& arguments)
{
    const std::string given = arguments["token"].text();
    unsigned char different = given.size() == m_token.size() ? 0 : 1;
    for (size_t i = 0; i < std::min(given.size(), m_token.size()); ++i) different |= static_cast<unsigned char>(given[i] ^ m_token[i]);
    return m_isLetIn = m_token.empty() || different == 0;
}

void Server::event(std::string_view name, Json body)
{
    Json message = Json::object();
    message.set("type", "event").set("event", name);
    if (!body.members().empty()) message.set("body", std::move(body));
    m_connection.send(std::move(message));
}

void Server::output(std::string_view category, std::string text)
{
    if (!text.empty()) event("output", Json::object().set("category", category).set("output", std::move(text)));
}

void Server::ask(std::string_view command, Json arguments)
{
    m_connection.send(Json::object().set("type", "request").set("command", command).set("arguments", std::move(arguments)));
}

void Server::refuse(const Json& message, const Error& error)
{
    Json response = responseTo(message, false);
    std::string text = error.message();
    for (const std::string& note : error.detail().notes) text += "; " + note;
    Json told = Json::object();
    told.set("id", static_cast<int>(error.code()));
    if (text.find('{') == std::string::npos) told.set("format", text);
    else told.set("format", "{text}").set("variables", Json::object().set("text", text));
    told.set("showUser", true);
    response.set("message", text).set("body", Json::object().set("error", std::move(told)));
    m_connection.send(std::move(response));
}

void Server::handle(const Json& message)
{
    if (message.has("problem")) return refuse(Json::object(), Error(ErrorCode::usage, message["problem"].text()));
    if (message["type"].text() == "event") return;
    if (message["type"].text() == "response") { // to `startDebugging`
        if (!message["success"].truth(true))
            output("stderr", "the editor began no session beside this one: " + message["message"].text() + "\n");
        return;
    }
    if (message["type"].text() != "request" || !message["command"].isText())
        return refuse(message, Error(ErrorCode::usage, "no request").found(message.dump().substr(0, 80)));
    const std::string name = message["command"].text();
    const RequestSpec* const spec = findRequest(name);
    if (spec == nullptr) {
        std::vector<std::string> names;
        for (const RequestSpec& one : requestTable()) names.emplace_back(one.name);
        return refuse(message, Error(ErrorCode::usage, "unknown request '" + name + "'").nearest(nearestNames(name, names)));
    }
    if (m_cancelled.erase(message["seq"].integer()) > 0) return refuse(message, Error(ErrorCode::cancelled, "cancelled"));
    answer(message, *spec);
}

void Server::answer(const Json& message, const RequestSpec& spec)
{
    const auto outOfOrder = [&](const char* what) {
        refuse(message, Error(ErrorCode::usage, "'" + std::string(spec.name) + "' came too early").expected(what));
    };
    if (spec.needs >= Needs::client && !m_greeted && spec.name != "initialize") return outOfOrder("'initialize' before it");
    if (spec.needs >= Needs::model && !terminal) return outOfOrder("'launch' or 'attach' before it");
    if (spec.needs >= Needs::stop && !terminal->isStarted()) return outOfOrder("a run that has begun, with 'configurationDone'");
    if (spec.needs >= Needs::stop && m_isTravelling) return refuse(message, Error(ErrorCode::usage, "notStopped"));

    const int64_t outside = std::exchange(m_outside, m_running);
    m_running = message["seq"].integer();
    std::vector<std::function<void()>> before = std::exchange(m_later, {});
    if (!m_isTravelling) m_pauseAsked = false;
    Result<Json> body = spec.answer(*this, message["arguments"]);
    if (!m_isTravelling) endProgress();
    if (!body.ok()) {
        refuse(message, body.error());
    } else {
        if (spec.name == "initialize") m_greeted = true;
        Json response = responseTo(message, true);
        if (!body->isNull()) response.set("body", std::move(*body));
        m_connection.send(std::move(response));
    }
    const std::vector<std::function<void()>> work = std::exchange(m_later, std::move(before));
    if (body.ok())
        for (const std::function<void()>& one : work) one();
    m_running = std::exchange(m_outside, outside);
}

void Server::open(DebugSubject subject, bool structuredView)
{
    TerminalSettings settings;
    terminal = std::make_unique<Terminal>(std::move(subject), settings, [this](const TerminalEvent& told) { hear(told); });
    terminal->setWaiter([this](DebugSession& session) { wait(session); });
    terminal->setInterrupted([this] { return m_pauseAsked || m_connection.isGone(); });
    sources = std::make_unique<Sources>(model(), launched.program, SourceOptions{structuredView, client.uris});
    book.clear();
    newStop();
}

void Server::close(int exitCode)
{
    if (!terminal) return;
    event("thread", Json::object().set("reason", "exited").set("threadId", kOneThread));
    event("exited", Json::object().set("exitCode", exitCode));
    event("terminated");
    terminal.reset();
    sources.reset();
    kernels.reset();
    book.clear();
    handles.clear();
    isConfigured = false;
}

Status Server::checkStopped() const { return terminal ? terminal->checkStarted() : Error(ErrorCode::usage, "nothing is open"); }

Result<int> Server::depthOf(const Json& frameId) const
{
    const auto count = std::ssize(stop().stack);
    if (frameId.isNull()) return static_cast<int>(count) - 1;
    const int64_t depth = frameId.integer(-1) - m_firstFrame;
    if (depth >= 0 && depth < count) return static_cast<int>(depth);
    return Error(ErrorCode::usage, "no frame at this stop").found("frame " + frameId.dump().substr(0, 40));
}

/// What the terminal says: text of commands is gathered, the rest goes to the client's console at once.
void Server::hear(const TerminalEvent& told)
{
    switch (told.kind) {
    case TerminalEvent::Kind::stopped: m_hasStopped = true; [[fallthrough]];
    case TerminalEvent::Kind::reply:
        if (m_collects) m_said += told.text;
        else if (told.kind == TerminalEvent::Kind::reply) output("console", told.text);
        break;
    case TerminalEvent::Kind::log: output("stdout", told.text); break;
    case TerminalEvent::Kind::error: m_failure = told.error->copy(); break;
    case TerminalEvent::Kind::done: break;
    }
}

/// About every 50 ms while the engine works: the client may want something else.
void Server::wait(DebugSession& session)
{
    noteProgress(session.progress());
    while (const std::optional<Json> message = m_connection.takeIf(thatIs(WhileRunning::isAnswered))) handle(*message);
    if (m_isTravelling)
        while (const std::optional<Json> message = m_connection.takeIf(thatIs(WhileRunning::isRefused)))
            refuse(*message, Error(ErrorCode::usage, "notStopped"));
    const auto waiting = [&](WhileRunning behaviour) {
        bool found = false;
        m_connection.takeIf([&](const Json& message) {
            found = found || behaviourOf(message) == behaviour;
            return false;
        });
        return found;
    };
    if (m_connection.isGone() || waiting(WhileRunning::stops)) m_pauseAsked = true;
    if (m_canGoOn && waiting(WhileRunning::interrupts)) m_interrupted = true;
    if (m_pauseAsked || m_interrupted) session.pause();
}

void Server::stopRunning(bool wasAsked)
{
    m_pauseAsked = true;
    if (m_isTravelling || !wasAsked || !terminal || !terminal->isStarted()) return;
    later([this] { event("stopped", stoppedBody("pause")); });
}

bool Server::withdraw(int64_t request)
{
    const std::optional<Json> message = m_connection.takeIf([&](const Json& m) { return m["seq"].integer() == request; });
    if (message) refuse(*message, Error(ErrorCode::cancelled, "cancelled"));
    return message.has_value();
}

void Server::noteProgress(const SessionProgress& progress)
{
    if (!client.progress || !progress.busy || progress.sinceNs < kShownAfterNs) return;
    if (!m_showsProgress) {
        m_showsProgress = true;
        m_progressTold = 0;
        Json body = Json::object();
        body.set("progressId", "work-" + std::to_string(++m_progressId)).set("title", m_isTravelling ? "Running" : "Looking");
        if (m_running > 0) body.set("requestId", m_running);
        event("progressStart", body.set("cancellable", true));
    }
    if (progress.sinceNs - m_progressTold < kShownAfterNs) return;
    m_progressTold = progress.sinceNs;
    Json body = Json::object();
    body.set("progressId", "work-" + std::to_string(m_progressId)).set("message", "stop " + groupThousands(progress.tick));
    if (progress.target > 0 && progress.target < INT64_MAX)
        body.set("percentage", 100.0 * static_cast<double>(progress.tick) / static_cast<double>(progress.target));
    event("progressUpdate", std::move(body));
}

void Server::endProgress()
{
    if (m_showsProgress) event("progressEnd", Json::object().set("progressId", "work-" + std::to_string(m_progressId)));
    m_showsProgress = false;
}

void Server::thenMove(Request request, std::string reason)
{
    later([this, request = std::move(request), reason = std::move(reason)] {
        if (terminal->isStarted() && stop().report.position.finished && leavesAtEnd(request)) close(0);
        else move(request, reason);
    });
}

bool Server::moveOnce(const Request& request)
{
    m_failure.reset();
    return terminal->perform(request);
}

void Server::move(const Request& first, const std::string& reason)
{
    Request request = first;
    if (terminal->isStarted()) terminal->selectFrame(-1);
    m_isTravelling = true;
    m_pauseAsked = false;
    m_canGoOn = goesOn(request);
    for (bool goOn = true; goOn;) {
        m_interrupted = false;
        moveOnce(request);
        goOn = m_interrupted && !m_pauseAsked && terminal->isStarted() && stop().report.has(StopCause::cancelled);
        while (const std::optional<Json> message = m_connection.takeIf(thatIs(WhileRunning::interrupts))) handle(*message);
        request = rest(request);
    }
    endProgress();
    m_isTravelling = m_canGoOn = false;
    if (m_failure) output("stderr", "error: " + m_failure->message() + "\n");
    if (!terminal->isStarted()) return close(static_cast<int>(m_failure ? m_failure->code() : ErrorCode::usage));
    arrived(reason);
}

void Server::newStop()
{
    handles.clear();
    m_firstFrame += 1 + (terminal && terminal->isStarted() ? m_shownFrames : 0);
    m_shownFrames = terminal && terminal->isStarted() ? std::ssize(stop().stack) : 0;
}

void Server::arrived(const std::string& reason)
{
    newStop();
    const bool isOver = stop().report.position.finished;
    if (isOver)
        for (const NamedText& value : terminal->stop().outputs) output("stdout", value.name + ": " + value.text + "\n");
    if (isOver && (!launched.stopAtEnd || launched.noDebug)) return close(0);
    if (launched.noDebug && stop().report.has(StopCause::error)) {
        output("stderr", toString(stop().report.reasons.front()) + "\n");
        return close(static_cast<int>(ErrorCode::execution));
    }
    event("stopped", stoppedBody(reason));
}

Json Server::stoppedBody(const std::string& reason) const
{
    const StopReport& report = stop().report;
    std::string why = reason, text;
    Json ids = Json::array();
    for (const StopReason& one : report.reasons) {
        text += (text.empty() ? "" : "; ") + toString(one);
        std::string group;
        const int64_t id = one.number > 0 ? book.idOf(one.number, &group) : 0;
        if (id > 0) ids.push(id);
        if (one.cause == StopCause::error || one.cause == StopCause::budget || one.cause == StopCause::nan ||
            one.cause == StopCause::differs || group == "exception")
            why = "exception";
        else if (one.cause == StopCause::cancelled) why = "pause";
        else if (one.cause == StopCause::startReached) why = "start";
        else if (one.cause == StopCause::finished) why = "end";
        else if (one.number > 0 && why != "exception")
            why = group == "function" || group == "data" || group == "instruction" ? group + " breakpoint"
                  : one.cause == StopCause::watch                                  ? "data breakpoint"
                                                                                   : "breakpoint";
    }
    Json body = Json::object();
    body.set("reason", why);
    if (!text.empty()) body.set("description", text);
    body.set("threadId", kOneThread).set("allThreadsStopped", true);
    if (why == "exception") body.set("text", text + " at " + report.address);
    if (!ids.items().empty()) body.set("hitBreakpointIds", std::move(ids));
    return body;
}

Result<std::string> Server::runCommand(const std::string& line, int depth, std::string reason)
{
    const auto place = [this] {
        const StopReport& report = stop().report;
        return std::tuple(report.timeline, report.tick, report.position.finished);
    };
    const bool wasStarted = terminal->isStarted();
    if (wasStarted) terminal->selectFrame(depth);
    const auto before = wasStarted ? place() : std::tuple(TimelineId(0), Tick(-1), false);
    m_said.clear();
    m_failure.reset();
    m_hasStopped = false;
    m_collects = m_isTravelling = true;
    const bool fine = terminal->execute(line, LineOrigin::prompt);
    m_collects = m_isTravelling = false;
    if (terminal->ended()) later([this] { close(0); });
    else if (terminal->isStarted() && (m_hasStopped || before != place())) {
        if (m_hasStopped) later([this, reason = std::move(reason)] { arrived(reason); });
        else later([this] { tellEdited(); });
    }
    if (!m_hasStopped) later([this] { tellBreakpoints(); }); // not at stops: hits of what was jumped over would be counted
    if (!fine && !m_hasStopped) return m_failure ? m_failure->copy() : Error(ErrorCode::usage, "the command failed");
    if (!fine && m_failure) m_said += "error: " + m_failure->message() + "\n";
    return std::exchange(m_said, {});
}

Status Server::perform(const Request& request, int depth)
{
    terminal->selectFrame(depth);
    m_failure.reset();
    m_collects = true;
    const bool fine = terminal->perform(request);
    m_collects = false;
    m_said.clear();
    if (fine) return {};
    return m_failure ? m_failure->copy() : Error(ErrorCode::usage, "the request failed");
}

void Server::tellEdited()
{
    if (client.invalidated)
        event("invalidated", Json::object().set("areas", Json::array().push("variables").push("stacks")).set("threadId", kOneThread));
}

void Server::tellBreakpoints()
{
    if (!terminal) return;
    const auto all = terminal->ask([](Inspector& inspector) { return inspector.breakpoints(); });
    if (!all.ok()) return;
    const BreakpointBook::Changes changes = book.follow(*all);
    const auto tell = [&](const char* reason, int64_t id, const BreakpointInfo* info) {
        Json breakpoint = Json::object();
        breakpoint.set("id", id).set("verified", info != nullptr && info->disabledBecause.empty());
        if (info != nullptr) breakpoint.set("message", info->disabledBecause.empty() ? info->spec : info->disabledBecause);
        event("breakpoint", Json::object().set("reason", reason).set("breakpoint", std::move(breakpoint)));
    };
    for (const auto& [id, info] : changes.added) tell("new", id, &info);
    for (const auto& [id, info] : changes.changed) tell("changed", id, &info);
    for (const int64_t id : changes.removed) tell("removed", id, nullptr);
}

} // namespace loopscope::app::dap
