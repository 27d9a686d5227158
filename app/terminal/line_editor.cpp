#include "app/terminal/line_editor.h"

#include "app/output/table.h"
#include "app/terminal/completion.h"
#include "app/terminal/terminal.h"
#include "app/wiring/signals.h"

#include <algorithm>
#include <cerrno>
#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <histedit.h>
#include <unistd.h>

namespace loopscope::app {

namespace {

constexpr size_t kMostCandidates = 60; ///< shown at once

std::string historyPath()
{
    const char* state = std::getenv("XDG_STATE_HOME");
    const char* home = std::getenv("HOME");
    if (state != nullptr && *state != '\0') return std::string(state) + "/loopscope/debug_history";
    if (home != nullptr && *home != '\0') return std::string(home) + "/.local/state/loopscope/debug_history";
    return "";
}

} // namespace

class LineEditor::Impl {
public:
    Impl(Terminal& terminal, int64_t historyLines) : m_terminal(terminal), m_path(historyPath())
    {
        std::setlocale(LC_CTYPE, "");
        m_history = history_init();
        m_editor = el_init("loopscope", stdin, stdout, stderr);
        HistEvent event;
        history(m_history, &event, H_SETSIZE, static_cast<int>(std::clamp<int64_t>(historyLines, 0, 1'000'000)));
        history(m_history, &event, H_SETUNIQUE, 1);
        if (!m_path.empty()) history(m_history, &event, H_LOAD, m_path.c_str());
        el_set(m_editor, EL_CLIENTDATA, this);
        el_set(m_editor, EL_PROMPT, &Impl::prompt);
        el_set(m_editor, EL_EDITOR, "emacs");
        el_set(m_editor, EL_HIST, history, m_history);
        el_set(m_editor, EL_ADDFN, "loopscope-complete", "complete the word", &Impl::complete);
        el_set(m_editor, EL_BIND, "^I", "loopscope-complete", nullptr);
        el_set(m_editor, EL_BIND, "^R", "em-inc-search-prev", nullptr);
        el_set(m_editor, EL_BIND, "\033[1~", "ed-move-to-beg", nullptr);
        el_set(m_editor, EL_BIND, "\033[4~", "ed-move-to-end", nullptr);
        el_set(m_editor, EL_BIND, "\033[H", "ed-move-to-beg", nullptr);
        el_set(m_editor, EL_BIND, "\033[F", "ed-move-to-end", nullptr);
        el_set(m_editor, EL_BIND, "\033[3~", "ed-delete-next-char", nullptr);
        el_set(m_editor, EL_GETCFN, &Impl::readByte);
    }

    ~Impl()
    {
        if (!m_path.empty()) {
            std::error_code error;
            std::filesystem::create_directories(std::filesystem::path(m_path).parent_path(), error);
            HistEvent event;
            history(m_history, &event, H_SAVE, m_path.c_str());
        }
        el_end(m_editor);
        history_end(m_history);
    }

    std::optional<std::string> read(const std::string& prompt)
    {
        m_prompt = prompt;
        for (;;) {
            int count = 0;
            interruptFlag().clear();
            const char* line = el_gets(m_editor, &count);
            if (interruptFlag().requested()) {
                // Ctrl-C at the prompt: the line is given up.
                interruptFlag().clear();
                std::fputs("\n", stdout);
                el_reset(m_editor);
                if (terminationRequested()) return std::nullopt;
                continue;
            }
            if (line == nullptr || count <= 0) {
                std::fputs("\n", stdout);
                return std::nullopt;
            }
            std::string text(line, static_cast<size_t>(count));
            while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
            if (text.find_first_not_of(" \t") != std::string::npos) {
                HistEvent event;
                history(m_history, &event, H_ENTER, text.c_str());
            }
            return text;
        }
    }

private:
    static Impl* self(EditLine* editor)
    {
        void* data = nullptr;
        el_get(editor, EL_CLIENTDATA, &data);
        return static_cast<Impl*>(data);
    }

    static char* prompt(EditLine* editor) { return self(editor)->m_prompt.data(); }

    /// The library would begin a read again that a signal interrupted; Ctrl-C must end it.
    static int readByte(EditLine*, wchar_t* out)
    {
        unsigned char bytes[4] = {};
        int have = 0, need = 1;
        while (have < need) {
            const ssize_t got = ::read(STDIN_FILENO, bytes + have, 1);
            if (got < 0 && errno == EINTR && !interruptFlag().requested()) continue;
            if (got <= 0) return got == 0 ? 0 : -1;
            if (have == 0) need = bytes[0] >= 0xf0 ? 4 : bytes[0] >= 0xe0 ? 3 : bytes[0] >= 0xc0 ? 2 : 1;
            ++have;
        }
        wchar_t code = need == 1 ? bytes[0] : bytes[0] & (0xff >> (need + 1));
        for (int i = 1; i < need; ++i) code = static_cast<wchar_t>((code << 6) | (bytes[i] & 0x3f));
        *out = code;
        return 1;
    }

    static unsigned char complete(EditLine* editor, int)
    {
        Impl* const impl = self(editor);
        const LineInfo* line = el_line(editor);
        const std::string before(line->buffer, static_cast<size_t>(line->cursor - line->buffer));
        const Completion completion = completionsOf(impl->m_terminal, before);
        if (completion.candidates.empty()) return CC_REFRESH_BEEP;
        const std::string word = before.substr(completion.begin);
        if (const std::string added = insertion(completion, word); !added.empty()) {
            el_insertstr(editor, added.c_str());
            return CC_REFRESH;
        }
        Table table({"", "", ""});
        const size_t shown = std::min(completion.candidates.size(), kMostCandidates);
        for (size_t i = 0; i < shown; ++i) {
            const Candidate& candidate = completion.candidates[i];
            table.add({candidate.text, candidate.kind, candidate.type});
        }
        std::fputs(("\n" + table.text()).c_str(), stdout);
        if (shown < completion.candidates.size())
            std::fputs((std::to_string(completion.candidates.size() - shown) + " more\n").c_str(), stdout);
        return CC_REDISPLAY;
    }

    Terminal& m_terminal;
    std::string m_path;
    std::string m_prompt;
    History* m_history = nullptr;
    EditLine* m_editor = nullptr;
};

LineEditor::LineEditor(Terminal& terminal, int64_t historyLines) : m_impl(std::make_unique<Impl>(terminal, historyLines)) {}
LineEditor::~LineEditor() = default;
std::optional<std::string> LineEditor::read(const std::string& prompt) { return m_impl->read(prompt); }

} // namespace loopscope::app
