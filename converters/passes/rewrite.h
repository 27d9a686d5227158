// What a pass did to a model, and what it left, with the reason: the same for all passes, so that commands, reports and tests show it
// alike.
#pragma once

#include <string>
#include <vector>

namespace loopscope {

/// Something that became another operator.
struct Rewrite {
    std::string kind;               ///< what it became: "while", "if", "const", …
    std::string from;               ///< what it was: a frame, a predicate, an operator
    std::string graph, name;        ///< where the new operator is and what it is called; no name: it is gone
    std::vector<std::string> nodes; ///< the operators that it stands for
};

/// Something that stays as it is.
struct Declined {
    std::string where;  ///< operator
    std::string reason; ///< the rule that it breaks: "Merge has two inputs that may both be live: 'a' and 'b'"
    bool operator==(const Declined&) const = default;
};

struct RewriteReport {
    std::vector<Rewrite> rewrites;
    std::vector<Declined> declined;
};

} // namespace loopscope
