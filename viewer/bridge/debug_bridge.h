// Between the GUI thread and a backend: commands run on a thread of the bridge, questions on the engine's thread, answers arrive as queued
// calls on the GUI thread. The GUI thread never waits here.
#pragma once

#include "viewer/bridge/backend.h"
#include "viewer/bridge/stop_snapshot.h"

#include <QElapsedTimer>
#include <QObject>
#include <QPointer>
#include <QString>
#include <QTimer>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <type_traits>
#include <utility>

namespace loopscope::viewer {

class DebugBridge : public QObject {
    Q_OBJECT
public:
    explicit DebugBridge(std::unique_ptr<Backend> backend, QObject* parent = nullptr);
    /// Cancels what runs, waits at most 2 s, then leaves the thread to itself.
    ~DebugBridge() override;

    Backend& backend() { return *m_backend; }
    const Model& model() const { return m_backend->model(); }
    /// Never null; `started` is false before the first run.
    std::shared_ptr<const StopSnapshot> stop() const { return m_stop; }
    bool busy() const { return m_busy; }

    /// Queues a line of the terminal debugger. A newer line with the same tag replaces one that has not begun (slider drags). Echoed as it
    /// begins.
    void execute(const QString& line, const QString& tag = {});
    /// Stops what runs at the next operator boundary and drops what is queued.
    void cancel();

    /// Runs `work(Debugger&)` on the engine's thread and `done(answer)` on the GUI thread, unless `receiver` is gone by then or a newer
    /// question with the same tag was asked. Answers must be plain values. Does nothing before the run was started if `work` needs one:
    /// check stop()->started first.
    template <typename Work, typename Done> void ask(QObject* receiver, const QString& tag, Work work, Done done)
    {
        using Answer = std::invoke_result_t<Work, Debugger&>;
        const uint64_t ticket = newTicket(receiver, tag);
        QPointer<DebugBridge> self(this);
        QPointer<QObject> target(receiver);
        m_backend->session().post(questionTag(receiver, tag), [=, this, work = std::move(work), done = std::move(done)](Debugger& debugger) mutable {
            auto answer = std::make_shared<Answer>(work(debugger));
            deliver([=, done = std::move(done)]() mutable {
                if (self && target && self->isNewest(target, tag, ticket)) done(std::move(*answer));
            });
        });
    }

signals:
    void console(const loopscope::viewer::ConsoleEvent& event);
    /// After every command: the new snapshot, also when nothing moved (breakpoints may have changed).
    void stopChanged();
    /// The run ended with an error; `text` is one line.
    void failed(const QString& text);
    void busyChanged(bool busy);
    /// At most 20 times a second while a command runs for more than 250 ms. `target` < 0: unknown.
    void progress(const QString& what, qint64 tick, qint64 target);

private:
    struct Line {
        QString text, tag;
    };
    void serve();
    void poll();
    void deliver(std::function<void()> call); ///< from any thread to the GUI thread
    uint64_t newTicket(QObject* receiver, const QString& tag);
    bool isNewest(QObject* receiver, const QString& tag, uint64_t ticket) const;
    static std::string questionTag(const QObject* receiver, const QString& tag);

    std::unique_ptr<Backend> m_backend;
    std::shared_ptr<const StopSnapshot> m_stop;
    bool m_busy = false;
    QTimer m_poll;
    std::map<std::pair<QObject*, QString>, uint64_t> m_tickets;
    uint64_t m_lastTicket = 0;
    mutable std::mutex m_mutex;
    std::condition_variable m_wake;
    std::deque<Line> m_lines;
    bool m_ending = false;
    std::thread m_thread; ///< last
};

} // namespace loopscope::viewer
