// Builds small `.tflite` files by hand, field by field, for tests of what files may say and of how they may be wrong.
#pragma once

#include "converters/tflite/tflite.h"
#include "schema_generated.h"

#include <string>
#include <vector>

namespace loopscope {

/// A file with one subgraph "main", made of the tables that a test adds. Buffer 0, the empty one, is there from the start.
class TinyFile {
public:
    template <typename T> using Offset = flatbuffers::Offset<T>;

    flatbuffers::FlatBufferBuilder b;
    std::vector<Offset<tflite::Buffer>> buffers{tflite::CreateBuffer(b)};
    std::vector<Offset<tflite::OperatorCode>> codes;
    std::vector<Offset<tflite::Tensor>> tensors;
    std::vector<Offset<tflite::Operator>> operators;
    std::vector<Offset<tflite::SubGraph>> moreGraphs;
    std::vector<Offset<tflite::SignatureDef>> signatures;
    std::vector<Offset<tflite::Metadata>> metadata;
    std::vector<int32_t> metadataBuffers;
    std::vector<int32_t> inputs, outputs;
    uint32_t version = 3;

    uint32_t buffer(const std::vector<uint8_t>& bytes)
    {
        b.ForceVectorAlignment(bytes.size(), 1, 16);
        buffers.push_back(tflite::CreateBuffer(b, b.CreateVector(bytes)));
        return static_cast<uint32_t>(buffers.size() - 1);
    }

    /// Adds a tensor and gives its number.
    int32_t tensor(const std::string& name, const std::vector<int32_t>& shape = {1}, tflite::TensorType type = tflite::TensorType_FLOAT32,
                   uint32_t bufferNumber = 0, Offset<tflite::QuantizationParameters> quantization = 0)
    {
        const auto dims = b.CreateVector(shape);
        tensors.push_back(tflite::CreateTensor(b, dims, type, bufferNumber, b.CreateString(name), quantization, false, 0, 0, true));
        return static_cast<int32_t>(tensors.size() - 1);
    }

    uint32_t code(tflite::BuiltinOperator op, int32_t opVersion = 1, const char* custom = nullptr)
    {
        const auto old = static_cast<int8_t>(std::min<int32_t>(op, 127));
        codes.push_back(tflite::CreateOperatorCode(b, old, custom ? b.CreateString(custom) : 0, opVersion, op));
        return static_cast<uint32_t>(codes.size() - 1);
    }

    void op(uint32_t codeNumber, const std::vector<int32_t>& in, const std::vector<int32_t>& out,
            tflite::BuiltinOptions tag = tflite::BuiltinOptions_NONE, Offset<void> options = 0,
            const std::vector<uint8_t>* custom = nullptr)
    {
        const auto inAt = b.CreateVector(in);
        const auto outAt = b.CreateVector(out);
        const auto customAt = custom ? b.CreateVector(*custom) : 0;
        operators.push_back(tflite::CreateOperator(b, codeNumber, inAt, outAt, tag, options, customAt));
    }

    Bytes finish()
    {
        std::vector<Offset<tflite::SubGraph>> graphs;
        if (hasMainGraph) {
            const auto t = b.CreateVector(tensors);
            const auto i = b.CreateVector(inputs);
            const auto o = b.CreateVector(outputs);
            graphs.push_back(tflite::CreateSubGraph(b, t, i, o, b.CreateVector(operators), b.CreateString("main")));
        }
        graphs.insert(graphs.end(), moreGraphs.begin(), moreGraphs.end());
        const auto codesAt = b.CreateVector(codes);
        const auto graphsAt = b.CreateVector(graphs);
        const auto buffersAt = b.CreateVector(buffers);
        const auto bareAt = metadataBuffers.empty() ? 0 : b.CreateVector(metadataBuffers);
        const auto metadataAt = metadata.empty() ? 0 : b.CreateVector(metadata);
        const auto signaturesAt = signatures.empty() ? 0 : b.CreateVector(signatures);
        tflite::FinishModelBuffer(b, tflite::CreateModel(b, version, codesAt, graphsAt, 0, buffersAt, bareAt, metadataAt, signaturesAt));
        return Bytes::copyOf(b.GetBufferPointer(), b.GetSize());
    }

    bool hasMainGraph = true;
};

/// The error message of an import, without the `at 0x…: ` in the middle; empty if it succeeds.
inline std::string importError(const Bytes& file)
{
    const auto model = importTflite("m.tflite", file);
    if (model.ok()) return "";
    std::string message = model.error().message();
    const size_t at = message.find(": at 0x");
    if (at != std::string::npos) message.erase(at, message.find(": ", at + 2) - at);
    return message;
}

} // namespace loopscope
