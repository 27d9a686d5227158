// A text file written piece by piece beside its target and renamed at the end, so that nothing half-written is ever seen.
#pragma once

#include "engine/base/result.h"

#include <cstdio>
#include <string>
#include <string_view>
#include <utility>

namespace loopscope {

class OutputFile {
public:
    /// Errors: cannotWrite.
    static Result<OutputFile> create(const std::string& path);
    ~OutputFile();
    OutputFile(OutputFile&& other) noexcept;
    OutputFile& operator=(OutputFile&&) = delete;

    void write(std::string_view text);
    /// Errors: cannotWrite if anything so far could not be written.
    Status finish();

private:
    OutputFile(std::string path, std::string aside, std::FILE* file) : m_path(std::move(path)), m_aside(std::move(aside)), m_file(file) {}
    std::string m_path, m_aside;
    std::FILE* m_file = nullptr;
    bool m_failed = false;
};

} // namespace loopscope
