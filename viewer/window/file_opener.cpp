#include "viewer/window/file_opener.h"

#include <QCoreApplication>
#include <QMetaObject>

#include <string>
#include <thread>

namespace loopscope::viewer {

void FileOpener::open(const QString& path, const QString& against, double cosine, std::function<void(Opened)> then)
{
    m_stop.request_stop();
    m_stop = std::stop_source();
    ++*m_running;
    const quint64 ticket = ++*m_ticket;
    WindowServices* const services = &m_services;
    std::thread([=, name = path.toStdString(), other = against.toStdString(), running = std::weak_ptr(m_running),
                 newest = std::weak_ptr(m_ticket), stop = m_stop.get_token(), then = std::move(then)]() mutable {
        auto opened =
            std::make_shared<Opened>(other.empty() ? services->open(name, stop) : services->openAgainst(name, other, cosine, stop));
        QMetaObject::invokeMethod(qApp, [=, then = std::move(then)] {
            const auto count = running.lock();
            const auto wanted = newest.lock();
            if (!count || !wanted) return; // nobody waits any more
            --*count;
            if (ticket == *wanted) then(std::move(*opened));
        });
    }).detach();
}

void FileOpener::cancel()
{
    m_stop.request_stop();
    ++*m_ticket;
}

} // namespace loopscope::viewer
