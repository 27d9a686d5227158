// Reasons to stop, in the words of docs/debugging.md.
#include "engine/debug/stop.h"

namespace loopscope {

namespace {

std::string with(std::string word, const std::string& text) { return text.empty() ? std::move(word) : std::move(word) + ": " + text; }

} // namespace

std::string toString(const StopReason& reason)
{
    const std::string of = reason.value.empty() ? "" : " (" + reason.value + ")";
    switch (reason.cause) {
    case StopCause::breakpoint: return with("breakpoint " + std::to_string(reason.number) + of, reason.text);
    case StopCause::watch: return with("watch " + std::to_string(reason.number) + of, reason.text);
    case StopCause::nan: return with("NaN" + of, reason.text);
    case StopCause::stepDone: return "step done";
    case StopCause::returned: return "returned";
    case StopCause::finished: return "finished";
    case StopCause::error: return with("error", reason.text);
    case StopCause::cancelled: return "cancelled";
    case StopCause::budget: return with("budget", reason.text);
    case StopCause::edited: return "edited";
    case StopCause::differs: return with("differs from reference", reason.text);
    case StopCause::startReached: return "start reached";
    }
    return "";
}

} // namespace loopscope
