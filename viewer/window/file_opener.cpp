#include "viewer/window/file_opener.h"

#include <QCoreApplication>
#include <QMetaObject>

#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>

namespace loopscope::viewer {

void FileOpener::open(const QString& path, const QString& against, double cosine, std::function<void(Opened)> then)
{
    WindowServices* const services = &m_services;
    start(
        [services, name = path.toStdString(), other = against.toStdString(), cosine](const std::stop_token& stop) {
            return other.empty() ? services->open(name, stop) : services->openAgainst(name, other, cosine, stop);
        },
        std::move(then));
}

void FileOpener::openPart(const QString& path, std::function<void(Opened)> then)
{
    WindowServices* const services = &m_services;
    start([services, name = path.toStdString()](const std::stop_token& stop) { return services->openPart(name, stop); }, std::move(then));
}

void FileOpener::start(std::function<Opened(std::stop_token)> work, std::function<void(Opened)> then)
{
    m_stop.request_stop();
    m_stop = std::stop_source();
    ++*m_running;
    const quint64 ticket = ++*m_ticket;
    std::thread([=, work = std::move(work), running = std::weak_ptr(m_running), newest = std::weak_ptr(m_ticket), stop = m_stop.get_token(),
                 then = std::move(then)]() mutable {
        auto opened = std::make_shared<Opened>(work(stop));
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
