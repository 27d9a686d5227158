// Colour for texts that are built before anybody knows where they go: a switch and the styles of the console.
#pragma once

#include "app/output/console.h"

#include <string>
#include <string_view>

namespace loopscope::app {

class Ink {
public:
    explicit Ink(bool colored = false) : m_colored(colored) {}
    bool colored() const { return m_colored; }
    std::string operator()(Style style, std::string_view text) const { return m_colored ? styled(style, text) : std::string(text); }

private:
    bool m_colored;
};

} // namespace loopscope::app
