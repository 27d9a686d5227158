// Builds scenes on a thread of its own. A newer request cancels the one that is being worked on; the answer comes on the GUI thread.
#pragma once

#include "viewer/canvas/scene_index.h"

#include <QObject>

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace loopscope::viewer {

/// As buildScene; tests and comparisons bring their own.
using BuildScene =
    std::function<Result<std::shared_ptr<const Scene>>(const Model&, const ViewState&, const TextMeasure&, const SceneProgress&)>;

class SceneLoader : public QObject {
    Q_OBJECT
public:
    explicit SceneLoader(QObject* parent = nullptr);
    /// Cancels and waits for the thread.
    ~SceneLoader() override;

    void setBuilder(BuildScene builder) { m_builder = std::move(builder); }
    /// `model` must live until the answer came or the loader is gone.
    void request(const Model& model, const ViewState& view, TextMeasure measure);
    /// Nothing is answered any more.
    void cancel();
    bool isBusy() const { return m_isBusy; }
    /// Lets go of a picture on the thread: one of 10,000 nodes takes milliseconds to take apart.
    void discard(std::shared_ptr<const IndexedScene> scene);

signals:
    void loaded(std::shared_ptr<const loopscope::viewer::IndexedScene> scene);
    void failed(const QString& text);
    void progressed(double done); ///< 0 to 1

private:
    struct Job {
        const Model* model = nullptr;
        ViewState view;
        TextMeasure measure;
        uint64_t ticket = 0;
    };
    void serve();

    BuildScene m_builder;
    bool m_isBusy = false; ///< GUI thread
    uint64_t m_ticket = 0; ///< of the newest request; GUI thread
    std::mutex m_mutex;
    std::condition_variable m_wake;
    std::optional<Job> m_next;
    std::vector<std::shared_ptr<const IndexedScene>> m_discarded;
    std::stop_source m_stop; ///< of the job that runs
    bool m_ending = false;
    std::thread m_thread; ///< last
};

} // namespace loopscope::viewer
