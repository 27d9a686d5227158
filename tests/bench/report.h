// The one line that every measurement prints.
#pragma once

#include <cstdio>

namespace loopscope::bench {

/// "NAME VALUE UNIT goal GOAL met|missed": less is better.
inline void report(const char* name, double value, const char* unit, double goal)
{
    std::printf("%s %.3g %s goal %.3g %s\n", name, value, unit, goal, value <= goal ? "met" : "missed");
}

/// The same where more is better.
inline void reportRate(const char* name, double value, const char* unit, double goal)
{
    std::printf("%s %.3g %s goal %.3g %s\n", name, value, unit, goal, value >= goal ? "met" : "missed");
}

/// A figure without a goal, to hold others against.
inline void note(const char* name, double value, const char* unit) { std::printf("%s %.3g %s\n", name, value, unit); }

} // namespace loopscope::bench
