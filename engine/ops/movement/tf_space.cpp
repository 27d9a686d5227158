// Catalogue entries of TensorFlow's operators that move blocks of pixels to the batch or to the channels, and back.
#include "engine/ops/catalog.h"
#include "engine/ops/tf_rules.h"

using namespace loopscope;

LS_DEFINE_OP(tf, SpaceToBatchND)
{
    return tfDef({3, 3}, "input, block_shape, paddings", "Blocks of pixels as pictures of a larger batch.");
}
LS_DEFINE_OP(tf, SpaceToBatch) { return tfDef({2, 2}, "input, paddings", "Blocks of pixels as pictures of a larger batch."); }
LS_DEFINE_OP(tf, BatchToSpaceND)
{
    return tfDef({3, 3}, "input, block_shape, crops", "Pictures of a batch put together as blocks of larger ones.");
}
LS_DEFINE_OP(tf, BatchToSpace) { return tfDef({2, 2}, "input, crops", "Pictures of a batch put together as blocks of larger ones."); }
LS_DEFINE_OP(tf, SpaceToDepth) { return tfDef({}, "input [N,H,W,C]", "Blocks of pixels as channels of one."); }
LS_DEFINE_OP(tf, DepthToSpace) { return tfDef({}, "input [N,H,W,C]", "Channels of a pixel as a block of pixels."); }
