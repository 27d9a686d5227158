#include "engine/kernels/resources.h"

#include <algorithm>
#include <cmath>
#include <numbers>

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

// Philox 4x32-10: J. Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
uint32_t RandomState::next32()
{
    if (m_used == 4) {
        uint32_t c[4] = {static_cast<uint32_t>(m_counter), static_cast<uint32_t>(m_counter >> 32), 0, 0};
        uint32_t k0 = static_cast<uint32_t>(m_key);
        uint32_t k1 = static_cast<uint32_t>(m_key >> 32);
        for (int round = 0; round < 10; ++round) {
            const uint64_t p0 = uint64_t{0xD2511F53} * c[0];
            const uint64_t p1 = uint64_t{0xCD9E8D57} * c[2];
            const uint32_t next[4] = {static_cast<uint32_t>(p1 >> 32) ^ c[1] ^ k0, static_cast<uint32_t>(p1),
                                      static_cast<uint32_t>(p0 >> 32) ^ c[3] ^ k1, static_cast<uint32_t>(p0)};
            std::copy(std::begin(next), std::end(next), std::begin(c));
            k0 += 0x9E3779B9;
            k1 += 0xBB67AE85;
        }
        std::copy(std::begin(c), std::end(c), std::begin(m_block));
        ++m_counter;
        m_used = 0;
    }
    return m_block[m_used++];
}

float RandomState::uniform()
{
    return static_cast<float>(next32() >> 8) * 0x1p-24F;
}

float RandomState::normal()
{
    const float u = 1.0F - uniform(); // (0, 1]: the logarithm is finite
    const float v = uniform();
    return std::sqrt(-2.0F * std::log(u)) * std::cos(2.0F * std::numbers::pi_v<float> * v);
}

} // namespace loopscope
