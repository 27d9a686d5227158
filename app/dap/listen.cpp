#include "app/dap/listen.h"

#include "app/dap/server.h"
#include "app/wiring/signals.h"

#include <arpa/inet.h>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <netinet/in.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

namespace loopscope::app::dap {

namespace {

constexpr int kLookEveryMs = 200;       ///< for Ctrl-C
constexpr time_t kSecondsToListen = 10; ///< for a client that asks and does not read what it is answered

/// A descriptor that is closed with its owner.
class Descriptor {
public:
    explicit Descriptor(int number) : m_number(number) {}
    ~Descriptor()
    {
        if (m_number >= 0) close(m_number);
    }
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    int number() const { return m_number; }

private:
    int m_number;
};

/// 128 random bits as digits.
Result<std::string> newToken()
{
    std::array<unsigned char, 16> bytes;
    if (getrandom(bytes.data(), bytes.size(), 0) != std::ssize(bytes)) return Error(ErrorCode::device, "no random numbers for a token");
    std::string token;
    for (const unsigned char byte : bytes) {
        token += "0123456789abcdef"[byte >> 4];
        token += "0123456789abcdef"[byte & 15];
    }
    return token;
}

Error deviceError(const std::string& what) { return Error(ErrorCode::device, what).found(std::strerror(errno)); }

} // namespace

void serveStandardStreams()
{
    std::signal(SIGPIPE, SIG_IGN); // a client that vanishes
    Connection connection(STDIN_FILENO, STDOUT_FILENO);
    Server(connection, {}).serve();
}

Status serveClients(int64_t port, const std::function<void(int port, const std::string& token)>& ready)
{
    std::signal(SIGPIPE, SIG_IGN);
    LS_TRY(const std::string token, newToken());
    const Descriptor listener(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const int yes = 1;
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (listener.number() < 0) return deviceError("no socket");
    setsockopt(listener.number(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (bind(listener.number(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 || listen(listener.number(), 4) != 0)
        return deviceError("cannot listen on port " + std::to_string(port));
    socklen_t length = sizeof address;
    getsockname(listener.number(), reinterpret_cast<sockaddr*>(&address), &length);
    ready(ntohs(address.sin_port), token);
    while (!interruptFlag().requested()) {
        pollfd waited = {listener.number(), POLLIN, 0};
        if (poll(&waited, 1, kLookEveryMs) <= 0) continue;
        const Descriptor client(accept4(listener.number(), nullptr, nullptr, SOCK_CLOEXEC));
        if (client.number() < 0) continue;
        const timeval patience = {kSecondsToListen, 0};
        setsockopt(client.number(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
        Connection connection(client.number(), client.number());
        Server(connection, token).serve();
    }
    return {};
}

} // namespace loopscope::app::dap
