#include "engine/tensor/zip_archive.h"

#include "engine/base/memory_budget.h"

#include <algorithm>
#include <zip.h>

namespace loopscope {

namespace {

/// Deflate cannot expand further than this, so a member that claims more is damaged.
constexpr uint64_t kMaxDeflateRatio = 1032;
constexpr uint64_t kChunk = 1 << 20;

/// Reads up to `size` bytes of a member. What is there decides how much memory is taken, not what the archive states.
Status unpack(zip_file_t* file, uint64_t size, std::vector<std::byte>& content)
{
    uint64_t step = kChunk;
    while (content.size() < size) {
        const uint64_t before = content.size(), more = std::min(size - before, step);
        if (content.capacity() < before + more) {
            // All of it once more, while it moves; the array that it becomes is a copy, too.
            LS_CHECK_OK(checkMemory(before + 2 * more, "unpacking"));
            content.reserve(std::min(size, before + 2 * more));
        }
        content.resize(before + more);
        const zip_int64_t n = zip_fread(file, content.data() + before, more);
        content.resize(before + static_cast<uint64_t>(std::max<zip_int64_t>(n, 0)));
        if (n <= 0) break;
        step = std::max(kChunk, content.size());
    }
    return {};
}

} // namespace

struct ZipArchive::Handle {
    Bytes content; ///< what `zip` reads
    zip_t* zip = nullptr;
    Handle() = default;
    Handle(const Handle&) = delete;
    Handle& operator=(const Handle&) = delete;
    ~Handle()
    {
        if (zip != nullptr) zip_discard(zip);
    }
};

ZipArchive::ZipArchive(std::unique_ptr<Handle> handle, std::vector<std::string> names)
    : m_handle(std::move(handle)),
      m_names(std::move(names))
{
}
ZipArchive::ZipArchive(ZipArchive&&) noexcept = default;
ZipArchive& ZipArchive::operator=(ZipArchive&&) noexcept = default;
ZipArchive::~ZipArchive() = default;

Result<ZipArchive> ZipArchive::open(Bytes content)
{
    auto handle = std::make_unique<Handle>();
    handle->content = std::move(content);
    zip_error_t error;
    zip_error_init(&error);
    zip_source_t* const source = zip_source_buffer_create(handle->content.data(), handle->content.size(), 0, &error);
    handle->zip = source != nullptr ? zip_open_from_source(source, ZIP_RDONLY, &error) : nullptr;
    if (handle->zip == nullptr) {
        const std::string reason = zip_error_strerror(&error);
        if (source != nullptr) zip_source_free(source);
        zip_error_fini(&error);
        return Error(ErrorCode::badFile, reason);
    }
    std::vector<std::string> names;
    const zip_int64_t count = zip_get_num_entries(handle->zip, 0);
    for (zip_int64_t i = 0; i < count; ++i)
        if (const char* name = zip_get_name(handle->zip, static_cast<zip_uint64_t>(i), 0)) names.emplace_back(name);
    return ZipArchive(std::move(handle), std::move(names));
}

bool ZipArchive::has(std::string_view name) const { return std::find(m_names.begin(), m_names.end(), name) != m_names.end(); }

Result<std::vector<std::byte>> ZipArchive::read(std::string_view name) const
{
    zip_t* const zip = m_handle->zip;
    const zip_int64_t index = zip_name_locate(zip, std::string(name).c_str(), 0);
    zip_stat_t stat;
    zip_stat_init(&stat);
    if (index < 0 || zip_stat_index(zip, static_cast<zip_uint64_t>(index), 0, &stat) != 0)
        return Error(ErrorCode::badFile, "cannot be found again");
    if ((stat.valid & ZIP_STAT_COMP_METHOD) != 0 && stat.comp_method != ZIP_CM_STORE && stat.comp_method != ZIP_CM_DEFLATE)
        return Error(ErrorCode::unsupported, "compression method " + std::to_string(stat.comp_method) + " is not supported");
    // Not by a product: what the archive states may be as large as 64 bits hold.
    if (stat.size > kChunk && (stat.size - kChunk) / kMaxDeflateRatio > stat.comp_size)
        return Error(ErrorCode::badFile, "claims to hold " + std::to_string(stat.size) + " bytes in " + std::to_string(stat.comp_size));
    zip_file_t* const file = zip_fopen_index(zip, static_cast<zip_uint64_t>(index), 0);
    if (file == nullptr) return Error(ErrorCode::badFile, zip_error_strerror(zip_get_error(zip)));
    std::vector<std::byte> content;
    Status grown = unpack(file, stat.size, content);
    const std::string reason = zip_error_strerror(zip_file_get_error(file));
    zip_fclose(file);
    LS_CHECK_OK(std::move(grown));
    if (content.size() < stat.size) return Error(ErrorCode::badFile, "damaged: " + reason);
    return content;
}

} // namespace loopscope
