// The tables of a trace, column by column, with the meaning that the documentation prints.
#include "tracer/schema/schema.h"

#include <array>

namespace loopscope {

namespace {

constexpr ColumnType I = ColumnType::integer;
constexpr ColumnType T = ColumnType::text;
constexpr ColumnType R = ColumnType::real;
constexpr ColumnType B = ColumnType::blob;
constexpr bool kRequired = false;
constexpr bool kNullable = true;

// What the model is: written once, before the first event.

constexpr TraceColumn kMeta[] = {
    {"key", T, kRequired,
     "`schema` (integer version), `minimum_reader` (oldest loopscope that reads the file), `tool`, `indexed` 0/1, `complete` 0/1, "
     "`inputs_note`"},
    {"value", T, kRequired, "as text"},
};
constexpr TraceColumn kModel[] = {
    {"id", I, kRequired, "key"},
    {"path", T, kNullable, "as opened; NULL: built in memory"},
    {"name", T, kRequired, "file name without folders"},
    {"format", T, kRequired, "`tflite` `circle` `graphdef` `saved_model` `lsir`"},
    {"bytes", I, kNullable, "size of the file, bytes; NULL: not from a file"},
    {"hash", T, kRequired, "XXH3-128 of the file, 32 hex digits; empty if it is not known"},
    {"derived_from", I, kNullable, "→ model: what it was raised, fused or lowered from; NULL: from a file"},
};
constexpr TraceColumn kGraph[] = {
    {"id", I, kRequired, "key"},
    {"model", I, kRequired, "→ model"},
    {"ordinal", I, kRequired, "subgraph index or function number in the model"},
    {"name", T, kRequired, "id in the text language"},
    {"listing", T, kRequired, "text form, constants elided: a debugger lists it without the model"},
};
constexpr TraceColumn kOp[] = {
    {"id", I, kRequired, "key"},
    {"graph", I, kRequired, "→ graph"},
    {"ordinal", I, kRequired, "n of `kind#n`"},
    {"label", T, kRequired, "`add#2`; TensorFlow: the node's name"},
    {"name", T, kNullable, "name in the file; NULL: it has none"},
    {"kind", T, kRequired, "dialect and name, `tfl.add`"},
    {"attributes", T, kRequired, "JSON object, keys sorted"},
    {"origin", T, kNullable,
     "JSON list of source operators: `model:index`, a node, `@GRAPH/…`; of a raised model v1 nodes; NULL: as in the file"},
    {"line", I, kNullable, "line in the graph's listing, from 0; NULL: not listed"},
    {"macs", I, kNullable, "multiply-adds of one execution at static shapes; NULL: not counted for this kind, or shapes unknown"},
};
constexpr TraceColumn kValue[] = {
    {"id", I, kRequired, "key"},
    {"graph", I, kRequired, "→ graph"},
    {"name", T, kRequired, "id in the text language"},
    {"dtype", T, kRequired, "`f32`, `i8`, …"},
    {"shape", T, kNullable, "as declared, `[1,?,4]`; NULL: rank unknown"},
    {"role", T, kRequired, "`input` `output` `temp` `constant` `variable`"},
    {"position", I, kNullable, "index among inputs or outputs; NULL: neither"},
    {"quantization", T, kNullable, "`q(scale, zero point)`; NULL: not quantized"},
    {"constant", I, kNullable, "content key of the constant's bytes; NULL: not a constant, or its bytes are not in the file"},
};
constexpr TraceColumn kOperand[] = {
    {"op", I, kRequired, "→ op"},
    {"slot", I, kRequired, "position; a missing optional operand has no row"},
    {"value", I, kRequired, "→ value"},
};
constexpr TraceColumn kCall[] = {
    {"id", I, kRequired, "key: one way of entering a graph"},
    {"op", I, kNullable, "→ op: the call operator; NULL: the root"},
    {"role", T, kRequired, "`main` `loop` `then` `else` `branchK` `call` `init` `region` `frame`"},
    {"graph", I, kRequired, "→ graph entered; of a loop its body"},
    {"cond", I, kNullable, "→ graph of a loop's condition; NULL: no loop"},
    {"frame", T, kNullable, "name of a TensorFlow v1 frame; NULL: no frame"},
};
constexpr TraceColumn kCarry[] = {
    {"op", I, kRequired, "→ op: the loop operator"},
    {"slot", I, kRequired, "carried position"},
    {"cond_input", I, kNullable, "→ value in the condition; NULL: unused"},
    {"body_input", I, kNullable, "→ value in the body; NULL: unused"},
    {"body_output", I, kNullable, "→ value in the body that becomes the next iteration's; NULL: unused"},
};
constexpr TraceColumn kRecipe[] = {
    {"name", T, kRequired, "key"},
    {"question", T, kRequired, "one sentence"},
    {"parameters", T, kRequired, "names separated by blanks; `slot=0` has a default"},
    {"sql", T, kRequired, "the query; parameters as `:name`"},
};

// What happened.

constexpr TraceColumn kRun[] = {
    {"id", I, kRequired, "key"},
    {"model", I, kRequired, "→ model"},
    {"base", I, kRequired, "event id of step 0; a multiple of 4,096 for runs that start at step 0"},
    {"first", I, kRequired, "id of the first event"},
    {"last", I, kNullable, "id of the last event; NULL: still recording, or no step was made"},
    {"parent", I, kNullable, "→ run that this timeline left; NULL: none"},
    {"fork", I, kNullable, "last event id shared with the parent; NULL: none"},
    {"reason", T, kRequired, "`record` `edit` `continue` `schedule` `backend` `restart`"},
    {"state", T, kRequired, "`recording` `complete` `incomplete` `cancelled` `quota` `failed`"},
    {"level", I, kRequired, "0 control, 1 statistics, 2 hashes, 3 values, 4 all"},
    {"policy", T, kRequired, "iterations whose values are stored, as typed"},
    {"backend", T, kRequired, "`cpu` `vulkan`"},
    {"profile", T, kRequired, "`reference` `fast` `vulkan` `xnnpack`"},
    {"signature", T, kNullable, "key of the signature that was run; NULL: none"},
    {"seed", I, kNullable, "of random operators and inputs; NULL: none used"},
    {"started", T, kRequired, "UTC, ISO 8601"},
    {"ns", I, kNullable, "duration, ns; NULL: not ended"},
    {"error", T, kNullable, "message of a failed run; NULL: it did not fail"},
};
constexpr TraceColumn kFeed[] = {
    {"run", I, kRequired, "→ run"},
    {"position", I, kRequired, "index among the root graph's inputs"},
    {"name", T, kRequired, "of the input"},
    {"source", T, kRequired, "where it came from: `in.npy`, `@seed`, a constant; empty: not known"},
    {"dtype", T, kRequired, "`f32`, …"},
    {"shape", T, kRequired, "`[1,4]`"},
    {"content", I, kNullable, "content key; NULL below level 2 where there is more than one element"},
};
constexpr TraceColumn kPlacement[] = {
    {"run", I, kRequired, "→ run"},
    {"op", I, kRequired, "→ op"},
    {"device", T, kRequired, "`cpu`, `gpu 0`, …"},
    {"kernel", T, kRequired, "of which profile its kernel is"},
    {"rank", I, kRequired, "which rank of mpirun runs it; 0: this process"},
};
constexpr TraceColumn kInvocation[] = {
    {"id", I, kRequired, "key, in order of starting"},
    {"run", I, kRequired, "→ run"},
    {"parent", I, kNullable, "→ invocation; NULL: the root"},
    {"call", I, kRequired, "→ call"},
    {"iteration", I, kNullable, "of a loop or frame, from 0; NULL: neither"},
    {"first", I, kRequired, "event id of the next completion at entry"},
    {"steps", I, kNullable, "completions inside, callees included; NULL while open"},
    {"ns", I, kNullable, "duration, ns; NULL while open, or times are off"},
};
constexpr TraceColumn kEvent[] = {
    {"id", I, kRequired, "key: `run.base` + step"},
    {"invocation", I, kRequired, "→ invocation"},
    {"op", I, kRequired, "→ op"},
    {"ns", I, kNullable, "duration, ns, callees included; NULL: dead, or times are off"},
    {"state", I, kNullable, "NULL live · 1 dead · 2 failed · 3 statistics not taken (filter or level) · 4 not written"},
    {"lo", R, kNullable,
     "minimum of the finite elements of result 0, in real units (quantized values dequantized); of a single element its value. All "
     "NULL: no finite element, no result, or not taken (state 3); always NULL for strings, resources and block formats"},
    {"hi", R, kNullable, "maximum; NULL: a single element, its value is in `lo`"},
    {"mean", R, kNullable, "mean; NULL like `hi`"},
    {"std", R, kNullable, "population deviation; NULL like `hi`"},
    {"zeros", I, kNullable, "elements equal to 0; NULL like `hi`"},
    {"content", I, kNullable,
     "content key as a signed 64-bit number; NULL below level 2, except for single elements that SQLite cannot hold exactly"},
};
constexpr TraceColumn kPresence[] = {
    {"op", I, kRequired, "→ op"},
    {"block", I, kRequired, "event ids `block` · 4,096 … + 4,095, among which are events of the operator"},
};
constexpr TraceColumn kOutput[] = {
    {"event", I, kRequired, "→ event"},       {"slot", I, kRequired, "result number, from 1"},
    {"state", I, kNullable, "as in event"},   {"lo", R, kNullable, "as in event"},
    {"hi", R, kNullable, "as in event"},      {"mean", R, kNullable, "as in event"},
    {"std", R, kNullable, "as in event"},     {"zeros", I, kNullable, "as in event"},
    {"content", I, kNullable, "as in event"},
};
constexpr TraceColumn kAbnormal[] = {
    {"event", I, kRequired, "→ event; a row exists only if something is counted"},
    {"slot", I, kRequired, "result number"},
    {"nan", I, kRequired, "elements"},
    {"pos_inf", I, kRequired, "elements"},
    {"neg_inf", I, kRequired, "elements"},
    {"denormal", I, kRequired, "elements"},
    {"saturated", I, kRequired,
     "elements at a limit of a quantized type; counted when they are at least 1/16 of all, or when the row exists anyway"},
    {"first_index", I, kRequired, "flat index of the first NaN or infinity, −1 if none"},
};
constexpr TraceColumn kReshape[] = {
    {"value", I, kRequired, "→ value"},
    {"event", I, kRequired, "→ event: from here on the shape is in force"},
    {"shape", T, kRequired, "differs from the one before, or from the declared one"},
};
constexpr TraceColumn kAccess[] = {
    {"event", I, kRequired, "→ event of the operator that touched it"},
    {"variable", T, kRequired, "name of the variable, table or stack"},
    {"kind", T, kRequired, "`read` `write` `create`"},
    {"lo", R, kNullable, "as in event"},
    {"hi", R, kNullable, "as in event"},
    {"mean", R, kNullable, "mean; of a single element its value"},
    {"content", I, kNullable, "as in event"},
};
constexpr TraceColumn kBlob[] = {
    {"hash", I, kRequired, "content key: leading 64 bits of the XXH3-128 of dtype, shape and bytes"},
    {"guard", I, kRequired, "the other 64 bits"},
    {"dtype", T, kRequired, "`f32`, …"},
    {"shape", T, kRequired, "`[1,4]`"},
    {"bytes", I, kRequired, "unpacked, bytes"},
    {"codec", I, kRequired, "0 raw, 1 zstd"},
    {"stored", I, kRequired, "bytes on disk"},
    {"first", I, kRequired, "→ chunk: the first one"},
    {"chunks", I, kRequired, "their number; ids `first` … `first` + `chunks` − 1"},
};
constexpr TraceColumn kChunk[] = {
    {"id", I, kRequired, "key, in order of writing"},
    {"data", B, kRequired, "at most 256 KiB; row-major, little-endian; strings as count, offsets, bytes"},
};
constexpr TraceColumn kDigest[] = {
    {"last", I, kRequired, "event id, ≡ 4095 modulo 4096"},
    {"hash", I, kRequired, "rolling hash since the start of the run over step, operator, path, and content or statistics"},
};
constexpr TraceColumn kClock[] = {
    {"event", I, kRequired, "id of the next event at the time of the commit"},
    {"ns", I, kRequired, "since the start of the run, ns"},
};
constexpr TraceColumn kMemory[] = {
    {"event", I, kRequired, "id of the next event, about then"},
    {"memory", I, kRequired, "bytes of elements of stacks, lists and arrays that may go to disk, and are in memory"},
    {"disk", I, kRequired, "bytes of those that are on disk, as large as they are in memory"},
    {"file", I, kRequired, "bytes that they take in the file, compressed"},
    {"device", I, kRequired, "bytes of memory that devices have given"},
};
constexpr TraceColumn kGap[] = {
    {"run", I, kRequired, "→ run"},
    {"first", I, kRequired, "first step without an event row"},
    {"last", I, kRequired, "last step without one"},
    {"reason", T, kRequired, "`policy …` `filter` `quota` `full disk` `level`"},
};
constexpr TraceColumn kPrint[] = {
    {"event", I, kRequired, "→ event, of the operator that said it"},
    {"stream", T, kRequired, "where to, as the model names it: `stderr`, `stdout`, `log(info)`, …"},
    {"text", T, kRequired, "ends of lines included"},
};
constexpr TraceColumn kAlert[] = {
    {"id", I, kRequired, "key"},
    {"run", I, kRequired, "→ run"},
    {"event", I, kRequired, "id of the event, or of the next one"},
    {"slot", I, kNullable, "result number; NULL: not about a value"},
    {"kind", T, kRequired, "`nan` `overflow` `race` `nondeterminism` `quota` `full disk` `memory` `clash`; at most 1,000 of each"},
    {"text", T, kRequired, "one line; the thousandth says that there are more"},
};
constexpr TraceColumn kEdit[] = {
    {"id", I, kRequired, "key"},
    {"run", I, kRequired, "→ run that the edit began"},
    {"event", I, kRequired, "last event before the edit"},
    {"value", I, kRequired, "→ value"},
    {"slice", T, kRequired, "which elements, `[0,3]`; empty: all"},
    {"before", I, kNullable, "content key; NULL: not stored"},
    {"after", I, kNullable, "content key; NULL: not stored"},
};
constexpr TraceColumn kMark[] = {
    {"id", I, kRequired, "key"},
    {"run", I, kRequired, "→ run"},
    {"event", I, kRequired, "→ event"},
    {"name", T, kNullable, "of a bookmark; NULL: a note"},
    {"text", T, kNullable, "the note; NULL: none"},
};
constexpr TraceColumn kCompare[] = {
    {"id", I, kRequired, "key"},
    {"a", I, kRequired, "→ run"},
    {"b", I, kNullable, "→ run; NULL: a file"},
    {"source", T, kRequired, "what b is"},
    {"tolerance", T, kRequired, "as typed"},
    {"pairing", T, kRequired, "`address` `name` `map`"},
    {"verdict", T, kNullable, "`equal` `different`; NULL: not finished"},
};
constexpr TraceColumn kDifference[] = {
    {"compare", I, kRequired, "→ compare"},
    {"a", I, kRequired, "→ event of run a"},
    {"slot", I, kRequired, "result number"},
    {"b", I, kNullable, "→ event of run b; NULL: none"},
    {"kind", T, kRequired, "`value` `shape` `dtype` `missing` `branch` `trips` `dead`"},
    {"max_abs", R, kNullable, "largest difference; NULL: not numbers"},
    {"max_rel", R, kNullable, "largest relative difference; NULL: not numbers"},
    {"max_ulp", R, kNullable, "largest distance in units in the last place; NULL: not floats"},
    {"cosine", R, kNullable, "cosine of the two as vectors; NULL: not computed"},
    {"snr", R, kNullable, "signal to noise, dB; NULL: not computed"},
    {"at", T, kNullable, "index of the worst element; NULL: not known"},
    {"got", R, kNullable, "a there"},
    {"want", R, kNullable, "b there"},
    {"significant", I, kRequired, "1: beyond the tolerance"},
};
constexpr TraceColumn kLod[] = {
    {"run", I, kRequired, "→ run"},
    {"parent", I, kRequired, "→ invocation that holds the loop"},
    {"call", I, kRequired, "→ call"},
    {"op", I, kRequired, "→ op"},
    {"slot", I, kRequired, "result number"},
    {"level", I, kRequired, "6, 9, 12, …: a row covers 2^level iterations"},
    {"bucket", I, kRequired, "iteration / 2^level"},
    {"lo", R, kNullable, "minimum; NULL: no finite element"},
    {"hi", R, kNullable, "maximum; NULL: no finite element"},
    {"mean", R, kNullable, "mean of the means; NULL: no finite element"},
    {"nan", I, kRequired, "elements"},
};

constexpr std::array kTables = std::to_array<TraceTable>({
    {"meta", "Facts about the file.", kMeta, "key", true},
    {"model", "A model that was run.", kModel, "id", false},
    {"graph", "A graph of a model.", kGraph, "id", false},
    {"op", "An operator. Unknown and custom operators have rows like any other.", kOp, "id", false},
    {"value", "A value. Constants up to 64 KiB are stored, larger ones as key only.", kValue, "id", false},
    {"operand", "What an operator reads.", kOperand, "op, slot", true},
    {"result", "What an operator writes.", kOperand, "op, slot", true},
    {"call", "A way of entering a graph.", kCall, "id", false},
    {"carry", "A value that a loop carries from iteration to iteration.", kCarry, "op, slot", true},
    {"recipe", "The questions below, so that any SQL tool has them.", kRecipe, "name", true},
    {"run", "One execution.", kRun, "id", false},
    {"feed", "An input of a run.", kFeed, "run, position", true},
    {"placement", "Where an operator stands in a graph that is cut between devices.", kPlacement, "run, op", true},
    {"invocation", "One activation of a graph; of a loop, one iteration: condition and body together.", kInvocation, "id", false},
    {"event", "One executed operator, with the statistics of its result 0.", kEvent, "id", false},
    {"presence", "Where the events of an operator are: the view `writes_of` goes through it. Since schema 3.", kPresence, "op, block", true,
     3},
    {"output", "Results 1, 2, … of an event.", kOutput, "event, slot", true},
    {"abnormal", "NaN, infinities, denormal and saturated elements.", kAbnormal, "event, slot", true},
    {"reshape", "A shape that changed.", kReshape, "value, event", true},
    {"access", "A variable, table or stack that was touched.", kAccess, "event, variable, kind", true},
    {"blob", "A stored value. Equal values share one.", kBlob, "hash", false},
    {"chunk", "The bytes of blobs.", kChunk, "id", false},
    {"digest", "A rolling hash, so that equal beginnings of two runs are skipped unread.", kDigest, "last", false},
    {"clock", "One row per commit.", kClock, "event", false},
    {"memory", "Where values lay that are kept for long, whenever that had changed, every 10 ms at most. Since schema 4.", kMemory, "event",
     false, 4},
    {"gap", "Steps that have no event rows.", kGap, "run, first", true},
    {"print", "What the model said: TensorFlow's Print operators. Since schema 2.", kPrint, "event", false, 2},
    {"alert", "What the recorder warned about.", kAlert, "id", false},
    {"edit", "A change that a person made while debugging.", kEdit, "id", false},
    {"mark", "Bookmarks and notes; writable after the recording.", kMark, "id", false},
    {"compare", "A comparison of two runs, or of a run and a file.", kCompare, "id", false},
    {"difference", "What a comparison found.", kDifference, "compare, a, slot", true},
    {"lod", "Statistics over many iterations, for sliders.", kLod, "run, parent, call, op, slot, level, bucket", true},
});

} // namespace

std::span<const TraceTable> traceTables() { return kTables; }

} // namespace loopscope
