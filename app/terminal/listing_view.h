// What `list` shows: the structured view of what runs, and how far it was looked at since the last stop.
#pragma once

#include "engine/ir/text/structured.h"

#include <cstddef>
#include <vector>

namespace loopscope::app {

class ListingView {
public:
    /// The lines of the model, made when they are asked for first.
    const std::vector<StructuredLine>& lines(const Model& model, GraphId root);

    bool isStarted() const { return m_started; } ///< something was shown since the last stop
    size_t first() const { return m_first; }     ///< of the lines that were shown last
    void show(size_t first)
    {
        m_first = first;
        m_started = true;
    }
    /// Another stop or frame: the next `list` begins there.
    void restart() { m_started = false; }

private:
    std::vector<StructuredLine> m_lines;
    size_t m_first = 0;
    bool m_started = false;
};

} // namespace loopscope::app
