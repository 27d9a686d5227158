// Opens files on threads of their own, one after the other: what is asked for last is what is wanted.
#pragma once

#include "viewer/window/window_services.h"

#include <QString>

#include <functional>
#include <memory>
#include <stop_token>

namespace loopscope::viewer {

class FileOpener {
public:
    using Opened = Result<std::unique_ptr<Backend>>;
    /// `services` must outlive what is being opened.
    explicit FileOpener(WindowServices& services) : m_services(services) {}
    ~FileOpener() { m_stop.request_stop(); }

    /// Gives up what is being opened before. `then` is called on the GUI thread, unless something else was asked for meanwhile.
    /// `against`: another file that its runs are held against, by cosine similarity if `cosine` > 0.
    void open(const QString& path, const QString& against, double cosine, std::function<void(Opened)> then);
    /// The same of what can be read of a file that cannot be opened.
    void openPart(const QString& path, std::function<void(Opened)> then);
    void cancel();
    /// Also while what was given up comes to its end.
    bool isBusy() const { return *m_running > 0; }

private:
    void start(std::function<Opened(std::stop_token)> work, std::function<void(Opened)> then);

    WindowServices& m_services;
    std::stop_source m_stop;
    std::shared_ptr<int> m_running = std::make_shared<int>(0); ///< threads; outlives this object in what they send
    std::shared_ptr<quint64> m_ticket = std::make_shared<quint64>(0);
};

} // namespace loopscope::viewer
