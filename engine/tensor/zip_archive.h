// Zip archives that are read: .npz files and Keras models are such. Members are unpacked one by one, under the limit of --memory.
#pragma once

#include "engine/base/bytes.h"
#include "engine/base/result.h"

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace loopscope {

/// An open archive. Members are read when asked for. Not thread-safe.
class ZipArchive {
public:
    /// Errors: badFile, with libzip's reason.
    static Result<ZipArchive> open(Bytes content);
    ZipArchive(ZipArchive&&) noexcept;
    ZipArchive& operator=(ZipArchive&&) noexcept;
    ~ZipArchive();

    /// Names of the members in file order.
    const std::vector<std::string>& names() const { return m_names; }
    bool has(std::string_view name) const;
    /// Errors: badFile if there is no such member, or it is damaged or claims more than it can hold; unsupported (its compression);
    /// execution (--memory). Without the member's name.
    Result<std::vector<std::byte>> read(std::string_view name) const;

private:
    struct Handle;
    ZipArchive(std::unique_ptr<Handle> handle, std::vector<std::string> names);
    std::unique_ptr<Handle> m_handle;
    std::vector<std::string> m_names;
};

} // namespace loopscope
