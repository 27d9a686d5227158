// The expressions that every stop shows, each with a number of its own.
#pragma once

#include "app/terminal/stop_view.h"

#include <string>
#include <utility>
#include <vector>

namespace loopscope::app {

class Displays {
public:
    const std::vector<DisplayRequest>& list() const { return m_list; }
    int add(std::string expression)
    {
        m_list.push_back({++m_last, std::move(expression)});
        return m_last;
    }
    void clear() { m_list.clear(); }
    /// False: there is none of that number.
    bool remove(int64_t number)
    {
        return std::erase_if(m_list, [&](const DisplayRequest& display) { return display.number == number; }) > 0;
    }

private:
    std::vector<DisplayRequest> m_list;
    int m_last = 0;
};

} // namespace loopscope::app
