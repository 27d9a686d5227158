// The one copy of volk: Vulkan's functions, found when the program runs.
#define VOLK_IMPLEMENTATION
#include <volk.h>
