// The numbers of constants, through whatever computes them from other constants: TensorFlow writes a batch norm's scale as five operators.
#pragma once

#include "engine/transform/graph_editor.h"

#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

namespace loopscope::fusing {

struct Numbers {
    Shape shape;
    std::vector<float> values;
    bool isOne() const { return values.size() == 1; }
    /// All elements are equal.
    bool isSplat() const;
};

class ConstantReader {
public:
    explicit ConstantReader(const GraphEditor& editor) : m_editor(editor) {}

    /// Null: no constant, or none of f32.
    const Numbers* floats(ValueId value);
    /// i32, i64 or bool.
    std::optional<std::vector<int64_t>> integers(ValueId value) const;
    /// The operators that compute a constant: they go with their last reader.
    void collectProducers(ValueId value, std::vector<OperatorId>& found) const;

private:
    std::unique_ptr<Numbers> read(ValueId value, int depth);
    bool reshape(Numbers& numbers, const Operator& op) const;
    std::unique_ptr<Numbers> fold(const Operator& op, int depth);
    std::unique_ptr<Numbers> part(const Operator& op, int slot, int depth);
    std::unique_ptr<Numbers> fakeQuantized(const Operator& op, int depth);

    const GraphEditor& m_editor;
    std::unordered_map<int32_t, std::unique_ptr<Numbers>> m_known;
};

/// What a constant of any graph holds, TensorFlow's `Const` too; nothing: it is none, or of another type (f32, f16; i32, i64, bool).
bool areFinite(std::span<const float> values);

std::optional<Numbers> storedFloats(const Graph& graph, ValueId value);
std::optional<std::vector<int64_t>> storedIntegers(const Graph& graph, ValueId value);

/// Elements of `source` in another order of dimensions.
Numbers transposed(const Numbers& source, std::span<const int> order);

/// `a` and `b` element by element, broadcast as NumPy does; none where they do not fit.
std::unique_ptr<Numbers> combine(const Numbers& a, const Numbers& b, float (*function)(float, float));

} // namespace loopscope::fusing
