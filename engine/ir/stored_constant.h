// Constants whose elements are not simply the bytes that the model's file has: sparse and compressed ones, and those in files beside it.
#pragma once

#include "engine/ir/model.h"

#include <optional>
#include <string>
#include <string_view>

namespace loopscope {

/// True if the data of a constant must be unpacked before anything may read its elements.
bool isPacked(const Value& value);

/// The elements of a packed constant, row-major. The value has data (hasBytes) and a static shape.
/// Errors: badFile where data and shape do not fit each other; unsupported for forms that are not known, by name.
Result<Bytes> unpackConstant(const Value& value);

/// Attribute of an ExternalBuffer with the bytes of its file, once they are found. It is neither printed, written nor compared: no text
/// can spell it.
inline constexpr std::string_view kFoundData = " found";
void setFoundData(ExternalBuffer& buffer, Bytes bytes);

/// The data of a constant that lies in an external buffer. Errors: unsupported, saying which bytes of which file are missing, or that
/// they do not fill the type.
Result<Bytes> externalData(const Model& model, const Value& value);

} // namespace loopscope
