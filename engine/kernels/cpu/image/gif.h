// Pictures and animations in GIF files: all frames as one array. What a file says is checked before it is used, since files come from
// anywhere (the format: GIF89a specification, appendix F for its LZW codes).
#pragma once

#include "engine/base/interruption.h"
#include "engine/base/memory_budget.h"
#include "engine/ops/tf_rules.h"
#include "engine/tensor/npy.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace loopscope {

/// Reads a GIF file from front to back.
class GifReader {
public:
    explicit GifReader(std::string_view file) : m_rest(file) {}

    /// [frames,height,width,3]: each frame drawn over the one before it, on a canvas as large as the largest frame, as TensorFlow has it.
    /// `onlyFirst` stops behind the first one. Errors: InvalidArgument.
    Result<Array> read(bool onlyFirst)
    {
        std::string_view head;
        if (!take(13, head) || (!head.starts_with("GIF87a") && !head.starts_with("GIF89a")))
            return invalidArgument("Invalid GIF data: no header");
        LS_CHECK_OK(readColours(byte(head, 10), m_colours));
        for (bool more = true; more && !(onlyFirst && !m_frames.empty());) {
            LS_TRY(more, readBlock());
        }
        if (m_frames.empty()) return invalidArgument("Invalid GIF data: no frame");
        return draw();
    }

private:
    static int64_t byte(std::string_view text, size_t at) { return static_cast<unsigned char>(text[at]); }
    static int64_t word(std::string_view text, size_t at) { return byte(text, at) | byte(text, at + 1) << 8; }
    static Error cut() { return invalidArgument("Invalid GIF data: the file ends too early"); }

    bool take(size_t count, std::string_view& out)
    {
        if (m_rest.size() < count) return false;
        out = m_rest.substr(0, count);
        m_rest.remove_prefix(count);
        return true;
    }
    Status readColours(int64_t flags, std::string_view& colours)
    {
        if ((flags & 0x80) == 0) return {};
        return take(static_cast<size_t>(3 << ((flags & 7) + 1)), colours) ? Status() : Status(cut());
    }
    /// The content of sub-blocks, put together.
    Result<std::string> readData()
    {
        std::string data;
        for (std::string_view size, part; take(1, size);) {
            if (byte(size, 0) == 0) return data;
            if (!take(static_cast<size_t>(byte(size, 0)), part)) break;
            data += part;
        }
        return cut();
    }
    /// An extension or a frame. False at the end.
    Result<bool> readBlock()
    {
        std::string_view kind, label;
        if (!take(1, kind)) return !m_frames.empty() ? Result<bool>(false) : Result<bool>(cut());
        if (kind[0] == ';') return false;
        if (kind[0] == ',') {
            LS_CHECK_OK(readFrame());
            return true;
        }
        if (kind[0] != '!' || !take(1, label))
            return invalidArgument("Invalid GIF data: an unknown block " + std::to_string(byte(kind, 0)));
        LS_TRY(const std::string data, readData());
        if (byte(label, 0) == 0xf9 && data.size() >= 4) m_transparent = (data[0] & 1) != 0 ? byte(data, 3) : -1;
        return true;
    }
    struct Frame {
        int64_t left, top, width, height, transparent;
        bool isInterlaced;
        std::string_view colours;
        std::vector<uint8_t> indices;
    };
    Status readFrame()
    {
        std::string_view head, codeSize, colours = m_colours;
        if (!take(9, head)) return cut();
        LS_CHECK_OK(readColours(byte(head, 8), colours));
        if (colours.empty()) return invalidArgument("missing color map for frame " + std::to_string(m_frames.size()));
        if (!take(1, codeSize)) return cut();
        LS_TRY(const std::string data, readData());
        Frame frame{word(head, 0), word(head, 2), word(head, 4), word(head, 6), m_transparent, (byte(head, 8) & 0x40) != 0, colours, {}};
        LS_TRY(frame.indices, unpack(data, byte(codeSize, 0), frame.width * frame.height));
        m_transparent = -1;
        m_frames.push_back(std::move(frame));
        return {};
    }
    Result<Array> draw()
    {
        int64_t width = 0, height = 0;
        for (const Frame& frame : m_frames) width = std::max(width, frame.width), height = std::max(height, frame.height);
        const auto size = static_cast<size_t>(width * height * 3);
        if (size == 0) return invalidArgument("Invalid GIF data: a canvas of " + std::to_string(width) + " x " + std::to_string(height));
        Array out{DType::u8, Shape({static_cast<int64_t>(m_frames.size()), height, width, 3}), {}};
        for (const Frame& frame : m_frames) {
            LS_CHECK_OK(m_memory.grow(size));
            const size_t base = out.bytes.size();
            out.bytes.resize(base + size);
            if (base > 0)
                std::copy_n(out.bytes.begin() + static_cast<int64_t>(base - size), size, out.bytes.begin() + static_cast<int64_t>(base));
            for (int64_t row = 0; row < frame.height; ++row) {
                interruptionPoint();
                const int64_t y = frame.top + (frame.isInterlaced ? interlaced(row, frame.height) : row);
                for (int64_t x = frame.left; x < std::min(frame.left + frame.width, width) && y < height; ++x) {
                    const int64_t index = frame.indices[static_cast<size_t>(row * frame.width + x - frame.left)];
                    if (index == frame.transparent) continue;
                    if (3 * index + 2 >= static_cast<int64_t>(frame.colours.size()))
                        return invalidArgument("found color index " + std::to_string(index) + " outside of color map range " +
                                               std::to_string(frame.colours.size() / 3));
                    for (int64_t c = 0; c < 3; ++c)
                        out.bytes[base + static_cast<size_t>((y * width + x) * 3 + c)] =
                            static_cast<std::byte>(frame.colours[static_cast<size_t>(3 * index + c)]);
                }
            }
        }
        return out;
    }
    /// Rows come in four passes: every eighth, those between, …
    static int64_t interlaced(int64_t row, int64_t height)
    {
        for (const auto& [start, step] : {std::pair<int64_t, int64_t>{0, 8}, {4, 8}, {2, 4}, {1, 2}}) {
            const int64_t rows = start < height ? (height - start + step - 1) / step : 0;
            if (row < rows) return start + row * step;
            row -= rows;
        }
        return 0;
    }
    /// LZW codes of growing length. Errors: InvalidArgument if they are damaged or too few.
    Result<std::vector<uint8_t>> unpack(std::string_view data, int64_t codeSize, int64_t count)
    {
        if (codeSize < 1 || codeSize > 8) return invalidArgument("Invalid GIF data: codes of " + std::to_string(codeSize) + " bits");
        LS_CHECK_OK(m_memory.grow(static_cast<uint64_t>(count)));
        constexpr int kMost = 4096;
        struct Entry {
            int16_t before;
            uint8_t last, first;
        };
        std::vector<Entry> table(kMost);
        const int clear = 1 << codeSize;
        for (int i = 0; i < clear; ++i) table[static_cast<size_t>(i)] = {-1, static_cast<uint8_t>(i), static_cast<uint8_t>(i)};
        std::vector<uint8_t> out, word;
        out.reserve(static_cast<size_t>(count));
        int bits = static_cast<int>(codeSize) + 1, next = clear + 2, before = -1;
        uint32_t buffer = 0;
        int held = 0;
        for (const char c : data) {
            buffer |= static_cast<uint32_t>(static_cast<unsigned char>(c)) << held;
            held += 8;
            while (held >= bits && static_cast<int64_t>(out.size()) < count) {
                const int code = static_cast<int>(buffer & ((1U << bits) - 1));
                buffer >>= bits, held -= bits;
                if (code == clear) {
                    bits = static_cast<int>(codeSize) + 1, next = clear + 2, before = -1;
                    continue;
                }
                if (code == clear + 1) return finished(std::move(out), count);
                const bool isNew = code == next && before >= 0;
                if (!isNew && (code >= next || (before < 0 && code > clear)))
                    return invalidArgument("Invalid GIF data: a code that stands for nothing");
                word.clear();
                if (isNew) word.push_back(table[static_cast<size_t>(before)].first);
                for (int at = isNew ? before : code; at >= 0; at = table[static_cast<size_t>(at)].before)
                    word.push_back(table[static_cast<size_t>(at)].last);
                out.insert(out.end(), word.rbegin(), word.rend());
                if (before >= 0 && next < kMost) {
                    table[static_cast<size_t>(next)] = {static_cast<int16_t>(before), word.back(),
                                                        table[static_cast<size_t>(before)].first};
                    if (++next == 1 << bits && bits < 12) ++bits;
                }
                before = code;
            }
        }
        return finished(std::move(out), count);
    }
    static Result<std::vector<uint8_t>> finished(std::vector<uint8_t> out, int64_t count)
    {
        if (static_cast<int64_t>(out.size()) < count)
            return invalidArgument("Invalid GIF data: " + std::to_string(out.size()) + " pixels of a frame of " + std::to_string(count));
        out.resize(static_cast<size_t>(count));
        return out;
    }

    std::string_view m_rest, m_colours;
    int64_t m_transparent = -1;
    std::vector<Frame> m_frames;
    MemoryMeter m_memory{"frames"};
};

} // namespace loopscope
