// Expressions at a stop: `print`, `display`, the right side of `set`. History that nobody kept is looked up by travelling there.
#pragma once

#include "engine/debug/expression/value.h"
#include "engine/debug/place.h"
#include "engine/debug/target.h"
#include "engine/tensor/compare.h"

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace loopscope {

/// Why there is nothing to show.
enum class Absence : uint8_t { present, notWritten, dead, notRecorded, freed, lost };

/// One value of a list `a, b`. It owns what it shows, so it stays valid when the debugger moves on.
struct EvaluatedValue {
    std::string text;      ///< the expression as typed, without blanks around it
    ExpressionValue value; ///< none where absent
    Absence absence = Absence::present;
    /// The expression is nothing but a value of the model: its id, its type with quantization, and its contents as a tensor.
    std::string id; ///< empty: it is not
    TensorType type;
    Tensor tensor;                                       ///< data null where absent
    std::shared_ptr<const std::vector<std::byte>> bytes; ///< behind `tensor` and views in `value`
};

/// Where values that were not computed here come from, when there is a reference run (docs/debugging.md, "Reference runs").
class ReferenceValues {
public:
    virtual ~ReferenceValues() = default;
    /// The value that pairs with `value` of the frame at `depth` at this stop; null: it pairs with nothing. Valid until the next call.
    virtual Result<const Tensor*> valueFor(const Executor& executor, int depth, ValueId value) = 0;
    /// What counts as equal, as it was asked for together with the reference. Values are compared in real units, whatever their dtypes.
    virtual Tolerance tolerance() const { return Tolerance{Tolerance::Close{}, {}, {}}; }
};

/// Evaluates a list of expressions in a frame. It stands where it stood afterwards. `reference` may be null. Errors: usage,
/// "LINE:COLUMN: …"; cancelled.
Result<std::vector<EvaluatedValue>> evaluateList(const DebugTarget& target, FrameContext frame, std::string_view text,
                                                 ReferenceValues* reference = nullptr);

/// What `set PLACE = EXPR` does at a stop: a value, an element or a slice of it, and what it becomes.
struct Edit {
    int depth = 0;
    ValueId value;
    Tensor tensor;                                       ///< the whole new contents
    std::shared_ptr<const std::vector<std::byte>> bytes; ///< behind `tensor`
};
/// Errors: usage; of both sides, and where the element types or shapes do not agree.
Result<Edit> evaluateEdit(const DebugTarget& target, FrameContext frame, std::string_view place, std::string_view expression,
                          ReferenceValues* reference = nullptr);

} // namespace loopscope
