// A value that another rank has, because it computed it (remote_kernels.h): for cells and saved states.
#pragma once

#include "engine/base/result.h"

#include <cstddef>
#include <memory>
#include <span>

namespace loopscope {

/// The bytes of a value that stay with the rank that computed it. Whoever has this has the value: a cell, and the saved states that it is
/// part of. The last that lets go of it gives it up there.
class RemoteValue {
public:
    RemoteValue() = default;
    RemoteValue(const RemoteValue&) = delete;
    RemoteValue& operator=(const RemoteValue&) = delete;
    virtual ~RemoteValue() = default;
    virtual size_t bytes() const = 0;
    /// Copies all of them. Errors: execution, that rank is lost.
    virtual Status bring(std::span<std::byte> into) const = 0;
};
using RemoteValuePtr = std::shared_ptr<const RemoteValue>;

} // namespace loopscope
