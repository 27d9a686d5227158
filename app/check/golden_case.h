// Golden cases: models with inputs and the outputs they must give, in the folder format of docs/golden_cases.md.
#pragma once

#include "engine/base/result.h"
#include "engine/tensor/compare.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace loopscope::app {

/// An input or output as cases.jsonl describes it.
struct GoldenTensor {
    std::string name, dtype;
    std::optional<Shape> shape;
    int64_t truncated = -1;  ///< ≥ 0: the stored array holds only so many elements, flat
    std::string sha256;      ///< of all bytes, if truncated
    bool unreadable = false; ///< not compared
};

struct GoldenRun {
    std::string signature; ///< empty: none
    std::vector<GoldenTensor> inputs, outputs;
    std::string inPath, outPath;                            ///< absolute or relative to the working folder; empty: none
    std::map<std::string, std::string> inDtypes, outDtypes; ///< key of an array → true dtype, where .npy has none
    std::vector<std::string> feeds, fetches, targets;       ///< TensorFlow graphs: `node:slot`, targets by node name
    bool mustFail = false;
    std::string errorClass;              ///< TensorFlow's class of the error that must come; empty: any
    std::string errorMessage;            ///< what the reference said; empty: nothing
    std::vector<std::string> errorNodes; ///< nodes and functions that TensorFlow's message names: `{{node NAME}}`, `{{function_node NAME}}`
};

/// What fusing the model must come to (`expect`).
struct FusionExpectation {
    std::string name;        ///< `CONV_2D+bias+RELU`
    bool isDeclined = false; ///< must not come out; else it must, `count` times
    int64_t count = 1;
};

struct GoldenCase {
    std::string id, format, modelPath;
    Tolerance tolerance;
    bool mustNotOpen = false; ///< the file is one that no program opens
    std::vector<GoldenRun> runs;
    bool isFused = false; ///< the case says what fusing it must come to; that may be nothing
    std::vector<FusionExpectation> expectations;
};

/// Reads FOLDER/cases.jsonl. Errors: badFile, "cases.jsonl:12: …".
Result<std::vector<GoldenCase>> readGoldenCases(const std::string& folder);

/// The folder itself if it holds golden cases, else those below it that do, by name.
std::vector<std::string> goldenFolders(const std::string& folder);

/// "float32" → f32, "bfloat16" → bf16, "int4" → i4, …; unknown if it is none.
DType dtypeFromNumpyName(const std::string& name);

} // namespace loopscope::app
