#include "app/terminal/completion.h"

#include "app/terminal/command_table.h"
#include "app/terminal/commands.h"
#include "app/terminal/terminal.h"
#include "engine/observe/address_resolution.h"
#include "engine/tensor/value_text.h"

#include <algorithm>
#include <array>
#include <filesystem>

namespace loopscope::app {

namespace {

constexpr std::array<std::string_view, 33> kBreakpointWords = {
    "type",     "graph",     "step:", "iter",  "loop",  "exit",      "trips", "branch", "nan",     "inf",  "overflow",
    "denormal", "saturated", "write", "range", "zeros", "unchanged", "shape", "error",  "steps",   "time", "differs",
    "when",     "if",        "hits",  "once",  "in",    "quiet",     "born",  "last",   "changed", "then", "else"};

/// Words of expressions and addresses end here.
bool endsWord(char c)
{
    return c == ' ' || c == '\t' || c == ',' || c == '(' || c == '[' || c == '{' || c == '+' || c == '*' || c == '<' || c == '>' ||
           c == '=' || c == '!';
}

class Completer {
public:
    Completer(Terminal& terminal, std::string word) : m_terminal(terminal), m_word(std::move(word)) {}

    void add(std::string text, std::string kind, std::string type = "")
    {
        if (text.starts_with(m_word)) m_candidates.push_back({std::move(text), std::move(kind), std::move(type)});
    }

    void commands()
    {
        for (const TerminalCommand& command : terminalCommands()) add(std::string(command.name), "command", std::string(command.summary));
    }

    /// Values of the frame that is looked at.
    void values()
    {
        const Graph& graph = frameGraph();
        for (const Value& value : graph.values)
            if (value.role != ValueRole::absent) add(value.id, "value", shortType(value.type));
        for (const std::string_view word :
             {"iter", "trip", "step", "prev(", "at(", "max(", "min(", "mean(", "sum(", "any(", "all(", "nans(", "abs("})
            if (!m_word.empty()) add(std::string(word), "function");
    }

    /// Operators of the frame's graph, and one step further into the calls that the word names already.
    void places()
    {
        const size_t slash = m_word.rfind('/');
        const std::string prefix = slash == std::string::npos ? "" : m_word.substr(0, slash + 1);
        const Model& model = m_terminal.model();
        if (prefix == ".../") { // wherever it is
            for (size_t g = 0; g < model.graphs.size(); ++g) placesIn(GraphId(static_cast<int64_t>(g)), prefix);
            return;
        }
        GraphId graph = model.findGraph(frameGraph().id);
        if (!prefix.empty() && prefix != "./") graph = ledTo(prefix.substr(0, prefix.size() - 1));
        if (!graph.valid()) return;
        placesIn(graph, prefix);
        for (const Value& value : model.graph(graph).values)
            if (value.role == ValueRole::input) add(prefix + value.id, "value", shortType(value.type));
        if (prefix.empty())
            for (const Graph& root : model.graphs)
                if (&root == &model.graphs.front()) add(root.id + "/", "graph");
    }

    /// The operators of a graph that `prefix` leads to.
    void placesIn(GraphId graph, const std::string& prefix)
    {
        const Model& model = m_terminal.model();
        const Graph& inside = model.graph(graph);
        for (size_t i = 0; i < inside.operators.size(); ++i) {
            const Operator& op = inside.operators[i];
            const std::string label = operatorLabelOf(model, graph, OperatorId(static_cast<int64_t>(i)));
            add(prefix + label, "operator", op.results.empty() ? "" : shortType(inside.value(op.results.front()).type));
            for (const Callee& callee : calleesOf(op)) {
                const bool loop = callee.role == "cond" || callee.role == "body";
                if (m_word.size() > prefix.size() + label.size() && !loop) add(prefix + label + ":" + callee.role + "/", "call");
            }
        }
    }

    void marks()
    {
        for (const std::string_view word : {"start", "end", "step:"}) add(std::string(word), "place");
        const Result<std::vector<Mark>> list = m_terminal.ask([](Inspector& inspector) { return inspector.marks(); });
        if (!list.ok()) return;
        for (const Mark& mark : *list)
            if (!mark.name.empty()) add(mark.name, "mark", mark.address);
    }

    void breakpoints()
    {
        const Result<std::vector<BreakpointInfo>> list = m_terminal.ask([](Inspector& inspector) { return inspector.breakpoints(); });
        if (!list.ok()) return;
        for (const BreakpointInfo& info : *list) add(std::to_string(info.number), "breakpoint", info.spec);
    }

    void files()
    {
        const size_t slash = m_word.rfind('/');
        const std::string folder = slash == std::string::npos ? "" : m_word.substr(0, slash + 1);
        std::error_code error;
        for (std::filesystem::directory_iterator at(folder.empty() ? "." : folder, error), end; !error && at != end; at.increment(error)) {
            std::error_code ignored;
            add(folder + at->path().filename().string() + (at->is_directory(ignored) ? "/" : ""), "file");
        }
    }

    void breakpointWords()
    {
        for (const std::string_view word : kBreakpointWords) add(std::string(word), "kind");
    }

    std::vector<Candidate> take()
    {
        std::ranges::stable_sort(m_candidates, {}, &Candidate::text);
        const auto same = std::ranges::unique(m_candidates, {}, &Candidate::text);
        m_candidates.erase(same.begin(), same.end());
        return std::move(m_candidates);
    }

private:
    const Graph& frameGraph() const
    {
        const Model& model = m_terminal.model();
        if (!m_terminal.isStarted() || m_terminal.stop().stack.empty()) return model.graph(m_terminal.target().graph);
        return model.graph(m_terminal.stop().stack[static_cast<size_t>(m_terminal.frameDepth())].graph);
    }

    /// The graph that a path leads to: from the frame that is looked at, and before the run from where it begins.
    GraphId ledTo(const std::string& path)
    {
        if (m_terminal.isStarted()) {
            const FrameContext frame = m_terminal.frame();
            const Result<TypedPlace> place = m_terminal.ask([&](Inspector& inspector) { return inspector.resolve(frame, path); });
            return place.ok() ? place->resolved.graph : GraphId();
        }
        const Model& model = m_terminal.model();
        for (const std::string& whole : {path, frameGraph().id + "/" + path}) {
            const Result<Address> address = parseAddress(whole);
            if (!address.ok()) continue;
            const Result<ResolvedAddress> place = resolveAddress(model, *address);
            if (!place.ok()) continue;
            if (!place->op.valid()) return place->graph;
            // Behind a loop its body is meant.
            for (const Callee& callee : calleesOf(model.graph(place->graph).op(place->op)))
                if (callee.role == "body") return callee.graph;
        }
        return GraphId();
    }

    Terminal& m_terminal;
    std::string m_word;
    std::vector<Candidate> m_candidates;
};

} // namespace

Completion completionsOf(Terminal& terminal, std::string_view line)
{
    Completion completion;
    const size_t nameBegin = std::min(line.find_first_not_of(" \t"), line.size());
    const size_t nameEnd = std::min(line.find_first_of(" \t", nameBegin), line.size());
    if (nameEnd == line.size()) {
        Completer completer(terminal, std::string(line.substr(nameBegin)));
        completer.commands();
        return {nameBegin, completer.take()};
    }
    const std::string_view name = line.substr(nameBegin, nameEnd - nameBegin);
    const Result<const TerminalCommand*> command = findTerminalCommand(name.substr(0, name.find('/')));
    if (!command.ok()) return completion;
    completion.begin = line.size();
    const CompletionKind kind = (*command)->completion;
    while (completion.begin > nameEnd) {
        const char before = line[completion.begin - 1];
        const bool plain = kind == CompletionKind::file || kind == CompletionKind::place;
        if (plain ? before == ' ' || before == '\t' : endsWord(before)) break;
        --completion.begin;
    }
    Completer completer(terminal, std::string(line.substr(completion.begin)));
    switch (kind) {
    case CompletionKind::value: completer.values(); break;
    case CompletionKind::place:
        completer.places();
        if ((*command)->name == "goto") completer.marks();
        break;
    case CompletionKind::breakpointKind:
        completer.breakpointWords();
        completer.places();
        completer.values();
        break;
    case CompletionKind::breakpoint: completer.breakpoints(); break;
    case CompletionKind::mark: completer.marks(); break;
    case CompletionKind::command: completer.commands(); break;
    case CompletionKind::info:
        for (std::string& topic : terminal::infoTopics()) completer.add(std::move(topic), "topic");
        break;
    case CompletionKind::file: completer.files(); break;
    case CompletionKind::iteration:
        for (const std::string_view word : {"+1", "-1", "last"}) completer.add(std::string(word), "iteration");
        break;
    case CompletionKind::inputName:
        for (const Port& port : terminal.target().inputs) completer.add(port.name + "=", "input", shortType(port.type));
        break;
    default: break;
    }
    completion.candidates = completer.take();
    return completion;
}

std::string commonBeginning(const std::vector<Candidate>& candidates)
{
    if (candidates.empty()) return "";
    std::string common = candidates.front().text;
    for (const Candidate& candidate : candidates) {
        size_t same = 0;
        while (same < common.size() && same < candidate.text.size() && common[same] == candidate.text[same]) ++same;
        common.resize(same);
    }
    return common;
}

std::string insertion(const Completion& completion, std::string_view word)
{
    std::string common = commonBeginning(completion.candidates);
    // An address goes on behind an operator: `while#0@3`, `if#2:then`.
    const bool isWhole = completion.candidates.size() == 1 && completion.candidates.front().kind != "operator";
    if (isWhole && !common.empty() && std::string_view("/(=:").find(common.back()) == std::string_view::npos) common += ' ';
    return common.size() > word.size() ? common.substr(word.size()) : std::string();
}

} // namespace loopscope::app
