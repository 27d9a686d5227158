#include "engine/tensor/npz.h"

#include "engine/base/bytes.h"
#include "engine/base/text.h"

#include <algorithm>
#include <zip.h>

namespace loopscope {

Result<NpzFile> NpzFile::open(const std::string& path)
{
    LS_TRY(Bytes content, mapFile(path));
    Result<ZipArchive> archive = ZipArchive::open(std::move(content));
    if (!archive.ok()) return Error(ErrorCode::badFile, "not an .npz archive: " + archive.error().message()).at(path);
    std::vector<std::string> keys;
    for (std::string key : archive->names()) {
        if (key.ends_with(".npy")) key.resize(key.size() - 4);
        keys.push_back(std::move(key));
    }
    return NpzFile(path, std::move(archive).value(), std::move(keys));
}

bool NpzFile::has(std::string_view key) const { return std::find(m_keys.begin(), m_keys.end(), key) != m_keys.end(); }

Result<Array> NpzFile::read(std::string_view key) const
{
    if (!has(key))
        return Error(ErrorCode::usage, "no key '" + std::string(key) + "'; keys: " + (m_keys.empty() ? "none" : join(m_keys, ", ")))
            .at(m_path);
    const std::string member = "member '" + std::string(key) + "'", name = std::string(key) + ".npy";
    Result<std::vector<std::byte>> content = m_archive.read(m_archive.has(name) ? name : std::string(key));
    if (!content.ok()) return std::move(content).takeError().at(member).at(m_path);
    Result<Array> array = readNpy(*content);
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
