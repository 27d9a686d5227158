// Values as bytes: what memory views of editors read and write.
#include "app/dap/requests.h"
#include "app/dap/server.h"
#include "engine/tensor/value_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>

namespace loopscope::app::dap {

namespace {

constexpr int64_t kMostBytes = int64_t{4} << 20; ///< of one answer
constexpr int64_t kMostElements = 1000;          ///< of a value of which several elements are written at once
constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

std::string encoded(const std::byte* bytes, size_t count)
{
    std::string text;
    text.reserve((count + 2) / 3 * 4);
    for (size_t i = 0; i < count; i += 3) {
        uint32_t bits = 0;
        for (size_t k = 0; k < 3; ++k) bits = bits << 8 | (i + k < count ? static_cast<uint32_t>(bytes[i + k]) : 0);
        for (size_t k = 0; k < 4; ++k) text += i + k > count ? '=' : kDigits[bits >> (18 - 6 * k) & 63];
    }
    return text;
}

Result<std::vector<std::byte>> decoded(const std::string& text)
{
    std::vector<std::byte> bytes;
    uint32_t bits = 0;
    int have = 0;
    for (const char c : text) {
        if (c == '=') break;
        const size_t digit = kDigits.find(c);
        if (digit == std::string_view::npos) return Error(ErrorCode::usage, "argument 'data'").expected("base64");
        bits = bits << 6 | static_cast<uint32_t>(digit);
        have += 6;
        if (have < 8) continue;
        have -= 8;
        bytes.push_back(static_cast<std::byte>(bits >> have & 255));
    }
    return bytes;
}

/// What a memory reference means: a value of the innermost frame of its graph.
struct Memory {
    int depth = 0;
    GraphId graph;
    ValueId value;
};

Result<Memory> memoryOf(Server& server, const std::string& reference)
{
    int32_t graph = -1, value = -1;
    const char* const end = reference.data() + reference.size();
    if (reference.starts_with('g')) {
        const auto read = std::from_chars(reference.data() + 1, end, graph);
        if (read.ec == std::errc() && read.ptr != end && *read.ptr == 'v') {
            const auto rest = std::from_chars(read.ptr + 1, end, value);
            if (rest.ec != std::errc() || rest.ptr != end) value = -1;
        }
    }
    const Model& model = server.model();
    if (value < 0 || !model.hasGraph(GraphId(graph)) || value >= std::ssize(model.graph(GraphId(graph)).values))
        return Error(ErrorCode::usage, "no memory").found("'" + reference.substr(0, 40) + "'");
    for (auto depth = static_cast<int>(server.stop().stack.size()) - 1; depth >= 0; --depth)
        if (server.stop().stack[static_cast<size_t>(depth)].graph == GraphId(graph)) return Memory{depth, GraphId(graph), ValueId(value)};
    return Error(ErrorCode::usage, "the graph does not run here").at(model.graph(GraphId(graph)).id);
}

/// The bytes of a value as they are; empty: it has not been written.
Result<Array> contentOf(Server& server, const Memory& memory)
{
    return server.session().ask([&](Inspector& inspector) -> Result<Array> {
        const Tensor* const tensor = inspector.value(memory.depth, memory.value);
        if (tensor == nullptr || tensor->data == nullptr) return Array();
        return copyOf(*tensor);
    });
}

/// All elements of a tensor as an expression.
std::string literalOf(const Tensor& tensor)
{
    std::string text;
    const int rank = tensor.shape.rank();
    for (int64_t i = 0; i < tensor.elementCount(); ++i) {
        if (i > 0) text += ", ";
        for (int d = 0; d < rank; ++d)
            if (i % tensor.shape.countOf(d, rank) == 0) text += '[';
        text += elementText(tensor, i, {NumberFormat::kExact, false, false});
        for (int d = 0; d < rank; ++d)
            if ((i + 1) % tensor.shape.countOf(d, rank) == 0) text += ']';
    }
    return text;
}

/// Writes elements `first` to `last` of a changed copy back.
Status writeElements(Server& server, const Memory& memory, const Tensor& changed, int64_t first, int64_t last)
{
    const std::string& name = server.model().graph(memory.graph).value(memory.value).id;
    if (first != last) {
        if (changed.elementCount() > kMostElements)
            return Error(ErrorCode::usage, "of a value this large one element is written at a time")
                .found(std::to_string(changed.elementCount()) + " elements");
        return server.perform(request::SetValue{expressionFor(name, {}), literalOf(changed)}, memory.depth);
    }
    std::vector<int64_t> indices;
    int64_t rest = first;
    for (int d = 0; d < changed.shape.rank(); ++d) {
        const int64_t stride = changed.shape.countOf(d + 1, changed.shape.rank());
        indices.push_back(rest / stride);
        rest %= stride;
    }
    const std::string text = elementText(changed, first, {NumberFormat::kExact, false, false});
    return server.perform(request::SetValue{expressionFor(name, indices), text}, memory.depth);
}

} // namespace

Result<Json> readMemory(Server& server, const Json& arguments)
{
    LS_TRY(const std::string reference, arguments.needText("memoryReference"));
    LS_TRY(const int64_t count, arguments.needInteger("count"));
    LS_TRY(const Memory memory, memoryOf(server, reference));
    LS_TRY(const Array content, contentOf(server, memory));
    const int64_t size = std::ssize(content.bytes);
    const int64_t offset = arguments["offset"].integer();
    const int64_t begin = std::clamp<int64_t>(offset, 0, size);
    const int64_t length = offset < 0 ? 0 : std::clamp<int64_t>(std::min(count, kMostBytes), 0, size - begin);
    Json body = Json::object();
    body.set("address", "0x" + std::to_string(begin));
    if (length < count) body.set("unreadableBytes", count - length);
    return body.set("data", encoded(content.bytes.data() + begin, static_cast<size_t>(length)));
}

Result<Json> writeMemory(Server& server, const Json& arguments)
{
    LS_TRY(const std::string reference, arguments.needText("memoryReference"));
    LS_TRY(const std::string data, arguments.needText("data"));
    LS_TRY(const Memory memory, memoryOf(server, reference));
    LS_TRY(const std::vector<std::byte> bytes, decoded(data));
    LS_TRY(Array content, contentOf(server, memory));
    const int64_t offset = arguments["offset"].integer(), size = std::ssize(content.bytes);
    const int64_t elements = content.shape.elementCount();
    if (content.dtype == DType::string || elements == 0 || size == 0 || size % elements != 0)
        return Error(ErrorCode::usage, "its elements are no whole bytes").at(reference);
    if (offset < 0 || bytes.empty() || offset > size || std::ssize(bytes) > size - offset)
        return Error(ErrorCode::usage, "outside of the value")
            .found("bytes " + std::to_string(offset) + " to " + std::to_string(offset + std::ssize(bytes)))
            .expected("0 to " + std::to_string(size));
    std::memcpy(content.bytes.data() + offset, bytes.data(), bytes.size());
    Tensor changed = content.view();
    changed.quantization = server.model().graph(memory.graph).value(memory.value).type.quantization.get();
    const int64_t each = size / elements;
    LS_CHECK_OK(writeElements(server, memory, changed, offset / each, (offset + std::ssize(bytes) - 1) / each));
    server.later([&server, reference, offset, count = std::ssize(bytes)] {
        if (server.client.memory)
            server.event("memory", Json::object().set("memoryReference", reference).set("offset", offset).set("count", count));
        server.tellEdited();
    });
    return Json::object().set("offset", 0).set("bytesWritten", std::ssize(bytes));
}

} // namespace loopscope::app::dap
