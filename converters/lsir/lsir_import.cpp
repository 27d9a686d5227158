// Text to model: parser, side files, verifier, inference, in this order.
#include "converters/lsir/lsir.h"

#include "converters/lsir/known_operators.h"
#include "engine/base/file_guard.h"
#include "engine/base/hash.h"
#include "engine/ir/text/data_section.h"
#include "engine/ir/text/parser.h"
#include "engine/ir/verifier.h"
#include "engine/ops/catalog.h"

#include <algorithm>
#include <map>
#include <utility>

namespace loopscope {

namespace {

constexpr uint64_t kCheckedSideData = uint64_t{64} << 20;

std::string folderOf(const std::string& path)
{
    const size_t slash = path.rfind('/');
    return slash == std::string::npos ? std::string() : path.substr(0, slash + 1);
}

/// Slices of the mapped side files.
Result<std::vector<TextBlob>> mapSideBlobs(const std::vector<SideBlob>& blobs, const std::string& path)
{
    std::map<std::string, Bytes> files;
    std::vector<TextBlob> mapped;
    uint64_t total = 0;
    for (const SideBlob& blob : blobs) total += std::min(blob.size, kCheckedSideData + 1);
    for (const SideBlob& blob : blobs) {
        const std::string place = path + ":" + std::to_string(blob.line) + ":" + std::to_string(blob.column);
        auto file = files.find(blob.file);
        if (file == files.end()) {
            Result<Bytes> content = mapFileWithin(folderOf(path), blob.file);
            if (!content.ok()) return std::move(content).takeError().at(place);
            file = files.emplace(blob.file, std::move(content).value()).first;
        }
        const Bytes& content = file->second;
        if (blob.offset > content.size() || blob.size > content.size() - blob.offset)
            return Error(ErrorCode::badFile, "data #" + blob.hash + " lies beyond the end of " + blob.file)
                .at(place)
                .found(std::to_string(content.size()) + " bytes")
                .expected("at least " + std::to_string(blob.offset) + " + " + std::to_string(blob.size));
        Bytes bytes = content.slice(static_cast<size_t>(blob.offset), static_cast<size_t>(blob.size));
        if (total <= kCheckedSideData)
            if (const std::string found = toHex(hashBytes(bytes.view())); !found.starts_with(blob.hash))
                return Error(ErrorCode::badFile, "data in " + blob.file + " does not match its hash")
                    .at(place)
                    .found("#" + found.substr(0, blob.hash.size()))
                    .expected("#" + blob.hash);
        mapped.push_back({blob.hash, std::move(bytes)});
    }
    return mapped;
}

bool leavesTypesOut(const Model& model)
{
    for (const Graph& graph : model.graphs)
        for (const Value& value : graph.values)
            if (value.role == ValueRole::result && value.type.dtype == DType::unknown) return true;
    return false;
}

Result<Model> complete(ParsedText parsed, const std::string& name)
{
    if (parsed.errors.empty()) parsed.errors = unknownOperators(parsed);
    if (!parsed.errors.empty()) return textError(parsed.errors, name);
    Model model = std::move(parsed.model);
    if (!parsed.sideBlobs.empty()) {
        LS_TRY(const std::vector<TextBlob> blobs, mapSideBlobs(parsed.sideBlobs, name));
        if (Status status = resolveBlobs(model, blobs); !status.ok()) return std::move(status).takeError().at(name);
    }
    if (Status status = verifyModel(model); !status.ok()) return std::move(status).takeError().at(name);
    if (model.dialect != Dialect::tf && leavesTypesOut(model))
        if (Status status = inferModel(model); !status.ok()) return std::move(status).takeError().at(name);
    return model;
}

std::string_view asText(std::span<const std::byte> content) { return {reinterpret_cast<const char*>(content.data()), content.size()}; }

} // namespace

bool looksLikeLsir(std::span<const std::byte> content)
{
    std::string_view text = asText(content);
    if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
    for (;;) {
        const size_t begin = text.find_first_not_of(" \t\r\n");
        if (begin == std::string_view::npos) return false;
        text.remove_prefix(begin);
        if (text.front() != ';') break;
        text.remove_prefix(std::min(text.find('\n'), text.size()));
    }
    for (const std::string_view word : {"lsir", "model", "graph", "versions", "signature", "metadata", "external"})
        if (text.starts_with(word) && text.size() > word.size() && (text[word.size()] == ' ' || text[word.size()] == '\t')) return true;
    return false;
}

Result<Model> importLsir(const std::string& path, Bytes content)
{
    // Tokens are views into the content; the model keeps none of them.
    return complete(parseText(asText(content.view())), path);
}

namespace {

/// A text whose wrong lines are taken out until the rest can be read.
class TextPart {
public:
    explicit TextPart(std::string_view text)
    {
        for (size_t at = 0; at <= text.size();) {
            const size_t end = std::min(text.find('\n', at), text.size());
            m_lines.emplace_back(text.substr(at, end - at));
            at = end + 1;
        }
    }
    std::string text() const
    {
        std::string all;
        for (const std::string& line : m_lines) all += line + "\n";
        return all;
    }
    void mend(const TextError& error)
    {
        const size_t at = std::min<size_t>(std::max<uint32_t>(error.line, 1), m_lines.size()) - 1;
        if (error.message.starts_with("found the end of the text")) m_lines.emplace_back("}");
        else if (error.message.starts_with("found a graph inside graph") && at > 0) m_lines[at - 1] += "\n}"; // places are told no more
        else if (isEmpty(m_lines[at]) || m_lines[at].find_first_not_of(" \t\r}") == std::string::npos) takeGraphAt(at);
        else m_lines[at].clear();
    }

private:
    static bool isEmpty(const std::string& line) { return line.find_first_not_of(" \t\r") == std::string::npos; }

    /// From the head before a line to the end behind it.
    void takeGraphAt(size_t at)
    {
        size_t first = at, last = at;
        while (first > 0 && !m_lines[first].starts_with("graph ")) --first;
        while (last + 1 < m_lines.size() && m_lines[last].find_first_not_of(" \t\r") != m_lines[last].find('}')) ++last;
        for (size_t i = first; i <= last; ++i) m_lines[i].clear();
    }

    std::vector<std::string> m_lines;
};

} // namespace

Result<Model> importLsirPart(const std::string& path, Bytes content, std::vector<Error>& faults)
{
    constexpr int kMostRounds = 100;
    constexpr size_t kMostFaults = 100;
    TextPart part(asText(content.view()));
    const auto tell = [&](const TextError& error) {
        if (faults.size() < kMostFaults)
            faults.push_back(
                Error(ErrorCode::badFile, error.message).at(path + ":" + std::to_string(error.line) + ":" + std::to_string(error.column)));
    };
    std::string text = part.text();
    ParsedText parsed = parseText(text);
    for (int round = 0; !parsed.errors.empty(); ++round) {
        if (round == kMostRounds) return textError(parsed.errors, path);
        for (const TextError& error : parsed.errors) tell(error);
        for (const TextError& error : parsed.errors) part.mend(error);
        text = part.text();
        parsed = parseText(text);
    }
    for (const TextError& error : unknownOperators(parsed)) tell(error);
    Model model = std::move(parsed.model);
    Result<std::vector<TextBlob>> blobs = mapSideBlobs(parsed.sideBlobs, path);
    Status status = blobs.ok() ? resolveBlobs(model, *blobs) : Status(std::move(blobs).takeError());
    if (!status.ok()) faults.push_back(std::move(status).takeError());
    return model;
}

Result<Model> modelFromText(std::string_view text, std::string_view name)
{
    ParsedText parsed = parseText(text);
    if (parsed.errors.empty() && !parsed.sideBlobs.empty()) {
        const SideBlob& blob = parsed.sideBlobs.front();
        parsed.errors.push_back({blob.line, blob.column, "a text without a file has no side file, found \"" + blob.file + "\""});
    }
    return complete(std::move(parsed), std::string(name));
}

} // namespace loopscope
