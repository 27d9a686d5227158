#include "app/wiring/proof_inputs.h"

#include "engine/api/inputs/filled_array.h"
#include "engine/tensor/statistics.h"
#include "engine/tensor/strings.h"
#include "engine/tensor/value_text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

namespace loopscope::app {

namespace {

enum class Draw : uint8_t { plain, zeros, units, mixed, extremes, abnormal, empty, sizes };

using Engine = std::mt19937_64; // the standard says which numbers it gives; distributions of it are not fixed, so they are our own

double uniform(Engine& engine) { return static_cast<double>(engine() >> 11) * 0x1p-53; }

double normal(Engine& engine)
{
    const double u = 1 - uniform(engine), v = uniform(engine);
    return std::sqrt(-2 * std::log(u)) * std::cos(2 * 3.14159265358979323846 * v);
}

template <size_t N> double oneOf(Engine& engine, const std::array<double, N>& values) { return values[engine() % N]; }

double largestOf(DType dtype)
{
    switch (dtype) {
    case DType::f16: return 65504;
    case DType::bf16: return 3.3895313892515355e38;
    case DType::f64: return std::numeric_limits<double>::max();
    default: return std::numeric_limits<float>::max();
    }
}

double drawFloat(Engine& engine, DType dtype, Draw draw)
{
    constexpr double infinity = std::numeric_limits<double>::infinity();
    const bool isCorner = engine() % 4 == 0;
    switch (draw) {
    case Draw::zeros: return 0;
    case Draw::units: return oneOf(engine, std::array{0.0, 1.0, -1.0});
    case Draw::mixed:
        if (isCorner) return oneOf(engine, std::array{0.0, -0.0, 1.0, -1.0, 0.5, 2.0});
        break;
    case Draw::extremes:
        if (isCorner) return oneOf(engine, std::array{1.0, -1.0, 1e-45, -1e-45}) * (engine() % 2 == 0 ? largestOf(dtype) : 1);
        break;
    case Draw::abnormal:
        if (isCorner) return oneOf(engine, std::array{std::nan(""), infinity, -infinity});
        break;
    case Draw::sizes: return 10 * normal(engine);
    case Draw::plain:
    case Draw::empty: break;
    }
    return normal(engine);
}

double drawInteger(Engine& engine, DType dtype, Draw draw)
{
    const bool isSigned = dtypeClass(dtype) == DTypeClass::signedInteger;
    switch (draw) {
    case Draw::zeros: return 0;
    case Draw::units: return isSigned ? oneOf(engine, std::array{0.0, 1.0, -1.0}) : oneOf(engine, std::array{0.0, 1.0});
    case Draw::mixed:
        if (engine() % 4 == 0) return isSigned ? oneOf(engine, std::array{0.0, 1.0, -1.0}) : oneOf(engine, std::array{0.0, 1.0});
        break;
    case Draw::extremes:
        if (engine() % 4 == 0) return engine() % 2 == 0 ? static_cast<double>(integerMin(dtype)) : static_cast<double>(integerMax(dtype));
        break;
    case Draw::sizes: return std::floor(uniform(engine) * 40) - (isSigned ? 10 : 0);
    case Draw::plain:
    case Draw::abnormal:
    case Draw::empty: break;
    }
    return static_cast<double>(engine() % 10);
}

std::string drawText(Engine& engine, Draw draw)
{
    static const std::array<std::string, 8> texts = {"", "a", "true", "0", "two words", std::string("a\0b", 3), "\xc3\xa4", "\n"};
    return draw == Draw::zeros || draw == Draw::empty ? "" : texts[engine() % texts.size()];
}

Shape shapeOf(const Port& port, const Array* own, Draw draw, int64_t size)
{
    Shape shape = port.type.dynamicShape();
    const bool keeps = own && draw != Draw::empty && draw != Draw::sizes;
    if (keeps || (own && (!shape.hasRank() || shape.rank() != own->shape.rank()))) return own->shape;
    if (!shape.hasRank()) return {};
    for (int d = 0; d < shape.rank(); ++d)
        if (shape[d] < 0) shape[d] = draw == Draw::empty ? 0 : size;
    return shape;
}

Result<Array> drawArray(const Port& port, const Array* own, Engine& engine, Draw draw, int64_t size)
{
    const DType dtype = port.type.dtype;
    const Shape shape = shapeOf(port, own, draw, size);
    const std::optional<int64_t> count = checkedElementCount(shape);
    if (!count || *count > (int64_t{1} << 28)) return Error(ErrorCode::usage, "too large to be drawn").at("input '" + port.name + "'");
    if (dtype == DType::string) {
        std::vector<std::string> texts(static_cast<size_t>(*count));
        for (std::string& text : texts) text = drawText(engine, draw);
        return Array{dtype, shape, packStrings(texts)};
    }
    if (dtype == DType::boolean)
        return filledWith(dtype, shape, *count, [&](int64_t) { return draw == Draw::zeros ? 0.0 : static_cast<double>(engine() % 2); });
    if (isFloat(dtype)) return filledWith(dtype, shape, *count, [&](int64_t) { return drawFloat(engine, dtype, draw); });
    if (isInteger(dtype)) return filledWith(dtype, shape, *count, [&](int64_t) { return drawInteger(engine, dtype, draw); });
    if (dtype == DType::c64 || dtype == DType::c128) {
        const DType part = dtype == DType::c64 ? DType::f32 : DType::f64;
        Array parts = filledWith(part, Shape{2 * *count}, 2 * *count, [&](int64_t) { return drawFloat(engine, part, draw); });
        return Array{dtype, shape, std::move(parts.bytes)};
    }
    return Error(ErrorCode::unsupported, "nothing can be drawn of " + std::string(dtypeName(dtype))).at("input '" + port.name + "'");
}

} // namespace

std::string drawKindText(int64_t sample)
{
    static const std::array<const char*, kDrawKinds> names = {"random",   "zeros",    "0 and 1",          "with corners",
                                                              "extremes", "NaN, inf", "empty dimensions", "other sizes"};
    return names[static_cast<size_t>(sample % kDrawKinds)];
}

Result<std::vector<Array>> drawInputs(const RunTarget& target, std::span<const Array> own, uint64_t seed, int64_t sample)
{
    Engine engine(seed * 1'000'003 + static_cast<uint64_t>(sample));
    const auto draw = static_cast<Draw>(sample % kDrawKinds);
    const auto size = static_cast<int64_t>(1 + engine() % 4);
    std::vector<Array> inputs;
    for (size_t i = 0; i < target.inputs.size(); ++i) {
        LS_TRY(Array array, drawArray(target.inputs[i], i < own.size() ? &own[i] : nullptr, engine, draw, size));
        inputs.push_back(std::move(array));
    }
    return inputs;
}

namespace {

size_t widthOf(const Array& array) { return static_cast<size_t>(bitWidth(array.dtype)) / 8; }
bool hasElements(const Array& array)
{
    return array.dtype == DType::boolean || (bitWidth(array.dtype) >= 8 && (isFloat(array.dtype) || isInteger(array.dtype)));
}

/// Without what lies from `size` on in dimension `axis`.
Array cut(const Array& array, int axis, int64_t size)
{
    Array smaller{array.dtype, array.shape, {}};
    smaller.shape[axis] = size;
    const auto row = static_cast<size_t>(array.shape.countOf(axis + 1, array.shape.rank())) * widthOf(array);
    const size_t from = row * static_cast<size_t>(array.shape[axis]), to = row * static_cast<size_t>(size);
    const auto rows = static_cast<size_t>(array.shape.countOf(0, axis));
    for (size_t r = 0; r < rows; ++r)
        smaller.bytes.insert(smaller.bytes.end(), array.bytes.begin() + static_cast<ptrdiff_t>(r * from),
                             array.bytes.begin() + static_cast<ptrdiff_t>(r * from + to));
    return smaller;
}

class Minimizer {
public:
    Minimizer(const RunTarget& target, std::vector<Array> inputs, const std::function<bool(std::span<const Array>)>& shows, int most)
        : m_target(target),
          m_inputs(std::move(inputs)),
          m_shows(shows),
          m_left(most)
    {
    }

    std::vector<Array> minimize()
    {
        for (int round = 0; round < 4 && m_left > 0; ++round) {
            m_hasChanged = false;
            shrinkDimensions();
            for (size_t i = 0; i < m_inputs.size(); ++i) shrinkElements(i);
            if (!m_hasChanged) break;
        }
        return std::move(m_inputs);
    }

private:
    bool attempt(std::vector<Array> inputs)
    {
        if (m_left-- <= 0 || !m_shows(inputs)) return false;
        m_inputs = std::move(inputs);
        m_hasChanged = true;
        return true;
    }

    /// Open dimensions of one size belong together, as a batch does; where that shows nothing any more, each is tried alone.
    void shrinkDimensions()
    {
        std::vector<int64_t> sizes;
        for (const auto& [input, axis] : openDimensions()) sizes.push_back(m_inputs[input].shape[axis]);
        std::ranges::sort(sizes);
        sizes.erase(std::ranges::unique(sizes).begin(), sizes.end());
        for (int64_t size : sizes)
            for (const int64_t smaller : {int64_t{0}, int64_t{1}, size / 2, size - 1}) {
                if (smaller < 0 || smaller >= size) continue;
                std::vector<Array> inputs = m_inputs;
                for (const auto& [input, axis] : openDimensions())
                    if (inputs[input].shape[axis] == size) inputs[input] = cut(inputs[input], axis, smaller);
                if (attempt(std::move(inputs))) break;
            }
        for (const auto& [input, axis] : openDimensions())
            for (const int64_t smaller : {int64_t{0}, int64_t{1}, m_inputs[input].shape[axis] / 2}) {
                if (smaller >= m_inputs[input].shape[axis]) continue;
                std::vector<Array> inputs = m_inputs;
                inputs[input] = cut(inputs[input], axis, smaller);
                if (attempt(std::move(inputs))) break;
            }
    }

    std::vector<std::pair<size_t, int>> openDimensions() const
    {
        std::vector<std::pair<size_t, int>> open;
        for (size_t i = 0; i < m_inputs.size(); ++i) {
            const Shape declared = m_target.inputs[i].type.dynamicShape();
            if (!hasElements(m_inputs[i])) continue;
            for (int d = 0; d < m_inputs[i].shape.rank(); ++d)
                if (!declared.hasRank() || (d < declared.rank() && declared[d] < 0)) open.emplace_back(i, d);
        }
        return open;
    }

    bool tryFilled(size_t input, int64_t begin, int64_t end, double value)
    {
        std::vector<Array> inputs = m_inputs;
        Array& array = inputs[input];
        const size_t width = widthOf(array);
        for (int64_t i = begin; i < end; ++i) storeReal(array.bytes.data() + static_cast<size_t>(i) * width, array.dtype, value);
        return array.bytes != m_inputs[input].bytes && attempt(std::move(inputs));
    }

    bool isFilled(size_t input, int64_t begin, int64_t end) const
    {
        const Tensor tensor = m_inputs[input].view();
        for (int64_t i = begin; i < end; ++i)
            if (elementAsReal(tensor, i) != 0) return false;
        return true;
    }

    /// Zero where that still shows it: the whole, its halves, and so on; then what is left becomes rounder.
    void shrinkElements(size_t input)
    {
        if (!hasElements(m_inputs[input])) return;
        const int64_t count = m_inputs[input].shape.elementCount();
        if (count > 0 && !isFilled(input, 0, count)) clear(input, 0, count);
    }

    void clear(size_t input, int64_t begin, int64_t end)
    {
        if (m_left <= 0 || isFilled(input, begin, end) || tryFilled(input, begin, end, 0)) return;
        if (end - begin > 1) {
            const int64_t middle = begin + (end - begin) / 2;
            clear(input, begin, middle);
            clear(input, middle, end);
            return;
        }
        const auto now = [&] { return elementAsReal(m_inputs[input].view(), begin); };
        if (!std::isfinite(now())) return;
        for (const double simple : {1.0, -1.0, 2.0, -2.0, std::trunc(now())})
            if (std::fabs(simple) < std::fabs(now()) && tryFilled(input, begin, end, simple)) break;
        // A count: halved as often as that still shows it, then by one.
        while (std::fabs(now()) > 2 && tryFilled(input, begin, end, std::trunc(now() / 2))) {
        }
        while (std::fabs(now()) > 1 && std::fabs(now()) < 1e6 && tryFilled(input, begin, end, now() - std::copysign(1, now()))) {
        }
    }

    const RunTarget& m_target;
    std::vector<Array> m_inputs;
    const std::function<bool(std::span<const Array>)>& m_shows;
    int m_left;
    bool m_hasChanged = false;
};

void appendElements(std::string& text, const Tensor& tensor, int axis, int64_t& at)
{
    if (axis == tensor.shape.rank()) {
        NumberFormat exact;
        exact.digits = NumberFormat::kExact;
        text += elementText(tensor, at++, exact);
        return;
    }
    text += '[';
    for (int64_t i = 0; i < tensor.shape[axis]; ++i) {
        if (i > 0) text += ',';
        appendElements(text, tensor, axis + 1, at);
    }
    text += ']';
}

} // namespace

std::vector<Array> minimized(const RunTarget& target, std::vector<Array> inputs, const std::function<bool(std::span<const Array>)>& shows,
                             int most)
{
    return Minimizer(target, std::move(inputs), shows, most).minimize();
}

std::string inputsText(const RunTarget& target, std::span<const Array> inputs)
{
    constexpr int64_t kMostElements = 64;
    std::string text;
    for (size_t i = 0; i < inputs.size(); ++i) {
        if (!target.inputs[i].isRead) continue;
        if (!text.empty()) text += "  ";
        text += target.inputs[i].name + "=";
        const Tensor tensor = inputs[i].view();
        int64_t at = 0;
        if (tensor.elementCount() == 0 || tensor.elementCount() > kMostElements)
            text += std::string(dtypeName(tensor.dtype)) + toString(tensor.shape);
        else appendElements(text, tensor, 0, at);
    }
    return text;
}

} // namespace loopscope::app
