// A reference run: the values that a run is held against, whether they come from another model, from a recording or from arrays.
#pragma once

#include "engine/base/cancel.h"
#include "engine/debug/evaluate.h"
#include "engine/debug/reference/value_pairing.h"
#include "engine/tensor/compare.h"

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace loopscope {

/// What `--against` gives. Belongs to the engine thread once a session uses it.
class Reference : public ReferenceValues {
public:
    Reference(std::string name, Tolerance tolerance) : m_name(std::move(name)), m_tolerance(tolerance) {}
    const std::string& name() const { return m_name; } ///< the file, for messages
    Tolerance tolerance() const override { return m_tolerance; }
    void setTolerance(const Tolerance& tolerance) { m_tolerance = tolerance; }
    virtual const PairingSummary& pairing() const = 0;
    /// What the other run runs and how its values pair, for pictures of both sides; null: arrays. Unchanging, so any thread may read them.
    virtual const Model* model() const { return nullptr; }
    virtual GraphId root() const { return {}; }
    virtual const ValuePairing* values() const { return nullptr; }
    /// How many iterations the partner of a loop made, which is operator `loop` of the frame at `depth` and has just returned, or the v1
    /// frame at `depth`, of which `loop` is an Exit that has just handed something out. None: it has no partner, or the other run does not
    /// come past it.
    virtual Result<std::optional<int64_t>> tripsFor(const Executor&, int, OperatorId) { return std::optional<int64_t>(); }
    /// "11 of 11 inputs and computed values paired by name; int8 weights, f32 activations"
    std::string pairingText() const;

private:
    std::string m_name;
    Tolerance m_tolerance;
};

/// Another run, which is driven as far as values of it are wanted. `executor` has its inputs; its model outlives the reference. `model`,
/// `root`: what the session runs. `cancel` may be null. Errors: of starting the run; usage if nothing pairs.
Result<std::unique_ptr<Reference>> referenceToRun(std::string name, std::unique_ptr<Executor> executor, const Model& model, GraphId root,
                                                  const Tolerance& tolerance, CancelFlag* cancel);

/// Arrays by name: ids and full names of values of the root graph, and canonical addresses of outputs in any graph. Errors: usage if
/// nothing pairs.
struct NamedArray {
    std::string name;
    DType dtype = DType::unknown;
    Shape shape;
    std::vector<std::byte> bytes;
};
Result<std::unique_ptr<Reference>> referenceToArrays(std::string name, std::vector<NamedArray> arrays, const Model& model, GraphId root,
                                                     const Tolerance& tolerance);

} // namespace loopscope
