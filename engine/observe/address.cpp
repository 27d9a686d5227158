// Reading and writing addresses and patterns. Reading needs no model: the root ends at the first `/`, a step at the `/` after its `@…`
// or `:role`, and what remains is the target.
#include "engine/observe/address.h"

#include "engine/ir/ids.h"
#include "engine/observe/address_scanner.h"
#include "engine/observe/host_address.h"

#include <array>
#include <charconv>
#include <limits>

namespace loopscope {

namespace {

bool isNameCharacter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '-';
}

int hexValue(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    const char lower = static_cast<char>(c | 0x20);
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

struct RoleName {
    StepRole role;
    std::string_view name;
    bool numbered; ///< a number may (branch: must) follow
};
constexpr std::array kRoles = {
    RoleName{StepRole::cond, "cond", false},       RoleName{StepRole::body, "body", false},
    RoleName{StepRole::thenBranch, "then", false}, RoleName{StepRole::elseBranch, "else", false},
    RoleName{StepRole::branch, "branch", true},    RoleName{StepRole::call, "call", false},
    RoleName{StepRole::init, "init", false},       RoleName{StepRole::region, "region", true},
    RoleName{StepRole::frame, "frame", false},
};

/// One parser for addresses and patterns; patterns allow more.
class AddressParser {
public:
    AddressParser(std::string_view text, bool pattern) : m_in(text), m_pattern(pattern) {}

    Result<Address> run()
    {
        if (m_in.atEnd()) return m_in.error(0, "an address is empty");
        LS_CHECK_OK(runNumber());
        LS_CHECK_OK(root());
        // A target reads to the end, so nothing can follow it.
        while (!m_in.atEnd()) {
            if (!m_in.accept("/")) return m_in.error(m_in.position(), "found " + m_in.found() + ", expected '/' or the end");
            if (m_in.atEnd()) return m_in.error(m_in.position(), "found the end, expected a step, an operator or a value after '/'");
            LS_CHECK_OK(part());
        }
        return std::move(m_address);
    }

    /// What follows a root and its slash.
    Result<Address> tail()
    {
        if (m_in.atEnd()) return m_in.error(0, "an address is empty");
        LS_CHECK_OK(part());
        while (!m_in.atEnd()) {
            if (!m_in.accept("/")) return m_in.error(m_in.position(), "found " + m_in.found() + ", expected '/' or the end");
            if (m_in.atEnd()) return m_in.error(m_in.position(), "found the end, expected a step, an operator or a value after '/'");
            LS_CHECK_OK(part());
        }
        return std::move(m_address);
    }

private:
    /// `r2:`
    Status runNumber()
    {
        if (m_in.peek() != 'r') return {};
        const size_t digits = m_in.text().find_first_not_of("0123456789", 1);
        if (digits == 1 || digits == std::string_view::npos || m_in.text()[digits] != ':') return {};
        m_in.accept("r");
        LS_TRY(m_address.run, m_in.number());
        m_in.accept(":");
        return {};
    }

    bool atAnySteps() const
    {
        if (!m_pattern || !m_in.startsWith("...")) return false;
        const size_t after = m_in.position() + 3;
        return after == m_in.text().size() || m_in.text()[after] == '/';
    }

    Status root()
    {
        if (atAnySteps()) {
            // No root: the graph may be called from anywhere.
            m_in.accept("...");
            m_address.steps.emplace_back().anySteps = true;
            return {};
        }
        if (m_in.startsWith(std::string(kHostLoop) + "@")) return hostCall();
        m_address.rootIsSignature = m_in.accept("sig:");
        const size_t at = m_in.position();
        LS_TRY(m_address.root, m_in.name(false, m_pattern));
        if (m_address.root.empty()) return m_in.error(at, "found " + m_in.found() + ", expected the name of a graph");
        return {};
    }

    /// `call@37`, or `call@37/main` and what follows: what a loop around a model calls.
    Status hostCall()
    {
        m_in.accept(kHostLoop);
        m_address.root = std::string(kHostGraph);
        OperatorName loop;
        loop.name = std::string(kHostLoop);
        LS_CHECK_OK(stepWithIteration(std::move(loop), 0));
        const bool isPlain = m_in.text().substr(0, m_in.position()).ends_with(":body"); // then operators of the loop itself follow
        AddressStep& step = m_address.steps.back();
        if (step.role == StepRole::frame) step.role = StepRole::body; // unless it says another
        if (step.role != StepRole::body || isPlain || !m_in.startsWith("/")) return {};
        const size_t at = m_in.position();
        m_in.accept("/");
        if (atAnySteps()) {
            m_in.seek(at);
            return {};
        }
        LS_TRY(std::string model, m_in.name(false, m_pattern));
        const bool isAnything = model == std::string(1, kWildcard) && m_in.atEnd(); // whatever is directly inside
        if (model.empty() || isAnything || (!m_in.atEnd() && m_in.peek() != '/')) { // an operator of the loop itself
            m_in.seek(at);
            return {};
        }
        AddressStep& call = m_address.steps.emplace_back();
        call.site.name = std::move(model);
        call.role = StepRole::call;
        return {};
    }

    /// A step, or the target, after a `/`.
    Status part()
    {
        if (atAnySteps()) {
            m_in.accept("...");
            m_address.steps.emplace_back().anySteps = true;
            return {};
        }
        const size_t begin = m_in.position();
        OperatorName name;
        LS_TRY(std::string text, m_in.name(true, m_pattern));
        if (m_in.accept("#")) {
            if (text.find('/') != std::string::npos)
                return m_in.error(
                    begin, "found '" + std::string(m_in.text().substr(begin, m_in.position() - begin - 1)) +
                               "' before '#', expected an operator kind; a step has a role or an iteration, as in while#7@0:body/add#2");
            name.kind = std::move(text);
            if (m_pattern && m_in.accept("*")) {
                name.anyIndex = true;
            } else {
                LS_TRY(name.index, m_in.number());
            }
        } else if (text.empty()) {
            return m_in.error(begin, "found " + m_in.found() + ", expected a step, an operator or a value");
        } else {
            name.name = std::move(text);
        }
        if (m_in.peek() == '@') return stepWithIteration(std::move(name), begin);
        if (m_in.peek() == ':') return roleOrSlot(std::move(name), begin);
        if (!m_in.atEnd()) return m_in.error(m_in.position(), "found " + m_in.found() + ", expected '@', ':' or the end");
        m_address.target = isNamed(name) ? TargetKind::value : TargetKind::op;
        m_address.op = std::move(name);
        return {};
    }

    static bool isNamed(const OperatorName& name) { return name.index < 0 && !name.anyIndex; }

    Status checkSite(const OperatorName& site, size_t begin) const
    {
        if (isNamed(site) || !site.kind.empty()) return {};
        return m_in.error(begin, "a step names its operator with the kind: while#7, not #7");
    }

    Status stepWithIteration(OperatorName site, size_t begin)
    {
        LS_CHECK_OK(checkSite(site, begin));
        m_in.accept("@");
        AddressStep step;
        const size_t at = m_in.position();
        if (m_pattern) {
            LS_TRY(IterationSet set, scanIterations(m_in));
            const bool single = set.ranges.size() == 1 && set.ranges[0].low == set.ranges[0].high && !set.ranges[0].low.fromLast &&
                                !set.ranges[0].openEnd && set.ranges[0].every == 1;
            if (single) step.iteration = set.ranges[0].low.offset;
            else step.iterations = std::move(set);
        } else {
            LS_TRY(step.iteration, m_in.number());
            if (!m_in.atEnd() && m_in.peek() != ':' && m_in.peek() != '/')
                return m_in.error(m_in.position(), "found " + m_in.found() + ", expected ':' and a role, '/' or the end" +
                                                       (m_in.startsWith("..") || m_in.peek() == ',' ? "; a range makes a pattern" : ""));
        }
        if (m_in.accept(":")) {
            if (!role(step)) return m_in.error(m_in.position(), "found " + m_in.found() + ", expected a role: " + roleList());
            const bool loop =
                step.role == StepRole::cond || step.role == StepRole::body || step.role == StepRole::frame || step.role == StepRole::region;
            if (!loop) return m_in.error(at, "only cond, body, frame and region have iterations");
        } else {
            // What can be meant: an operator with an index is a While; a name is a v1 frame.
            step.role = isNamed(site) ? StepRole::frame : StepRole::body;
        }
        step.site = std::move(site);
        m_address.steps.push_back(std::move(step));
        return {};
    }

    Status roleOrSlot(OperatorName name, size_t begin)
    {
        m_in.accept(":");
        const size_t at = m_in.position();
        AddressStep step;
        if (role(step) && (m_in.atEnd() || m_in.peek() == '/')) {
            LS_CHECK_OK(checkSite(name, begin));
            step.site = std::move(name);
            m_address.steps.push_back(std::move(step));
            return {};
        }
        m_in.seek(at);
        const bool input = m_in.accept("in");
        if (!m_in.atDigit()) {
            m_in.seek(at);
            return m_in.error(at, "found " + m_in.found() + ", expected an output (0, 1, …), an input (in0) or a role: " + roleList());
        }
        LS_TRY(const int64_t slot, m_in.number());
        if (slot > std::numeric_limits<int32_t>::max())
            return m_in.error(at, "found slot " + std::to_string(slot) + ", expected at most 2147483647");
        if (!m_in.atEnd()) return m_in.error(m_in.position(), "found " + m_in.found() + ", expected the end after a slot");
        m_address.target = input ? TargetKind::input : TargetKind::output;
        m_address.slot = static_cast<int32_t>(slot);
        m_address.op = std::move(name);
        return {};
    }

    /// Reads a role at the position; false and nowhere moved if there is none.
    bool role(AddressStep& step)
    {
        const size_t at = m_in.position();
        for (const RoleName& r : kRoles) {
            if (!m_in.accept(r.name)) continue;
            step.role = r.role;
            if (r.numbered && m_in.atDigit()) {
                const Result<int64_t> number = m_in.number();
                if (number.ok() && *number <= std::numeric_limits<int32_t>::max()) step.branch = static_cast<int32_t>(*number);
            }
            const bool complete = r.role != StepRole::branch || step.branch >= 0;
            if (complete && (m_in.atEnd() || m_in.peek() == '/')) return true;
            break;
        }
        step = AddressStep();
        m_in.seek(at);
        return false;
    }

    static std::string roleList()
    {
        std::string list;
        for (const RoleName& r : kRoles) list += (list.empty() ? "" : ", ") + std::string(r.name) + (r.role == StepRole::branch ? "0" : "");
        return list;
    }

    AddressScanner m_in;
    bool m_pattern;
    Address m_address;
};

/// The spelling of a name with wildcards.
std::string nameText(const std::string& name, bool keepSlash)
{
    std::string text;
    size_t begin = 0;
    for (;;) {
        const size_t star = name.find(kWildcard, begin);
        text += escapeAddressName(std::string_view(name).substr(begin, star == std::string::npos ? star : star - begin), keepSlash);
        if (star == std::string::npos) return text;
        text += '*';
        begin = star + 1;
    }
}

std::string siteText(const OperatorName& site)
{
    if (site.anyIndex) return nameText(site.kind, false) + "#*";
    if (site.index >= 0) return nameText(site.kind, false) + "#" + std::to_string(site.index);
    return nameText(site.name, true);
}

std::string stepText(const AddressStep& step)
{
    if (step.anySteps) return "...";
    std::string text = siteText(step.site);
    if (step.iterations) text += "@" + toString(*step.iterations);
    else if (step.iteration >= 0) text += "@" + std::to_string(step.iteration);
    if (step.role == StepRole::none) return text;
    text += ":" + std::string(stepRoleName(step.role));
    if (step.branch >= 0) text += std::to_string(step.branch);
    return text;
}

/// Whether an address lies in an iteration of the loop around a model, so that it is written as one of a call: `call@37/main/add#2`.
bool isHostCall(const Address& address)
{
    if (address.rootIsSignature || address.root != kHostGraph || address.steps.empty()) return false;
    const AddressStep& loop = address.steps.front();
    return loop.site.name == kHostLoop && (loop.iteration >= 0 || loop.iterations) &&
           (loop.role == StepRole::cond || loop.role == StepRole::body);
}

/// The steps of such an address.
std::string hostCallText(const Address& address)
{
    AddressStep loop = address.steps[0];
    // Behind `call@3/` the name alone of an operator or value of the loop itself would be that of a graph.
    const bool isPlain =
        address.steps.size() == 1 && !address.op.name.empty() && (address.target == TargetKind::value || address.target == TargetKind::op);
    if (loop.role == StepRole::body && !isPlain) loop.role = StepRole::none;
    std::string text = stepText(loop);
    for (size_t s = 1; s < address.steps.size(); ++s) {
        const AddressStep& step = address.steps[s];
        const bool isModel = s == 1 && loop.role == StepRole::none && step.role == StepRole::call && step.site.kind.empty();
        text += "/" + (isModel ? nameText(step.site.name, false) : stepText(step));
    }
    return text;
}

} // namespace

Result<int64_t> AddressScanner::number()
{
    const size_t begin = m_at;
    int64_t value = 0;
    const char* end = m_text.data() + m_text.size();
    const auto [at, error] = std::from_chars(m_text.data() + m_at, end, value);
    if (!atDigit() || error == std::errc::invalid_argument) return this->error(begin, "found " + found() + ", expected a number");
    if (error != std::errc()) return this->error(begin, "the number does not fit 64 bits");
    m_at = static_cast<size_t>(at - m_text.data());
    return value;
}

Result<std::string> AddressScanner::name(bool keepSlash, bool wildcards)
{
    std::string name;
    for (; !atEnd(); ++m_at) {
        const char c = peek();
        if (isNameCharacter(c) || (c == '/' && keepSlash)) {
            name += c;
        } else if (c == '*' && wildcards) {
            name += kWildcard;
        } else if (c == '%') {
            const int high = m_at + 1 < m_text.size() ? hexValue(m_text[m_at + 1]) : -1;
            const int low = m_at + 2 < m_text.size() ? hexValue(m_text[m_at + 2]) : -1;
            if (high < 0 || low < 0) return error(m_at, "found '%', expected two hexadecimal digits after it");
            const char byte = static_cast<char>(high * 16 + low);
            if (byte == kWildcard) return error(m_at, "found '%01', which no name in an address may hold");
            name += byte;
            m_at += 2;
        } else {
            break;
        }
    }
    return name;
}

std::string AddressScanner::found() const { return atEnd() ? "the end" : "'" + std::string(1, peek()) + "'"; }

Error AddressScanner::error(size_t at, std::string what) const
{
    return Error(ErrorCode::usage, std::move(what)).at(std::string(m_text) + ": column " + std::to_string(at + 1));
}

std::string_view stepRoleName(StepRole role)
{
    for (const RoleName& r : kRoles)
        if (r.role == role) return r.name;
    return "";
}

Result<Address> parseAddressTail(std::string_view text) { return AddressParser(text, false).tail(); }

Result<Address> parseAddress(std::string_view text) { return AddressParser(text, false).run(); }

Result<Address> parsePattern(std::string_view text) { return AddressParser(text, true).run(); }

Result<Address> parsePatternTail(std::string_view text) { return AddressParser(text, true).tail(); }

std::string toString(const Address& address)
{
    std::string text;
    if (address.run >= 0) text += "r" + std::to_string(address.run) + ":";
    if (address.rootIsSignature) text += "sig:";
    if (isHostCall(address)) {
        text += hostCallText(address);
    } else {
        text += nameText(address.root, false);
        bool first = address.root.empty();
        for (const AddressStep& step : address.steps) {
            text += (first ? "" : "/") + stepText(step);
            first = false;
        }
    }
    if (address.target == TargetKind::invocation) return text;
    text += "/" + siteText(address.op);
    if (address.target == TargetKind::output) text += ":" + std::to_string(address.slot);
    if (address.target == TargetKind::input) text += ":in" + std::to_string(address.slot);
    return text;
}

Result<Place> parsePlace(std::string_view text)
{
    Place place;
    AddressScanner in(text);
    if (in.accept("step:")) {
        place.kind = Place::Kind::step;
        LS_TRY(place.step, in.number());
    } else if (in.accept("var:")) {
        place.kind = Place::Kind::variable;
        const size_t at = in.position();
        LS_TRY(place.variable, in.name(true, false));
        if (place.variable.empty()) return in.error(at, "found " + in.found() + ", expected the name of a variable");
    } else {
        LS_TRY(place.address, parseAddress(text));
        return place;
    }
    if (!in.atEnd()) return in.error(in.position(), "found " + in.found() + ", expected the end");
    return place;
}

std::string toString(const Place& place)
{
    switch (place.kind) {
    case Place::Kind::variable: return "var:" + escapeAddressName(place.variable, true);
    case Place::Kind::step: return "step:" + std::to_string(place.step);
    case Place::Kind::address: break;
    }
    return toString(place.address);
}

} // namespace loopscope
