// In which modes values of a dtype and rank were looked at last: the next one of the kind opens in them. The application keeps it.
#pragma once

#include "engine/tensor/dtype.h"

#include <QJsonObject>
#include <QStringList>

#include <optional>

namespace loopscope::viewer {

struct RememberedModes {
    QStringList modes;           ///< "heat", "plot": as commands name them
    bool overIterations = false; ///< columns are iterations
};

class ModeMemory {
public:
    /// Written before, perhaps by another version, whose entries are kept.
    void setEntries(const QJsonObject& entries) { m_entries = entries; }
    const QJsonObject& entries() const { return m_entries; }

    /// `inLoop`: its course over a loop is known, which offers more and is remembered apart.
    std::optional<RememberedModes> find(DType dtype, int rank, bool inLoop) const;
    /// False: it was so already.
    bool remember(DType dtype, int rank, bool inLoop, const RememberedModes& modes);

private:
    QJsonObject m_entries; ///< "f32 2": {"modes": ["heat"]}, "f32 2 loop": {"modes": ["heat", "plot"], "iterations": true}
};

} // namespace loopscope::viewer
