#include "tracer/export/output_file.h"

#include <cerrno>
#include <cstring>
#include <unistd.h>
#include <utility>

namespace loopscope {

Result<OutputFile> OutputFile::create(const std::string& path)
{
    const std::string aside = path + "." + std::to_string(getpid()) + ".part";
    std::FILE* file = std::fopen(aside.c_str(), "wb");
    if (file == nullptr) return Error(ErrorCode::cannotWrite, std::strerror(errno)).at(path);
    return OutputFile(path, aside, file);
}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : m_path(std::move(other.m_path)),
      m_aside(std::move(other.m_aside)),
      m_file(std::exchange(other.m_file, nullptr)),
      m_failed(other.m_failed)
{
}

OutputFile::~OutputFile()
{
    if (m_file == nullptr) return;
    std::fclose(m_file);
    unlink(m_aside.c_str());
}

void OutputFile::write(std::string_view text)
{
    if (std::fwrite(text.data(), 1, text.size(), m_file) != text.size()) m_failed = true;
}

Status OutputFile::finish()
{
    const bool closed = std::fclose(std::exchange(m_file, nullptr)) == 0;
    if (m_failed || !closed) {
        const int error = errno;
        unlink(m_aside.c_str());
        return Error(ErrorCode::cannotWrite, error == ENOSPC || error == EFBIG ? "disk full" : std::strerror(error)).at(m_path);
    }
    if (std::rename(m_aside.c_str(), m_path.c_str()) != 0) {
        const int error = errno;
        unlink(m_aside.c_str());
        return Error(ErrorCode::cannotWrite, std::strerror(error)).at(m_path);
    }
    return {};
}

} // namespace loopscope
