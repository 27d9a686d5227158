// What the parts of the importer share while one file is read.
#pragma once

#include "converters/tflite/file_view.h"
#include "converters/tflite/flat_format.h"
#include "engine/ir/model.h"

#include <string>
#include <utility>
#include <vector>

namespace tflite {
struct Buffer;
struct Model;
struct Operator;
struct SubGraph;
struct Tensor;
} // namespace tflite

namespace loopscope::tflite_format {

/// An entry of operator_codes.
struct OperatorCode {
    Kind kind;
    int32_t builtin = 0;
    int64_t version = 1;
};

/// One file under import. The FlatBuffer has been verified: reading it cannot leave the file.
struct ImportState {
    ImportState(Bytes content, const FlatFormat& f) : format(f), file(std::move(content)) {}

    const FlatFormat& format;
    FileView file;
    const tflite::Model* source = nullptr;
    Model model;
    std::vector<OperatorCode> codes;
    std::vector<ConstantPtr> buffers;     ///< null: not used so far, or without data
    bool writerKnowsRank = false;         ///< some tensor has has_rank: where it is missing, the rank is unknown
    std::vector<Error>* faults = nullptr; ///< of a file that is read as far as it goes; null: the first fault ends the import
    uint64_t emptyTable = 0;              ///< of such a file: where the table lies that stands for those that are lost

    /// Notes what is wrong where the file is read as far as it goes; the error itself elsewhere.
    Status forgive(Status status)
    {
        if (status.ok() || faults == nullptr) return status;
        faults->push_back(std::move(status).takeError());
        return {};
    }
    bool isLost(const void* table) const { return faults != nullptr && file.offsetOf(table) == emptyTable; }
};

/// Of an operator whose code is lost.
inline Kind unknownKind(size_t code) { return {"custom", "operator code " + std::to_string(code)}; }

/// "tensors[3]" within "subgraphs[0]"
inline std::string element(const std::string& list, size_t index) { return list + "[" + std::to_string(index) + "]"; }

/// "LIST[i] is tensor 91, expected 0 to 43", at the place of the index in the file.
Error badIndex(const FileView& file, const void* at, const std::string& place, const std::string& noun, int64_t found, int64_t lowest,
               int64_t count);

/// The data behind a buffer, where it lies; null if it has none. Errors: the place beyond the FlatBuffer is outside of the file.
Result<ConstantPtr> bufferData(ImportState& state, size_t index);

/// A tensor without its role: type, names, and what the file says beyond that.
struct ImportedTensor {
    Value value; ///< id and role are still open; `constant` is the data, if there is any
    bool isVariable = false;
    AttributeList facts; ///< what has no other place in the IR (docs/tflite.md)
};
Result<ImportedTensor> importTensor(ImportState& state, const std::string& place, const tflite::SubGraph& graph,
                                    const tflite::Tensor& tensor);

/// Sparsity as a fact of a tensor that is no constant: an input's, or that of a tensor without data.
Attribute sparsityFact(const Sparsity& sparsity);

/// A graph with its values and operators, without ids.
Result<Graph> importGraph(ImportState& state, size_t index);

} // namespace loopscope::tflite_format
