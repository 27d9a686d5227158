// What the Tab key offers: commands, and after them values, places, marks, topics, files, whatever the command takes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace loopscope::app {

class Terminal;

struct Candidate {
    std::string text; ///< what the word becomes
    std::string kind; ///< "value", "operator", "mark", …
    std::string type; ///< of values: "i32[]"; of commands: what they do
};

struct Completion {
    size_t begin = 0; ///< of the word in the line
    std::vector<Candidate> candidates;
};

/// For the word that ends at the end of `line`. Asks the engine only where the run stands already; never waits for a running request.
Completion completionsOf(Terminal& terminal, std::string_view line);

/// What all candidates begin with.
std::string commonBeginning(const std::vector<Candidate>& candidates);

/// What Tab puts behind the word: what all candidates go on with, and a space behind the only one, unless an address may go on there.
/// Empty: there is nothing to add.
std::string insertion(const Completion& completion, std::string_view word);

} // namespace loopscope::app
