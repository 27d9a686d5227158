// TFLite as a member of its family: its numbers, and the functions that the rest of the program calls.
#include "converters/tflite/tflite.h"

#include "converters/tflite/flat_format.h"
#include "schema_bfbs_generated.h"
#include "schema_generated.h"

#include <algorithm>
#include <array>

namespace loopscope {

namespace tflite_format {

namespace {

using Entry = ElementTypes::Entry;

constexpr std::array kElementTypes = {
    Entry{0, DType::f32},    Entry{1, DType::f16},       Entry{2, DType::i32},     Entry{3, DType::u8},        Entry{4, DType::i64},
    Entry{5, DType::string}, Entry{6, DType::boolean},   Entry{7, DType::i16},     Entry{8, DType::c64},       Entry{9, DType::i8},
    Entry{10, DType::f64},   Entry{11, DType::c128},     Entry{12, DType::u64},    Entry{13, DType::resource}, Entry{14, DType::variant},
    Entry{15, DType::u32},   Entry{16, DType::u16},      Entry{17, DType::i4},     Entry{18, DType::bf16},     Entry{19, DType::i2},
    Entry{20, DType::u4},    Entry{21, DType::f8e4m3fn}, Entry{22, DType::f8e5m2},
};

bool verifyTflite(flatbuffers::Verifier& verifier) { return tflite::VerifyModelBuffer(verifier); }

/// Old files have the byte only; new files repeat the code there, or put 127 for what does not fit.
int32_t largerCode(int8_t oldCode, int32_t code) { return std::max<int32_t>(oldCode, code); }

} // namespace

const FlatFormat& tfliteFormat()
{
    static const FormatSchema schema(tflite::ModelBinarySchema::data(), "tflite.", ElementTypes(kElementTypes));
    static const FlatFormat format{
        .name = "TFLite",
        .extension = "tflite",
        .identifier = "TFL3",
        .dialect = Dialect::tfl,
        .binarySchema = tflite::ModelBinarySchema::data(),
        .schema = schema,
        .verify = &verifyTflite,
        .realCode = &largerCode,
        .usualVersion = 3,
        .newestVersion = 3,
        .graphDebugSlot = tflite::SubGraph::VT_DEBUG_METADATA_INDEX,
        .dataFormatSlot = 0,
        .compressionSlot = 0,
        .hasExternalBuffers = true,
        .blockwiseTag = static_cast<uint8_t>(tflite::QuantizationDetails_BlockwiseQuantization),
        .multiAxisTag = static_cast<uint8_t>(tflite::QuantizationDetails_MultiAxisQuantization),
        .mxTag = 0,
    };
    return format;
}

} // namespace tflite_format

bool looksLikeTflite(std::span<const std::byte> content) { return tflite_format::tfliteFormat().isIdentified(content); }

Result<Model> importTflite(const std::string& path, Bytes content)
{
    return tflite_format::importFlatModel(path, std::move(content), tflite_format::tfliteFormat());
}

Result<Model> importTflitePart(const std::string& path, const Bytes& content, std::vector<Error>& faults)
{
    return tflite_format::importFlatPart(path, content, tflite_format::tfliteFormat(), faults);
}

Result<std::vector<std::byte>> exportTflite(const Model& model, uint64_t maxInlineData)
{
    return tflite_format::exportFlatModel(model, tflite_format::tfliteFormat(), maxInlineData);
}

} // namespace loopscope
