// Messages of the Debug Adapter Protocol over two file descriptors: those that come are read by a thread of their own, so that `pause` and
// `cancel` are heard while the engine runs.
#pragma once

#include "engine/base/json.h"

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

namespace loopscope::app::dap {

/// Does not close the descriptors. What a client sends that is no message is kept as an object with the one member "problem".
class Connection {
public:
    Connection(int in, int out);
    ~Connection();
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;

    /// Sends a message; its "seq" is set here. Of a client that is gone it is dropped. One thread sends.
    void send(Json message);

    /// The next message; none: the client is gone, or `seconds` passed (< 0: never).
    std::optional<Json> take(double seconds = -1);
    /// The first message that `isWanted`, if there is one already.
    std::optional<Json> takeIf(const std::function<bool(const Json&)>& isWanted);
    bool hasMessage();
    /// The client has gone; messages that it sent before may still be there.
    bool isGone();
    /// What comes from now on is not heard any more.
    void hangUp();

private:
    void read();
    bool fill();
    bool takeFrame();
    void deliver(Json message);
    void dropClient();

    bool m_isDeaf = false; ///< the sender's: nothing more is sent
    int m_in, m_out, m_stop;
    int64_t m_sequence = 0;
    std::string m_buffer; ///< the reader's: bytes that are no whole message yet
    std::mutex m_mutex;
    std::condition_variable m_wake;
    std::deque<Json> m_inbox;
    bool m_gone = false;
    std::thread m_reader; ///< last: it uses everything above
};

} // namespace loopscope::app::dap
