#include "converters/keras/layer.h"
namespace loopscope::keras {
std::span<const NamedRule> recurrentLayers() { return {}; }
} // namespace loopscope::keras
