// Which breakpoints of the engine the client's breakpoints are. A line may be called from several places and then is several of them.
#pragma once

#include "engine/api/debug_session.h"
#include "engine/base/json.h"

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace loopscope::app::dap {

/// One breakpoint as the client asked for it.
struct BookedBreakpoint {
    int64_t id = 0;           ///< that the client knows it by
    std::string key;          ///< all that was asked: the same text is the same breakpoint, whose hits go on
    std::vector<int> numbers; ///< of the engine; empty: it could not be set
    std::string problem;      ///< why not
};

/// What a client asks for in one place of a list.
struct WantedBreakpoint {
    std::string key;
    std::vector<BreakpointSpec> specs;
    std::string problem; ///< it cannot be set; empty: it can
};

class BreakpointBook {
public:
    /// Replaces the breakpoints of a group ("line:1", "function", "data", …) by those that are wanted, in their order.
    /// Those that are asked for again as they were stay, with their hits.
    const std::vector<BookedBreakpoint>& replace(DebugSession& session, const std::string& group, std::vector<WantedBreakpoint> wanted);
    /// The engine has none any more. Ids are not used again.
    void clear();

    /// The client's number of a breakpoint of the engine; 0: it has none. `group`: where it belongs to.
    int64_t idOf(int number, std::string* group = nullptr) const;
    /// Gives those numbers that are not known yet an id, and forgets those that are gone: (id, info), and ids.
    struct Changes {
        std::vector<std::pair<int64_t, BreakpointInfo>> added, changed;
        std::vector<int64_t> removed;
    };
    Changes follow(const std::vector<BreakpointInfo>& all);

private:
    int64_t m_nextId = 1;
    std::map<std::string, std::vector<BookedBreakpoint>> m_groups;
    std::map<int, std::pair<int64_t, bool>> m_others; ///< of the engine → id, enabled
    std::set<int> m_told;                             ///< that have disabled themselves
};

} // namespace loopscope::app::dap
