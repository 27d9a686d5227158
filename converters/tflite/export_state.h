// What the parts of the exporter share while one model is written.
#pragma once

#include "converters/tflite/flat_format.h"
#include "engine/base/result.h"
#include "engine/ir/model.h"
#include <flatbuffers/flatbuffers.h>

#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace tflite {
struct SubGraph;
} // namespace tflite

namespace loopscope::tflite_format {

/// The buffers of the file by content; number 0 is the empty one.
class BufferPool {
public:
    /// The number of the buffer with these bytes. `bytes` is kept alive.
    uint32_t add(const Bytes& bytes);
    const std::vector<Bytes>& buffers() const { return m_buffers; }
    uint64_t totalSize() const { return m_totalSize; }

private:
    std::vector<Bytes> m_buffers{Bytes()};
    uint64_t m_totalSize = 0;
    std::unordered_multimap<uint64_t, uint32_t> m_byHash;
    std::map<std::pair<const void*, size_t>, uint32_t> m_byPlace; ///< spares hashing what is shared already
};

/// Operator codes in the order of first use.
class CodePool {
public:
    struct Code {
        Kind kind;
        int64_t version = 1;
        bool operator==(const Code&) const = default;
    };
    uint32_t add(const Kind& kind, int64_t version);
    const std::vector<Code>& codes() const { return m_codes; }

private:
    std::vector<Code> m_codes;
    std::map<std::pair<std::string, int64_t>, uint32_t> m_numbers;
};

/// One model under export.
struct ExportState {
    ExportState(const Model& m, const FlatFormat& f, BufferPool& pool) : model(m), format(f), buffers(pool) {}

    const Model& model;
    const FlatFormat& format;
    BufferPool& buffers;
    CodePool codes;
    flatbuffers::FlatBufferBuilder builder{1 << 16};
};

/// The number of a buffer for a constant's data. Errors: badFile if its bytes are not known.
Result<uint32_t> bufferOf(ExportState& state, const Constant& constant, const std::string& name);

/// The number of an attribute that has to fit a field of type T; `otherwise` if it is absent. Errors: unsupported.
template <typename T> Result<T> fittingNumber(const AttributeList& list, std::string_view key, T otherwise)
{
    const Attribute* attribute = findAttribute(list, key);
    if (!attribute) return otherwise;
    const auto* number = attribute->as<int64_t>();
    if (number && *number >= int64_t{std::numeric_limits<T>::min()} && *number <= int64_t{std::numeric_limits<T>::max()})
        return static_cast<T>(*number);
    return Error(ErrorCode::unsupported, "attribute '" + std::string(key) + "' does not fit its field")
        .expected("a number from " + std::to_string(std::numeric_limits<T>::min()) + " to " +
                  std::to_string(std::numeric_limits<T>::max()));
}

/// "main/add#3" or, in a tf model, "main/CTCLoss"
std::string operatorPlace(const Graph& graph, size_t index);

/// Names as the file shall say them: of the graph and of its values.
struct FileNames {
    std::string graph;
    std::vector<std::string> values;
};

/// The IR leaves a name empty both where the file says none and where the id repeats it. Ids are dealt out from names at import, so the
/// spelling that gives the ids back is the right one; for ids that no names would give, the nearest.
FileNames namesToWrite(const Graph& graph);

Result<flatbuffers::Offset<tflite::SubGraph>> exportGraph(ExportState& state, const Graph& graph);

/// "cannot convert to tflite"
inline std::string cannotConvert(const FlatFormat& format) { return "cannot convert to " + std::string(format.extension); }

} // namespace loopscope::tflite_format
