#include "app/check/ltest_file.h"

#include "engine/base/bytes.h"
#include "engine/base/text.h"

#include <algorithm>
#include <array>
#include <map>
#include <re2/re2.h>
#include <set>

namespace loopscope::app {

namespace {

const std::vector<std::string>& sectionNames()
{
    static const std::vector<std::string> names = {"test",      "model",    "run",    "expect", "infer", "error",   "pass",  "after",
                                                   "unchanged", "declined", "proved", "slopes", "print", "session", "trace", "sql"};
    return names;
}

std::vector<std::string> splitWords(std::string_view text)
{
    std::vector<std::string> words;
    std::string word;
    bool quoted = false;
    for (char c : text) {
        if (c == '"') quoted = !quoted;
        if ((c == ' ' || c == '\t') && !quoted) {
            if (!word.empty()) words.push_back(std::move(word));
            word.clear();
        } else {
            word += c;
        }
    }
    if (!word.empty()) words.push_back(std::move(word));
    return words;
}

/// One expected line as a regular expression over an actual line whose runs of blanks are single blanks.
std::string patternOf(const std::string& line, std::map<std::string, std::string>& captures, std::vector<std::string>& groups)
{
    std::string pattern;
    for (size_t at = 0; at < line.size();) {
        if (line.compare(at, 3, "...") == 0) {
            pattern += ".*";
            at += 3;
        } else if (line.compare(at, 2, "{{") == 0 && line.find("}}", at) != std::string::npos) {
            const size_t end = line.find("}}", at);
            const std::string inside = line.substr(at + 2, end - at - 2);
            const size_t digits = inside.find_first_not_of("0123456789");
            if (digits == std::string::npos && !inside.empty()) {
                // {{N}}: what the capture N found.
                for (char c : captures[inside]) {
                    if (std::isalnum(static_cast<unsigned char>(c)) == 0) pattern += '\\';
                    pattern += c;
                }
            } else if (digits != std::string::npos && digits > 0 && inside[digits] == ':') {
                groups.push_back(inside.substr(0, digits));
                pattern += "(" + inside.substr(digits + 1) + ")";
            } else {
                pattern += "(?:" + inside + ")";
            }
            at = end + 2;
        } else if (line[at] == ' ' || line[at] == '\t') {
            while (at < line.size() && (line[at] == ' ' || line[at] == '\t')) ++at;
            pattern += " +";
        } else {
            if (static_cast<unsigned char>(line[at]) < 0x80 && std::isalnum(static_cast<unsigned char>(line[at])) == 0) pattern += '\\';
            pattern += line[at++];
        }
    }
    return pattern;
}

std::string normalized(std::string line)
{
    while (!line.empty() && (line.back() == ' ' || line.back() == '\t' || line.back() == '\r')) line.pop_back();
    return line;
}

class ReplyMatcher {
public:
    ReplyMatcher(const std::vector<std::string>& expected, const std::vector<std::string>& actual) : m_expected(expected), m_actual(actual)
    {
    }

    std::string run()
    {
        if (matches(0, 0)) return "";
        if (!m_error.empty()) return m_error;
        const std::string want = m_furthest.first < m_expected.size() ? "'" + m_expected[m_furthest.first] + "'" : "no more lines";
        const std::string got = m_furthest.second < m_actual.size() ? "'" + m_actual[m_furthest.second] + "'" : "no more lines";
        return "line " + std::to_string(m_furthest.second + 1) + ": got " + got + ", want " + want;
    }

private:
    bool matches(size_t e, size_t a)
    {
        if (a + e >= m_furthest.first + m_furthest.second) m_furthest = {e, a};
        if (e == m_expected.size()) return a == m_actual.size();
        const std::string want = normalized(m_expected[e]);
        if (want == "...") {
            for (size_t skip = a; skip <= m_actual.size(); ++skip)
                if (matches(e + 1, skip)) return true;
            return false;
        }
        if (a == m_actual.size()) return false;
        const auto saved = m_captures;
        if (lineMatches(want, normalized(m_actual[a])) && matches(e + 1, a + 1)) return true;
        m_captures = saved;
        return false;
    }

    bool lineMatches(const std::string& want, const std::string& got)
    {
        if (want == got) return true;
        std::vector<std::string> groups;
        const RE2 pattern(patternOf(want, m_captures, groups), RE2::Quiet);
        if (!pattern.ok()) {
            m_error = "bad {{pattern}} in '" + want + "': " + pattern.error();
            return false;
        }
        std::vector<re2::StringPiece> match(static_cast<size_t>(pattern.NumberOfCapturingGroups()) + 1); // 0: all of it
        if (!pattern.Match(got, 0, got.size(), RE2::ANCHOR_BOTH, match.data(), static_cast<int>(match.size()))) return false;
        for (size_t g = 0; g < groups.size() && g + 1 < match.size(); ++g) m_captures[groups[g]] = match[g + 1].as_string();
        return true;
    }

    const std::vector<std::string>& m_expected;
    const std::vector<std::string>& m_actual;
    std::map<std::string, std::string> m_captures;
    std::pair<size_t, size_t> m_furthest;
    std::string m_error;
};

} // namespace

bool LtestSection::hasWord(std::string_view word) const { return std::find(words.begin(), words.end(), word) != words.end(); }

std::string LtestSection::value(std::string_view key, std::string_view otherwise) const
{
    for (const std::string& word : words)
        if (word.size() > key.size() && word.starts_with(key) && word[key.size()] == '=') return word.substr(key.size() + 1);
    return std::string(otherwise);
}

std::string LtestSection::text() const
{
    std::string all;
    for (const std::string& line : lines) all += line + "\n";
    return all;
}

std::vector<std::string> splitLines(std::string_view text)
{
    std::vector<std::string> lines;
    for (size_t at = 0; at < text.size();) {
        const size_t end = std::min(text.find('\n', at), text.size());
        std::string line(text.substr(at, end - at));
        if (line.ends_with("\r")) line.pop_back();
        lines.push_back(std::move(line));
        at = end + 1;
    }
    return lines;
}

Result<LtestFile> parseLtest(const std::string& path, std::string_view text)
{
    LtestFile file;
    file.path = path;
    file.lines = splitLines(text);
    std::set<std::string> names;
    const auto fail = [&](size_t line, std::string what) {
        return Error(ErrorCode::badFile, std::move(what)).at(path + ":" + std::to_string(line));
    };
    for (size_t i = 0; i < file.lines.size(); ++i) {
        const std::string& line = file.lines[i];
        const size_t number = i + 1;
        // Replies of the debugger may begin so: "#0  while#0@2:body  add#1".
        const bool inSession =
            !file.cases.empty() && !file.cases.back().sections.empty() && file.cases.back().sections.back().name == "session";
        const bool frame = inSession && line.size() > 1 && std::isdigit(static_cast<unsigned char>(line[1])) != 0;
        if (line.starts_with("#") && !frame) continue;
        if (!line.starts_with("==")) {
            const bool blank = line.find_first_not_of(" \t") == std::string::npos;
            if (file.cases.empty() || file.cases.back().sections.empty()) {
                // The words below `== test` say what the case shows; before it nothing may stand.
                if (file.cases.empty() && !blank) return fail(number, "text before the first '== test'");
                continue;
            }
            LtestSection& section = file.cases.back().sections.back();
            section.lines.push_back(line);
            if (!blank) section.lastBody = number;
            continue;
        }
        std::vector<std::string> words = splitWords(std::string_view(line).substr(2));
        const std::string name = words.empty() ? "" : words.front();
        if (std::find(sectionNames().begin(), sectionNames().end(), name) == sectionNames().end())
            return std::move(fail(number, "unknown section '" + name + "'").nearest(nearestNames(name, sectionNames())));
        words.erase(words.begin());
        if (name == "test") {
            if (words.empty()) return fail(number, "a test needs a name");
            if (!names.insert(words.front()).second) return fail(number, "test '" + words.front() + "' is already there");
            LtestCase next;
            next.name = words.front();
            next.line = number;
            for (size_t w = 1; w < words.size(); ++w) {
                if (words[w] == "slow") next.slow = true;
                else if (words[w].starts_with("requires=")) next.requirement = words[w].substr(9);
                else return fail(number, "unknown option '" + words[w] + "' of a test");
            }
            file.cases.push_back(std::move(next));
            continue;
        }
        if (file.cases.empty()) return fail(number, "section before the first '== test'");
        file.cases.back().sections.push_back({name, std::move(words), {}, number, number + 1, number});
    }
    for (LtestCase& c : file.cases)
        for (LtestSection& s : c.sections)
            while (!s.lines.empty() && s.lines.back().find_first_not_of(" \t") == std::string::npos) s.lines.pop_back();
    return file;
}

Result<LtestFile> readLtest(const std::string& path)
{
    LS_TRY(const Bytes content, mapFile(path));
    return parseLtest(path, std::string_view(content.as<char>(), content.size()));
}

std::string matchReply(const std::vector<std::string>& expected, const std::vector<std::string>& actual)
{
    return ReplyMatcher(expected, actual).run();
}

bool occursIn(const std::string& pattern, const std::string& text)
{
    if (text.find(pattern) != std::string::npos) return true;
    std::map<std::string, std::string> captures;
    std::vector<std::string> groups;
    const RE2 expression(patternOf(pattern, captures, groups), RE2::Quiet);
    return expression.ok() && RE2::PartialMatch(text, expression);
}

} // namespace loopscope::app
