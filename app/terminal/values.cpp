// Commands that show and change values: print, x, display, set.
#include "app/terminal/commands.h"
#include "app/terminal/terminal.h"
#include "app/terminal/value_view.h"
#include "engine/base/text.h"
#include "engine/tensor/compare.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

namespace loopscope::app::terminal {

namespace {

constexpr int64_t kRow = 8; ///< elements on a line of `x`
constexpr int64_t kDefaultElements = 32;
constexpr int64_t kMostElements = 1'000'000;

/// "16", "i", "b", "x", "8x": how many and how.
struct Form {
    int64_t count = -1;
    char letter = 0;
};

Result<Form> formOf(const CommandLine& line, std::string_view letters)
{
    Form form;
    std::string_view text = line.modifiers;
    size_t digits = 0;
    while (digits < text.size() && text[digits] >= '0' && text[digits] <= '9') ++digits;
    if (digits > 0) {
        LS_TRY(form.count, wholeNumber(text.substr(0, digits), line.name, 1, kMostElements));
    }
    text.remove_prefix(digits);
    if (text.empty()) return form;
    if (text.size() > 1 || letters.find(text.front()) == std::string_view::npos) {
        std::string expected;
        for (const char letter : letters) expected += (expected.empty() ? "/" : ", /") + std::string(1, letter);
        return Error(ErrorCode::usage, std::string(line.name)).found("'/" + std::string(line.modifiers) + "'").expected(expected);
    }
    form.letter = text.front();
    return form;
}

Result<std::vector<EvaluatedValue>> evaluate(Terminal& terminal, std::string_view text)
{
    LS_CHECK_OK(terminal.checkStarted());
    const FrameContext frame = terminal.frame();
    return terminal.ask([&](Inspector& inspector) { return inspector.evaluate(frame, text); });
}

std::string byteText(std::byte byte)
{
    constexpr std::string_view digits = "0123456789abcdef";
    const auto value = static_cast<unsigned>(byte);
    return {digits[value >> 4], digits[value & 15]};
}

/// `set option NAME V`.
Status setOption(Terminal& terminal, std::string_view text)
{
    const size_t blank = std::min(text.find_first_of(" \t="), text.size());
    const std::string name(text.substr(0, blank));
    const size_t begin = text.find_first_not_of(" \t=", blank);
    const std::string_view value = begin == std::string_view::npos ? std::string_view() : text.substr(begin);
    const std::vector<std::string> known = {"digits", "context"};
    if (name == "digits") {
        LS_TRY(const int64_t digits, wholeNumber(value == "auto" ? "0" : value, "option 'digits'", 0, 17));
        terminal.options().digits = static_cast<int>(digits);
    } else if (name == "context") {
        LS_TRY(const int64_t lines, wholeNumber(value, "option 'context'", 1, 1000));
        terminal.options().context = static_cast<int>(lines);
    } else {
        return Error(ErrorCode::usage, "unknown option '" + name + "'").expected("digits or context").nearest(nearestNames(name, known));
    }
    terminal.answer().field("digits", terminal.options().digits).field("context", terminal.options().context);
    return {};
}

/// The `=` that assigns: not one of `== != <= >=` and not within quotes or brackets.
size_t assignment(std::string_view text)
{
    bool quoted = false;
    int depth = 0;
    for (size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (c == '"') quoted = !quoted;
        if (quoted) continue;
        if (c == '[' || c == '(' || c == '{') ++depth;
        if (c == ']' || c == ')' || c == '}') --depth;
        if (c != '=' || depth > 0) continue;
        if (i + 1 < text.size() && text[i + 1] == '=') {
            ++i;
            continue;
        }
        if (i > 0 && (text[i - 1] == '!' || text[i - 1] == '<' || text[i - 1] == '>')) continue;
        return i;
    }
    return std::string_view::npos;
}

std::string_view stripped(std::string_view text)
{
    const size_t begin = text.find_first_not_of(" \t");
    if (begin == std::string_view::npos) return {};
    return text.substr(begin, text.find_last_not_of(" \t") + 1 - begin);
}

} // namespace

Status print(Terminal& terminal, const CommandLine& line)
{
    LS_TRY(const Form form, formOf(line, "xi"));
    if (form.count >= 0)
        return Error(ErrorCode::usage, "print")
            .found("'/" + std::string(line.modifiers) + "'")
            .expected("/x or /i; 'x/N' shows N elements");
    if (line.text.empty()) return Error(ErrorCode::usage, "no expression").at("print").expected("'print acc + i'");
    LS_TRY(const std::vector<EvaluatedValue> values, evaluate(terminal, line.text));
    for (const EvaluatedValue& value : values) terminal.variables().keepPrinted(value);
    NumberFormat format = terminal.format();
    format.hex = form.letter == 'x';
    format.stored = form.letter == 'i';
    terminal.reply(printedText(values, format, terminal.ink(), terminal.session().level()));
    terminal.answer().values(values, format);
    return {};
}

Status whatIs(Terminal& terminal, const CommandLine& line)
{
    if (line.text.empty()) return Error(ErrorCode::usage, "no expression").at("whatis").expected("'whatis acc + i'");
    LS_TRY(const std::vector<EvaluatedValue> values, evaluate(terminal, line.text));
    std::string out;
    for (const EvaluatedValue& value : values) {
        const std::string computed =
            std::string(expressionTypeName(value.value.type())) + (value.value.isTensor() ? toString(value.value.shape()) : std::string());
        out += value.text + ": " + (value.id.empty() ? computed : shortType(value.type)) + "\n";
    }
    terminal.reply(out);
    terminal.answer().list("types", values, [](Answer& answer, const EvaluatedValue& value) {
        const std::string computed =
            std::string(expressionTypeName(value.value.type())) + (value.value.isTensor() ? toString(value.value.shape()) : std::string());
        answer.field("expression", value.text).field("type", value.id.empty() ? computed : shortType(value.type));
    });
    return {};
}

Status define(Terminal& terminal, const CommandLine& line)
{
    if (!isVariableName(line.text))
        return Error(ErrorCode::usage, "define").found("'" + std::string(line.text) + "'").expected("a name of letters, digits and '_'");
    for (const TerminalCommand& command : terminalCommands())
        if (command.name == line.text || command.shortName == line.text)
            return Error(ErrorCode::usage, "'" + std::string(line.text) + "' is a command already").at("define");
    terminal.block().begin(std::string(line.text));
    terminal.answer().field("name", line.text);
    return {};
}

Status examine(Terminal& terminal, const CommandLine& line)
{
    LS_TRY(const Form form, formOf(line, "xib"));
    if (line.text.empty()) return Error(ErrorCode::usage, "no expression").at("x").expected("'x/16 state'");
    LS_TRY(const std::vector<EvaluatedValue> values, evaluate(terminal, line.text));
    const int64_t limit = form.count > 0 ? form.count : kDefaultElements;
    terminal.answer().values(values, terminal.format(), limit);
    std::string out;
    for (const EvaluatedValue& value : values) {
        Array storage;
        const std::optional<Tensor> elements = elementsOf(value, storage);
        if (!elements) {
            out += bareText(value, terminal.format()) + "\n";
            continue;
        }
        NumberFormat format = terminal.format();
        format.hex = form.letter == 'x';
        format.stored = form.letter == 'i';
        const Tensor& tensor = *elements;
        const bool bytes = form.letter == 'b';
        const int64_t total = bytes ? static_cast<int64_t>(tensor.bytes) : tensor.elementCount();
        const int64_t row = bytes ? 2 * kRow : kRow;
        const int64_t shown = std::min(limit, total);
        std::vector<std::string> cells;
        size_t width = 0;
        for (int64_t i = 0; i < shown; ++i) {
            cells.push_back(bytes ? byteText(tensor.data[i]) : elementText(tensor, i, format));
            width = std::max(width, cells.back().size());
        }
        std::vector<std::string> heads;
        size_t head = 0;
        for (int64_t i = 0; i < shown; i += row) {
            heads.push_back(bytes ? "+" + std::to_string(i) : elementIndexText(tensor.shape, i));
            head = std::max(head, heads.back().size());
        }
        for (int64_t i = 0; i < shown; ++i) {
            const std::string& cell = cells[static_cast<size_t>(i)];
            if (i % row == 0) {
                const std::string& at = heads[static_cast<size_t>(i / row)];
                out += (i > 0 ? "\n" : "") + (tensor.shape.rank() > 0 || bytes ? at + std::string(head - at.size(), ' ') + "  " : "");
            } else {
                out += " ";
            }
            out += std::string(width - cell.size(), ' ') + cell;
        }
        if (shown > 0) out += "\n";
        if (shown < total) out += std::to_string(total - shown) + " more\n";
        if (total == 0) out += shortType(tensor) + "  no elements\n";
    }
    terminal.reply(out);
    return {};
}

Status display(Terminal& terminal, const CommandLine& line)
{
    if (line.text.empty()) {
        std::string out;
        for (const DisplayRequest& d : terminal.displays().list()) out += std::to_string(d.number) + ": " + d.expression + "\n";
        terminal.reply(out.empty() ? "no displays\n" : out);
        answerDisplays(terminal);
        return {};
    }
    return terminal.carryOut(request::Display{std::string(line.text)});
}

void answerDisplays(Terminal& terminal)
{
    terminal.answer().list("displays", terminal.displays().list(), [](Answer& answer, const DisplayRequest& display) {
        answer.field("number", display.number).field("expression", display.expression);
    });
}

Status undisplay(Terminal& terminal, const CommandLine& line)
{
    if (line.text.empty()) {
        terminal.displays().clear();
        answerDisplays(terminal);
        return {};
    }
    LS_TRY(const int64_t number, wholeNumber(line.text, "undisplay", 1, INT32_MAX));
    if (!terminal.displays().remove(number)) return Error(ErrorCode::usage, "no display " + std::to_string(number));
    answerDisplays(terminal);
    return {};
}

Status set(Terminal& terminal, const CommandLine& line)
{
    const std::string_view text = line.text;
    if (text.starts_with("option") && (text.size() == 6 || text[6] == ' ' || text[6] == '\t'))
        return setOption(terminal, stripped(text.substr(6)));
    const size_t equals = assignment(text);
    if (equals == std::string_view::npos)
        return Error(ErrorCode::usage, "set")
            .found("'" + std::string(text) + "'")
            .expected("set VALUE = EXPR, set VALUE[INDEX] = EXPR or set option NAME V");
    const std::string_view place = stripped(text.substr(0, equals)), expression = stripped(text.substr(equals + 1));
    return terminal.carryOut(request::SetValue{std::string(place), std::string(expression)});
}

Status give(Terminal& terminal, const CommandLine& line)
{
    LS_CHECK_OK(terminal.checkStarted());
    const size_t equals = assignment(line.text);
    const std::string_view place = stripped(line.text.substr(0, std::min(equals, line.text.size())));
    const std::string_view source = equals == std::string_view::npos ? std::string_view() : stripped(line.text.substr(equals + 1));
    if (place.empty() || source.empty())
        return Error(ErrorCode::usage, "give").found("'" + std::string(line.text) + "'").expected("give OPERATOR = SOURCE");
    return terminal.carryOut(request::GiveOutput{std::string(place), std::string(source)});
}

} // namespace loopscope::app::terminal
