// A run written by hand: values with all their past versions, and answers to every question about the place.
#pragma once

#include "engine/debug/expression/expression.h"
#include "engine/tensor/npy.h"
#include "engine/tensor/strings.h"

#include <cmath>
#include <cstring>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace loopscope {

/// One version of a value.
struct ScriptedTensor {
    Array array;
    Tensor tensor;
    TensorStatistics statistics;
};

struct ScriptedValue {
    std::string name;
    TensorType type;
    std::deque<ScriptedTensor> versions; ///< by iteration; the last is the present one
    std::deque<ScriptedTensor> reference;
    bool isFar = false, isDead = false;
    int64_t recorded = 1000; ///< iterations from here on are not recorded
};

template <typename T> Array arrayOf(DType dtype, Shape shape, const std::vector<T>& elements)
{
    Array array;
    array.dtype = dtype;
    array.shape = std::move(shape);
    array.bytes.resize(elements.size() * sizeof(T));
    if (!elements.empty()) std::memcpy(array.bytes.data(), elements.data(), array.bytes.size());
    return array;
}

inline Array floats(Shape shape, const std::vector<float>& elements) { return arrayOf(DType::f32, std::move(shape), elements); }
inline Array ints(Shape shape, const std::vector<int32_t>& elements) { return arrayOf(DType::i32, std::move(shape), elements); }
inline Array bytes(Shape shape, const std::vector<int8_t>& elements) { return arrayOf(DType::i8, std::move(shape), elements); }
inline Array strings(Shape shape, const std::vector<std::string>& elements)
{
    Array array;
    array.dtype = DType::string;
    array.shape = std::move(shape);
    array.bytes = packStrings(elements);
    return array;
}

class ScriptedSource : public ExpressionSource {
public:
    /// Adds a value whose versions are `versions`, oldest first.
    ScriptedValue& add(const std::string& id, const std::vector<Array>& versions, QuantizationPtr quantization = nullptr)
    {
        m_ids.push_back(id);
        ScriptedValue& value = m_values.emplace_back();
        value.name = id + ";full";
        value.type = TensorType(versions.back().dtype, versions.back().shape, std::move(quantization));
        for (const Array& array : versions) store(value.versions, value, array);
        return value;
    }
    void setReference(ScriptedValue& value, const Array& array) { store(value.reference, value, array); }

    std::optional<ExpressionPlace> findValue(std::string_view id) override
    {
        for (size_t i = 0; i < m_ids.size(); ++i) {
            if (m_ids[i] == id) return placeOf(i);
        }
        return std::nullopt;
    }
    Result<ExpressionPlace> findNamed(std::string_view name) override
    {
        for (size_t i = 0; i < m_ids.size(); ++i) {
            if (m_values[i].name == name) return placeOf(i);
        }
        return Error(ErrorCode::usage, "no value is named \"" + std::string(name) + "\"");
    }
    Result<ExpressionPlace> findAddress(std::string_view address) override
    {
        if (const auto place = findValue("{" + std::string(address) + "}")) return *place;
        return Error(ErrorCode::usage, "no such place").at(address);
    }
    Result<ExpressionPlace> findFile(std::string_view path) override
    {
        if (path == "y.npy") return *findValue("y");
        return Error(ErrorCode::badFile, "no such file").at(path);
    }
    Result<uint32_t> findLoop(std::string_view name) override
    {
        if (name == "while#7") return 7U;
        if (name == "outer") return 8U;
        return Error(ErrorCode::usage, "no loop '" + std::string(name) + "' here");
    }
    Result<uint32_t> findBranch(std::string_view name) override
    {
        if (name == "if#3") return 3U;
        return Error(ErrorCode::usage, "no branch '" + std::string(name) + "' here");
    }
    std::vector<std::string> valueNames() const override { return m_ids; }
    Status checkFarHistory(uint32_t place, std::optional<int64_t> iteration) override
    {
        if (!iteration || *iteration < m_values[place].recorded) return {};
        return Error(ErrorCode::usage, "iteration " + std::to_string(*iteration) + " is not recorded; use trace --iterations all");
    }
    Status checkReference(uint32_t place) override
    {
        if (!m_values[place].reference.empty()) return {};
        return Error(ErrorCode::usage, "there is no reference run; use --against");
    }

    Result<const Tensor*> current(uint32_t place) override { return &m_values[place].versions.back().tensor; }
    Result<const Tensor*> previous(uint32_t place, int64_t back) override
    {
        const auto& versions = m_values[place].versions;
        return back < static_cast<int64_t>(versions.size()) ? &versions[versions.size() - 1 - static_cast<size_t>(back)].tensor : nullptr;
    }
    Result<const Tensor*> atIteration(uint32_t place, int64_t iteration, std::optional<uint32_t>) override
    {
        const auto& versions = m_values[place].versions;
        return iteration < static_cast<int64_t>(versions.size()) ? &versions[static_cast<size_t>(iteration)].tensor : nullptr;
    }
    Result<const Tensor*> first(uint32_t place) override { return &m_values[place].versions.front().tensor; }
    Result<const Tensor*> reference(uint32_t place) override { return &m_values[place].reference.front().tensor; }
    Result<const TensorStatistics*> statistics(uint32_t place) override { return &m_values[place].versions.back().statistics; }
    Result<bool> changed(uint32_t place) override
    {
        const auto& versions = m_values[place].versions;
        return versions.size() < 2 || versions.back().array.bytes != versions[versions.size() - 2].array.bytes;
    }
    ExpressionWrite write(uint32_t place) override { return {m_values[place].isDead, 12, "main/add#2"}; }
    std::string_view name(uint32_t place) override { return m_values[place].name; }

    std::optional<int64_t> iteration(std::optional<uint32_t> loop) override { return loop ? std::optional<int64_t>(12) : iter; }
    std::optional<int64_t> tripCount(uint32_t) override { return 1001; }
    std::optional<std::string_view> branchTaken(uint32_t) override { return "else"; }
    Step step() override { return 42; }
    int64_t run() override { return 1; }
    int64_t hits() override { return 5; }
    int64_t depth() override { return 2; }

    std::optional<int64_t> iter = 3;

private:
    ExpressionPlace placeOf(size_t i) const { return {static_cast<uint32_t>(i), m_values[i].type, m_values[i].isFar}; }
    static void store(std::deque<ScriptedTensor>& versions, const ScriptedValue& value, const Array& array)
    {
        ScriptedTensor& stored = versions.emplace_back();
        stored.array = array;
        stored.tensor = stored.array.view();
        stored.tensor.quantization = value.type.quantization.get();
        stored.statistics = computeStatistics(stored.tensor);
    }

    std::vector<std::string> m_ids;
    std::deque<ScriptedValue> m_values;
};

/// The run that the examples speak of: iteration 3 of a loop.
inline void fillExampleRun(ScriptedSource& run)
{
    run.add("acc", {ints({}, {2}), ints({}, {3}), ints({}, {5}), ints({}, {8})});
    std::vector<float> counting(12);
    for (size_t i = 0; i < counting.size(); ++i) counting[i] = static_cast<float>(i);
    run.add("x", {floats({3, 4}, counting), floats({2, 3, 2}, counting)}).recorded = 3;
    run.add("qx", {bytes({4}, {-128, 1, 127, 3})}, std::make_shared<Quantization>(Quantization::perTensor(0.1F, -1)));
    run.add("v", {floats({4}, {1, -2, 0.1F, NAN})});
    run.add("probs", {floats({1, 4}, {0.1F, 0.2F, 0.1F, 0.6F})});
    run.add("state", {ints({2}, {1, 2}), ints({2}, {1, 3})});
    run.add("same_state", {ints({2}, {1, 2}), ints({2}, {1, 2})});
    run.add("h", {floats({2}, {1, 2}), floats({2}, {1, 2.5F})});
    run.add("i", {ints({}, {9})});
    run.add("{../limit}", {ints({}, {10})});
    run.add("{main/while#7@36/add#2:0}", {ints({}, {8})}).isFar = true;
    ScriptedValue& y = run.add("y", {floats({3}, {1, 2, 3})});
    run.setReference(y, floats({3}, {1, 2, 3.00001F}));
    y.isDead = true;
    run.add("text", {strings({2}, {"an error", ""})});
    run.add("txt", {strings({}, {"error 17"})});
    run.add("iter", {ints({}, {70})});
    run.add("a.b", {ints({}, {4})});
    run.add("while/add_1", {ints({}, {6})});
    run.add("flags", {arrayOf<uint8_t>(DType::boolean, {2, 3, 2}, {1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1})});
}

/// What evaluating gives as text, or the error.
inline std::string evaluated(ExpressionSource& source, std::string_view text, ExpressionUse use = ExpressionUse::value)
{
    auto expression = Expression::compile(text, source, use);
    if (!expression.ok()) return "error: " + expression.error().message();
    if (use == ExpressionUse::condition) {
        auto holds = expression->holds(source);
        if (!holds.ok()) return "error: " + holds.error().message();
        return *holds ? "holds" : "does not hold";
    }
    auto value = expression->evaluate(source);
    return value.ok() ? toString(**value) : "error: " + value.error().message();
}

} // namespace loopscope
