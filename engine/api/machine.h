// For faces that list what the machine holds: variables, tables, stacks. Apart from the inspector, since hardly anybody asks.
#pragma once

#include "engine/exec/machine_state.h"
