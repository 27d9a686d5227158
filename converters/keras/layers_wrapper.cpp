#include "converters/keras/layer.h"
namespace loopscope::keras {
std::span<const NamedRule> wrapperLayers() { return {}; }
} // namespace loopscope::keras
