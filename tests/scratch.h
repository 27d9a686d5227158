// A folder of a test's own. Its name is one that nobody has: process numbers come again where one test program runs after the other, and
// what the first left behind must not be what the second finds.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>
#include <sys/stat.h>
#include <unistd.h>

namespace loopscope {

/// Made when the object is, removed with everything in it when the object goes; not by children that were forked meanwhile.
class ScratchFolder {
public:
    ScratchFolder() : m_path((std::filesystem::temp_directory_path() / "loopscope.XXXXXX").string())
    {
        if (mkdtemp(m_path.data()) == nullptr) std::abort(); // a test without a place to write tests nothing
        chmod(m_path.c_str(), 0755);                         // as any folder: tests read it as somebody else
    }
    ~ScratchFolder()
    {
        std::error_code ignored;
        if (getpid() == m_owner) std::filesystem::remove_all(m_path, ignored);
    }
    ScratchFolder(const ScratchFolder&) = delete;
    ScratchFolder& operator=(const ScratchFolder&) = delete;

    const std::string& path() const { return m_path; }
    /// Of a file in it, which need not exist.
    std::string path(const std::string& name) const { return m_path + "/" + name; }

private:
    std::string m_path;
    pid_t m_owner = getpid();
};

} // namespace loopscope
