// Where the newest bytes of tensors are when a device computes some of them: on the host, on the device, or on both. A tensor is known by
// its place on the host, which it has in any case: kernels of the host never see an address of the device, and values that move by pointer
// stay known.
#pragma once

#include "engine/base/result.h"
#include "engine/tensor/statistics.h"
#include "engine/tensor/tensor.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>

namespace loopscope {

enum class Placement : uint8_t { host, device, both };

/// What a backend derives from and gives to one executor, whose memory it knows. Used on the executor's thread. A failure is kept: what was
/// asked for since then is not to be trusted, and whoever runs asks check().
class DeviceMemory {
public:
    virtual ~DeviceMemory() = default;

    Placement placementOf(const Tensor& tensor) const;
    /// The one way to the bytes of a tensor for whoever is no kernel of the device: reads back what the device alone has, once. Where that
    /// fails the tensor stays on the device, for whoever asks placementOf(): its bytes here are nothing.
    std::span<const std::byte> hostBytes(const Tensor& tensor);
    /// Everything that the device alone has is read back: what follows may go anywhere.
    void settle();
    /// Nothing that the device has is worth anything, and no failure counts: a run begins, in memory that may be another's by now.
    void forget()
    {
        m_ranges.clear();
        m_failure.reset();
    }
    /// A kernel of the device has given the tensor its value, or will have before readBack() returns.
    void computed(const Tensor& tensor);
    /// The host has, or is about to, or the place goes: what the device holds for it is old.
    void written(const Tensor& tensor);
    /// Whether describe() saves reading a tensor back that the device alone has.
    virtual bool describes(const Tensor&) const { return false; }
    /// The statistics of such a tensor, reduced there and equal to what computeStatistics() makes of its bytes. None: the bytes are needed.
    virtual std::optional<TensorStatistics> describe(const Tensor&) { return std::nullopt; }
    /// Errors: those of readBack().
    Status check() const { return m_failure ? Status(m_failure->copy()) : Status(); }

protected:
    /// Waits for the device and copies what it computed for this place of the host to it.
    virtual Status readBack(std::byte* place, size_t bytes) = 0;

private:
    struct Range {
        size_t bytes = 0;
        bool isNewer = false; ///< than what the host has
    };
    using Ranges = std::map<std::byte*, Range>;
    Ranges::const_iterator firstAt(const std::byte* place) const;
    void fetch(std::byte* place, Range& range);

    Ranges m_ranges; ///< what the device has, by place on the host; no two overlap
    std::optional<Error> m_failure;
};

} // namespace loopscope
