// Commands about TensorFlow graphs with dataflow control (frames, tokens, dead values): they say why they do not apply where a model has
// none.
#include "app/terminal/commands.h"
#include "app/terminal/terminal.h"

namespace loopscope::app::terminal {

Status version1Graphs(Terminal& terminal, const CommandLine& line)
{
    const std::string name(line.name);
    if (terminal.model().dialect != Dialect::tf)
        return Error(ErrorCode::usage, "'" + name + "' is about TensorFlow graphs with Switch and Merge; this model has none")
            .note("calls and loops: 'bt', 'info loop', 'info frame'");
    return Error(ErrorCode::unsupported, "'" + name + "': TensorFlow graphs do not run yet");
}

} // namespace loopscope::app::terminal
