// The archive from the top: its members, then the model, then the signature.
#include "converters/keras/keras.h"

#include "converters/keras/keras2.h"

#include "converters/keras/model_import.h"
#include "converters/keras/whole_file.h"
#include "engine/base/memory_budget.h"
#include "engine/tensor/zip_archive.h"

#include <cstring>

namespace loopscope {

using namespace keras;

namespace {

constexpr std::string_view kConfig = "config.json", kMetadata = "metadata.json", kWeights = "model.weights.h5";
/// A value takes this much for each byte of its text, and a little more.
constexpr uint64_t kJsonGrowth = 40;

Result<Json> readJson(const ZipArchive& archive, std::string_view member)
{
    Result<std::vector<std::byte>> bytes = archive.read(member);
    if (!bytes.ok()) return std::move(bytes).takeError().at(member);
    LS_CHECK_OK(checkMemory(bytes->size() * kJsonGrowth, member));
    Result<Json> json = Json::parsePython({reinterpret_cast<const char*>(bytes->data()), bytes->size()});
    if (!json.ok()) return Error(ErrorCode::badFile, json.error().message()).at(member);
    return json;
}

/// The version of Keras that wrote the archive: 3 where it does not say. Errors: unsupported.
Result<int> versionOf(const ZipArchive& archive)
{
    if (!archive.has(kMetadata)) return 3;
    LS_TRY(const Json metadata, readJson(archive, kMetadata));
    const std::string version = metadata["keras_version"].text();
    if (version.empty() || version.starts_with("3.")) return 3;
    if (version.starts_with("2.")) return 2;
    return Error(ErrorCode::unsupported, "saved by another Keras").at(kMetadata).found("version " + version).expected("2 or 3");
}

constexpr std::string_view kHdf5 = "\x89HDF\r\n\x1a\n";

std::string_view textOf(std::span<const std::byte> content) { return {reinterpret_cast<const char*>(content.data()), content.size()}; }

Result<Model> import(Bytes content)
{
    if (textOf(content.view()).starts_with(kHdf5)) {
        LS_TRY(WholeFile file, readWholeFile(std::move(content)));
        return modelOf(file.config, std::move(file.weights));
    }
    Result<ZipArchive> opened = ZipArchive::open(std::move(content));
    if (!opened.ok()) return Error(ErrorCode::badFile, "not an archive that can be read: " + opened.error().message());
    const ZipArchive archive = std::move(opened).value();
    LS_TRY(const int version, versionOf(archive));
    LS_TRY(Json config, readJson(archive, kConfig));
    if (version == 2) config = fromKeras2(config);
    std::optional<Hdf5File> weights;
    if (archive.has(kWeights)) {
        Result<std::vector<std::byte>> bytes = archive.read(kWeights);
        if (!bytes.ok()) return std::move(bytes).takeError().at(kWeights);
        const auto owner = std::make_shared<const std::vector<std::byte>>(std::move(bytes).value());
        Result<Hdf5File> file = Hdf5File::open(Bytes(*owner, owner));
        if (!file.ok()) return std::move(file).takeError().at(kWeights);
        weights = std::move(file).value();
    }
    return modelOf(config, std::move(weights));
}

} // namespace

Result<Model> importKeras(const std::string& path, Bytes content)
{
    Result<Model> model = import(std::move(content));
    if (!model.ok()) return std::move(model).takeError().at(path);
    return model;
}

bool looksLikeKeras(std::span<const std::byte> content)
{
    const std::string_view text = textOf(content);
    if (text.starts_with(kHdf5)) return true;
    if (!text.starts_with("PK\x03\x04") || text.size() < 30) return false;
    const auto length = static_cast<size_t>(static_cast<unsigned char>(text[26]) | static_cast<unsigned char>(text[27]) << 8);
    const std::string_view name = text.substr(30, length);
    return name == kConfig || name == kMetadata || name == kWeights;
}

} // namespace loopscope
