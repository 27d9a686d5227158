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

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace loopscope::viewer {

class DebugBridge : public QObject {
    Q_OBJECT
public:
    explicit DebugBridge(std::unique_ptr<Backend> backend, QObject* parent = nullptr);
    /// Cancels what runs, waits at most 2 s, then leaves the thread to itself.
    ~DebugBridge() override;
    /// The destructor does not wait: freeing what a long run holds takes as long as drawing a window. Whoever owns what the backend was
    /// made with calls awaitEnded() before that goes.
    void endBehind() { m_endsBehind = true; }
    /// Waits, at most 2 s each, for the threads of bridges that ended so. GUI thread.
    static void awaitEnded();

    Backend& backend() { return *m_backend; }
    const Model& model() const { return m_backend->model(); }
    bool isReplay() const { return m_backend->isReplay(); }
    /// Never null; `started` is false before the first run.
    std::shared_ptr<const StopSnapshot> stop() const { return m_stop; }
    bool busy() const { return m_busy; }
    /// What is under way are inputs, breakpoints and the like, nothing that runs: whoever wants to run then means afterwards.
    bool isPreparing() const;
    /// Nothing runs, nothing is queued, and every question has its answer.
    bool settled() const { return !m_busy && m_open == 0; }

    /// Queues a request. A newer one with the same tag replaces one that has not begun (slider drags). Echoed as it begins, as the command
    /// that a person could have typed.
    void perform(Request request, const QString& tag = {});
    /// The same of a line that a person typed.
    void execute(const QString& line);
    /// The same for a change that has no command, such as what a session brings back: in its turn, announced as after a command.
    void change(std::function<void(DebugSession&)> work);
    /// Stops what runs at the next operator boundary and drops what is queued.
    void cancel();

    /// Runs `work(Inspector&)` on the engine's thread and `done(answer)` on the GUI thread, unless `receiver` is gone by then or a newer
    /// question with the same tag (not empty) was asked. Answers must be plain values that can be copied. `work` must not need a run that
    /// has not begun: check stop()->started first.
    template <typename Work, typename Done> void ask(QObject* receiver, const QString& tag, Work work, Done done)
    {
        using Answer = std::invoke_result_t<Work, Inspector&>;
        const uint64_t ticket = newTicket(receiver, tag);
        QPointer<DebugBridge> self(this);
        QPointer<QObject> target(receiver);
        m_backend->session().post(
            questionTag(receiver, tag),
            [=, work = std::move(work), done = std::move(done)](Inspector& inspector) mutable {
                auto answer = std::make_shared<Answer>(work(inspector));
                deliver([=, done = std::move(done)]() mutable {
                    if (!self) return;
                    self->close();
                    if (target && self->isNewest(target, tag, ticket)) done(std::move(*answer));
                });
            },
            [self](Error) {
                deliver([self] {
                    if (self) self->close();
                });
            });
    }

signals:
    void console(const loopscope::viewer::ConsoleEvent& event);
    /// After every command: the new snapshot, also when nothing moved (breakpoints may have changed).
    void stopChanged();
    /// The run ended with an error; `text` is one line.
    void failed(const QString& text);
    /// A command could not be carried out; nothing has moved. `text` is one line.
    void refused(const QString& line, const QString& text);
    void busyChanged(bool busy);
    /// At most 20 times a second while a command runs for more than 250 ms. `target` < 0: unknown.
    void progress(const QString& what, qint64 tick, qint64 target);

private:
    struct Shared;
    static void serve(const std::shared_ptr<Shared>& shared);
    static std::vector<std::shared_ptr<Shared>>& endingBehind(); ///< GUI thread
    static void awaitEnd(Shared& shared);
    static void deliver(std::function<void()> call); ///< from any thread to the GUI thread; nowhere if there is none any more
    struct Line;
    void queue(Line line);
    void poll();
    void drain();
    void begun(const QString& line);
    void ended(std::shared_ptr<const StopSnapshot> stop, const QString& line, const QString& error);
    void close() { --m_open; }
    uint64_t newTicket(QObject* receiver, const QString& tag);
    bool isNewest(QObject* receiver, const QString& tag, uint64_t ticket) const;
    static std::string questionTag(const QObject* receiver, const QString& tag);

    std::shared_ptr<Shared> m_shared; ///< with the thread, which outlives the bridge where it cannot be stopped
    Backend* m_backend = nullptr;     ///< owned by the thread, which ends it
    std::shared_ptr<const StopSnapshot> m_stop;
    bool m_busy = false, m_cancelling = false, m_endsBehind = false;
    int m_open = 0;    ///< questions without an answer
    int m_pending = 0; ///< lines that have not ended
    QString m_line;    ///< that runs
    QElapsedTimer m_since;
    QTimer m_poll;
    std::map<std::pair<QObject*, QString>, uint64_t> m_tickets;
    uint64_t m_lastTicket = 0;
};

} // namespace loopscope::viewer
