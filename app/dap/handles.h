// What an editor may unfold at a stop, by the numbers that it is given for them: scopes of frames, tensors axis by axis, ranges of long
// axes. Numbers are never used twice, and end with the stop.
#pragma once

#include "engine/api/inspector.h"
#include "engine/base/json.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace loopscope::app::dap {

/// Something with children.
struct Handle {
    enum class Kind : uint8_t {
        inputs,    ///< of a frame: parameters, of a loop what is carried
        results,   ///< of a frame: what its operators have written so far
        outputs,   ///< of the finished run
        constants, ///< of a frame
        variables, ///< of the session
        value,     ///< elements of a value of a frame
        evaluated, ///< elements of what an expression gave
    } kind = Kind::inputs;
    int depth = 0; ///< of the frame
    ValueId value;
    std::string variable;               ///< kind value, where it is a variable of the session
    std::vector<int64_t> indices;       ///< that lead to this part of the tensor
    int64_t begin = 0, end = -1;        ///< part of the axis that follows; −1: all of it
    std::shared_ptr<const Array> array; ///< of `evaluated`: owns what is shown
};

class Handles {
public:
    /// The number of a new one.
    int64_t add(Handle handle);
    /// Errors: usage, if there is none at this stop.
    Result<Handle> find(int64_t reference) const;
    /// Another stop: what was given out ends.
    void clear();

private:
    static constexpr size_t kMost = 1'000'000; ///< of one stop
    std::vector<Handle> m_handles;
    int64_t m_first = 1000;
};

/// How the protocol names the bytes of a value: those in the innermost frame of its graph.
inline std::string memoryReference(GraphId graph, ValueId value)
{
    return "g" + std::to_string(graph.index) + "v" + std::to_string(value.index);
}
/// One row: `name`, `value`, `type` and, where there is something to unfold, a reference with the numbers of children.
Json tensorRow(const std::string& name, const Tensor& tensor, Handle handle, Handles& handles);
/// Rows of the elements of a tensor: `start` and `count` page them; without a count long axes come as ranges.
Json elementRows(const Tensor& tensor, const Handle& handle, int64_t start, int64_t count, Handles& handles);

/// How expressions and edits name an element: `x[0,3]`; a name that is no word is put in quotes.
std::string expressionFor(const std::string& value, const std::vector<int64_t>& indices);

} // namespace loopscope::app::dap
