#include "app/terminal/command_block.h"

namespace loopscope::app {

std::optional<CommandBlock::Whole> CommandBlock::take(std::string_view line)
{
    if (line == "end") return std::exchange(m_open, std::nullopt);
    if (!line.empty()) m_open->commands.emplace_back(line);
    return std::nullopt;
}

const char* CommandBlock::abandon()
{
    const bool isDefinition = m_open && !m_open->definition.empty();
    m_open.reset();
    return isDefinition ? "'define' has no 'end'" : "'commands' has no 'end'";
}

} // namespace loopscope::app
