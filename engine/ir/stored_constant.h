// Constants whose bytes in the file are not those of their elements: sparse and compressed ones.
#pragma once

#include "engine/ir/model.h"

namespace loopscope {

/// True if the data of a constant must be unpacked before anything may read its elements.
bool isPacked(const Value& value);

/// The elements of a packed constant, row-major. The value has data (hasBytes) and a static shape.
/// Errors: badFile where data and shape do not fit each other; unsupported for forms that are not known, by name.
Result<Bytes> unpackConstant(const Value& value);

} // namespace loopscope
