// Convolutions as products: windows become rows of a matrix, a few at a time.
#pragma once

#include "engine/kernels/cpu/nn/convolution_setup.h"
#include "engine/kernels/fast/copy.h"
#include "engine/kernels/fast/rows.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace loopscope::fast {

/// Concrete sizes of a call.
struct ConvSizes : PlacedWindow {
    int64_t batches, inputChannels, channels, groupDepth, groups, groupChannels;

    /// `channels_`: of the result; `groupDepth_`: channels of the input that each of them sees.
    ConvSizes(const ConvolutionSetup& setup, const Shape& input, const Shape& filter, const Shape& output, int64_t channels_,
              int64_t groupDepth_)
        : PlacedWindow(setup.place(input, filter, output)),
          batches(input[0]),
          inputChannels(input[3]),
          channels(channels_),
          groupDepth(groupDepth_),
          groups(std::max<int64_t>(1, inputChannels / groupDepth)),
          groupChannels(channels / groups)
    {
    }
    int64_t depth() const { return taps() * groupDepth; }
    int64_t plane() const { return y.input * x.input * inputChannels; }
    int64_t windows() const { return batches * y.output * x.output; }
    /// Windows are single pixels that lie inside: they need no copy.
    bool isPointwise() const
    {
        return groups == 1 && y.filter == 1 && x.filter == 1 && y.padding == 0 && x.padding == 0 && (y.output - 1) * y.stride < y.input &&
               (x.output - 1) * x.stride < x.input;
    }
};

/// Writes the inputs of one window of a group as a row; what lies in the padding is `zero`. `ty`: the rows of its taps that lie inside;
/// `inner`: the windows of the line all of whose columns do; `end`: of the input. Behind the row are sixteen bytes that may be written.
template <typename In> void gatherWindow(const ConvSizes& s, const In* image, int64_t oy, int64_t ox, TapRange ty, TapRange inner,
                                         int64_t group, In zero, const In* end, In* row)
{
    const int64_t depth = s.groupDepth, line = s.x.filter * depth;
    const TapRange tx = ox >= inner.first && ox < inner.last ? TapRange{0, s.x.filter} : s.x.taps(ox);
    const bool isOneRun = s.x.dilation == 1 && s.groups == 1;
    for (int64_t ky = 0; ky < s.y.filter; ++ky, row += line) {
        if (ky < ty.first || ky >= ty.last || tx.count() <= 0) {
            std::fill_n(row, line, zero);
            continue;
        }
        const In* const from = image + (s.y.origin(oy) + ky * s.y.dilation) * s.x.input * s.inputChannels + group * depth;
        if (tx.first > 0) std::fill_n(row, tx.first * depth, zero);
        if (isOneRun) copyShortRun(from + (s.x.origin(ox) + tx.first) * depth, tx.count() * depth, row + tx.first * depth, end);
        else
            for (int64_t kx = tx.first; kx < tx.last; ++kx)
                copyShortRun(from + (s.x.origin(ox) + kx * s.x.dilation) * s.inputChannels, depth, row + kx * depth, end);
        if (tx.last < s.x.filter) std::fill_n(row + tx.last * depth, (s.x.filter - tx.last) * depth, zero);
    }
}

/// Numbers behind a block of rows that short copies may write.
inline constexpr int64_t kCopySlack = 64;

/// The same for a window all of whose taps lie inside, whose lines have at most `bytes` bytes: each is copied together with what follows,
/// which the next one overwrites.
template <size_t bytes, typename In> void gatherShortLines(const In* from, int64_t lineStep, int64_t lines, int64_t line, In* row)
{
    for (int64_t k = 0; k < lines; ++k, from += lineStep, row += line) std::memcpy(row, from, bytes);
}

/// How many bytes of a line the short form copies; 0: it does not pay.
template <typename In> size_t shortLineBytes(const ConvSizes& s)
{
    const auto bytes = static_cast<size_t>(s.x.filter * s.groupDepth) * sizeof(In);
    if (s.groups != 1 || s.x.dilation != 1 || bytes > 64) return 0;
    return bytes <= 16 ? 16 : bytes <= 32 ? 32 : 64;
}

/// How far apart rows are kept: rows a multiple of 1 KiB apart would share the few places of a cache that their addresses allow.
inline int64_t rowPitch(int64_t numbers, int64_t bytes) { return numbers * bytes % 1024 == 0 ? numbers + 64 / bytes : numbers; }

/// How all windows are cut into pieces of work: blocks of whole tiles, as even as they can be, and where they are few, panels.
struct WindowBlocks {
    int64_t tiles, blocks;
    int64_t parts = 1; ///< that the panels are cut into

    /// Blocks have fewer rows where these are long. `panels`: how many may be cut.
    WindowBlocks(int64_t windows, int64_t rowBytes, int64_t panels, int64_t threads) : tiles((windows + kTileRows - 1) / kTileRows)
    {
        constexpr int64_t kBlockBytes = int64_t{1} << 17;
        const int64_t most = std::clamp<int64_t>(kBlockBytes / std::max<int64_t>(rowBytes, 1), kTileRows, kMostRows);
        const int64_t mostTiles = (most + kTileRows - 1) / kTileRows;
        blocks = std::max<int64_t>(1, (tiles + mostTiles - 1) / mostTiles);
        if (threads == 1) return;
        // One block, and many columns: each thread reads its part of the weights alone, and makes the same rows as the others.
        if (blocks == 1) parts = std::clamp<int64_t>(panels / (2 * kPanelsTogether), 1, threads);
        if (parts > 1 || blocks >= 8 * threads) return;
        blocks = std::min(std::max<int64_t>(1, tiles), (blocks + threads - 1) / threads * threads);
    }
    int64_t firstRow(int64_t block) const { return tiles * block / blocks * kTileRows; }
    int64_t mostRows() const { return (tiles + blocks - 1) / blocks * kTileRows; }
    int64_t firstPanel(int64_t part, int64_t panels) const
    {
        return part == parts ? panels : panels * part / parts / kPanelsTogether * kPanelsTogether;
    }
};

/// Multiplies all windows of source(scratch memory), which begins with what `common` has reserved, by the panels that panels() tells after
/// that; output(first window, group) tells where the results go from there.
template <typename In, typename Source, typename Panels, typename Output>
void multiplyWindows(const KernelArgs& args, const ConvSizes& s, ScratchLayout common, int32_t zeroPoint, Source source, Panels panelsAfter,
                     Output output)
{
    using Panel = std::remove_cv_t<std::remove_pointer_t<decltype(panelsAfter())>>;
    using Wide = std::conditional_t<sizeof(Panel) == 1, In, Panel>; // bytes are multiplied as they are
    const int64_t depth = s.depth(), padded = rowDepth<Wide>(depth), windows = s.windows();
    if (windows == 0) return;
    const int64_t pitch = rowPitch(padded, sizeof(Wide)), allPanels = panelsOf(s.groupChannels);
    constexpr bool isWidened = !std::is_same_v<In, Wide>;
    // Numbers of single pixels are read where they are, unless many columns make up for copying them to better places.
    const bool isDirect = !isWidened && s.isPointwise() && padded == depth && (pitch == padded || s.groupChannels < 64);
    const WindowBlocks cut(windows, padded * static_cast<int64_t>(sizeof(Wide)), s.groups == 1 ? allPanels : 0, args.runtime->threads());
    const int64_t blockNumbers = (cut.mostRows() * pitch + kCopySlack + 63) / 64 * 64; // and what short copies write behind the last row
    ScratchLayout each;
    const size_t rowsAt = each.add<Wide>(isDirect ? 0 : blockNumbers);
    const size_t bytesAt = isWidened ? each.add<In>(blockNumbers) : rowsAt; // rows as they are in the input
    const ThreadScratch scratch = takeScratch(*args.runtime, common, each);
    const In* const images = source(scratch.common);
    const int64_t groupElements = panelElements<Wide>(s.groupChannels, depth), plane = s.plane();
    const Panel* const panels = panelsAfter();
    const TapRange inner = s.x.interior();
    const size_t shortBytes = shortLineBytes<In>(s);
    const int64_t lineStep = s.y.dilation * s.x.input * s.inputChannels;
    const In* const lastShort = images + s.batches * plane - static_cast<int64_t>(shortBytes / sizeof(In));
    // Pixels side by side are widened where they are.
    const bool isAligned = isWidened && s.isPointwise() && s.x.stride == 1 && s.y.stride == 1 && s.x.output == s.x.input &&
                           s.y.output == s.y.input && pitch == depth;
    shareWork(args, cut.blocks * cut.parts, cut.mostRows() * s.channels * depth / cut.parts, [&](int64_t begin, int64_t end, int thread) {
        Wide* const block = scratch.of<Wide>(thread, rowsAt);
        In* const gathered = scratch.of<In>(thread, bytesAt);
        const auto zero = static_cast<In>(zeroPoint);
        const Wide* rows[kMostRows];
        for (int64_t piece = begin; piece < end; ++piece) {
            const int64_t first = cut.firstRow(piece / cut.parts), part = piece % cut.parts;
            const int64_t count = std::min(cut.firstRow(piece / cut.parts + 1), windows) - first;
            for (int64_t g = 0; g < s.groups; ++g) {
                int64_t ox = first % s.x.output, oy = first / s.x.output % s.y.output;
                TapRange ty;
                const In* image = images + first / (s.x.output * s.y.output) * plane;
                const In* widened = gathered;
                for (int64_t r = 0; r < count; ++r) {
                    rows[r] = block + r * pitch;
                    if (isAligned) continue;
                    if constexpr (!isWidened)
                        if (isDirect) rows[r] = image + (oy * s.y.stride * s.x.input + ox * s.x.stride) * s.inputChannels;
                    if (!isDirect) {
                        if (r == 0 || ox == 0) ty = s.y.taps(oy);
                        In* const row = gathered + r * pitch;
                        const In* const corner = image + (s.y.origin(oy) * s.x.input + s.x.origin(ox)) * s.inputChannels;
                        const bool isInside = ox >= inner.first && ox < inner.last && ty.count() == s.y.filter;
                        if (shortBytes != 0 && isInside && corner + (s.y.filter - 1) * lineStep <= lastShort) {
                            const int64_t line = s.x.filter * s.groupDepth;
                            if (shortBytes == 16) gatherShortLines<16>(corner, lineStep, s.y.filter, line, row);
                            else if (shortBytes == 32) gatherShortLines<32>(corner, lineStep, s.y.filter, line, row);
                            else gatherShortLines<64>(corner, lineStep, s.y.filter, line, row);
                        } else {
                            gatherWindow(s, image, oy, ox, ty, inner, g, zero, images + s.batches * plane, row);
                        }
                        for (int64_t d = depth; d < padded; ++d) row[d] = zero;
                    }
                    if (++ox < s.x.output) continue;
                    ox = 0;
                    if (++oy < s.y.output) continue;
                    oy = 0;
                    image += plane;
                }
                if (isAligned) widened = images + first * depth;
                if constexpr (isWidened) copyWidened(widened, count * pitch, zeroPoint, block);
                multiplyRows(rows, count, padded, panels + g * groupElements, cut.firstPanel(part, allPanels),
                             cut.firstPanel(part + 1, allPanels), output(first, g));
            }
        }
    });
}

} // namespace loopscope::fast
