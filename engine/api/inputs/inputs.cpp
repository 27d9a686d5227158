#include "engine/api/inputs/inputs.h"

#include "engine/api/inputs/filled_array.h"
#include "engine/api/inputs/literal.h"
#include "engine/api/inputs/text_input.h"
#include "engine/base/allocation.h"
#include "engine/base/bytes.h"
#include "engine/base/text.h"
#include "engine/base/trimmed.h"
#include "engine/kernels/resources.h"
#include "engine/tensor/element_index.h"
#include "engine/tensor/npz.h"
#include "engine/tensor/picture.h"
#include "engine/tensor/statistics.h"
#include "engine/tensor/strings.h"
#include "engine/tensor/value_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <optional>
#include <tuple>

namespace loopscope {

namespace {

/// Position of `wanted` outside quotes from `from` on, or npos.
size_t findUnquoted(std::string_view text, char wanted, size_t from)
{
    bool quoted = false;
    for (size_t i = from; i < text.size(); ++i) {
        if (text[i] == '\\' && quoted) ++i;
        else if (text[i] == '"') quoted = !quoted;
        else if (text[i] == wanted && !quoted) return i;
    }
    return std::string_view::npos;
}

Error inputError(const Port& port, std::string what) { return Error(ErrorCode::usage, std::move(what)).at("input '" + port.name + "'"); }

Result<std::vector<Array>> fromRawFile(const Port& port, const std::string& path, const Shape& shape, int64_t runs)
{
    LS_TRY(const Bytes content, mapFile(path));
    const auto count = checkedElementCount(shape);
    const uint64_t bytes = count ? byteSize(port.type.dtype, *count) : 0;
    if (bytes == 0) return inputError(port, shortType(port.type) + " cannot be read from a raw file");
    if (content.size() != bytes * static_cast<uint64_t>(runs))
        return Error(ErrorCode::usage, "holds " + std::to_string(content.size()) + " bytes, expected " +
                                           std::to_string(bytes * static_cast<uint64_t>(runs)) + " (" + port.name + ": " +
                                           shortType(port.type) + " is " + std::to_string(bytes) + " bytes a run, --runs " +
                                           std::to_string(runs) + ")")
            .at(path);
    std::vector<Array> arrays;
    for (int64_t r = 0; r < runs; ++r) {
        const auto part = content.view().subspan(static_cast<size_t>(r) * bytes, bytes);
        arrays.push_back(Array{port.type.dtype, shape, std::vector<std::byte>(part.begin(), part.end())});
    }
    return arrays;
}

enum class FileKind : uint8_t { none, npy, zip, picture, table, raw, other };

/// What `form` and the name say of a file whose content does not tell what it is. Standard input has no name: it is text unless said.
FileKind kindByName(const std::string& path, InputOption::Form form)
{
    const std::string extension = std::filesystem::path(path).extension().string();
    const bool isRaw = extension == ".raw" || extension == ".bin";
    const bool isTable = extension == ".csv" || extension == ".tsv" || extension == ".txt" || path == kStandardInput;
    if (form != InputOption::Form::byName) return form == InputOption::Form::raw ? FileKind::raw : FileKind::table;
    return isRaw ? FileKind::raw : isTable ? FileKind::table : FileKind::other;
}

FileKind fileKind(const std::string& path, InputOption::Form form)
{
    std::error_code error;
    if (!std::filesystem::is_regular_file(path, error)) return FileKind::none;
    const Result<Bytes> content = mapFile(path);
    if (!content.ok()) return FileKind::other;
    if (isPicture(content->view())) return FileKind::picture;
    const std::string_view text(content->as<char>(), content->size());
    return text.starts_with("\x93NUMPY") ? FileKind::npy : text.starts_with("PK") ? FileKind::zip : kindByName(path, form);
}

/// Splits `batch.npz:0` where the archive exists and the whole text is no file.
std::pair<std::string, std::string> splitKey(const std::string& source)
{
    std::error_code error;
    if (std::filesystem::exists(source, error)) return {source, ""};
    for (size_t colon = source.rfind(':'); colon != std::string::npos && colon > 0; colon = source.rfind(':', colon - 1))
        if (std::filesystem::exists(source.substr(0, colon), error)) return {source.substr(0, colon), source.substr(colon + 1)};
    return {source, ""};
}

bool looksLikePath(const std::string& source)
{
    if (source.find('/') != std::string::npos || source.find(".np") != std::string::npos) return true;
    constexpr std::array kExtensions = {".raw", ".bin", ".png", ".jpg", ".jpeg", ".csv", ".tsv", ".txt"};
    return std::ranges::any_of(kExtensions, [&](const char* extension) { return source.ends_with(extension); });
}

/// "4,2" between brackets; nothing if it is no list of sizes.
std::optional<Shape> sizesFromText(std::string_view text)
{
    Shape shape;
    while (!trimmed(text).empty()) {
        const size_t comma = std::min(text.find(','), text.size());
        const std::string_view token = trimmed(text.substr(0, comma));
        int64_t size = 0;
        const auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), size);
        if (error != std::errc() || end != token.data() + token.size() || size < 0) return std::nullopt;
        shape.append(size);
        text.remove_prefix(std::min(comma + 1, text.size()));
    }
    return shape;
}

/// Takes `:[4,2]` off the end of a source.
std::optional<Shape> takeShape(std::string& source)
{
    size_t at = std::string::npos;
    for (size_t next = findUnquoted(source, ':', 0); next != std::string::npos; next = findUnquoted(source, ':', next + 1)) at = next;
    if (at == std::string::npos || at + 2 >= source.size() || source[at + 1] != '[' || source.back() != ']') return std::nullopt;
    std::optional<Shape> shape = sizesFromText(std::string_view(source).substr(at + 2, source.size() - at - 3));
    if (shape) source.resize(at);
    return shape;
}

/// "-1,1" as two finite numbers, the first not the greater one.
std::optional<std::pair<double, double>> rangeFromText(std::string_view text)
{
    const size_t comma = text.find(',');
    if (comma == std::string_view::npos) return std::nullopt;
    const auto number = [](std::string_view token) -> std::optional<double> {
        token = trimmed(token);
        double value = 0;
        const auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), value);
        return error == std::errc() && end == token.data() + token.size() && std::isfinite(value) ? std::optional(value) : std::nullopt;
    };
    const auto low = number(text.substr(0, comma)), high = number(text.substr(comma + 1));
    if (!low || !high || *low > *high) return std::nullopt;
    return std::pair(*low, *high);
}

/// `cat.png[-1,1]`: the range of the pixels, taken off where a file has the name before it.
std::optional<std::pair<double, double>> takeRange(std::string& source)
{
    const size_t open = source.rfind('[');
    std::error_code failure;
    if (open == std::string::npos || source.back() != ']' || std::filesystem::exists(source, failure)) return std::nullopt;
    if (!std::filesystem::is_regular_file(source.substr(0, open), failure)) return std::nullopt;
    const auto range = rangeFromText(std::string_view(source).substr(open + 1, source.size() - open - 2));
    if (range) source.resize(open);
    return range;
}

Status checkNoPicture(const Port& port, const PictureOptions& options)
{
    if (!options.fit && !options.range && options.layout == PictureOptions::Layout::declared) return {};
    return inputError(port, "a range, ':fit', ':nchw' and ':nhwc' are for pictures");
}

bool canBeZero(const Port& port) { return isNumeric(port.type.dtype) || port.type.dtype == DType::string; }

/// What an input holds that nothing reads: zeros, empty strings.
Result<BoundInput> zeroInput(const Port& port)
{
    const char* const zero = port.type.dtype == DType::string ? "\"\"" : port.type.dtype == DType::boolean ? "false" : "0";
    LS_TRY(Array array, parseLiteral(zero, port.type.dtype, concreteShape(port.type), ScalarMeans::fill));
    BoundInput input;
    input.arrays.push_back(std::move(array));
    input.source = zero;
    return input;
}

/// Whether `source` can be read as a constant of the input.
bool isLiteral(const Port& port, const std::string& source)
{
    return port.type.dtype != DType::unknown && parseLiteral(source, port.type.dtype, Shape::unknownRank(), ScalarMeans::fill).ok();
}

/// What a file of a known or unknown kind gives.
Result<std::vector<Array>> fromFile(const Port& port, const InputOption& option, FileKind kind,
                                    const std::pair<std::string, std::string>& place, PictureOptions picture,
                                    const std::optional<Shape>& shape, int64_t runs, BoundInputs& bound)
{
    const auto& [path, key] = place;
    const bool quantizes = option.conversion == Conversion::quantize;
    switch (kind) {
    case FileKind::npy: {
        LS_TRY(const Bytes content, mapFile(path));
        Result<Array> array = readNpy(content.view());
        if (!array.ok()) return std::move(array).takeError().at(path);
        LS_TRY(Array fitting, conform(port, std::move(array).value(), option.conversion, bound.notes));
        return std::vector<Array>{std::move(fitting)};
    }
    case FileKind::zip: {
        LS_TRY(const NpzFile archive, NpzFile::open(path));
        std::string member = key;
        if (option.form != InputOption::Form::byName) member = option.form == InputOption::Form::raw ? "raw" : "csv"; // a key after all
        if (member.empty()) {
            member = std::to_string(port.index);
            for (const std::string& alias : port.aliases)
                if (archive.has(alias)) member = alias;
        }
        LS_TRY(Array array, archive.read(member));
        LS_TRY(Array fitting, conform(port, std::move(array), option.conversion, bound.notes));
        return std::vector<Array>{std::move(fitting)};
    }
    case FileKind::picture: {
        LS_TRY(const Bytes content, mapFile(path));
        if (quantizes && !picture.range) picture.range = std::pair(0.0, 1.0);
        Result<Array> array = arrayOfPicture(port, content.view(), picture, bound.notes);
        if (!array.ok()) return std::move(array).takeError().at("input '" + port.name + "'");
        return std::vector<Array>{std::move(array).value()};
    }
    case FileKind::table: {
        LS_TRY(const Bytes content, mapFile(path));
        const std::string_view text(content.as<char>(), content.size());
        const bool converts = option.conversion != Conversion::none && isNumeric(port.type.dtype);
        const DType dtype = quantizes ? DType::f32 : converts ? DType::f64 : port.type.dtype;
        Result<Array> array = arrayOfText(port, dtype, text, shape, bound.notes);
        if (!array.ok()) return std::move(array).takeError().at(path).at("input '" + port.name + "'");
        LS_TRY(Array fitting, conform(port, std::move(array).value(), option.conversion, bound.notes));
        return std::vector<Array>{std::move(fitting)};
    }
    case FileKind::raw:
        if (option.conversion != Conversion::none) return inputError(port, "raw bytes are taken as they are: nothing is converted");
        return fromRawFile(port, path, shape.value_or(concreteShape(port.type)), runs);
    case FileKind::other:
        return Error(ErrorCode::usage, "a file of unknown kind")
            .at(path)
            .at("input '" + port.name + "'")
            .expected(".npy, .npz, PNG, JPEG or text (.csv, .txt)")
            .note("':raw' after it takes its bytes as they are, ':csv' reads it as text");
    case FileKind::none: break;
    }
    return Error(ErrorCode::internal, "no file").at(path);
}

Result<std::vector<Array>> resolve(const Port& port, const InputOption& option, uint64_t seed, int64_t runs, const BoundInputs* last,
                                   BoundInputs& bound)
{
    std::string source = option.source;
    if (source.starts_with("@")) LS_CHECK_OK(checkNoPicture(port, option.picture));
    if (source == "@last") {
        if (last == nullptr) return inputError(port, "@last: nothing has run yet");
        return last->inputs[static_cast<size_t>(port.index)].arrays;
    }
    const bool quantizes = option.conversion == Conversion::quantize;
    if (source.starts_with("@")) {
        TensorType type = port.type;
        if (quantizes) type.dtype = DType::f32;
        Result<Array> array = randomFromText(std::string_view(source).substr(1), type, seed, port.index, bound.usedSeed);
        if (!array.ok()) return std::move(array).takeError().at("input '" + port.name + "'");
        if (!quantizes) return std::vector<Array>{std::move(array).value()};
        LS_TRY(Array fitting, conform(port, std::move(array).value(), option.conversion, bound.notes));
        return std::vector<Array>{std::move(fitting)};
    }
    std::error_code failure;
    std::optional<Shape> shape;
    if (!std::filesystem::exists(source, failure)) shape = takeShape(source);
    PictureOptions picture = option.picture;
    picture.range = takeRange(source);
    const auto place = splitKey(source);
    FileKind kind = fileKind(place.first, option.form);
    // What is typed counts where a file of no known kind happens to be called like it.
    if (kind == FileKind::other && !looksLikePath(source) && isLiteral(port, source)) kind = FileKind::none;
    if (shape && (kind == FileKind::npy || kind == FileKind::zip || kind == FileKind::picture))
        return inputError(port, "a shape is for constants, seeded, text and raw inputs: the file has its own");
    if (kind != FileKind::none && kind != FileKind::picture) LS_CHECK_OK(checkNoPicture(port, picture));
    if (kind != FileKind::none) return fromFile(port, option, kind, place, picture, shape, runs, bound);
    if (looksLikePath(source) && source.front() != '"') return Error(ErrorCode::badFile, "no such file").at(source);
    LS_CHECK_OK(checkNoPicture(port, picture));
    if (port.type.dtype == DType::unknown || port.type.dtype == DType::resource || port.type.dtype == DType::variant)
        return Error(ErrorCode::unsupported, std::string(dtypeName(port.type.dtype)) + " inputs cannot be given")
            .at("input '" + port.name + "'");
    DType dtype = port.type.dtype;
    if (option.conversion == Conversion::cast && isNumeric(dtype)) dtype = literalDtype(source);
    if (quantizes) dtype = DType::f32;
    Result<Array> array = parseLiteral(source, dtype, shape.value_or(port.type.dynamicShape()), ScalarMeans::fill);
    if (!array.ok()) return std::move(array).takeError().at("input '" + port.name + "'");
    LS_TRY(Array fitting, conform(port, std::move(array).value(), option.conversion, bound.notes));
    return std::vector<Array>{std::move(fitting)};
}

Status applyPatch(const Port& port, const InputOption::Patch& patch, Array& array)
{
    const Result<int64_t> flat = flatIndex(array.shape, patch.index);
    if (!flat.ok()) return flat.error().copy().at("input '" + port.name + "'");
    Status status = setElement(array, *flat, patch.value);
    if (!status.ok()) return std::move(status).takeError().at("input '" + port.name + "': [" + patch.index + "]");
    return {};
}

Result<BoundInput> bindPort(const Port& port, const InputOption& option, uint64_t seed, int64_t runs, const BoundInputs* last,
                            BoundInputs& bound)
{
    BoundInput input;
    Result<std::vector<Array>> arrays = allocating([&] { return resolve(port, option, seed, runs, last, bound); });
    const std::string place = "input '" + port.name + "'";
    if (!arrays.ok() && arrays.error().code() == ErrorCode::execution && !arrays.error().message().starts_with(place))
        return std::move(arrays).takeError().at(place); // memory that could not be had knows no place
    LS_TRY(input.arrays, std::move(arrays));
    input.source = option.source;
    for (Array& array : input.arrays)
        for (const InputOption::Patch& patch : option.patches) LS_CHECK_OK(applyPatch(port, patch, array));
    return input;
}

} // namespace

Shape concreteShape(const TensorType& type)
{
    Shape shape = type.dynamicShape();
    if (!shape.hasRank()) return Shape{};
    for (int d = 0; d < shape.rank(); ++d)
        if (shape[d] < 0) shape[d] = 1;
    return shape;
}

Result<Array> randomArray(DType dtype, const Shape& shape, uint64_t seed, const RandomRange& range)
{
    LS_TRY(const int64_t count, madeElements(dtype, shape));
    RandomState random(seed);
    if (dtype == DType::string) {
        std::vector<std::string> strings(static_cast<size_t>(count));
        for (std::string& s : strings)
            for (int i = 0; i < 4; ++i) s += static_cast<char>('a' + random.next32() % 26);
        return Array{dtype, shape, packStrings(strings)};
    }
    if (!isNumeric(dtype)) return Error(ErrorCode::unsupported, "no random numbers of dtype " + std::string(dtypeName(dtype)));
    return filledWith(dtype, shape, count, [&](int64_t) -> double {
        if (dtype == DType::boolean) return random.next32() & 1;
        if (isFloat(dtype))
            return range.given ? range.low + (range.high - range.low) * static_cast<double>(random.next32()) / 4294967295.0
                               : random.normal();
        const double low = range.given ? std::ceil(range.low) : 0;
        const double high = range.given ? std::floor(range.high) : std::min(9.0, static_cast<double>(integerMax(dtype)));
        const double span = std::max(high - low + 1, 1.0);
        const uint64_t draw = (static_cast<uint64_t>(random.next32()) << 21) ^ random.next32();
        return low + std::floor(std::fmod(static_cast<double>(draw), span));
    });
}

Result<Array> randomFromText(std::string_view text, const TensorType& type, uint64_t defaultSeed, int position, bool& usedSeed)
{
    const std::string whole = "@" + std::string(text);
    const auto wrong = [&] {
        return Error(ErrorCode::usage, "random source")
            .found("'" + whole + "'")
            .expected("@rand, @SEED, @SEED[LOW,HIGH] or @SEED[LOW,HIGH]:[SHAPE]");
    };
    uint64_t seed = 0;
    if (text.starts_with("rand")) {
        // Inputs that share --seed must not be equal.
        seed = defaultSeed + (static_cast<uint64_t>(position) << 32);
        usedSeed = true;
        text.remove_prefix(4);
    } else {
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seed);
        if (error != std::errc()) return wrong();
        text.remove_prefix(static_cast<size_t>(end - text.data()));
    }
    RandomRange range;
    if (text.starts_with("[")) {
        const size_t close = text.find(']');
        const auto bounds = close == std::string_view::npos ? std::nullopt : rangeFromText(text.substr(1, close - 1));
        if (!bounds) return wrong();
        std::tie(range.low, range.high) = *bounds;
        range.given = true;
        if (isInteger(type.dtype) &&
            (range.low < static_cast<double>(integerMin(type.dtype)) || range.high > static_cast<double>(integerMax(type.dtype))))
            return Error(ErrorCode::usage, whole + ": the range does not fit " + std::string(dtypeName(type.dtype)));
        text.remove_prefix(close + 1);
    }
    Shape shape = concreteShape(type);
    if (text.starts_with(":[") && text.ends_with("]")) {
        const std::optional<Shape> sizes = sizesFromText(text.substr(2, text.size() - 3));
        if (!sizes) return wrong();
        shape = *sizes;
        text = {};
    }
    if (!text.empty()) return wrong();
    const Shape declared = type.dynamicShape();
    if (declared.hasRank() && declared.rank() != shape.rank())
        return Error(ErrorCode::usage, "found shape " + toString(shape) + ", expected " + shortType(type));
    return randomArray(type.dtype, shape, seed, range);
}

Result<InputOption> splitInputOption(const std::string& text)
{
    InputOption option;
    const size_t semicolon = std::min(findUnquoted(text, ';', 0), text.size());
    std::string_view first = trimmed(std::string_view(text).substr(0, semicolon));
    const size_t equals = findUnquoted(first, '=', 0);
    // `27` and `in.npz` have no name; a source never holds an `=` before its first quote or bracket.
    if (equals != std::string_view::npos && (first.front() == '"' || first.find('[') > equals)) {
        std::string_view name = trimmed(first.substr(0, equals));
        if (name.size() >= 2 && name.front() == '"' && name.back() == '"') name = name.substr(1, name.size() - 2);
        if (name.empty()) return Error(ErrorCode::usage, "option '--input'").found("'" + text + "'").expected("NAME=SOURCE");
        option.name = std::string(name);
        first = trimmed(first.substr(equals + 1));
    }
    const auto take = [&first](std::string_view suffix) {
        if (!first.ends_with(suffix)) return false;
        first.remove_suffix(suffix.size());
        return true;
    };
    for (bool taken = true; taken;) {
        const bool cast = take(":cast"), quantize = take(":quantize"), raw = take(":raw"), table = take(":csv");
        const bool fit = take(":fit"), nchw = take(":nchw"), nhwc = take(":nhwc");
        if ((cast || quantize) && option.conversion == Conversion::none)
            option.conversion = quantize ? Conversion::quantize : Conversion::cast;
        if ((raw || table) && option.form == InputOption::Form::byName)
            option.form = raw ? InputOption::Form::raw : InputOption::Form::table;
        option.picture.fit = option.picture.fit || fit;
        if (nchw || nhwc) option.picture.layout = nchw ? PictureOptions::Layout::nchw : PictureOptions::Layout::nhwc;
        taken = cast || quantize || raw || table || fit || nchw || nhwc;
    }
    option.source = first == "-" ? kStandardInput : std::string(first);
    if (option.source.empty()) return Error(ErrorCode::usage, "option '--input'").found("'" + text + "'").expected("NAME=SOURCE");
    for (size_t at = semicolon; at < text.size();) {
        const size_t next = std::min(findUnquoted(text, ';', at + 1), text.size());
        const std::string_view patch = trimmed(std::string_view(text).substr(at + 1, next - at - 1));
        at = next;
        if (patch.empty()) continue;
        const size_t open = patch.find('['), close = patch.find(']', open), assign = patch.find('=', close);
        if (open == std::string_view::npos || close == std::string_view::npos || assign == std::string_view::npos)
            return Error(ErrorCode::usage, "patch").found("'" + std::string(patch) + "'").expected("NAME[INDEX,…]=VALUE");
        option.patches.push_back({std::string(patch.substr(open + 1, close - open - 1)), std::string(trimmed(patch.substr(assign + 1)))});
    }
    return option;
}

Result<Array> bindInput(const Port& port, std::string_view source, uint64_t seed, const BoundInputs* last)
{
    LS_TRY(const InputOption option, splitInputOption("x=" + std::string(source)));
    BoundInputs bound;
    LS_TRY(BoundInput input, bindPort(port, option, seed, 1, last, bound));
    return std::move(input.arrays.front());
}

namespace {

struct ArchiveEntry {
    const Port* port;
    std::string key;
};

/// What a whole archive gives to which input: keys are names, or positions.
Result<std::vector<ArchiveEntry>> entriesOf(const RunTarget& target, const std::string& path)
{
    LS_TRY(const NpzFile archive, NpzFile::open(path));
    std::vector<ArchiveEntry> entries;
    for (const Port& port : target.inputs) {
        std::string key = archive.has(std::to_string(port.index)) ? std::to_string(port.index) : "";
        for (const std::string& alias : port.aliases)
            if (archive.has(alias)) key = alias;
        if (!key.empty()) entries.push_back({&port, std::move(key)});
    }
    return entries;
}

/// What an archive holds that is no input's, with the way to give it all the same; empty: nothing.
std::string unreadOf(const std::string& path, const std::vector<ArchiveEntry>& read, const Port& missing)
{
    const Result<NpzFile> archive = NpzFile::open(path);
    std::vector<std::string> keys;
    for (const std::string& key : archive.ok() ? archive->keys() : std::vector<std::string>())
        if (std::ranges::find(read, key, &ArchiveEntry::key) == read.end()) keys.push_back(key);
    if (keys.empty()) return {};
    return path + " holds " + join(keys, ", ") + ", which is no input's name; " + missing.name + "=" + path + ":" + keys.front() +
           " gives it";
}

} // namespace

std::vector<std::string> inputsByName(const RunTarget& target, const std::vector<std::string>& options)
{
    std::vector<std::string> named;
    for (const std::string& text : options) {
        const Result<InputOption> option = splitInputOption(text);
        const bool isArchive = option.ok() && option->name.empty() && fileKind(option->source, option->form) == FileKind::zip;
        const Result<std::vector<ArchiveEntry>> entries =
            isArchive ? entriesOf(target, option->source) : Result<std::vector<ArchiveEntry>>(std::vector<ArchiveEntry>());
        if (!entries.ok() || entries->empty()) {
            named.push_back(text); // who binds it says what is wrong
            continue;
        }
        const std::string rest = text.substr(text.find(option->source) + option->source.size()); // how it is read
        for (const ArchiveEntry& entry : *entries)
            named.push_back("\"" + entry.port->name + "\"=" + option->source + ":" + entry.key + rest);
    }
    return named;
}

Result<BoundInputs> bindInputs(const RunTarget& target, const std::vector<std::string>& options, uint64_t seed, int64_t runs,
                               const BoundInputs* last)
{
    BoundInputs bound;
    bound.inputs.resize(target.inputs.size());
    // By place among these inputs: they may be some of a model's (Port::index is the place among all).
    const auto placeOf = [&](const Port& port) { return static_cast<size_t>(&port - target.inputs.data()); };
    std::vector<InputOption> chosen(target.inputs.size());
    std::vector<bool> given(target.inputs.size(), false);
    InputOption rest;
    bool hasRest = false;
    std::vector<std::pair<std::string, std::vector<ArchiveEntry>>> archives;
    for (const std::string& text : options) {
        LS_TRY(InputOption option, splitInputOption(text));
        if (option.name == "all") {
            rest = std::move(option);
            hasRest = true;
            continue;
        }
        if (option.name.empty() && fileKind(option.source, option.form) == FileKind::zip) {
            LS_TRY(const std::vector<ArchiveEntry> entries, entriesOf(target, option.source));
            for (const ArchiveEntry& entry : entries) {
                const size_t index = placeOf(*entry.port);
                chosen[index] = option;
                chosen[index].source += ":" + entry.key;
                given[index] = true;
            }
            archives.emplace_back(option.source, entries);
            continue;
        }
        if (option.name.empty() && target.inputs.size() != 1) {
            std::string names;
            for (const Port& port : target.inputs) names += (names.empty() ? "" : ", ") + port.name;
            return Error(ErrorCode::usage, "input '" + text + "': the name may only be left out if there is one input")
                .note(names.empty() ? "the model has no inputs" : "inputs: " + names);
        }
        const Port* port = target.inputs.data();
        if (!option.name.empty()) {
            LS_TRY(port, findInput(target, option.name));
        }
        const size_t index = placeOf(*port);
        chosen[index] = std::move(option);
        given[index] = true;
    }
    for (const Port& port : target.inputs) {
        const size_t index = placeOf(port);
        if (!given[index]) {
            if (!hasRest && !port.isRead && canBeZero(port)) {
                LS_TRY(bound.inputs[index], zeroInput(port));
                continue;
            }
            if (!hasRest) {
                Error error = inputError(port, "missing; give --input " + port.name + "=VALUE or " + port.name + "=@rand")
                                  .note(port.name + ": " + shortType(port.type));
                for (const auto& [path, read] : archives)
                    if (const std::string unread = unreadOf(path, read, port); !unread.empty()) error = std::move(error).note(unread);
                return error;
            }
            chosen[index] = rest;
        }
        const InputOption& option = chosen[index];
        LS_TRY(bound.inputs[index], bindPort(port, option, seed, runs, last, bound));
        const Shape declared = port.type.dynamicShape();
        if (option.source.starts_with("@") && option.source != "@last" && option.source.find(":[") == std::string::npos &&
            (!declared.hasRank() || !declared.isStatic()))
            bound.notes.push_back("input '" + port.name + "': unknown dimensions of " + shortType(port.type) + " are taken as 1");
        const Array& array = bound.inputs[index].arrays.front();
        if (isFloat(array.dtype)) {
            if (const int64_t nans = computeStatistics(array.view()).nan; nans > 0)
                bound.notes.push_back("input " + port.name + " holds " + std::to_string(nans) + " NaN");
        }
    }
    return bound;
}

} // namespace loopscope
