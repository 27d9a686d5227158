// What expressions are evaluated against: a place in a run, be it a live session or a recorded trace. Names are resolved once, when an
// expression is compiled; values are asked for by number afterwards.
#pragma once

#include "engine/base/counts.h"
#include "engine/base/result.h"
#include "engine/tensor/statistics.h"
#include "engine/tensor/tensor.h"
#include "engine/tensor/tensor_type.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace loopscope {

/// A value that an expression names.
struct ExpressionPlace {
    uint32_t handle = 0;       ///< the source's own number for it
    TensorType type;           ///< as declared; dtype and dimensions may be unknown
    bool isFarHistory = false; ///< an address of another iteration than the present one
};

/// How a value came about.
struct ExpressionWrite {
    bool isDead = false;     ///< TensorFlow v1 graphs: it was not computed
    Step step = -1;          ///< step index of the write, −1: not written
    std::string_view writer; ///< address of the operator that wrote it, empty: none; valid until the source moves on
};

/// Implementations allocate nothing in the functions that are called while an expression runs, unless they return an error. A pointer
/// that they return is null where there is no such value (the expression then has `none`), and valid until the source moves on or is
/// asked the same again. Tensors have data, a static shape that passed checkedElementCount, and as many bytes as that needs.
class ExpressionSource {
public:
    virtual ~ExpressionSource() = default;

    // Names, when an expression is compiled.

    /// The value with this id in the current frame's graph; TensorFlow outputs also as `node:k`.
    virtual std::optional<ExpressionPlace> findValue(std::string_view id) = 0;
    /// By the full name that the file gives. Errors: usage; no such name, or several ids have it.
    virtual Result<ExpressionPlace> findNamed(std::string_view name) = 0;
    /// By an address, canonical or short (`../acc`). Errors: usage, unless it names a value.
    virtual Result<ExpressionPlace> findAddress(std::string_view address) = 0;
    /// The contents of a .npy file. Errors: badFile, or usage where files may not be read.
    virtual Result<ExpressionPlace> findFile(std::string_view path) = 0;
    /// A loop (`while#7`, or the name of a v1 frame) or an If or Case (`if#3`) of this graph or of the nearest caller that has it.
    virtual Result<uint32_t> findLoop(std::string_view operatorName) = 0;
    virtual Result<uint32_t> findBranch(std::string_view operatorName) = 0;
    /// What may follow "did you mean".
    virtual std::vector<std::string> valueNames() const = 0;
    /// Whether iteration `iteration` (or, if unknown, any) of a value may be asked for. Errors: usage, "iteration 3 is not recorded; use
    /// trace --iterations all".
    virtual Status checkFarHistory(uint32_t place, std::optional<int64_t> iteration) = 0;
    /// Whether there is a reference run with this value. Errors: usage.
    virtual Status checkReference(uint32_t place) = 0;

    // Values, while it runs.

    virtual Result<const Tensor*> current(uint32_t place) = 0;
    /// The value `back` ≥ 1 invocations of its graph ago, in this run.
    virtual Result<const Tensor*> previous(uint32_t place, int64_t back) = 0;
    /// In iteration `iteration` of the loop `loop`, or of the innermost one.
    virtual Result<const Tensor*> atIteration(uint32_t place, int64_t iteration, std::optional<uint32_t> loop) = 0;
    virtual Result<const Tensor*> first(uint32_t place) = 0;
    virtual Result<const Tensor*> reference(uint32_t place) = 0;
    /// Of the current value.
    virtual Result<const TensorStatistics*> statistics(uint32_t place) = 0;
    /// Whether the current value differs from the previous one; true if there is none.
    virtual Result<bool> changed(uint32_t place) = 0;
    virtual ExpressionWrite write(uint32_t place) = 0;
    virtual std::string_view name(uint32_t place) = 0; ///< the full name in the file

    // The place in the run. None where it has no meaning there.

    virtual std::optional<int64_t> iteration(std::optional<uint32_t> loop) = 0; ///< of the innermost loop if none is named
    virtual std::optional<int64_t> tripCount(uint32_t loop) = 0;
    virtual std::optional<std::string_view> branchTaken(uint32_t branch) = 0; ///< "then", "else", "branch2"
    virtual Step step() = 0;
    virtual int64_t run() = 0;
    virtual int64_t hits() = 0;  ///< of the breakpoint whose condition this is
    virtual int64_t depth() = 0; ///< frames below the root
};

} // namespace loopscope
