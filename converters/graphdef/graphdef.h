// TensorFlow graphs in files: GraphDef and MetaGraphDef, binary (`.pb`, `.meta`) and text (`.pbtxt`), to the IR and back. Every node
// keeps its name, device, attributes and control inputs; what has no place in the IR is kept as bytes (docs/tensorflow.md), so that
// the message that comes out says what the one that went in said.
#pragma once

#include "engine/base/bytes.h"
#include "engine/base/result.h"
#include "engine/ir/model.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace loopscope {

/// Name of the metadata entry that holds a MetaGraphDef but for its graph. A model with it is a MetaGraph.
inline constexpr std::string_view kMetaGraphEntry = "meta_graph";

/// Reads a GraphDef or a MetaGraphDef, whichever the content is. The first graph is the GraphDef's own nodes, the others are the
/// functions of its library. Errors: badFile, with the node's name where there is one: `m.pb: node 'y': unknown input node 'x'`.
Result<Model> importGraphDef(const std::string& path, Bytes content);
/// What is left of such a file, or of a SavedModel's own message, that is cut off or damaged, binary. Nodes that others read and that are
/// gone are of the kind "Lost". All that is wrong comes to `faults`. Errors: badFile (nothing can be made of it).
Result<Model> importGraphDefPart(std::span<const std::byte> content, std::vector<Error>& faults);
Result<Model> importGraphDefText(const std::string& path, Bytes content);

/// Write a model of dialect tf as GraphDef. Errors: unsupported, what a GraphDef has no form for, all of it in one message (other
/// dialects; a MetaGraph's signatures, which a MetaGraphDef keeps); badFile (a tensor whose bytes are not known).
Result<std::string> exportGraphDef(const Model& model);
Result<std::string> exportGraphDefText(const Model& model);
/// Writes a MetaGraphDef, binary. The model need not have been one.
Result<std::string> exportMetaGraph(const Model& model);

/// Whether the bytes begin as such a file does. A GraphDef has no mark of its own: its first node is looked at.
bool looksLikeGraphDef(std::span<const std::byte> content);
bool looksLikeMetaGraph(std::span<const std::byte> content);
bool looksLikeGraphDefText(std::span<const std::byte> content);
/// A SavedModel's own message (`saved_model.pb`), which is read as a folder (converters/savedmodel).
bool looksLikeSavedModel(std::span<const std::byte> content);

} // namespace loopscope
