#include "engine/kernels/resources.h"

#include "engine/base/hash.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <span>

namespace loopscope {

int32_t ResourceStore::handle(const std::string& name)
{
    const auto found = std::find(m_names.begin(), m_names.end(), name);
    if (found != m_names.end()) return static_cast<int32_t>(found - m_names.begin());
    m_names.push_back(name);
    return static_cast<int32_t>(m_names.size() - 1);
}

Variable* ResourceStore::variable(int32_t handle)
{
    if (handle < 0 || handle >= size()) return nullptr;
    Variable& variable = m_variables[handle];
    if (variable.name.empty()) variable.name = m_names[static_cast<size_t>(handle)];
    return &variable;
}

HashTable* ResourceStore::table(int32_t handle)
{
    if (handle < 0 || handle >= size()) return nullptr;
    HashTable& table = m_tables[handle];
    if (table.name.empty()) table.name = m_names[static_cast<size_t>(handle)];
    return &table;
}

namespace {

/// Chains hashes of the parts of a state.
class Digest {
public:
    void add(uint64_t number) { m_value = hash64(std::as_bytes(std::span(&number, 1)), m_value); }
    void add(std::span<const std::byte> bytes)
    {
        add(bytes.size());
        m_value = hash64(bytes, m_value);
    }
    void add(const std::string& text) { add(std::as_bytes(std::span(text.data(), text.size()))); }
    uint64_t value() const { return m_value; }

private:
    uint64_t m_value = 0;
};

} // namespace

uint64_t ResourceStore::hash() const
{
    Digest digest;
    for (const std::string& name : m_names) digest.add(name);
    for (const auto& [handle, variable] : m_variables) {
        digest.add(static_cast<uint64_t>(handle));
        digest.add(static_cast<uint64_t>(variable.assigned));
        digest.add(static_cast<uint64_t>(variable.dtype));
        digest.add(static_cast<uint64_t>(variable.shape.rank()));
        for (const int64_t dim : variable.shape.dims()) digest.add(static_cast<uint64_t>(dim));
        digest.add(std::span<const std::byte>(variable.bytes));
    }
    for (const auto& [handle, table] : m_tables) {
        digest.add(static_cast<uint64_t>(handle));
        digest.add(static_cast<uint64_t>(table.initialised));
        digest.add(static_cast<uint64_t>(table.keyType));
        digest.add(static_cast<uint64_t>(table.valueType));
        for (const auto& [key, value] : table.entries) {
            digest.add(key);
            digest.add(value);
        }
    }
    if (!m_objects.arrays().empty() || !m_objects.stacks().empty()) digest.add(m_objects.hash());
    return digest.value();
}

// J. Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011; LiteRT's is tsl/lib/random/philox_random.h.
std::array<uint32_t, 4> PhiloxStream::next()
{
    std::array<uint32_t, 4> c = {static_cast<uint32_t>(counterLow), static_cast<uint32_t>(counterLow >> 32),
                                 static_cast<uint32_t>(counterHigh), static_cast<uint32_t>(counterHigh >> 32)};
    auto k0 = static_cast<uint32_t>(key);
    auto k1 = static_cast<uint32_t>(key >> 32);
    for (int round = 0; round < 10; ++round) {
        const uint64_t p0 = uint64_t{0xD2511F53} * c[0];
        const uint64_t p1 = uint64_t{0xCD9E8D57} * c[2];
        c = {static_cast<uint32_t>(p1 >> 32) ^ c[1] ^ k0, static_cast<uint32_t>(p1), static_cast<uint32_t>(p0 >> 32) ^ c[3] ^ k1,
             static_cast<uint32_t>(p0)};
        k0 += 0x9E3779B9;
        k1 += 0xBB67AE85;
    }
    skip(1);
    return c;
}

void PhiloxStream::skip(uint64_t blocks)
{
    counterLow += blocks;
    if (counterLow < blocks) ++counterHigh;
}

uint32_t RandomState::next32()
{
    if (m_used == 4) {
        m_block = m_session.next();
        m_used = 0;
    }
    return m_block[static_cast<size_t>(m_used++)];
}

float RandomState::uniform() { return static_cast<float>(next32() >> 8) * 0x1p-24F; }

float RandomState::normal()
{
    const float u = 1.0F - uniform(); // (0, 1]: the logarithm is finite
    const float v = uniform();
    return std::sqrt(-2.0F * std::log(u)) * std::cos(2.0F * std::numbers::pi_v<float> * v);
}

PhiloxStream& RandomState::stream(uint64_t identity, uint64_t seed, uint64_t seed2)
{
    return m_streams.try_emplace(identity, PhiloxStream{seed, 0, seed2}).first->second;
}

uint64_t RandomState::hash() const
{
    Digest digest;
    const auto add = [&](const PhiloxStream& s) {
        digest.add(s.key);
        digest.add(s.counterLow);
        digest.add(s.counterHigh);
    };
    add(m_session);
    digest.add(std::as_bytes(std::span(m_block)));
    digest.add(static_cast<uint64_t>(m_used));
    for (const auto& [identity, s] : m_streams) {
        digest.add(identity);
        add(s);
    }
    return digest.value();
}

} // namespace loopscope
