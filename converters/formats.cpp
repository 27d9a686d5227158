#include "converters/formats.h"

#include "converters/circle/circle.h"
#include "converters/external_data.h"
#include "converters/graphdef/graphdef.h"
#include "converters/keras/keras.h"
#include "converters/savedmodel/savedmodel.h"
#include "converters/tflite/file_archive.h"
#include "converters/tflite/tflite.h"
#include "engine/base/text.h"
#include "engine/ir/verifier.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>

namespace loopscope {

namespace {

/// Saves a FlatBuffer, and behind it the files that came with the model.
template <auto write> Status saveFlat(const Model& model, const std::string& path, const SaveOptions& options)
{
    LS_TRY(std::vector<std::byte> bytes, write(model));
    const std::vector<std::byte> archive = movedFileArchive(options.source, bytes.size());
    bytes.insert(bytes.end(), archive.begin(), archive.end());
    return writeFile(path, bytes, options.overwrite);
}

Result<std::vector<std::byte>> tfliteBytes(const Model& model) { return exportTflite(model); }
Result<std::vector<std::byte>> circleBytes(const Model& model) { return exportCircle(model); }

/// Saves what an exporter of text or bytes gives.
template <Result<std::string> (*write)(const Model&)>
Status saveWith(const Model& model, const std::string& path, const SaveOptions& options)
{
    LS_TRY(const std::string content, write(model));
    return writeFile(path, content, options.overwrite);
}

Status saveLsir(const Model& model, const std::string& path, const SaveOptions& options)
{
    return exportLsir(model, path, options.data, options.overwrite);
}

bool isTflite(std::string_view /*path*/, std::span<const std::byte> content) { return looksLikeTflite(content); }

bool isCircle(std::string_view /*path*/, std::span<const std::byte> content) { return looksLikeCircle(content); }

bool isGraphDef(std::string_view /*path*/, std::span<const std::byte> content) { return looksLikeGraphDef(content); }

bool isGraphDefText(std::string_view /*path*/, std::span<const std::byte> content) { return looksLikeGraphDefText(content); }

bool isMetaGraph(std::string_view /*path*/, std::span<const std::byte> content) { return looksLikeMetaGraph(content); }

bool isKeras(std::string_view /*path*/, std::span<const std::byte> content) { return looksLikeKeras(content); }

/// A text with a mistake in its first line is still a text: the extension settles it, so that the message names the line.
bool isLsir(std::string_view path, std::span<const std::byte> content)
{
    const auto start = content.first(std::min<size_t>(content.size(), 4096));
    return looksLikeLsir(content) || (path.ends_with(".lsir") && std::ranges::find(start, std::byte{0}) == start.end());
}

constexpr std::array kFormats = {
    Format{"TFLite", "tflite", &isTflite, &importTflite, &saveFlat<tfliteBytes>, true},
    Format{"Circle", "circle", &isCircle, &importCircle, &saveFlat<circleBytes>, true},
    Format{"GraphDef", "pb", &isGraphDef, &importGraphDef, &saveWith<exportGraphDef>},
    Format{"GraphDef text", "pbtxt", &isGraphDefText, &importGraphDefText, &saveWith<exportGraphDefText>},
    Format{"MetaGraph", "meta", &isMetaGraph, &importGraphDef, &saveWith<exportMetaGraph>},
    Format{"Keras", "keras", &isKeras, &importKeras, nullptr},
    Format{"lsir", "lsir", &isLsir, &importLsir, &saveLsir},
};

/// Kinds of files that are no models, or none that we open, by their first bytes.
struct Stranger {
    std::string_view bytes;
    size_t offset;
    std::string_view name;
};

using namespace std::string_view_literals;

constexpr std::array kStrangers = {
    Stranger{"PK\x03\x04"sv, 0, "a zip archive"},
    Stranger{"\x1f\x8b"sv, 0, "a gzip archive"},
    Stranger{"\x7f"
             "ELF"sv,
             0, "a program or library"},
    Stranger{"SQLite format 3\0"sv, 0, "an SQLite file, perhaps a trace"},
    Stranger{"\x93NUMPY"sv, 0, "a NumPy array"},
    Stranger{"\x89PNG"sv, 0, "a picture"},
    Stranger{"version https://git-lfs"sv, 0, "a Git LFS pointer: the file itself was not fetched"},
    Stranger{"<!DOCTYPE"sv, 0, "a web page"},
    Stranger{"<html"sv, 0, "a web page"},
};

const Stranger* strangerIn(std::string_view content)
{
    for (const Stranger& s : kStrangers)
        if (content.size() >= s.offset + s.bytes.size() && content.substr(s.offset, s.bytes.size()) == s.bytes) return &s;
    return nullptr;
}

/// The first bytes of a file in the spelling of a string literal: 'PK\x03\x04'.
std::string quoteBytes(std::string_view bytes)
{
    constexpr char kDigits[] = "0123456789abcdef";
    std::string out = "'";
    for (const char c : bytes) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte >= 0x20 && byte < 0x7f && c != '\\' && c != '\'') out += c;
        else out += std::string("\\x") + kDigits[byte >> 4] + kDigits[byte & 15];
    }
    return out + "'";
}

std::string expectedKinds()
{
    std::string out = "a model";
    const char* separator = " (";
    for (const Format& f : kFormats) {
        out += separator + std::string(f.name);
        separator = ", ";
    }
    return out + separator + "SavedModel)";
}

Error notAModel(const std::string& path, std::span<const std::byte> bytes)
{
    const std::string_view content(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    if (content.empty()) return Error(ErrorCode::badFile, "not a model: the file is empty").expected(expectedKinds()).at(path);
    const Stranger* stranger = strangerIn(content);
    std::string what = "not a model: found ";
    if (stranger)
        what += quoteBytes(stranger->bytes.substr(0, 8)) + " at offset " + std::to_string(stranger->offset) + " (" +
                std::string(stranger->name) + ")";
    else what += quoteBytes(content.substr(0, 8)) + " at offset 0";
    return Error(ErrorCode::badFile, std::move(what)).expected(expectedKinds()).at(path);
}

/// "tflite" of "m.tflite"; empty if there is no extension.
std::string extensionOf(const std::string& path)
{
    const std::string extension = std::filesystem::path(path).extension().string();
    return extension.empty() ? extension : extension.substr(1);
}

/// A SavedModel by its folder, or by the file in it.
Result<LoadedModel> loadSavedModel(const std::string& path, const std::string& folder)
{
    LS_TRY(Model model, importSavedModel(folder));
    if (Status status = verifyModel(model); !status.ok()) return std::move(status).takeError().at(path);
    LS_TRY(const Bytes content, mapFile(savedModelFile(folder)));
    std::vector<Derivation> derivedFrom = derivationsOf(model);
    return LoadedModel{std::move(model), path, "SavedModel", content, std::move(derivedFrom)};
}

} // namespace

std::span<const Format> formats() { return kFormats; }

Result<LoadedModel> loadModel(const std::string& path)
{
    if (isSavedModelFolder(path)) return loadSavedModel(path, path);
    LS_TRY(const Bytes content, mapFile(path));
    if (looksLikeSavedModel(content.view())) {
        const std::string folder = std::filesystem::path(path).parent_path().string();
        if (isSavedModelFolder(folder.empty() ? "." : folder)) return loadSavedModel(path, folder.empty() ? "." : folder);
        return Error(ErrorCode::badFile, "a SavedModel is opened as a folder")
            .at(path)
            .expected("saved_model.pb in it, as this file's name");
    }
    for (const Format& format : kFormats) {
        if (!format.recognizes(path, content.view())) continue;
        LS_TRY(Model model, format.load(path, content));
        if (format.recognizes == &isMetaGraph) { // as a Saver writes it, with the values of its variables beside it
            const Result<bool> values = attachCheckpointBeside(model, path);
            if (!values.ok()) return values.error().copy().at(path);
        }
        findExternalData(model, std::filesystem::path(path).parent_path().string());
        if (Status status = verifyModel(model); !status.ok()) return std::move(status).takeError().at(path);
        std::vector<Derivation> derivedFrom = derivationsOf(model);
        return LoadedModel{std::move(model), path, format.name, content, std::move(derivedFrom)};
    }
    return notAModel(path, content.view());
}

Result<const Format*> formatToSave(const std::string& path, const SaveOptions& options)
{
    const std::string extension = options.format.empty() ? extensionOf(path) : options.format;
    std::vector<std::string> known;
    for (const Format& format : kFormats) {
        if (format.save == nullptr) continue;
        if (format.extension == extension) return &format;
        known.emplace_back(format.extension);
    }
    std::string what = extension.empty() ? "the file's name says no format" : "no format '" + extension + "' to write";
    return Error(ErrorCode::usage, std::move(what)).at(path).expected(join(known, " or ")).nearest(nearestNames(extension, known));
}

Status saveModel(const Model& model, const std::string& path, const SaveOptions& options)
{
    LS_TRY(const Format* const format, formatToSave(path, options));
    return format->save(model, path, options);
}

} // namespace loopscope
