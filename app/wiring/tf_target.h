// What of a TensorFlow graph a command runs: feeds, fetches and targets as typed, completed by what the graph itself says.
#pragma once

#include "converters/formats.h"
#include "engine/base/result.h"
#include "engine/ir/model.h"
#include "engine/transform/run_selection.h"

#include <string>
#include <string_view>
#include <vector>

namespace loopscope::app {

class Arguments;

/// Adds what was not said. Without fetches and targets: the signature's outputs (`signature`, else serving_default, else the only one),
/// else every value that nothing reads. Fed, too, is every Placeholder that those need, the signature's inputs first.
/// Functions (a root with outputs of its own) are left as they are. Errors: usage, unknown names.
Result<RunSelection> completeSelection(const Model& model, RunSelection asked, std::string_view signature);

/// The node that gives a graph's variables their first values, which nobody has asked for (--init); empty: there is none.
std::string initialiserOf(const Model& model);
/// The error, and where a variable was read that has no value: why, and how to mend it.
Error withAdviceOnVariables(Error error, const Model& model, const std::string& initialiser);

/// Values that no operator of a TensorFlow graph reads, as far as a session can hand them out and would ask for them: no constants,
/// assignments of first values, or what waits for a checkpoint to be written, unless there is nothing else.
std::vector<std::string> unreadValues(const Graph& graph);

/// The values of an option that may be said several times: `--fetch a,b` is `--fetch a --fetch b`, for names of nodes hold no commas.
std::vector<std::string> namesOf(const Arguments& arguments, std::string_view option);

/// The graph that runs: the signature's, else the primary one.
GraphId rootOf(const Model& model, std::string_view signature);

/// What the graph finds in the file system, as far as `--checkpoint` and `--asset` name it. Errors: usage, and those of reading.
Status attachFiles(Model& model, const Arguments& arguments);

/// What `--feed`, `--input`, `--fetch`, `--target`, `--signature` and `--init` ask of a TensorFlow graph, completed; the nodes of `--init`
/// are added to the model's own. Errors: as completeSelection.
Result<RunSelection> selectionFromArguments(LoadedModel& file, const Arguments& arguments);

/// What `--feed`, `--input`, `--fetch`, `--target`, `--signature` and `--init` ask of a TensorFlow graph; nothing for other models.
/// Commands run and show the model that is left. Errors: as completeSelection.
Status selectFromArguments(LoadedModel& file, const Arguments& arguments);

} // namespace loopscope::app
