// Model to text, with the data of its large constants inside, beside, or left out.
#include "converters/lsir/lsir.h"

#include "engine/ir/text/data_section.h"
#include "engine/ir/text/lexer.h"
#include "engine/ir/text/printer.h"

#include <cstring>
#include <unistd.h>
#include <vector>

namespace loopscope {

namespace {

constexpr uint64_t kMostInlineData = uint64_t{1} << 20;
constexpr size_t kAlignment = 64; ///< of entries of the side file

std::string baseName(const std::string& path)
{
    return path.substr(path.rfind('/') + 1); // npos + 1 == 0
}

std::string inlineBlocks(const std::vector<TextBlob>& blobs)
{
    std::string text;
    for (const TextBlob& blob : blobs)
        text += (text.empty() ? "\n" : "") + ("data #" + blob.hash + " ") + std::to_string(blob.bytes.size()) + " base64 {\n" +
                encodeBase64Lines(blob.bytes.view()) + "}\n";
    return text;
}

} // namespace

std::string lsirText(const Model& model, DataMode mode)
{
    std::vector<TextBlob> blobs;
    std::string text = printModel(model, {}, blobs);
    if (mode != DataMode::none) text += inlineBlocks(blobs);
    return text;
}

Status exportLsir(const Model& model, const std::string& path, DataMode mode, bool overwrite)
{
    std::vector<TextBlob> blobs;
    std::string text = printModel(model, {}, blobs);
    uint64_t total = 0;
    for (const TextBlob& blob : blobs) total += blob.bytes.size();
    if (mode == DataMode::automatic) mode = total <= kMostInlineData ? DataMode::inlineData : DataMode::side;
    if (mode == DataMode::inlineData) text += inlineBlocks(blobs);
    if (mode != DataMode::side || blobs.empty()) return writeFile(path, text, overwrite);

    // The text last: what it names is then there. Both are checked first, so that a refusal leaves nothing behind.
    const std::string sidePath = path + ".bin";
    const std::string sideName = quoted(baseName(sidePath));
    if (!overwrite && ::access(path.c_str(), F_OK) == 0) return Error(ErrorCode::cannotWrite, "exists; --force overwrites").at(path);
    std::vector<std::byte> side;
    side.reserve(static_cast<size_t>(total) + blobs.size() * kAlignment);
    for (const TextBlob& blob : blobs) {
        side.resize((side.size() + kAlignment - 1) / kAlignment * kAlignment);
        text += (&blob == &blobs.front() ? "\n" : "") + ("data #" + blob.hash + " ") + std::to_string(blob.bytes.size()) + " file " +
                sideName + " offset=" + std::to_string(side.size()) + "\n";
        side.insert(side.end(), blob.bytes.view().begin(), blob.bytes.view().end());
    }
    LS_CHECK_OK(writeFile(sidePath, side, overwrite));
    return writeFile(path, text, overwrite);
}

} // namespace loopscope
