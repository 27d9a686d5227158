// Circle as a member of the TFLite family: version 0.10 of its schema, where its numbers and places differ.
#include "converters/circle/circle.h"

#include "circle_schema_bfbs_generated.h"
#include "circle_schema_generated.h"
#include "converters/tflite/flat_format.h"

#include <array>

namespace loopscope {

namespace {

using namespace tflite_format;
using Entry = ElementTypes::Entry;

constexpr std::array kElementTypes = {
    Entry{-7, DType::mxint8},   Entry{-6, DType::mxfp4},    Entry{-5, DType::ggmlQ8_1}, Entry{-4, DType::ggmlQ8_0},
    Entry{-3, DType::ggmlQ4_1}, Entry{-2, DType::ggmlQ4_0}, Entry{-1, DType::u4},       Entry{0, DType::f32},
    Entry{1, DType::f16},       Entry{2, DType::i32},       Entry{3, DType::u8},        Entry{4, DType::i64},
    Entry{5, DType::string},    Entry{6, DType::boolean},   Entry{7, DType::i16},       Entry{8, DType::c64},
    Entry{9, DType::i8},        Entry{10, DType::f64},      Entry{11, DType::c128},     Entry{12, DType::u64},
    Entry{13, DType::resource}, Entry{14, DType::variant},  Entry{15, DType::u32},      Entry{16, DType::u16},
    Entry{17, DType::i4},       Entry{18, DType::bf16},
};

bool verifyCircle(flatbuffers::Verifier& verifier) { return circle::VerifyModelBuffer(verifier); }

/// ONE's rule: the wide field counts only where the byte says that it does not hold the code. The larger of the two, as TFLite has it,
/// would lose the negative codes of older files, which have them in the byte alone.
int32_t codeUnlessPlaceholder(int8_t oldCode, int32_t code) { return oldCode == kPlaceholderCode ? code : oldCode; }

const FlatFormat& circleFormat()
{
    static const FormatSchema schema(circle::ModelBinarySchema::data(), "circle.", ElementTypes(kElementTypes));
    static const FlatFormat format{
        .name = "Circle",
        .extension = "circle",
        .identifier = "CIR0",
        .dialect = Dialect::circle,
        .binarySchema = circle::ModelBinarySchema::data(),
        .schema = schema,
        .verify = &verifyCircle,
        .realCode = &codeUnlessPlaceholder,
        .usualVersion = 0,
        .newestVersion = 3, // 0 in files of ONE; TFLite's 3 changes nothing
        .graphDebugSlot = circle::SubGraph::VT_DEBUG_METADATA_INDEX,
        .dataFormatSlot = circle::SubGraph::VT_DEPRECATED_DATA_FORMAT,
        .compressionSlot = circle::Tensor::VT_COMPRESSION_TYPE,
        .hasExternalBuffers = false,
        .blockwiseTag = static_cast<uint8_t>(circle::QuantizationDetails_BlockwiseQuantization),
        .multiAxisTag = 0,
        .mxTag = static_cast<uint8_t>(circle::QuantizationDetails_MXQuantization),
    };
    return format;
}

} // namespace

const tflite_format::FormatSchema& circleSchema() { return circleFormat().schema; }

bool looksLikeCircle(std::span<const std::byte> content) { return circleFormat().isIdentified(content); }

Result<Model> importCircle(const std::string& path, Bytes content) { return importFlatModel(path, std::move(content), circleFormat()); }

Result<std::vector<std::byte>> exportCircle(const Model& model, uint64_t maxInlineData)
{
    return exportFlatModel(model, circleFormat(), maxInlineData);
}

Result<Model> importCirclePart(const std::string& path, const Bytes& content, std::vector<Error>& faults)
{
    return tflite_format::importFlatPart(path, content, circleFormat(), faults);
}

} // namespace loopscope
