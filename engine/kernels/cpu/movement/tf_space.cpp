// Kernels of TensorFlow's operators that move blocks of pixels to the batch or to the channels, and back: core/kernels/spacetobatch_op.cc,
// batchtospace_op.cc, spacetodepth_op.cc, depthtospace_op.cc.
#include "engine/kernels/cpu/tf_support.h"

using namespace loopscope;

namespace {

/// Blocks along the dimensions behind the batch, with what is added to or cut from both ends of each.
struct Blocks {
    std::vector<int64_t> sizes, before, behind;
    int64_t count = 1; ///< pixels of a block
    int rank() const { return static_cast<int>(sizes.size()); }
};

/// SpaceToBatchND and its inverse have the block's sizes as operand, the older ones one number for two dimensions as attribute.
Result<Blocks> blocksOf(const KernelArgs& args, std::string_view ends)
{
    Blocks blocks;
    const int pairs = args.inputCount - 1;
    if (args.inputCount == 3) blocks.sizes = tfIntegers(args.in(1));
    else blocks.sizes.assign(2, attributeInt(attributesOf(args), "block_size", 0));
    const std::vector<int64_t> list = tfIntegers(args.in(pairs));
    const Shape& in = args.in(0).shape;
    if (blocks.rank() + 1 > in.rank())
        return invalidArgument("input rank should be >= " + std::to_string(blocks.rank() + 1) + " instead of " + std::to_string(in.rank()));
    if (!(args.in(pairs).shape == Shape({blocks.rank(), 2})))
        return invalidArgument(std::string(ends) + " should have shape [" + std::to_string(blocks.rank()) + ", 2] instead of " +
                               toString(args.in(pairs).shape));
    for (size_t d = 0; d < blocks.sizes.size(); ++d) {
        if (blocks.sizes[d] < 1 || blocks.sizes[d] > (int64_t{1} << 30)) return invalidArgument("block_shape must be positive");
        if (list[2 * d] < 0 || list[2 * d + 1] < 0 || list[2 * d] + list[2 * d + 1] > (int64_t{1} << 40))
            return invalidArgument(std::string(ends) + " cannot be negative");
        blocks.before.push_back(list[2 * d]);
        blocks.behind.push_back(list[2 * d + 1]);
        blocks.count *= blocks.sizes[d];
        if (blocks.count > (int64_t{1} << 40)) return invalidArgument("block_shape is too large");
    }
    return blocks;
}

/// The pixel of the large tensor that lies at pixel `index` of the small one, in part `part` of its block; false: outside.
bool findPixel(const Blocks& blocks, const Shape& small, const Shape& large, int64_t pixel, int64_t part, int64_t& found)
{
    found = 0;
    for (int d = 0; d < blocks.rank(); ++d) {
        const auto at = static_cast<size_t>(d);
        int64_t below = 1, pixelsBelow = 1;
        for (int e = d + 1; e < blocks.rank(); ++e) {
            below *= blocks.sizes[static_cast<size_t>(e)];
            pixelsBelow *= small[e + 1];
        }
        const int64_t place = pixel / pixelsBelow % small[d + 1] * blocks.sizes[at] + part / below % blocks.sizes[at] - blocks.before[at];
        if (place < 0 || place >= large[d + 1]) return false;
        found = found * large[d + 1] + place;
    }
    return true;
}

/// Copies between a tensor of few large pictures and one of many small ones.
Status moveBlocks(const KernelArgs& args, const Blocks& blocks, const Shape& shape, bool toBatch)
{
    LS_TRY(const TfSource in, TfSource::of(args.in(0)));
    TfTarget out;
    LS_CHECK_OK(out.begin(args, 0, shape, toBatch));
    const Shape& small = toBatch ? shape : args.in(0).shape;
    const Shape& large = toBatch ? args.in(0).shape : shape;
    const int64_t inner = small.countOf(blocks.rank() + 1, small.rank());
    const int64_t pixels = small.countOf(1, blocks.rank() + 1), largePixels = large.countOf(1, blocks.rank() + 1);
    for (int64_t b = 0; b < small[0] && inner > 0; ++b)
        for (int64_t pixel = 0; pixel < pixels; ++pixel) {
            int64_t found = 0;
            if (!findPixel(blocks, small, large, pixel, b / large[0], found)) continue;
            const int64_t smallAt = (b * pixels + pixel) * inner, largeAt = (b % large[0] * largePixels + found) * inner;
            std::memcpy(out.at(toBatch ? smallAt : largeAt), in.at(toBatch ? largeAt : smallAt), static_cast<size_t>(inner * in.size()));
        }
    return out.finish();
}

Status runSpaceToBatch(const KernelArgs& args)
{
    LS_TRY(const Blocks blocks, blocksOf(args, "paddings"));
    Shape shape = args.in(0).shape;
    shape[0] *= blocks.count;
    for (int d = 0; d < blocks.rank(); ++d) {
        const auto at = static_cast<size_t>(d);
        const int64_t padded = shape[d + 1] + blocks.before[at] + blocks.behind[at];
        if (padded % blocks.sizes[at] != 0)
            return invalidArgument("padded_shape[" + std::to_string(d) + "]=" + std::to_string(padded) +
                                   " is not divisible by block_shape[" + std::to_string(d) + "]=" + std::to_string(blocks.sizes[at]));
        shape[d + 1] = padded / blocks.sizes[at];
    }
    return moveBlocks(args, blocks, shape, true);
}

Status runBatchToSpace(const KernelArgs& args)
{
    LS_TRY(const Blocks blocks, blocksOf(args, "crops"));
    Shape shape = args.in(0).shape;
    if (shape[0] % blocks.count != 0)
        return invalidArgument("Input batch dimension (" + std::to_string(shape[0]) + ") is not divisible by product of block sizes (" +
                               std::to_string(blocks.count) + ")");
    shape[0] /= blocks.count;
    for (int d = 0; d < blocks.rank(); ++d) {
        const auto at = static_cast<size_t>(d);
        shape[d + 1] = shape[d + 1] * blocks.sizes[at] - blocks.before[at] - blocks.behind[at];
        if (shape[d + 1] < 0)
            return invalidArgument("cropped_shape[" + std::to_string(d) + "]=" + std::to_string(shape[d + 1]) + " must be non-negative");
    }
    return moveBlocks(args, blocks, shape, false);
}

/// SpaceToDepth and DepthToSpace: pixel (dy,dx) of a block becomes channels (dy·size + dx)·C …
template <bool toDepth> Status runDepth(const KernelArgs& args)
{
    const Shape& in = args.in(0).shape;
    if (in.rank() != 4) return invalidArgument("Input rank should be: 4 instead of: " + std::to_string(in.rank()));
    const int64_t size = attributeInt(attributesOf(args), "block_size", 0);
    if (size < 2 || size > (int64_t{1} << 15)) return invalidArgument("Block size should be > 1, but was: " + std::to_string(size));
    const std::string_view format = attributeString(attributesOf(args), "data_format", "NHWC");
    if (format == "NCHW_VECT_C") return Error(ErrorCode::unsupported, "data_format NCHW_VECT_C");
    const bool first = format == "NCHW";
    const int channel = first ? 1 : 3, row = first ? 2 : 1, column = row + 1;
    if (toDepth && (in[row] % size != 0 || in[column] % size != 0))
        return invalidArgument("Image width " + std::to_string(in[column]) + " and height " + std::to_string(in[row]) +
                               " should be divisible by block_size: " + std::to_string(size));
    if (!toDepth && in[channel] % (size * size) != 0)
        return invalidArgument("Input depth dimension " + std::to_string(in[channel]) +
                               " should be divisible by: " + std::to_string(size * size));
    Shape shape = in;
    shape[channel] = toDepth ? in[channel] * size * size : in[channel] / (size * size);
    for (const int dim : {row, column}) shape[dim] = toDepth ? in[dim] / size : in[dim] * size;
    LS_TRY(const TfSource source, TfSource::of(args.in(0)));
    TfTarget out;
    LS_CHECK_OK(out.begin(args, 0, shape));
    const Shape& wide = toDepth ? in : shape; // of large pictures
    const Shape& deep = toDepth ? shape : in; // of many channels
    const auto at = [&](const Shape& s, int64_t b, int64_t y, int64_t x, int64_t c) {
        return first ? ((b * s[1] + c) * s[2] + y) * s[3] + x : ((b * s[1] + y) * s[2] + x) * s[3] + c;
    };
    for (int64_t b = 0; b < wide[0]; ++b)
        for (int64_t y = 0; y < wide[row]; ++y)
            for (int64_t x = 0; x < wide[column]; ++x)
                for (int64_t c = 0; c < wide[channel]; ++c) {
                    const int64_t large = at(wide, b, y, x, c);
                    const int64_t small = at(deep, b, y / size, x / size, (y % size * size + x % size) * wide[channel] + c);
                    std::memcpy(out.at(toDepth ? small : large), source.at(toDepth ? large : small), static_cast<size_t>(source.size()));
                }
    return out.finish();
}

} // namespace

LS_TF_KERNEL(SpaceToBatchND, runSpaceToBatch, kAllDTypes)
LS_TF_KERNEL(SpaceToBatch, runSpaceToBatch, kAllDTypes)
LS_TF_KERNEL(BatchToSpaceND, runBatchToSpace, kAllDTypes)
LS_TF_KERNEL(BatchToSpace, runBatchToSpace, kAllDTypes)
LS_TF_KERNEL(SpaceToDepth, runDepth<true>, kAllDTypes)
LS_TF_KERNEL(DepthToSpace, runDepth<false>, kAllDTypes)
