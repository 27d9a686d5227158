// What follows `break`, `watch` and `log`, cut into its parts: the kind with its operands, and what all kinds may have behind that.
#pragma once

#include "engine/base/result.h"
#include "engine/observe/address.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace loopscope {

/// Which hits count: `hits N`, `hits %N`, `hits >=N`.
struct HitRule {
    enum class Kind : uint8_t { all, equal, every, atLeast } kind = Kind::all;
    int64_t number = 0;
    bool lets(int64_t hit) const
    {
        switch (kind) {
        case Kind::equal: return hit == number;
        case Kind::every: return hit > 0 && hit % number == 0;
        case Kind::atLeast: return hit >= number;
        default: return true;
        }
    }
};
std::string toString(const HitRule& rule); ///< "", "4", "%4", ">=4"

/// The command that makes it.
enum class BreakpointCommand : uint8_t { breakpoint, temporary, watch, readWatch, accessWatch, log };
std::string_view commandName(BreakpointCommand command); ///< "break", "tbreak", "watch", …
std::optional<BreakpointCommand> breakpointCommand(std::string_view name);

/// A breakpoint as a value: what `break`, `watch` and `log` are parsed into, and what faces make without writing text.
struct BreakpointSpec {
    BreakpointCommand command = BreakpointCommand::breakpoint;
    std::vector<std::string> words; ///< of kind and operands, split at blanks outside of quotes and brackets
    std::string expression;         ///< of `when`: all that follows
    std::string condition;
    HitRule rule;
    bool once = false, quiet = false, disabled = false;
    std::string within; ///< pattern after `in`
    std::string log;    ///< text of a log point, without its quotes
    bool hasLog = false;
};

/// On an operator, before it runs; an address without iterations: whenever it runs.
BreakpointSpec breakAt(const Address& place);
/// Of a kind, with its operands: `breakOn("nan")`, `breakOn("exit", {"while#0"})`.
BreakpointSpec breakOn(std::string kind, std::vector<std::string> operands = {});
/// On writes that change a value.
BreakpointSpec watchFor(std::string value);

/// The text behind a command's name. Of a log point there must be a text in quotes, before or behind the place. Errors: usage.
Result<BreakpointSpec> parseSpec(BreakpointCommand command, std::string_view text);
/// What, typed behind the command's name, makes the same breakpoint.
std::string specText(const BreakpointSpec& spec);

/// The part behind kind and operands, in canonical order; begins with a blank unless it is empty.
std::string suffixText(const BreakpointSpec& spec);

/// In quotes, as texts of log points are written.
std::string quotedLog(std::string_view text);

/// Splits at blanks outside of quotes and brackets.
std::vector<std::string_view> splitWords(std::string_view text);

/// Whole numbers from 0, also written 1e6. Errors: usage, naming `what`.
Result<int64_t> parseCount(std::string_view text, std::string_view what);
Result<double> parseNumber(std::string_view text, std::string_view what);

} // namespace loopscope
