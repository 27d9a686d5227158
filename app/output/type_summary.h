// Which dtypes a model holds, how it is quantized, and where its operators run: the parts of `info` that count tensors and operators.
#pragma once

#include "engine/ir/model.h"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace loopscope::app {

struct DTypeCount {
    DType dtype = DType::unknown;
    int64_t values = 0;         ///< inputs, results and variables
    int64_t constants = 0;      ///< each use of shared data counts
    uint64_t constantBytes = 0; ///< shared data once
};

/// Tensors that are quantized alike.
struct QuantizationScheme {
    std::string_view role; ///< "activations", "weights", "biases" (constants of 32 or 64 bits)
    DType dtype = DType::unknown;
    std::string granularity; ///< "per tensor", "per channel", "in blocks of 32", "custom"
    bool symmetric = true;   ///< all zero points are 0 (u8: 128)
    int64_t count = 0;
};

/// Operators by where they run. Kinds as files name them.
struct Placement {
    int64_t kernels = 0;                        ///< reference kernels on the CPU
    std::map<std::string, int64_t> interpreter; ///< calls and loops, which the interpreter runs itself
    std::map<std::string, int64_t> nowhere;     ///< no kernel
    std::map<std::string, int64_t> custom;      ///< custom operators, with a kernel or without
};

struct TypeSummary {
    std::vector<DTypeCount> dtypes;          ///< the most frequent first; none of TensorFlow's, whose files hardly state any
    std::vector<QuantizationScheme> schemes; ///< activations, weights, biases; the most frequent first
    std::map<std::string, int64_t> hybrid;   ///< operators with float activations and integer weights, by kind
    int64_t dequantizedConstants = 0;        ///< stored small and made float before they are used ("weights only")
};

/// The name of a kind as files have it: "ADD", "custom.Foo".
std::string upperKind(const Operator& op);

TypeSummary summarizeTypes(const Model& model);
Placement summarizePlacement(const Model& model);

/// "i8 28 values, 28 constants (214 KiB); i32 28 constants (7.9 KiB)".
std::string dtypesText(const TypeSummary& summary);
/// "activations i8 per tensor, asymmetric (28); weights i8 per channel, symmetric (28)"; empty if nothing is quantized.
std::string quantizationText(const TypeSummary& summary);
/// "CPU: 31 operators with reference kernels, 1 by the interpreter (WHILE); nowhere: 1 custom.Foo".
std::string placementText(const Placement& placement);

} // namespace loopscope::app
