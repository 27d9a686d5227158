#include "converters/keras/layer.h"
namespace loopscope::keras {
std::span<const NamedRule> mergingLayers() { return {}; }
} // namespace loopscope::keras
