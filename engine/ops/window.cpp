// The checks of sliding windows that convolutions and pooling share.
#include "engine/ops/window.h"

#include <limits>
#include <string>

namespace loopscope {

WindowAxis windowAxis(const AttributeList& attributes, char axis, int64_t input, int64_t filter)
{
    const std::string letter(1, axis);
    WindowAxis window;
    window.input = input;
    window.filter = filter;
    window.stride = attributeInt(attributes, "stride_" + letter, 0);
    window.dilation = attributeInt(attributes, "dilation_" + letter + "_factor", 1);
    window.same = paddingIsSame(attributes);
    return window;
}

Result<int64_t> checkedOutputSize(const WindowAxis& window, char axis, int strideConstraint, int dilationConstraint, int sizeConstraint)
{
    constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
    const std::string letter(1, axis);
    if (window.stride < 1 || window.stride > kMost)
        return InferContext::violated(strideConstraint,
                                      "stride_" + letter + " is " + std::to_string(window.stride) + ", expected at least 1");
    if (window.dilation < 1 || window.dilation > kMost)
        return InferContext::violated(dilationConstraint,
                                      "dilation_" + letter + "_factor is " + std::to_string(window.dilation) + ", expected at least 1");
    if (window.filter < 1 || window.filter > kMost)
        return InferContext::violated(sizeConstraint, "the window's size along " + letter + " is " + std::to_string(window.filter) +
                                                          ", expected at least 1");
    const int64_t output = window.outputSize();
    if (window.input != kUnknownDim && output < 0)
        return InferContext::violated(sizeConstraint, "the window reaches over " + std::to_string(window.extent()) + " elements along " +
                                                          letter + ", the input has " + std::to_string(window.input));
    return output;
}

} // namespace loopscope
