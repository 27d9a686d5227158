// Catalogue entries of picture files held in strings.
#include "engine/ops/catalog.h"
#include "engine/ops/tf_rules.h"

using namespace loopscope;

LS_DEFINE_OP(tf, DecodePng) { return tfDef({1, 1}, "contents", "The pixels of a picture file."); }
LS_DEFINE_OP(tf, DecodeJpeg) { return tfDef({1, 1}, "contents", "The pixels of a picture file."); }
LS_DEFINE_OP(tf, DecodeImage) { return tfDef({1, 1}, "contents", "The pixels of a picture file."); }
LS_DEFINE_OP(tf, DecodeBmp) { return tfDef({1, 1}, "contents", "The pixels of a picture file."); }
LS_DEFINE_OP(tf, EncodePng) { return tfDef({1, 1}, "image", "PNG files of pictures."); }
LS_DEFINE_OP(tf, EncodeJpeg) { return tfDef({1, 1}, "image", "JPEG files of pictures."); }
LS_DEFINE_OP(tf, ExtractJpegShape) { return tfDef({1, 1}, "contents", "The size of a picture file: height, width, channels."); }
