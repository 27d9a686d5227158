// Graphviz, for exports and as an oracle in tests: DOT text goes in, pictures or positions come out. The only place that knows libgvc.
#pragma once

#include <string>
#include <string_view>

namespace loopscope::layout {

struct GraphvizOutput {
    std::string data;
    std::string error; ///< empty: done
};

/// `engine`: "dot", or "nop2" where the text holds all positions. `format`: "svg", "pdf", "png", "dot", "plain". Thread-safe: Graphviz is
/// not re-entrant, calls wait for each other. Cannot be interrupted.
GraphvizOutput runGraphviz(const std::string& text, const char* engine, const char* format);

} // namespace loopscope::layout
