// How much memory what a file asks for may take. A few bytes of an archive can unpack to gigabytes: whoever unpacks, or makes anything
// whose size a file states, asks here first and again while it grows.
#pragma once

#include "engine/base/result.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace loopscope {

/// Bytes that the process may hold in all; 0: the default, half of what was free when it was first asked for.
void setMemoryLimit(uint64_t bytes);
uint64_t memoryLimit();
/// Bytes that the process holds now, without those of files that are mapped.
uint64_t memoryInUse();

/// Errors: execution, if `more` bytes beyond what is in use would pass the limit. `what`: "member 'x'".
Status checkMemory(uint64_t more, std::string_view what);

/// For what grows by small pieces: asks every few MiB.
class MemoryMeter {
public:
    explicit MemoryMeter(std::string what) : m_what(std::move(what)) {}
    /// Before `more` bytes are taken. Errors as checkMemory.
    Status grow(uint64_t more)
    {
        m_unasked += more;
        return m_unasked < kStep ? Status() : ask();
    }

private:
    static constexpr uint64_t kStep = uint64_t{8} << 20;
    Status ask();

    std::string m_what;
    uint64_t m_unasked = 0; ///< bytes since the last question
};

} // namespace loopscope
