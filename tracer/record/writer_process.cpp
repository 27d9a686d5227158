#include "tracer/record/writer_process.h"

#include <fstream>
#include <iterator>
#include <sstream>
#include <unistd.h>

namespace loopscope {

namespace {

std::string readLine(const std::string& path)
{
    std::ifstream file(path);
    std::string line;
    std::getline(file, line);
    return line;
}

/// Start time in clock ticks since boot: field 22 of /proc/PID/stat, counted after the name, which may hold anything. Empty: no such
/// process.
std::string startOf(const std::string& pid)
{
    const std::string stat = readLine("/proc/" + pid + "/stat");
    const size_t nameEnd = stat.rfind(')');
    if (nameEnd == std::string::npos) return "";
    std::istringstream fields(stat.substr(nameEnd + 1));
    std::string field;
    for (int i = 0; i < 20 && fields >> field; ++i) {
        // A zombie has ended: nothing will be written any more.
        if (i == 0 && field == "Z") return "";
    }
    return field;
}

std::string identityOf(const std::string& pid)
{
    const std::string start = startOf(pid);
    return start.empty() ? "" : readLine("/proc/sys/kernel/random/boot_id") + " " + pid + " " + start;
}

} // namespace

std::string writerProcess() { return identityOf(std::to_string(getpid())); }

bool isWriterAlive(std::string_view writer)
{
    std::istringstream fields{std::string(writer)};
    std::string boot, pid;
    if (!(fields >> boot >> pid)) return false;
    return identityOf(pid) == writer;
}

} // namespace loopscope
