#include "tests/fuzz/target.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <unistd.h>

namespace loopscope {

FuzzFile::FuzzFile(const uint8_t* data, size_t size, const std::string& ending)
{
    // In memory where the system has it so: a million files a night.
    const std::filesystem::path folder =
        access("/dev/shm", W_OK) == 0 ? std::filesystem::path("/dev/shm") : std::filesystem::temp_directory_path();
    m_path = (folder / ("loopscope_fuzz." + std::to_string(getpid()) + ending)).string();
    std::ofstream(m_path, std::ios::binary).write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
}

FuzzFile::~FuzzFile()
{
    std::error_code error;
    for (const char* beside : {"", "-wal", "-shm", "-journal", ".lock"}) std::filesystem::remove(m_path + beside, error);
}

} // namespace loopscope
