#include "viewer/canvas/scene_loader.h"

#include <QMetaObject>

namespace loopscope::viewer {

SceneLoader::SceneLoader(QObject* parent) : QObject(parent), m_thread([this] { serve(); }) {}

SceneLoader::~SceneLoader()
{
    {
        const std::lock_guard lock(m_mutex);
        m_ending = true;
        m_next.reset();
        m_stop.request_stop();
    }
    m_wake.notify_one();
    m_thread.join();
}

void SceneLoader::request(const Model& model, const ViewState& view, TextMeasure measure)
{
    if (!m_builder) return;
    {
        const std::lock_guard lock(m_mutex);
        m_stop.request_stop();
        m_next = Job{&model, view, std::move(measure), ++m_ticket};
    }
    m_isBusy = true;
    m_wake.notify_one();
}

void SceneLoader::discard(std::shared_ptr<const IndexedScene> scene)
{
    if (!scene) return;
    {
        const std::lock_guard lock(m_mutex);
        m_discarded.push_back(std::move(scene));
    }
    m_wake.notify_one();
}

void SceneLoader::cancel()
{
    const std::lock_guard lock(m_mutex);
    m_stop.request_stop();
    m_next.reset();
    ++m_ticket;
    m_isBusy = false;
}

void SceneLoader::serve()
{
    for (;;) {
        Job job;
        std::stop_source stop;
        {
            std::unique_lock lock(m_mutex);
            m_wake.wait(lock, [this] { return m_ending || m_next || !m_discarded.empty(); });
            if (m_ending) return;
            if (!m_next) {
                const auto discarded = std::exchange(m_discarded, {});
                lock.unlock();
                continue;
            }
            job = std::move(*m_next);
            m_next.reset();
            m_stop = stop;
        }
        const auto tell = [this, ticket = job.ticket](auto call) {
            QMetaObject::invokeMethod(
                this,
                [this, ticket, call] {
                    if (ticket == m_ticket) call();
                },
                Qt::QueuedConnection);
        };
        SceneProgress progress;
        progress.stop = stop.get_token();
        progress.report = [&](double done) { tell([this, done] { emit progressed(done); }); };
        Result<std::shared_ptr<const Scene>> built = m_builder(*job.model, job.view, job.measure, progress);
        if (stop.stop_requested()) continue;
        if (!built.ok()) {
            tell([this, text = QString::fromStdString(built.error().message())] {
                m_isBusy = false;
                emit failed(text);
            });
            continue;
        }
        auto indexed = std::make_shared<const IndexedScene>(std::move(built).value());
        tell([this, indexed] {
            m_isBusy = false;
            emit loaded(indexed);
        });
    }
}

} // namespace loopscope::viewer
