#include "app/wiring/input_sources.h"

#include "app/wiring/command_line.h"
#include "engine/api/inputs/inputs.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace loopscope::app {

namespace {

constexpr size_t kLongest = size_t{4} << 30; ///< bytes of standard input; it is kept in memory

Error unreadable(const std::string& why) { return Error(ErrorCode::badFile, why).at(kStandardInput); }

/// Puts a file with its content in the place of standard input, unless it is one.
Status keepStandardInput()
{
    struct stat kind = {};
    if (fstat(STDIN_FILENO, &kind) != 0) return unreadable("standard input is closed");
    if (S_ISREG(kind.st_mode)) return {};
    const int file = memfd_create("stdin", MFD_CLOEXEC);
    if (file < 0) return unreadable(std::strerror(errno));
    std::vector<char> block(size_t{1} << 20);
    Status status;
    for (size_t total = 0; status.ok();) {
        const ssize_t count = read(STDIN_FILENO, block.data(), block.size());
        if (count < 0 && errno == EINTR) continue;
        if (count == 0) break;
        total += static_cast<size_t>(std::max<ssize_t>(count, 0));
        if (count < 0) status = unreadable(std::strerror(errno));
        else if (total > kLongest) status = unreadable("longer than 4 GiB");
        for (ssize_t done = 0; status.ok() && done < count;) {
            const ssize_t written = write(file, block.data() + done, static_cast<size_t>(count - done));
            if (written < 0) status = unreadable(std::strerror(errno));
            done += std::max<ssize_t>(written, 0);
        }
    }
    if (status.ok() && dup2(file, STDIN_FILENO) < 0) status = unreadable(std::strerror(errno));
    close(file);
    return status;
}

} // namespace

Result<std::vector<std::string>> inputSources(const Arguments& arguments)
{
    std::vector<std::string> sources = arguments.all("input");
    for (const char* const more : {"feed", "each"})
        for (std::string& source : arguments.all(more))
            if (source.find('=') != std::string::npos || std::string_view(more) != "each") sources.push_back(std::move(source));
    if (readsStandardInput(sources)) LS_CHECK_OK(keepStandardInput());
    return sources;
}

bool readsStandardInput(const std::vector<std::string>& sources)
{
    return std::ranges::any_of(sources, [](const std::string& text) {
        const Result<InputOption> option = splitInputOption(text);
        return option.ok() && option->source == kStandardInput;
    });
}

} // namespace loopscope::app
