// Catalogue entries of TensorFlow's operators that take text and bytes apart.
#include "engine/ops/catalog.h"
#include "engine/ops/tf_rules.h"

using namespace loopscope;

LS_DEFINE_OP(tf, DecodeCSV)
{
    return tfDef({2, -1, 1, -1}, "records, record_defaults…", "The columns of lines of comma-separated values.");
}
LS_DEFINE_OP(tf, StringSplitV2) { return tfDef({2, 2, 3, 3}, "input, sep", "The pieces of strings, as a sparse tensor."); }
LS_DEFINE_OP(tf, DecodeRaw) { return tfDef({}, "bytes", "The bytes of strings as numbers."); }
LS_DEFINE_OP(tf, DecodePaddedRaw)
{
    return tfDef({2, 2}, "input_bytes, fixed_length", "So many bytes of each string as numbers; zeros behind.");
}
LS_DEFINE_OP(tf, EncodeBase64) { return tfDef({}, "input", "Strings in base 64, with - and _."); }
LS_DEFINE_OP(tf, DecodeBase64) { return tfDef({}, "input", "Strings out of base 64, with - and _."); }
LS_DEFINE_OP(tf, ReadFile)
{
    OpDef def = tfDef({}, "filename", "The content of a file.");
    def.differs = "reads the assets of a SavedModel only, by their names there";
    return def;
}
