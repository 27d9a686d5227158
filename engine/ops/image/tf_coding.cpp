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
LS_DEFINE_OP(tf, DecodeGif)
{
    return tfDef({1, 1}, "contents", "The frames of a GIF file, each drawn over the one before: [frames,H,W,3].");
}
LS_DEFINE_OP(tf, DecodeAndCropJpeg)
{
    OpDef def = tfDef({2, 2}, "contents, crop_window [4]", "A part of a picture file: rows and columns from y, x on.");
    def.differs = "colours at the sides of the window are those of the whole picture; TensorFlow's do not know their neighbours outside";
    return def;
}
