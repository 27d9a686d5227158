// Values that readers of traces give out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace loopscope {

/// How much a recording keeps; each level contains the ones before.
enum class TraceLevel : unsigned char { control, statistics, hashes, values, all };

using SqlBlob = std::vector<std::byte>;
/// One cell of a result: NULL, integer, real, text or bytes.
using SqlValue = std::variant<std::monostate, int64_t, double, std::string, SqlBlob>;

/// "NULL", "3", "0.5", the text itself, "x'0a…'": for tables and CSV.
std::string sqlText(const SqlValue& value);

/// A row of `run`.
struct TraceRun {
    int64_t id = 0;
    int64_t model = 0;
    int64_t base = 0;
    int64_t first = 0;
    std::optional<int64_t> last; ///< none: nothing was executed
    std::string reason, state;
    int level = 1;
    std::string policy, backend, profile, started;
    std::optional<std::string> signature, error;
    std::optional<int64_t> seed, ns;
    int64_t steps() const { return last ? *last - first + 1 : 0; }
};

} // namespace loopscope
