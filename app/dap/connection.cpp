#include "app/dap/connection.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <poll.h>
#include <strings.h>
#include <sys/eventfd.h>
#include <unistd.h>

namespace loopscope::app::dap {

namespace {

constexpr size_t kLongestHeader = 4096;
constexpr size_t kLongestMessage = size_t{16} << 20;
constexpr size_t kMostWaiting = 10'000; ///< messages that a client may be ahead

/// The number after "Content-Length:" in a header; none: it has none, or a wrong one.
std::optional<size_t> contentLength(std::string_view header)
{
    constexpr std::string_view kName = "content-length:";
    for (size_t at = 0; at < header.size();) {
        const size_t end = std::min(header.find("\r\n", at), header.size());
        std::string_view line = header.substr(at, end - at);
        at = end + 2;
        if (line.size() < kName.size() || strncasecmp(line.data(), kName.data(), kName.size()) != 0) continue;
        line.remove_prefix(kName.size());
        while (!line.empty() && line.front() == ' ') line.remove_prefix(1);
        size_t length = 0;
        const auto [stop, code] = std::from_chars(line.data(), line.data() + line.size(), length);
        if (code == std::errc() && stop == line.data() + line.size() && length <= kLongestMessage) return length;
        return std::nullopt;
    }
    return std::nullopt;
}

Json problem(std::string text)
{
    Json message = Json::object();
    message.set("problem", std::move(text));
    return message;
}

} // namespace

Connection::Connection(int in, int out) : m_in(in), m_out(out), m_stop(eventfd(0, EFD_CLOEXEC)), m_reader([this] { read(); }) {}

Connection::~Connection()
{
    hangUp();
    if (m_reader.joinable()) m_reader.join();
    if (m_stop >= 0) close(m_stop);
}

void Connection::hangUp()
{
    const uint64_t one = 1;
    if (m_stop >= 0) static_cast<void>(write(m_stop, &one, sizeof one) == sizeof one);
}

/// It is gone, or does not read what it is answered.
void Connection::dropClient()
{
    m_isDeaf = true;
    hangUp();
    const std::lock_guard lock(m_mutex);
    m_inbox.clear();
}

void Connection::send(Json message)
{
    if (m_isDeaf) return;
    Json numbered = Json::object();
    numbered.set("seq", ++m_sequence);
    for (const auto& [key, value] : message.members()) numbered.append(key, value);
    const std::string body = numbered.dump();
    const std::string text = "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
    for (size_t sent = 0; sent < text.size();) {
        const ssize_t count = write(m_out, text.data() + sent, text.size() - sent);
        if (count > 0) sent += static_cast<size_t>(count);
        else if (count == 0 || errno != EINTR) return dropClient(); // half a message is worth nothing
    }
}

std::optional<Json> Connection::take(double seconds)
{
    std::unique_lock lock(m_mutex);
    const auto isOver = [this] { return !m_inbox.empty() || m_gone; };
    if (seconds < 0) m_wake.wait(lock, isOver);
    else m_wake.wait_for(lock, std::chrono::duration<double>(seconds), isOver);
    if (m_inbox.empty()) return std::nullopt;
    Json message = std::move(m_inbox.front());
    m_inbox.pop_front();
    m_wake.notify_all();
    return message;
}

std::optional<Json> Connection::takeIf(const std::function<bool(const Json&)>& isWanted)
{
    const std::lock_guard lock(m_mutex);
    const auto found = std::ranges::find_if(m_inbox, isWanted);
    if (found == m_inbox.end()) return std::nullopt;
    Json message = std::move(*found);
    m_inbox.erase(found);
    m_wake.notify_all();
    return message;
}

bool Connection::hasMessage()
{
    const std::lock_guard lock(m_mutex);
    return !m_inbox.empty();
}

bool Connection::isGone()
{
    const std::lock_guard lock(m_mutex);
    return m_gone;
}

void Connection::deliver(Json message)
{
    std::unique_lock lock(m_mutex);
    if (m_inbox.size() >= kMostWaiting) return; // it never listens to answers
    m_inbox.push_back(std::move(message));
    m_wake.notify_all();
}

void Connection::read()
{
    while (fill())
        while (takeFrame()) {
        }
    const std::lock_guard lock(m_mutex);
    m_gone = true;
    m_wake.notify_all();
}

/// Waits for more bytes. False: there will be none.
bool Connection::fill()
{
    std::array<pollfd, 2> waited = {pollfd{m_in, POLLIN, 0}, pollfd{m_stop, POLLIN, 0}};
    while (poll(waited.data(), waited.size(), -1) < 0)
        if (errno != EINTR) return false;
    if (waited[1].revents != 0) return false;
    std::array<char, 65536> bytes;
    const ssize_t count = ::read(m_in, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) return true;
    if (count <= 0) return false;
    m_buffer.append(bytes.data(), static_cast<size_t>(count));
    return true;
}

/// Delivers the message that the buffer begins with. False: there is no whole one.
bool Connection::takeFrame()
{
    const size_t end = m_buffer.find("\r\n\r\n");
    if (end == std::string::npos && m_buffer.size() <= kLongestHeader) return false;
    const std::optional<size_t> length = end == std::string::npos ? std::nullopt : contentLength(std::string_view(m_buffer).substr(0, end));
    if (!length) { // whatever it is: a message may begin after it
        deliver(problem("a header without a length, expected 'Content-Length: N' up to " + std::to_string(kLongestMessage)));
        const size_t next = m_buffer.find("Content-Length:", end == std::string::npos ? 1 : end + 4);
        m_buffer.erase(0, next == std::string::npos ? m_buffer.size() : next);
        return !m_buffer.empty();
    }
    const size_t begin = end + 4;
    if (m_buffer.size() < begin + *length) return false;
    Result<Json> message = Json::parse(std::string_view(m_buffer).substr(begin, *length));
    m_buffer.erase(0, begin + *length);
    deliver(message.ok() ? std::move(*message) : problem(message.error().message()));
    return true;
}

} // namespace loopscope::app::dap
