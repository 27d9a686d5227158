#include "viewer/tensor/tensor_mode.h"

#include <algorithm>

namespace loopscope::viewer {

namespace {

/// Of values that are themselves tables of others nothing is remembered.
bool isPlain(const ValueAnswer& answer) { return answer.shape.hasRank() && answer.held.empty(); }

} // namespace

bool ShownModes::needsMore() const
{
    const ShownModes& shown = *this;
    return (shown[TensorMode::heat] && !m_overIterations) || shown[TensorMode::image] || shown[TensorMode::histogram] ||
           shown[TensorMode::quantization];
}

bool ShownModes::chooseFor(const Value* value, const ValueAnswer* answer, bool hasCourse)
{
    const auto before = m_shown;
    hasCourse = hasCourse && !(answer && !answer->held.empty());
    if (!value || !answer || !isPlain(*answer) || !recall(*value, *answer, hasCourse)) {
        m_shown.fill(false);
        m_overIterations = hasCourse;
        const bool isScalar = answer && answer->shape.hasRank() && answer->shape.elementCount() == 1;
        const auto show = [this](TensorMode mode) { m_shown[static_cast<size_t>(mode)] = true; };
        if (hasCourse && !isScalar) show(TensorMode::heat);
        show(hasCourse ? TensorMode::plot : TensorMode::table);
    }
    return before != m_shown;
}

/// False: nothing is remembered of which this value has a mode.
bool ShownModes::recall(const Value& value, const ValueAnswer& answer, bool hasCourse)
{
    const std::optional<RememberedModes> kept = m_memory.find(answer.dtype, answer.shape.rank(), hasCourse);
    if (!kept) return false;
    std::array<bool, kTensorModes> modes{};
    for (size_t i = 0; i < kTensorModes; ++i) {
        const auto mode = static_cast<TensorMode>(i);
        const bool fits =
            mode == TensorMode::image ? isImageShape(answer.shape) : mode != TensorMode::quantization || value.type.quantization != nullptr;
        modes[i] = fits && kept->modes.contains(QLatin1String(kModeNames[i]));
    }
    if (std::ranges::count(modes, true) == 0) return false;
    m_shown = modes;
    m_overIterations = hasCourse && kept->overIterations;
    return true;
}

void ShownModes::show(TensorMode mode, bool beside)
{
    const auto at = static_cast<size_t>(mode);
    const auto shown = std::ranges::count(m_shown, true);
    if (beside && m_shown[at] && shown > 1) {
        m_shown[at] = false;
    } else {
        if (!beside || shown > 1) m_shown.fill(false);
        m_shown[at] = true;
    }
    // The table is of this moment; heat map and plot keep the iterations as columns while that is wanted.
    if ((*this)[TensorMode::table]) m_overIterations = false;
}

void ShownModes::showIterations()
{
    m_overIterations = true;
    m_shown.fill(false);
    m_shown[static_cast<size_t>(TensorMode::heat)] = m_shown[static_cast<size_t>(TensorMode::plot)] = true;
}

bool ShownModes::remember(const ValueAnswer* answer, bool hasCourse)
{
    m_isChosen = true;
    if (!answer || !isPlain(*answer) || answer->dtype == DType::unknown) return false;
    RememberedModes modes;
    for (size_t i = 0; i < kTensorModes; ++i)
        if (m_shown[i]) modes.modes.append(QLatin1String(kModeNames[i]));
    modes.overIterations = m_overIterations;
    return m_memory.remember(answer->dtype, answer->shape.rank(), hasCourse, modes);
}

} // namespace loopscope::viewer
