// What becomes of a run's outputs: printed as text, or collected and written as .npz, .npy or .json.
#pragma once

#include "app/wiring/command_line.h"
#include "converters/formats.h"
#include "engine/api/inputs/run_target.h"
#include "engine/base/result.h"
#include "engine/tensor/npy.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace loopscope::app {

/// "Identity    i32[] = 1\nIdentity_1  i32[] = 111\n".
std::string outputsText(const RunTarget& target, std::span<const Tensor> outputs, bool full);

/// Refuses an existing output before anything is computed. An empty path is fine. Errors: cannotWrite.
Status checkWritable(const std::string& path, bool overwrite);

/// Collects copies of outputs, then writes them in one piece.
class OutputSink {
public:
    explicit OutputSink(const RunTarget& target) : m_target(target) {}

    /// `run` > 0: keys get the prefix `rN/`, for several runs. The second of equal names becomes `NAME_1`.
    void keep(std::span<const Tensor> outputs, int64_t run);
    size_t count() const { return m_arrays.size(); }
    /// By extension or `format`: npz, npy (a single array), json. Errors: usage, cannotWrite, unsupported.
    Status write(const std::string& path, const std::string& format, bool overwrite) const;

private:
    const RunTarget& m_target;
    std::vector<std::string> m_names;
    std::vector<Array> m_arrays;
};

/// What `--output` of a command that writes a file says. Errors: usage (it is missing), with `example`.
Result<std::string> outputPath(const Arguments& arguments, std::string_view command, std::string_view example);

/// What `--format` and `--force` say of a model that is written.
SaveOptions savingOptions(const Arguments& arguments);

/// The extension of `path` without its dot, or `format` if that is given.
std::string outputFormat(const std::string& path, const std::string& format);

} // namespace loopscope::app
