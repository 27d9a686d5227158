#include "engine/tensor/npz.h"

#include "engine/base/bytes.h"
#include "engine/base/memory_budget.h"
#include "engine/base/text.h"

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

struct NpzFile::Archive {
    Bytes content; ///< what `zip` reads
    zip_t* zip = nullptr;
    Archive() = default;
    Archive(const Archive&) = delete;
    Archive& operator=(const Archive&) = delete;
    ~Archive()
    {
        if (zip != nullptr) zip_discard(zip);
    }
};

NpzFile::NpzFile(std::string path, std::unique_ptr<Archive> archive, std::vector<std::string> keys)
    : m_path(std::move(path)),
      m_archive(std::move(archive)),
      m_keys(std::move(keys))
{
}
NpzFile::NpzFile(NpzFile&&) noexcept = default;
NpzFile& NpzFile::operator=(NpzFile&&) noexcept = default;
NpzFile::~NpzFile() = default;

Result<NpzFile> NpzFile::open(const std::string& path)
{
    auto archive = std::make_unique<Archive>();
    LS_TRY(archive->content, mapFile(path));
    zip_error_t error;
    zip_error_init(&error);
    zip_source_t* const source = zip_source_buffer_create(archive->content.data(), archive->content.size(), 0, &error);
    archive->zip = source != nullptr ? zip_open_from_source(source, ZIP_RDONLY, &error) : nullptr;
    if (archive->zip == nullptr) {
        const std::string reason = zip_error_strerror(&error);
        if (source != nullptr) zip_source_free(source);
        zip_error_fini(&error);
        return Error(ErrorCode::badFile, "not an .npz archive: " + reason).at(path);
    }
    std::vector<std::string> keys;
    const zip_int64_t count = zip_get_num_entries(archive->zip, 0);
    for (zip_int64_t i = 0; i < count; ++i) {
        const char* name = zip_get_name(archive->zip, static_cast<zip_uint64_t>(i), 0);
        if (name == nullptr) continue;
        std::string key = name;
        if (key.ends_with(".npy")) key.resize(key.size() - 4);
        keys.push_back(std::move(key));
    }
    return NpzFile(path, std::move(archive), std::move(keys));
}

bool NpzFile::has(std::string_view key) const { return std::find(m_keys.begin(), m_keys.end(), key) != m_keys.end(); }

Result<Array> NpzFile::read(std::string_view key) const
{
    if (!has(key))
        return Error(ErrorCode::usage, "no key '" + std::string(key) + "'; keys: " + (m_keys.empty() ? "none" : join(m_keys, ", ")))
            .at(m_path);
    zip_t* zip = m_archive->zip;
    zip_int64_t index = zip_name_locate(zip, (std::string(key) + ".npy").c_str(), 0);
    if (index < 0) index = zip_name_locate(zip, std::string(key).c_str(), 0);
    zip_stat_t stat;
    zip_stat_init(&stat);
    const std::string member = "member '" + std::string(key) + "'";
    if (index < 0 || zip_stat_index(zip, static_cast<zip_uint64_t>(index), 0, &stat) != 0)
        return Error(ErrorCode::badFile, "cannot be found again").at(member).at(m_path);
    if ((stat.valid & ZIP_STAT_COMP_METHOD) != 0 && stat.comp_method != ZIP_CM_STORE && stat.comp_method != ZIP_CM_DEFLATE)
        return Error(ErrorCode::unsupported, "compression method " + std::to_string(stat.comp_method) + " is not supported")
            .at(member)
            .at(m_path);
    if (stat.size > stat.comp_size * kMaxDeflateRatio + kChunk)
        return Error(ErrorCode::badFile, "claims to hold " + std::to_string(stat.size) + " bytes in " + std::to_string(stat.comp_size))
            .at(member)
            .at(m_path);

    zip_file_t* file = zip_fopen_index(zip, static_cast<zip_uint64_t>(index), 0);
    if (file == nullptr) return Error(ErrorCode::badFile, zip_error_strerror(zip_get_error(zip))).at(member).at(m_path);
    std::vector<std::byte> content;
    Status grown = unpack(file, stat.size, content);
    const std::string reason = zip_error_strerror(zip_file_get_error(file));
    zip_fclose(file);
    if (!grown.ok()) return std::move(grown).takeError().at(member).at(m_path);
    if (content.size() < stat.size) return Error(ErrorCode::badFile, "damaged: " + reason).at(member).at(m_path);
    Result<Array> array = readNpy(content);
    if (!array.ok()) return std::move(array).takeError().at(member).at(m_path);
    return array;
}

Status writeNpz(const std::string& path, std::span<const NamedTensor> tensors, bool overwrite)
{
    // Members must outlive zip_close; the archive is assembled in memory so that the file appears whole or not at all.
    std::vector<std::vector<std::byte>> members;
    members.reserve(tensors.size());
    for (const NamedTensor& t : tensors) {
        Result<std::vector<std::byte>> member = writeNpy(t.tensor);
        if (!member.ok()) return std::move(member).takeError().at("value '" + t.name + "'").at(path);
        members.push_back(std::move(member).value());
    }
    zip_error_t error;
    zip_error_init(&error);
    zip_source_t* target = zip_source_buffer_create(nullptr, 0, 0, &error);
    zip_t* zip = target != nullptr ? zip_open_from_source(target, ZIP_TRUNCATE, &error) : nullptr;
    if (zip == nullptr) {
        const std::string reason = zip_error_strerror(&error);
        if (target != nullptr) zip_source_free(target);
        zip_error_fini(&error);
        return Error(ErrorCode::cannotWrite, reason).at(path);
    }
    zip_source_keep(target);
    constexpr time_t kFixedTime = 315532800; // 1980-01-01, the earliest a zip can hold: equal content, equal file
    bool good = true;
    for (size_t i = 0; i < members.size() && good; ++i) {
        zip_source_t* source = zip_source_buffer(zip, members[i].data(), members[i].size(), 0);
        const zip_int64_t index = source != nullptr ? zip_file_add(zip, (tensors[i].name + ".npy").c_str(), source, ZIP_FL_ENC_UTF_8) : -1;
        if (index < 0 && source != nullptr) zip_source_free(source);
        good = index >= 0 && zip_file_set_mtime(zip, static_cast<zip_uint64_t>(index), kFixedTime, 0) == 0;
    }
    std::string reason = good ? "" : zip_error_strerror(zip_get_error(zip));
    if (good && tensors.empty()) {
        // libzip writes nothing for an archive without members; an empty zip is its end record alone.
        zip_discard(zip);
        zip_source_free(target);
        static constexpr char kEmptyZip[22] = {'P', 'K', 5, 6};
        return writeFile(path, std::string_view(kEmptyZip, sizeof kEmptyZip), overwrite);
    }
    if (good && zip_close(zip) != 0) {
        good = false;
        reason = zip_error_strerror(zip_get_error(zip));
    }
    if (!good) {
        zip_discard(zip);
        zip_source_free(target);
        return Error(ErrorCode::cannotWrite, reason).at(path);
    }
    std::vector<std::byte> archive;
    zip_stat_t stat;
    zip_stat_init(&stat);
    if (zip_source_open(target) == 0 && zip_source_stat(target, &stat) == 0) {
        archive.resize(stat.size);
        const zip_int64_t n = zip_source_read(target, archive.data(), archive.size());
        good = n >= 0 && static_cast<uint64_t>(n) == stat.size;
        zip_source_close(target);
    } else {
        good = false;
    }
    zip_source_free(target);
    if (!good) return Error(ErrorCode::internal, "the archive could not be read back from memory").at(path);
    return writeFile(path, archive, overwrite);
}

} // namespace loopscope
