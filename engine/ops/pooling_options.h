// Options of MediaPipe's custom operators: C structs of TFLite's builtin data as they lie in memory, little-endian 32-bit numbers.
#pragma once

#include "engine/ir/attribute.h"
#include "engine/ops/window.h"

#include <cstdint>
#include <cstring>
#include <optional>

namespace loopscope {

/// Windows of a pooling or of a transposed convolution, whose filter size is that of its weights.
struct StructWindow {
    bool same = false;
    int64_t strideH = 1, strideW = 1, filterH = 1, filterW = 1;

    /// padding (1: SAME, 2: VALID), stride width, stride height, then (`withFilter`) filter width and height. None if the struct is too
    /// short, or holds what makes no sense.
    static std::optional<StructWindow> from(const AttributeList& attributes, bool withFilter)
    {
        const Attribute* options = findAttribute(attributes, "options");
        const HexBytes* bytes = options ? options->as<HexBytes>() : nullptr;
        const size_t count = withFilter ? 5 : 3;
        int32_t numbers[5] = {};
        if (bytes == nullptr || bytes->bytes.size() < count * sizeof(int32_t)) return std::nullopt;
        std::memcpy(numbers, bytes->bytes.data(), count * sizeof(int32_t));
        constexpr int32_t kLargest = 1 << 16;
        for (size_t i = 1; i < count; ++i)
            if (numbers[i] < 1 || numbers[i] > kLargest) return std::nullopt;
        if (numbers[0] != 1 && numbers[0] != 2) return std::nullopt;
        StructWindow window;
        window.same = numbers[0] == 1;
        window.strideW = numbers[1];
        window.strideH = numbers[2];
        if (withFilter) {
            window.filterW = numbers[3];
            window.filterH = numbers[4];
        }
        return window;
    }

    WindowAxis height(int64_t input) const { return {input, filterH, strideH, 1, same}; }
    WindowAxis width(int64_t input) const { return {input, filterW, strideW, 1, same}; }
    /// Size of what an unpooling or a transposed convolution makes of `input` elements.
    static int64_t enlarged(bool isSame, int64_t input, int64_t stride, int64_t filter)
    {
        if (input == kUnknownDim) return kUnknownDim;
        return isSame ? input * stride : (input - 1) * stride + filter;
    }
};

} // namespace loopscope
