#include "app/output/console.h"

#include "app/output/json_writer.h"
#include "engine/base/clock.h"
#include "engine/base/text.h"
#include "engine/base/visible_text.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <sys/ioctl.h>
#include <unistd.h>

namespace loopscope::app {

namespace {

constexpr int64_t kProgressDelayNs = 250'000'000;
constexpr int64_t kProgressEveryNs = 100'000'000;
constexpr int64_t kPlainEveryNs = 10'000'000'000;

constexpr std::array<std::string_view, 5> kStyles = {"\x1b[1;36m", "\x1b[33m", "\x1b[31m", "\x1b[90m", "\x1b[0m"};

/// `text` without anything that a terminal obeys, but for the styles of this file if they are `colored`.
std::string shown(std::string_view text, bool colored)
{
    std::string out;
    while (!text.empty()) {
        size_t end = colored ? text.find('\x1b') : text.npos;
        out += visibleText(text.substr(0, end), LineBreaks::kept);
        if (end >= text.size()) break;
        text.remove_prefix(end);
        const auto style = std::find_if(kStyles.begin(), kStyles.end(), [text](std::string_view s) { return text.starts_with(s); });
        const size_t length = style != kStyles.end() ? style->size() : 1;
        out += style != kStyles.end() ? std::string(*style) : visibleText(text.substr(0, 1), LineBreaks::kept);
        text.remove_prefix(length);
    }
    return out;
}

bool isSet(const char* variable)
{
    const char* value = std::getenv(variable);
    return value != nullptr && *value != '\0';
}

/// What mpirun gives its ranks is none, whatever it looks like: nobody sees a cursor there.
bool isTerminal(FILE* file) { return isatty(fileno(file)) == 1 && std::getenv("OMPI_COMM_WORLD_RANK") == nullptr; }

} // namespace

Console::Console(FILE* out, FILE* err) : m_out(out), m_err(err), m_outIsTerminal(isTerminal(out)), m_errIsTerminal(isTerminal(err))
{
    winsize size = {};
    if (const char* columns = std::getenv("COLUMNS"); columns != nullptr && std::atoi(columns) > 0) {
        m_width = std::atoi(columns);
    } else if (m_outIsTerminal && ioctl(fileno(out), TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
        m_width = size.ws_col;
        m_height = size.ws_row;
    }
}

void Console::configure(ColorMode color, ProgressMode progress, bool quiet, bool verbose, bool json)
{
    m_quiet = quiet;
    m_verbose = verbose;
    m_json = json;
    m_progress = progress;
    const char* term = std::getenv("TERM");
    const bool dumb = term != nullptr && std::strcmp(term, "dumb") == 0;
    if (color != ColorMode::automatic) m_colored = color == ColorMode::always;
    else if (isSet("NO_COLOR")) m_colored = false;
    else if (isSet("CLICOLOR_FORCE")) m_colored = std::strcmp(std::getenv("CLICOLOR_FORCE"), "0") != 0;
    else m_colored = m_outIsTerminal && !dumb;
    if (json) m_colored = false;
}

void Console::print(std::string_view text)
{
    clearProgressLine();
    write(m_out, text);
}

void Console::write(FILE* file, std::string_view text) const
{
    if (isVisible(text, LineBreaks::kept)) {
        std::fwrite(text.data(), 1, text.size(), file);
        return;
    }
    const std::string safe = shown(text, m_colored);
    std::fwrite(safe.data(), 1, safe.size(), file);
}

void Console::line(std::string_view text)
{
    print(text);
    std::fputc('\n', m_out);
}

void Console::page(const std::string& text)
{
    const bool fits = std::count(text.begin(), text.end(), '\n') < m_height;
    if (!m_paging || !m_outIsTerminal || fits) return print(text);
    std::fflush(m_out);
    // Colours are shown, what fits is left standing; without `less` the text comes as it is.
    FILE* pager =
        popen(isSet("PAGER") ? std::getenv("PAGER") : "if command -v less >/dev/null; then exec less -FRX; else exec cat; fi", "w");
    if (pager == nullptr) return print(text);
    write(pager, text);
    pclose(pager);
}

void Console::note(std::string_view text)
{
    if (m_quiet) return;
    clearProgressLine();
    std::fflush(m_out);
    write(m_err, "note: " + std::string(text) + "\n");
}

void Console::warning(std::string_view text)
{
    if (m_quiet) return;
    clearProgressLine();
    std::fflush(m_out);
    write(m_err, "warning: " + std::string(text) + "\n");
}

void Console::said(std::string_view text)
{
    clearProgressLine();
    std::fflush(m_out);
    write(m_err, text);
}

void Console::error(const Error& error)
{
    endProgress();
    std::fflush(m_out);
    if (m_json) {
        std::fprintf(m_err, "%s\n", errorJson(error).c_str());
        return;
    }
    // Red on a terminal's stderr only where stdout is coloured too: one switch for both.
    const bool red = m_colored && m_errIsTerminal;
    std::fprintf(m_err, "%serror:%s %s\n", red ? "\x1b[31m" : "", red ? "\x1b[0m" : "", error.message().c_str());
    for (const std::string& note : error.detail().notes) write(m_err, "note: " + note + "\n");
    if (m_verbose) std::fprintf(m_err, "note: raised at %s:%d\n", error.detail().sourceFile, error.detail().sourceLine);
}

std::string styled(Style style, std::string_view text)
{
    if (style == Style::plain) return std::string(text);
    const size_t index = style == Style::location ? 0 : style == Style::changed ? 1 : style == Style::bad ? 2 : 3;
    return std::string(kStyles[index]) + visibleText(text, LineBreaks::kept) + std::string(kStyles.back());
}

std::string Console::paint(Style style, std::string_view text) const { return m_colored ? styled(style, text) : std::string(text); }

std::string Console::number(int64_t value) const { return m_outIsTerminal ? groupThousands(value) : std::to_string(value); }

bool Console::showsProgress() const
{
    if (m_quiet || m_json || m_progress == ProgressMode::never) return false;
    return m_progress == ProgressMode::plain || m_errIsTerminal;
}

bool Console::progressDue()
{
    if (!showsProgress()) return false;
    const int64_t now = nowNs();
    if (m_progressStarted == 0) {
        m_progressStarted = now;
        m_progressShown = m_progress == ProgressMode::plain ? now : 0;
        return false;
    }
    if (m_progress == ProgressMode::plain) return now - m_progressShown >= kPlainEveryNs;
    return now - m_progressStarted >= kProgressDelayNs && now - m_progressShown >= kProgressEveryNs;
}

void Console::progress(std::string_view text)
{
    if (!progressDue()) return;
    m_progressShown = nowNs();
    const std::string safe = visibleText(text, LineBreaks::escaped);
    if (m_progress == ProgressMode::plain) {
        std::fprintf(m_err, "%s\n", safe.c_str());
        return;
    }
    const int room = static_cast<int>(std::min<size_t>(safe.size(), static_cast<size_t>(m_width > 1 ? m_width - 1 : 79)));
    std::fprintf(m_err, "\r\x1b[K%.*s", room, safe.data());
    std::fflush(m_err);
    m_progressVisible = true;
}

void Console::clearProgressLine()
{
    if (!m_progressVisible) return;
    std::fprintf(m_err, "\r\x1b[K");
    std::fflush(m_err);
    m_progressVisible = false;
}

void Console::endProgress()
{
    clearProgressLine();
    m_progressStarted = m_progressShown = 0;
}

std::string errorJson(const Error& error)
{
    const ErrorDetail& d = error.detail();
    JsonWriter json;
    json.beginObject().key("schema").value(1).key("error").beginObject();
    json.key("code").value(static_cast<int>(d.code));
    json.key("where").value(d.where).key("what").value(d.what).key("found").value(d.found).key("expected").value(d.expected);
    json.key("nearest").beginArray();
    for (const std::string& name : d.nearest) json.value(name);
    json.endArray();
    if (!d.notes.empty()) {
        json.key("notes").beginArray();
        for (const std::string& note : d.notes) json.value(note);
        json.endArray();
    }
    json.endObject().endObject();
    return json.text();
}

} // namespace loopscope::app
