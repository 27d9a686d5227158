// loopscope: the command line.
#include "app/commands/commands.h"
#include "app/output/console.h"
#include "app/wiring/signals.h"

#include <cstdio>
#include <string>
#include <vector>

int main(int argc, char** argv)
{
    loopscope::app::installSignalHandlers();
    loopscope::app::Console console(stdout, stderr);
    const std::vector<std::string> words(argv + 1, argv + argc);
    const int code = loopscope::app::runCommandLine(console, words);
    // A result that could not be written is no success: `loopscope list m > /dev/full` must not exit with 0.
    if ((std::fflush(stdout) != 0 || std::ferror(stdout) != 0) && code == 0) {
        console.error(loopscope::Error(loopscope::ErrorCode::cannotWrite, "standard output could not be written"));
        return static_cast<int>(loopscope::ErrorCode::cannotWrite);
    }
    return code;
}
