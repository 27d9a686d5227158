// TensorFlow SavedModels: a folder with a graph, the values of its variables and files that it needs. Read only.
#pragma once

#include "engine/base/result.h"
#include "engine/ir/model.h"

#include <string>

namespace loopscope {

/// True if `path` is a folder with `saved_model.pb` or `saved_model.pbtxt` in it.
bool isSavedModelFolder(const std::string& path);
/// The file in the folder that holds the graph.
std::string savedModelFile(const std::string& folder);

/// Reads the folder: the MetaGraph tagged "serve", else the first; `@value` of each variable's node is its value in the checkpoint,
/// whose checksums are verified, or, if that is damaged, `@lost` says so; `@asset` of a node is the file, kept as metadata, whose path the
/// node stands for; the model's `init_op` is the node to run once before anything else. Errors: badFile (with the file inside the folder,
/// the node, the entry), unsupported (forms of checkpoints that are not read).
Result<Model> importSavedModel(const std::string& folder);

/// Gives variables of a v1 graph the values that a checkpoint has for them, PREFIX.index and PREFIX.data-…: what the graph restores says
/// which entry belongs to which, else their names do. Errors: badFile, unsupported, as importSavedModel; badFile, it has no value of any.
Status attachCheckpoint(Model& model, const std::string& prefix);
/// The same with the checkpoint that the Saver of TensorFlow 1 wrote beside `PREFIX.meta`. False: there is none. What is damaged there is
/// `@lost`. Errors: a link that leads out of the folder.
Result<bool> attachCheckpointBeside(Model& model, const std::string& path);
/// What the graph reads of the file system under `name` is the content of `path`. Errors: badFile.
Status attachFile(Model& model, const std::string& name, const std::string& path);

} // namespace loopscope
