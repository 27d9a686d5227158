// What Sends have sent and Recvs wait for within one machine, and what other parts of a graph send to it.
#pragma once

#include "engine/exec/dataflow/flow.h"
#include "engine/exec/peers.h"

#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace loopscope::dataflow {

/// Not thread-safe.
class Rendezvous {
public:
    /// Where a value belongs: an iteration of a frame instance (its serial), or, `frame` negative, all places of one name.
    struct Place {
        int64_t frame = 0, number = 0;
        bool operator==(const Place&) const = default;
    };
    struct Sent {
        Place place;
        Cell* cell = nullptr;
    };
    struct Parked { ///< a Recv that waits
        Place place;
        Iteration* iteration = nullptr;
        int32_t position = 0;
    };
    /// From another part, before it is taken.
    struct Arrived {
        std::vector<int64_t> iterations;
        Cell* cell = nullptr;
    };
    /// What one Send, or several with one key, hand to Recvs.
    struct Channel {
        std::string text;
        bool isWithinCall = false; ///< TensorFlow has put it where it cut a graph: it stays in the iteration where it was sent
        int32_t peer = -1;         ///< Peers::channel()
        std::vector<Sent> sent;    ///< in the order in which they came
        std::vector<Parked> parked;
        std::deque<Arrived> arrived;
    };

    Rendezvous(Flow& flow, Peers* peers) : m_flow(flow), m_peers(peers) {}

    /// Numbers for the keys of a graph.
    std::vector<int32_t> channelsOf(const GraphCode& code);

    /// Takes the cell.
    Status send(const Iteration& iteration, const Node& node, Cell* cell);
    /// Whether what a Recv waits for has been sent. Otherwise the node is put aside until it is.
    bool isSent(Iteration& iteration, const Node& node);
    Cell* receive(const Iteration& iteration, const Node& node); ///< after isSent()
    /// Nothing can run: waits for other parts to send something that a Recv waits for. False: they will not, or there are none.
    Result<bool> awaitPeers();

    bool hasParked() const { return m_parked > 0; }
    /// Recvs that have been put aside, and ready ones that would be, by what they wait for: an iteration and a position.
    std::multimap<std::string, std::pair<const Iteration*, int32_t>> waiting(const std::vector<Iteration*>& active) const;
    const std::deque<Channel>& channels() const { return m_channels; }
    /// "cpu:0;b;edge_0_branch;main/collatz@0:frame": what a Recv waits for, as messages name it.
    std::string keyText(const Channel& channel, const Parked& parked) const;
    void clear();

    // States
    /// Of a value that was sent: sorts and finds it again.
    std::string savedKey(const Channel& channel, const Place& place) const;
    /// False: no such key.
    bool restoreSent(std::string_view key, Cell* cell);
    void restoreParked(Iteration& iteration, int32_t position);

private:
    int32_t channelNumber(const std::string& text, bool isWithinCall);
    Channel& channelOf(const Iteration& iteration, const Node& node);
    Place placeOf(const Channel& channel, const Iteration& iteration);
    Place namedPlace(const std::string& path);
    void wake(Channel& channel, size_t parked);
    Status arrive(const Arrival& arrival);

    Flow& m_flow;
    Peers* const m_peers; ///< null: all parts are here
    std::deque<Channel> m_channels;
    std::map<std::string, int32_t> m_numbers;
    std::map<int32_t, int32_t> m_ofPeers; ///< Peers::channel() → channel
    std::map<std::string, int64_t> m_pathNumbers;
    std::vector<std::string> m_paths;
    std::vector<int64_t> m_room;
    Arrival m_arrival;
    int64_t m_parked = 0;
};

} // namespace loopscope::dataflow
