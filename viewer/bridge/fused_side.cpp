#include "viewer/bridge/fused_side.h"

#include <algorithm>

namespace loopscope::viewer {

namespace {

/// The text up to a mark, which goes with it.
std::string takeUntil(std::string_view& text, char mark)
{
    const size_t end = std::min(text.find(mark), text.size());
    std::string part(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    return part;
}

} // namespace

namespace {

std::string linesOf(const std::vector<FusionSwitch>& off)
{
    std::string text;
    for (const FusionSwitch& each : off) text += each.rule + "\t" + each.graph + "\t" + each.where + "\n";
    return text;
}

} // namespace

std::string fusedSideText(const std::vector<FusionSwitch>& off) { return std::string(kFusedSide) + linesOf(off); }

std::string rewrittenSideText(const std::string& file, const std::vector<FusionSwitch>& off)
{
    return off.empty() ? file : file + "\n" + linesOf(off);
}

std::string fileOfSide(const std::string& text) { return text.substr(0, text.find('\n')); }

std::vector<FusionSwitch> switchedOff(std::string_view text)
{
    std::vector<FusionSwitch> off;
    const size_t begin = text.starts_with(kFusedSide) ? kFusedSide.size() : text.find('\n') + 1;
    if (begin == 0) return off; // a file alone
    text.remove_prefix(begin);
    while (!text.empty()) {
        const std::string line = takeUntil(text, '\n');
        std::string_view rest = line;
        FusionSwitch each;
        each.rule = takeUntil(rest, '\t');
        each.graph = takeUntil(rest, '\t');
        each.where = rest;
        off.push_back(std::move(each));
    }
    return off;
}

} // namespace loopscope::viewer
