// Commands that are typed over several lines up to `end`: those of a breakpoint, and those that `define` gives a name.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace loopscope::app {

class CommandBlock {
public:
    struct Whole {
        int breakpoint = 0;     ///< 0: none
        std::string definition; ///< name of the command; empty: none
        std::vector<std::string> commands;
    };

    void begin(int breakpoint) { m_open = Whole{breakpoint, "", {}}; }
    void begin(std::string definition) { m_open = Whole{0, std::move(definition), {}}; }
    bool isOpen() const { return m_open.has_value(); }
    /// A line of the open block; with its `end` the block is whole and closed.
    std::optional<Whole> take(std::string_view line);
    /// Closes the block without its `end`; says what was missing it.
    const char* abandon();

private:
    std::optional<Whole> m_open;
};

} // namespace loopscope::app
