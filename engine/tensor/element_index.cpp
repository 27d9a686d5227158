#include "engine/tensor/element_index.h"

#include "engine/base/trimmed.h"

#include <charconv>

namespace loopscope {

Result<int64_t> flatIndex(const Shape& shape, std::string_view indices)
{
    int64_t flat = 0;
    int given = 0;
    for (std::string_view rest = indices; !trimmed(rest).empty();) {
        const size_t comma = rest.find(',');
        const std::string_view token = trimmed(rest.substr(0, comma));
        rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
        int64_t index = 0;
        const auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), index);
        if (error != std::errc() || end != token.data() + token.size())
            return Error(ErrorCode::usage, "index '" + std::string(indices) + "' is not a list of integers");
        if (given++ >= shape.rank()) continue;
        const int64_t size = shape[given - 1];
        if (index < -size || index >= size)
            return Error(ErrorCode::usage, "index " + std::to_string(index) + " out of range for dimension " + std::to_string(given - 1) +
                                               " of size " + std::to_string(size));
        flat = flat * size + (index < 0 ? index + size : index);
    }
    if (given == shape.rank()) return flat;
    return Error(ErrorCode::usage, "[" + std::string(indices) + "] has a wrong number of indices")
        .found(std::to_string(given))
        .expected(std::to_string(shape.rank()));
}

} // namespace loopscope
