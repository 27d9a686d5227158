// In which ways a tensor viewer shows a value: which of them are chosen, and what is chosen for a value that nobody has looked at yet.
#pragma once

#include "viewer/tensor/mode_memory.h"
#include "viewer/tensor/value_source.h"

#include <array>
#include <cstdint>
#include <optional>

namespace loopscope::viewer {

enum class TensorMode : uint8_t { table, heat, image, histogram, plot, statistics, quantization };
inline constexpr size_t kTensorModes = 7;
/// As commands and settings write them.
inline constexpr std::array<const char*, kTensorModes> kModeNames = {"table", "heat",       "image",       "histogram",
                                                                     "plot",  "statistics", "quantization"};

class ShownModes {
public:
    bool operator[](TensorMode mode) const { return m_shown[static_cast<size_t>(mode)]; }
    bool at(size_t mode) const { return m_shown[mode]; }
    bool needsMore() const; ///< than the plane of the value: the engine must be asked
    /// Another value: nothing has been chosen for it.
    void forget() { m_isChosen = m_overIterations = false; }
    /// By the user, for this value.
    bool isChosen() const { return m_isChosen; }
    /// Elements × iterations.
    bool overIterations() const { return m_overIterations; }

    /// As values of the kind were looked at last; else a small value of a loop as elements × iterations with the plot below, and the
    /// others as a table. `value` null, `answer` null: nothing is known of it. True: other modes than before.
    bool chooseFor(const Value* value, const ValueAnswer* answer, bool hasCourse);
    /// `beside` keeps what is shown (at most two at a time).
    void show(TensorMode mode, bool beside);
    /// Elements × iterations as heat map and plot.
    void showIterations();
    void showPlane() { m_overIterations = false; }
    /// Remembers the choice for values of the kind. True: it was another one before.
    bool remember(const ValueAnswer* answer, bool hasCourse);
    ModeMemory& memory() { return m_memory; }

private:
    bool recall(const Value& value, const ValueAnswer& answer, bool hasCourse);

    std::array<bool, kTensorModes> m_shown{};
    bool m_isChosen = false, m_overIterations = false;
    ModeMemory m_memory;
};

} // namespace loopscope::viewer
