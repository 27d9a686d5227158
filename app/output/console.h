// Where commands write: results to stdout, everything else to stderr; colour, width and the progress line follow the terminal.
#pragma once

#include "engine/base/result.h"

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

namespace loopscope::app {

enum class Style : uint8_t { plain, location, changed, bad, faint };

/// `text` in the ANSI colour of a style.
std::string styled(Style style, std::string_view text);

enum class ColorMode : uint8_t { automatic, always, never };
enum class ProgressMode : uint8_t { automatic, never, plain };

/// One per process. Methods are for the main thread.
class Console {
public:
    Console(FILE* out, FILE* err);

    /// Applies `--color` and `--progress`, else NO_COLOR, CLICOLOR_FORCE and whether stdout is a terminal.
    void configure(ColorMode color, ProgressMode progress, bool quiet, bool verbose, bool json);

    bool json() const { return m_json; }
    bool quiet() const { return m_quiet; }
    bool verbose() const { return m_verbose; }
    bool colored() const { return m_colored; }
    bool outIsTerminal() const { return m_outIsTerminal; }
    /// False if progress() can never show anything: a pipe, --quiet, --json, --progress never.
    bool showsProgress() const;
    /// Columns of the terminal; 80 in a pipe.
    int width() const { return m_width; }

    /// Writes to stdout. Here and below, what a terminal would obey is written out (`\x1b`), whatever file it comes from.
    void print(std::string_view text);
    void line(std::string_view text);
    /// Writes a long text: through $PAGER, else `less`, if stdout is a terminal and the text does not fit it.
    void page(const std::string& text);
    void setPaging(bool allowed) { m_paging = allowed; }
    /// Writes "note: …" or "warning: …" to stderr; nothing under --quiet.
    void note(std::string_view text);
    void warning(std::string_view text);
    /// Writes to stderr what the model that runs says.
    void said(std::string_view text);
    /// Writes "error: …" and its notes, or the JSON form under --json.
    void error(const Error& error);

    /// `text` in a style, if colour is on.
    std::string paint(Style style, std::string_view text) const;
    /// 1234567 → "1,234,567" on a terminal, else plain digits.
    std::string number(int64_t value) const;

    /// Shows `text` on the progress line, at most ten times a second and not before 250 ms have passed since the first call.
    /// Under `--progress plain` a full line every 10 s; without a terminal nothing.
    void progress(std::string_view text);
    /// True if a call of progress() would show something now; asked first when the text is costly.
    bool progressDue();
    void endProgress();

private:
    void clearProgressLine();
    void write(FILE* file, std::string_view text) const;

    FILE* m_out;
    FILE* m_err;
    bool m_outIsTerminal = false, m_errIsTerminal = false;
    bool m_colored = false, m_json = false, m_quiet = false, m_verbose = false;
    ProgressMode m_progress = ProgressMode::automatic;
    int m_width = 80, m_height = 24;
    bool m_paging = true;
    int64_t m_progressStarted = 0, m_progressShown = 0;
    bool m_progressVisible = false;
};

/// The error as `{"error":{"code","where","what","found","expected","nearest":[]}}`.
std::string errorJson(const Error& error);

} // namespace loopscope::app
