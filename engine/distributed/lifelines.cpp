#include "engine/distributed/lifelines.h"

#include "engine/base/clock.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

namespace loopscope {

namespace {

constexpr size_t kTokenBytes = 16;
constexpr char kGoodbye = 'g', kGoodbyeWithoutAll = 'l';

/// What a rank says first: who it is, and that it belongs to this job.
struct Greeting {
    std::array<char, 2 * kTokenBytes> token = {};
    int32_t rank = 0;
};

Result<std::string> randomToken()
{
    std::array<unsigned char, kTokenBytes> bytes = {};
    if (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
        return Error(ErrorCode::execution, "the system gives no random numbers");
    std::string text;
    for (const unsigned char byte : bytes) {
        text += "0123456789abcdef"[byte >> 4];
        text += "0123456789abcdef"[byte & 15];
    }
    return text;
}

} // namespace

Lifelines::~Lifelines()
{
    if (m_listener >= 0) close(m_listener);
    for (const Line& line : m_lines)
        if (line.socket >= 0) close(line.socket);
}

Result<std::string> Lifelines::offer(int32_t size, bool isLocal)
{
    LS_TRY(m_token, randomToken());
    m_lines.resize(static_cast<size_t>(size));
    m_listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(isLocal ? INADDR_LOOPBACK : INADDR_ANY);
    socklen_t length = sizeof(address);
    auto* const plain = reinterpret_cast<sockaddr*>(&address);
    if (m_listener < 0 || bind(m_listener, plain, sizeof(address)) != 0 || ::listen(m_listener, size) != 0 ||
        getsockname(m_listener, plain, &length) != 0)
        return Error(ErrorCode::execution, "ranks cannot be connected").found(std::strerror(errno));
    std::array<char, 256> host = {"127.0.0.1"};
    if (!isLocal) gethostname(host.data(), host.size() - 1);
    return std::string(host.data()) + " " + std::to_string(ntohs(address.sin_port)) + " " + m_token;
}

void Lifelines::accept(int64_t ns)
{
    const int64_t until = nowNs() + ns;
    size_t missing = m_lines.size() - 1;
    while (missing > 0 && nowNs() < until) {
        pollfd waiting = {m_listener, POLLIN, 0};
        if (poll(&waiting, 1, 100) <= 0) continue;
        const int socket = accept4(m_listener, nullptr, nullptr, SOCK_CLOEXEC);
        if (socket < 0) continue;
        const timeval limit = {1, 0}; // a stranger that says nothing holds nobody up for long
        setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
        Greeting greeting;
        const bool isWhole = recv(socket, &greeting, sizeof(greeting), MSG_WAITALL) == static_cast<ssize_t>(sizeof(greeting));
        const bool isOurs = isWhole && std::string_view(greeting.token.data(), greeting.token.size()) == m_token && greeting.rank > 0 &&
                            greeting.rank < static_cast<int32_t>(m_lines.size()) && m_lines[static_cast<size_t>(greeting.rank)].socket < 0;
        if (!isOurs) {
            close(socket);
            continue;
        }
        m_lines[static_cast<size_t>(greeting.rank)].socket = socket;
        --missing;
    }
    close(m_listener);
    m_listener = -1;
}

Status Lifelines::connect(const std::string& offered, int32_t rank)
{
    const size_t first = offered.find(' '), second = offered.find(' ', first + 1);
    if (second == std::string::npos || offered.size() - second - 1 != 2 * kTokenBytes)
        return Error(ErrorCode::internal, "rank 0 says where it is in other words");
    addrinfo wanted = {};
    wanted.ai_family = AF_INET;
    wanted.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    const std::string host = offered.substr(0, first), port = offered.substr(first + 1, second - first - 1);
    const Error failed = Error(ErrorCode::execution, "rank 0 cannot be reached").at("rank " + std::to_string(rank)).found(host);
    if (getaddrinfo(host.c_str(), port.c_str(), &wanted, &found) != 0) return failed.copy();
    const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const bool isConnected = socket >= 0 && ::connect(socket, found->ai_addr, found->ai_addrlen) == 0;
    freeaddrinfo(found);
    Greeting greeting;
    std::copy_n(offered.begin() + static_cast<ptrdiff_t>(second) + 1, greeting.token.size(), greeting.token.begin());
    greeting.rank = rank;
    if (!isConnected || ::send(socket, &greeting, sizeof(greeting), MSG_NOSIGNAL) != static_cast<ssize_t>(sizeof(greeting))) {
        if (socket >= 0) close(socket);
        return failed.copy();
    }
    m_lines.resize(1);
    m_lines[0].socket = socket;
    return {};
}

void Lifelines::leave(Line& line, char said)
{
    line.end = End::left;
    line.leavesWhole = said == kGoodbye;
}

bool Lifelines::isLost(int32_t rank)
{
    if (static_cast<size_t>(rank) >= m_lines.size()) return false;
    Line& line = m_lines[static_cast<size_t>(rank)];
    if (line.socket < 0 || line.end != End::open) return line.end == End::lost;
    char said = 0;
    const ssize_t count = recv(line.socket, &said, 1, MSG_DONTWAIT);
    if (count == 1) leave(line, said);
    else if (count == 0 || (count < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)) line.end = End::lost;
    return line.end == End::lost;
}

void Lifelines::sayGoodbye(bool isWhole)
{
    const char word = isWhole ? kGoodbye : kGoodbyeWithoutAll;
    for (const Line& line : m_lines)
        if (line.socket >= 0) static_cast<void>(::send(line.socket, &word, 1, MSG_NOSIGNAL) == 1);
}

bool Lifelines::hearsThatAllLeave(int64_t ns)
{
    if (m_lines.empty() || m_lines[0].socket < 0) return false;
    Line& line = m_lines[0];
    pollfd waiting = {line.socket, POLLIN, 0};
    char said = 0;
    if (line.end == End::open && poll(&waiting, 1, static_cast<int>(ns / 1'000'000)) == 1 && recv(line.socket, &said, 1, MSG_DONTWAIT) == 1)
        leave(line, said);
    return line.leavesWhole;
}

} // namespace loopscope
