#include "engine/exec/dataflow/rendezvous.h"

#include "engine/exec/dataflow/location.h"

#include <algorithm>
#include <charconv>

namespace loopscope::dataflow {

namespace {

/// Whether an iteration of this graph is the one that these numbers name.
bool isAt(const Iteration& iteration, std::span<const int64_t> iterations)
{
    size_t depth = iterations.size();
    for (const Iteration* at = &iteration; at->frame->index != 0; at = parentOf(*at))
        if (depth == 0 || iterations[--depth] != at->number) return false;
    return depth == 0;
}

} // namespace

std::vector<int32_t> Rendezvous::channelsOf(const GraphCode& code)
{
    std::vector<int32_t> numbers;
    for (const ChannelCode& channel : code.channels) {
        const int32_t number =
            channelNumber(channel.sendDevice + ";" + channel.recvDevice + ";" + channel.tensorName + ";", channel.isWithinCall);
        numbers.push_back(number);
        if (!m_peers) continue;
        Channel& here = m_channels[static_cast<size_t>(number)];
        here.peer = m_peers->channel(channel.sendDevice, channel.recvDevice, channel.tensorName);
        if (here.peer >= 0) m_ofPeers.emplace(here.peer, number);
    }
    return numbers;
}

int32_t Rendezvous::channelNumber(const std::string& text, bool isWithinCall)
{
    const auto [at, isNew] = m_numbers.try_emplace((isWithinCall ? "_" : "") + text, static_cast<int32_t>(m_channels.size()));
    if (isNew) {
        Channel& channel = m_channels.emplace_back();
        channel.text = text;
        channel.isWithinCall = isWithinCall;
    }
    return at->second;
}

Rendezvous::Channel& Rendezvous::channelOf(const Iteration& iteration, const Node& node)
{
    return m_channels[static_cast<size_t>(programOf(iteration).channels[static_cast<size_t>(node.channel)])];
}

Rendezvous::Place Rendezvous::namedPlace(const std::string& path)
{
    const auto [at, isNew] = m_pathNumbers.try_emplace(path, std::ssize(m_paths));
    if (isNew) m_paths.push_back(path);
    return {-1 - at->second, 0};
}

/// What a program sends may be received in another call; it goes by the names of its frames.
Rendezvous::Place Rendezvous::placeOf(const Channel& channel, const Iteration& iteration)
{
    if (channel.isWithinCall) [[likely]]
        return {iteration.frame->serial, iteration.number};
    std::string path;
    for (const Iteration* at = &iteration; at->frame->index != 0; at = parentOf(*at))
        path += at->frame->code->name + "@" + std::to_string(at->number) + ";";
    return namedPlace(path);
}

/// A Recv that has waited can run.
void Rendezvous::wake(Channel& channel, size_t parked)
{
    const Parked woken = channel.parked[parked];
    channel.parked.erase(channel.parked.begin() + static_cast<ptrdiff_t>(parked));
    --m_parked;
    m_flow.markReady(*woken.iteration, woken.position, false);
    --woken.iteration->outstanding; // it never stopped counting
    --woken.iteration->frame->activation->outstanding;
}

Status Rendezvous::send(const Iteration& iteration, const Node& node, Cell* cell)
{
    Channel& channel = channelOf(iteration, node);
    if (channel.peer >= 0) {
        m_room.clear();
        for (const Iteration* at = &iteration; at->frame->index != 0; at = parentOf(*at)) m_room.insert(m_room.begin(), at->number);
        Status status = m_peers->send(channel.peer, m_room, cell->isDead ? nullptr : cell);
        m_flow.cells().release(cell);
        return status;
    }
    const Place place = placeOf(channel, iteration);
    channel.sent.push_back({place, cell});
    for (size_t p = 0; p < channel.parked.size(); ++p) {
        if (channel.parked[p].place != place) continue;
        wake(channel, p);
        break;
    }
    return {};
}

bool Rendezvous::isSent(Iteration& iteration, const Node& node)
{
    Channel& channel = channelOf(iteration, node);
    if (channel.peer >= 0) {
        if (std::ranges::any_of(channel.arrived, [&](const Arrived& value) { return isAt(iteration, value.iterations); })) return true;
        channel.parked.push_back({{iteration.frame->serial, iteration.number}, &iteration, node.position});
        ++m_parked;
        return false;
    }
    const Place place = placeOf(channel, iteration);
    if (std::ranges::find(channel.sent, place, &Sent::place) != channel.sent.end()) return true;
    channel.parked.push_back({place, &iteration, node.position});
    ++m_parked;
    return false;
}

Cell* Rendezvous::receive(const Iteration& iteration, const Node& node)
{
    Channel& channel = channelOf(iteration, node);
    if (channel.peer >= 0) {
        const auto here = std::ranges::find_if(channel.arrived, [&](const Arrived& value) { return isAt(iteration, value.iterations); });
        Cell* const cell = here->cell;
        channel.arrived.erase(here);
        return cell;
    }
    const auto sent = std::ranges::find(channel.sent, placeOf(channel, iteration), &Sent::place);
    Cell* const cell = sent->cell;
    channel.sent.erase(sent);
    return cell;
}

Result<bool> Rendezvous::awaitPeers()
{
    if (!m_peers || m_parked == 0) return false;
    const int64_t before = m_parked;
    while (m_parked == before) {
        LS_TRY(const bool hasCome, m_peers->receive(m_arrival, true));
        if (!hasCome) return false;
        LS_CHECK_OK(arrive(m_arrival));
    }
    return true;
}

Status Rendezvous::arrive(const Arrival& arrival)
{
    const auto known = m_ofPeers.find(arrival.channel);
    if (known == m_ofPeers.end()) return {}; // of a part that sends what nothing reads here
    Channel& channel = m_channels[static_cast<size_t>(known->second)];
    Result<Cell*> copied = arrival.isDead ? CellPool::share(m_flow.cells().dead()) : m_flow.cells().copy(arrival.value);
    LS_TRY(Cell* const cell, std::move(copied));
    channel.arrived.push_back({arrival.iterations, cell});
    for (size_t p = 0; p < channel.parked.size(); ++p) {
        if (!isAt(*channel.parked[p].iteration, arrival.iterations)) continue;
        wake(channel, p);
        break;
    }
    return {};
}

std::multimap<std::string, std::pair<const Iteration*, int32_t>> Rendezvous::waiting(const std::vector<Iteration*>& active) const
{
    std::multimap<std::string, std::pair<const Iteration*, int32_t>> waiting;
    for (const Channel& channel : m_channels)
        for (const Parked& parked : channel.parked) waiting.emplace(keyText(channel, parked), std::pair(parked.iteration, parked.position));
    for (const Iteration* const iteration : active) {
        const Program& program = programOf(*iteration);
        for (int32_t p = 0; p < iteration->frame->code->nodeCount && iteration->ready > 0; ++p) {
            const Node& node = program.code.nodes[static_cast<size_t>(iteration->frame->code->firstNode + p)];
            const auto isSet = [&](const std::vector<uint64_t>& bits) { return (bits[static_cast<size_t>(p) / 64] >> (p % 64) & 1) != 0; };
            if (node.kind != NodeKind::receive || !isSet(iteration->readyBits) || isSet(iteration->deadBits)) continue;
            const Channel& channel = m_channels[static_cast<size_t>(program.channels[static_cast<size_t>(node.channel)])];
            if (!channel.isWithinCall || channel.peer >= 0) continue; // from elsewhere, whenever that is
            const Place here = {iteration->frame->serial, iteration->number};
            if (std::ranges::find(channel.sent, here, &Sent::place) == channel.sent.end())
                waiting.emplace(channel.text + toString(addressOf(*iteration)), std::pair(iteration, p));
        }
    }
    return waiting;
}

std::string Rendezvous::keyText(const Channel& channel, const Parked& parked) const
{
    if (channel.isWithinCall) return channel.text + toString(addressOf(*parked.iteration));
    const auto path = static_cast<size_t>(-1 - parked.place.frame);
    return channel.text + (path < m_paths.size() ? m_paths[path] : "");
}

void Rendezvous::clear()
{
    for (Channel& channel : m_channels) {
        for (const Sent& sent : channel.sent) m_flow.cells().release(sent.cell);
        for (const Arrived& arrived : channel.arrived) m_flow.cells().release(arrived.cell);
        channel.sent.clear();
        channel.parked.clear();
        channel.arrived.clear();
    }
    m_parked = 0;
}

std::string Rendezvous::savedKey(const Channel& channel, const Place& place) const
{
    if (place.frame < 0) return channel.text + m_paths[static_cast<size_t>(-1 - place.frame)];
    return "_" + channel.text + "#" + std::to_string(place.frame) + "@" + std::to_string(place.number);
}

bool Rendezvous::restoreSent(std::string_view key, Cell* cell)
{
    const bool isWithinCall = key.starts_with('_');
    size_t end = 0; // behind the three parts of a key
    for (int part = 0; part < 3 && end != std::string_view::npos; ++part) {
        end = key.find(';', end);
        if (end != std::string_view::npos) ++end;
    }
    if (end == std::string_view::npos) return false;
    const std::string_view rest = key.substr(end);
    Place place;
    if (isWithinCall) {
        const size_t at = rest.find('@');
        if (!rest.starts_with('#') || at == std::string_view::npos) return false;
        const auto frame = std::from_chars(rest.data() + 1, rest.data() + at, place.frame);
        const auto number = std::from_chars(rest.data() + at + 1, rest.data() + rest.size(), place.number);
        if (frame.ec != std::errc() || number.ec != std::errc() || place.frame < 0) return false;
    } else {
        place = namedPlace(std::string(rest));
    }
    const std::string text(key.substr(isWithinCall ? 1 : 0, end - (isWithinCall ? 1 : 0)));
    m_channels[static_cast<size_t>(channelNumber(text, isWithinCall))].sent.push_back({place, cell});
    return true;
}

void Rendezvous::restoreParked(Iteration& iteration, int32_t position)
{
    const Node& node = programOf(iteration).code.nodes[static_cast<size_t>(iteration.frame->code->firstNode + position)];
    Channel& channel = channelOf(iteration, node);
    channel.parked.push_back({placeOf(channel, iteration), &iteration, position});
    ++m_parked;
}

} // namespace loopscope::dataflow
