#include "viewer/bridge/debug_bridge.h"

#include <QCoreApplication>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace loopscope::viewer {

namespace {

constexpr int kPollMs = 50;          ///< progress at 20 Hz
constexpr int kQuietMs = 250;        ///< shorter work shows no progress
constexpr int kLongestWaitMs = 2000; ///< for the thread, when the window closes

QString doingText(const QString& line)
{
    const QString word = line.section(' ', 0, 0);
    if (word == "goto" || word == "iter" || word == "switch") return QStringLiteral("Seeking ") + line.section(' ', 1);
    if (word.startsWith(QLatin1String("reverse")) || word == "back" || word == "lastwrite") return QStringLiteral("Going back");
    if (word == "run" || word == "continue" || word == "start" || word == "finish" || word == "until" || word == "next" ||
        word == "advance")
        return QStringLiteral("Running");
    return line;
}

/// Empty where there is no memory for it.
std::shared_ptr<const StopSnapshot> snapshotOf(Backend& backend, BranchSites& sites, const StopReport* report)
{
    const ComparedRun compared = backend.compared();
    const std::optional<RecordingState> recording = backend.session().recording();
    auto stop = backend.session().ask([&](Inspector& inspector) {
        auto taken = takeSnapshot(inspector, sites, report, compared);
        if (recording) taken->recording = recording->path;
        return std::shared_ptr<const StopSnapshot>(std::move(taken));
    });
    return stop.ok() ? std::move(*stop) : std::make_shared<const StopSnapshot>();
}

} // namespace

struct DebugBridge::Line {
    QString text, tag;
    std::optional<Request> request;            ///< of which `text` is the command
    std::function<void(DebugSession&)> change; ///< instead of a text
    bool runs() const
    {
        if (!request) return !change; // what a person typed may be anything
        return std::holds_alternative<request::Begin>(*request) || std::holds_alternative<request::Move>(*request) ||
               std::holds_alternative<request::FindDrift>(*request);
    }
};

/// What both threads know. The thread owns the backend: ending it may wait for a kernel, which the GUI thread must not.
struct DebugBridge::Shared {
    std::mutex mutex;
    std::condition_variable wake, over;
    std::deque<Line> lines;
    std::vector<ConsoleEvent> events; ///< that the GUI thread has not taken yet
    bool ending = false, ended = false;
    bool runs = false; ///< what is carried out
    std::unique_ptr<Backend> backend;
    BranchSites sites;            ///< looked at while a command ends only
    QPointer<DebugBridge> bridge; ///< looked at on the GUI thread only
    std::thread thread;

    /// What went wrong, in a line; empty: nothing.
    QString carryOut(Line& line)
    {
        if (line.change) {
            line.change(backend->session());
            return {};
        }
        QString error;
        const ConsoleSink sink = [&](const ConsoleEvent& event) {
            if (event.kind == ConsoleEvent::Kind::error) error = QString::fromStdString(event.message);
            tell(event);
        };
        const auto echo = [&](const std::string& text) { tell({ConsoleEvent::Kind::echo, text + "\n", {}}); };
        if (!line.request) {
            echo(line.text.toStdString());
            backend->execute(line.text.toStdString(), sink);
            return error;
        }
        // What toggling comes to depends on what is there now.
        std::vector<Request> requests = {*line.request};
        if (const auto* const toggle = std::get_if<request::ToggleBreakpoint>(&*line.request))
            if (Result<std::vector<Request>> plain = backend->session().toggled(*toggle); plain.ok()) requests = std::move(*plain);
        for (const Request& one : requests) {
            echo(commandText(one));
            backend->perform(one, sink);
        }
        return error;
    }

    void tell(ConsoleEvent event)
    {
        bool first = false;
        {
            const std::lock_guard lock(mutex);
            first = events.empty();
            events.push_back(std::move(event));
        }
        if (first)
            deliver([bridge = bridge] {
                if (bridge) bridge->drain();
            });
    }
};

DebugBridge::DebugBridge(std::unique_ptr<Backend> backend, QObject* parent)
    : QObject(parent),
      m_shared(std::make_shared<Shared>()),
      m_backend(backend.get())
{
    m_stop = snapshotOf(*m_backend, m_shared->sites, nullptr);
    m_shared->backend = std::move(backend);
    m_shared->bridge = this;
    m_poll.setInterval(kPollMs);
    connect(&m_poll, &QTimer::timeout, this, &DebugBridge::poll);
    m_shared->thread = std::thread([shared = m_shared] { serve(shared); });
}

DebugBridge::~DebugBridge()
{
    {
        const std::lock_guard lock(m_shared->mutex);
        m_shared->lines.clear();
        m_shared->ending = true;
        if (m_shared->backend) m_shared->backend->session().pause();
        m_shared->wake.notify_one();
    }
    if (!m_endsBehind) {
        awaitEnd(*m_shared);
        return;
    }
    std::erase_if(endingBehind(), [](const std::shared_ptr<Shared>& before) {
        std::unique_lock lock(before->mutex);
        if (!before->ended) return false;
        lock.unlock();
        before->thread.join();
        return true;
    });
    endingBehind().push_back(m_shared);
}

void DebugBridge::awaitEnd(Shared& shared)
{
    std::unique_lock lock(shared.mutex);
    bool over = false;
    for (int waited = 0; !over && waited < kLongestWaitMs; waited += kPollMs) {
        over = shared.over.wait_for(lock, std::chrono::milliseconds(kPollMs), [&] { return shared.ended; });
        if (!over && shared.backend) shared.backend->session().pause(); // the next request of the same line
    }
    lock.unlock();
    if (over) shared.thread.join();
    else shared.thread.detach();
}

std::vector<std::shared_ptr<DebugBridge::Shared>>& DebugBridge::endingBehind()
{
    static std::vector<std::shared_ptr<Shared>> all;
    return all;
}

void DebugBridge::awaitEnded()
{
    for (const std::shared_ptr<Shared>& shared : std::exchange(endingBehind(), {})) awaitEnd(*shared);
}

void DebugBridge::deliver(std::function<void()> call)
{
    if (QCoreApplication* const application = QCoreApplication::instance())
        QMetaObject::invokeMethod(application, std::move(call), Qt::QueuedConnection);
}

void DebugBridge::perform(Request request, const QString& tag)
{
    const QString text = QString::fromStdString(commandText(request));
    queue({text, tag, std::move(request), {}});
}

void DebugBridge::execute(const QString& line) { queue({line, {}, {}, {}}); }

void DebugBridge::change(std::function<void(DebugSession&)> work) { queue({{}, {}, {}, std::move(work)}); }

void DebugBridge::queue(Line line)
{
    {
        const std::lock_guard lock(m_shared->mutex);
        if (!line.tag.isEmpty())
            m_pending -= static_cast<int>(std::erase_if(m_shared->lines, [&](const Line& queued) { return queued.tag == line.tag; }));
        m_shared->lines.push_back(std::move(line));
        ++m_pending;
    }
    m_shared->wake.notify_one();
    if (m_busy) return;
    m_busy = true;
    m_since.start();
    m_poll.start();
    emit busyChanged(true);
}

bool DebugBridge::isPreparing() const
{
    const std::lock_guard lock(m_shared->mutex);
    return m_busy && !m_shared->runs && std::ranges::none_of(m_shared->lines, &Line::runs);
}

void DebugBridge::cancel()
{
    if (!m_busy) return;
    {
        const std::lock_guard lock(m_shared->mutex);
        m_pending -= static_cast<int>(m_shared->lines.size());
        m_shared->lines.clear();
    }
    if (m_pending == 0) { // nothing had begun, so nothing will say that it has ended
        m_busy = false;
        m_poll.stop();
        emit busyChanged(false);
        return;
    }
    // The line may not have reached the engine yet: poll() asks again until it has ended.
    m_cancelling = true;
    m_backend->session().pause();
}

void DebugBridge::serve(const std::shared_ptr<Shared>& shared)
{
    const QPointer<DebugBridge> bridge = shared->bridge;
    std::unique_lock lock(shared->mutex);
    for (;;) {
        shared->wake.wait(lock, [&] { return shared->ending || !shared->lines.empty(); });
        if (shared->ending) break;
        Line next = std::move(shared->lines.front());
        shared->lines.pop_front();
        shared->runs = next.runs();
        lock.unlock();

        deliver([bridge, line = next.text] {
            if (bridge) bridge->begun(line);
        });
        const QString error = shared->carryOut(next);
        const StopReport* const report = shared->backend->lastReport();
        auto stop = snapshotOf(*shared->backend, shared->sites, report);
        lock.lock();
        shared->runs = false;
        lock.unlock();
        deliver([bridge, stop = std::move(stop), line = next.text, error] {
            if (bridge) bridge->ended(stop, line, error);
        });
        lock.lock();
    }
    std::unique_ptr<Backend> last = std::move(shared->backend);
    lock.unlock();
    last.reset();
    lock.lock();
    shared->ended = true;
    shared->over.notify_all();
}

void DebugBridge::drain()
{
    std::vector<ConsoleEvent> events;
    {
        const std::lock_guard lock(m_shared->mutex);
        events.swap(m_shared->events);
    }
    for (const ConsoleEvent& event : events) emit console(event);
}

void DebugBridge::begun(const QString& line)
{
    m_line = line;
    m_cancelling = false;
    m_since.restart();
}

void DebugBridge::ended(std::shared_ptr<const StopSnapshot> stop, const QString& line, const QString& error)
{
    drain();
    const bool idle = --m_pending == 0;
    const bool moved = stop->tick != m_stop->tick || stop->timeline != m_stop->timeline || stop->started != m_stop->started;
    m_stop = std::move(stop);
    m_cancelling = false;
    if (idle) {
        m_busy = false;
        m_poll.stop();
    }
    emit stopChanged();
    if (m_stop->failed && moved) {
        for (const StopReason& reason : m_stop->report.reasons)
            if (reason.cause == StopCause::error) emit failed(QString::fromStdString(reason.text));
    } else if (!error.isEmpty()) {
        emit refused(line, error);
    }
    if (idle && m_pending == 0) emit busyChanged(false);
}

void DebugBridge::poll()
{
    if (m_cancelling) m_backend->session().pause();
    if (m_since.elapsed() < kQuietMs) return;
    const SessionProgress now = m_backend->session().progress();
    if (!now.busy) return;
    emit progress(doingText(m_line), now.tick, now.target == INT64_MAX ? -1 : now.target.number);
}

uint64_t DebugBridge::newTicket(QObject* receiver, const QString& tag)
{
    ++m_open;
    const uint64_t ticket = ++m_lastTicket;
    if (tag.isEmpty()) return ticket;
    const auto key = std::pair(receiver, tag);
    const bool known = m_tickets.contains(key);
    m_tickets[key] = ticket;
    if (!known) connect(receiver, &QObject::destroyed, this, [this, key] { m_tickets.erase(key); });
    return ticket;
}

bool DebugBridge::isNewest(QObject* receiver, const QString& tag, uint64_t ticket) const
{
    if (tag.isEmpty()) return true;
    const auto found = m_tickets.find({receiver, tag});
    return found != m_tickets.end() && found->second == ticket;
}

std::string DebugBridge::questionTag(const QObject* receiver, const QString& tag)
{
    return tag.isEmpty() ? std::string() : std::to_string(reinterpret_cast<uintptr_t>(receiver)) + " " + tag.toStdString();
}

} // namespace loopscope::viewer
