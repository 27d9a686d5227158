#include "engine/base/bytes.h"

#include "engine/base/file_guard.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <new>
#include <sys/stat.h>
#include <unistd.h>

namespace loopscope {

namespace {

constexpr size_t kReadWhole = 64U << 20U; ///< bytes; larger files are mapped

/// Closes a descriptor on every way out.
struct Descriptor {
    int fd = -1;
    ~Descriptor()
    {
        if (fd >= 0) ::close(fd);
    }
};

Error systemError(ErrorCode code, const std::string& path)
{
    const int reason = errno;
    return Error(code, reason == ENOENT ? "no such file" : std::strerror(reason)).at(path);
}

/// Memory for `size` bytes, as tensors want it.
std::shared_ptr<void> alignedBlock(size_t size)
{
    void* const block = size > SIZE_MAX - 63 ? nullptr : std::aligned_alloc(64, (size + 63) / 64 * 64);
    if (block == nullptr) throw std::bad_alloc(); // an error for whoever works under allocating()
    return {block, &std::free};
}

/// `size`: of the file when it was opened; if it is shorter by now, so is the result.
Result<Bytes> readWhole(int fd, size_t size, const std::string& path)
{
    std::shared_ptr<void> block;
    try {
        block = alignedBlock(size);
    } catch (const std::bad_alloc&) {
        return Error(ErrorCode::execution, "out of memory").at(path);
    }
    size_t done = 0;
    while (done < size) {
        const ssize_t n = ::read(fd, static_cast<std::byte*>(block.get()) + done, size - done);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return systemError(ErrorCode::badFile, path);
        if (n == 0) break;
        done += static_cast<size_t>(n);
    }
    const std::span<const std::byte> view(static_cast<const std::byte*>(block.get()), done);
    return Bytes(view, std::move(block));
}

} // namespace

Bytes Bytes::copyOf(std::span<const std::byte> source)
{
    if (source.empty()) return {};
    std::shared_ptr<void> block = alignedBlock(source.size());
    std::memcpy(block.get(), source.data(), source.size());
    const std::span<const std::byte> view(static_cast<const std::byte*>(block.get()), source.size());
    return Bytes(view, std::move(block));
}

Result<Bytes> mapFile(const std::string& path)
{
    Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)}; // a pipe would wait for its writer
    if (file.fd < 0) return systemError(ErrorCode::badFile, path);
    struct stat info = {};
    if (::fstat(file.fd, &info) != 0) return systemError(ErrorCode::badFile, path);
    if (S_ISDIR(info.st_mode)) return Error(ErrorCode::badFile, "is a folder, expected a file").at(path);
    if (!S_ISREG(info.st_mode)) return Error(ErrorCode::badFile, "is a device or a pipe, expected a file").at(path);
    const auto size = static_cast<size_t>(info.st_size);
    if (size == 0) return Bytes();
    if (size <= kReadWhole) return readWhole(file.fd, size, path);
    std::shared_ptr<const void> owner = mapGuarded(file.fd, size, path);
    if (owner == nullptr) return systemError(ErrorCode::badFile, path);
    const std::span<const std::byte> view(static_cast<const std::byte*>(owner.get()), size);
    return Bytes(view, std::move(owner));
}

Status writeFile(const std::string& path, std::span<const std::byte> content, bool overwrite)
{
    if (!overwrite && ::access(path.c_str(), F_OK) == 0) return Error(ErrorCode::cannotWrite, "exists; --force overwrites").at(path);
    std::string aside = path + ".XXXXXX";
    Descriptor file{::mkstemp(aside.data())};
    if (file.fd < 0) return systemError(ErrorCode::cannotWrite, path);
    const auto giveUp = [&] {
        Error error = systemError(ErrorCode::cannotWrite, path);
        ::unlink(aside.c_str());
        return error;
    };
    size_t done = 0;
    while (done < content.size()) {
        const ssize_t n = ::write(file.fd, content.data() + done, content.size() - done);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return giveUp();
        done += static_cast<size_t>(n);
    }
    const mode_t mask = ::umask(0);
    ::umask(mask);
    if (::fchmod(file.fd, 0666 & ~mask) != 0) return giveUp();
    if (::rename(aside.c_str(), path.c_str()) != 0) return giveUp();
    return {};
}

Status writeFile(const std::string& path, std::string_view content, bool overwrite)
{
    return writeFile(path, std::as_bytes(std::span(content.data(), content.size())), overwrite);
}

} // namespace loopscope
