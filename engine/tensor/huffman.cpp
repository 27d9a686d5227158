#include "engine/tensor/huffman.h"

#include <array>
#include <cstring>
#include <string>
#include <vector>

namespace loopscope {

namespace {

constexpr size_t kHeaderSize = 16;
constexpr size_t kMostNodes = 511; // 256 leaves

Error misfit(const std::string& what) { return Error(ErrorCode::badFile, "compressed constant: " + what); }

class BitReader {
public:
    BitReader(std::span<const std::byte> bytes, uint64_t first, uint64_t end) : m_bytes(bytes), m_at(first), m_end(end) {}
    bool atEnd() const { return m_at >= m_end; }
    uint64_t left() const { return m_end - m_at; }
    int next()
    {
        const int bit = static_cast<int>(m_bytes[m_at / 8] >> (7 - m_at % 8) & std::byte{1});
        ++m_at;
        return bit;
    }

private:
    std::span<const std::byte> m_bytes;
    uint64_t m_at, m_end;
};

struct Node {
    std::array<int, 2> branches = {-1, -1}; ///< −1, −1: a leaf
    std::byte leaf = {};
    bool isLeaf() const { return branches[0] < 0; }
};

Result<std::vector<Node>> readTree(BitReader bits)
{
    std::vector<Node> nodes;
    std::vector<std::pair<int, int>> open; // branches without a node: parent, which one
    do {
        const int index = static_cast<int>(nodes.size());
        if (nodes.size() == kMostNodes) return misfit("the tree has more than 256 leaves");
        if (!open.empty()) {
            nodes[static_cast<size_t>(open.back().first)].branches[static_cast<size_t>(open.back().second)] = index;
            open.pop_back();
        }
        nodes.emplace_back();
        if (bits.atEnd()) return misfit("the tree is cut off");
        if (bits.next() == 1) {
            nodes.back().branches = {0, 0};
            open.emplace_back(index, 1);
            open.emplace_back(index, 0);
        } else {
            if (bits.left() < 8) return misfit("the tree is cut off");
            int value = 0;
            for (int i = 0; i < 8; ++i) value = value * 2 + bits.next();
            nodes.back().leaf = static_cast<std::byte>(value);
        }
    } while (!open.empty());
    if (!bits.atEnd()) return misfit("the tree is followed by " + std::to_string(bits.left()) + " other bits");
    return nodes;
}

} // namespace

Result<Bytes> decodeHuffman(std::span<const std::byte> stored, uint64_t count)
{
    if (stored.size() < kHeaderSize) return misfit("found " + std::to_string(stored.size()) + " bytes, expected at least 16");
    uint64_t treeBits = 0;
    uint64_t dataBits = 0;
    std::memcpy(&treeBits, stored.data(), sizeof(treeBits));
    std::memcpy(&dataBits, stored.data() + sizeof(treeBits), sizeof(dataBits));
    const std::span<const std::byte> bytes = stored.subspan(kHeaderSize);
    const uint64_t there = bytes.size() * 8;
    if (treeBits > there || dataBits > there - treeBits)
        return misfit("tree and data have " + std::to_string(treeBits) + " and " + std::to_string(dataBits) + " bits, the file holds " +
                      std::to_string(there));
    LS_TRY(const std::vector<Node> nodes, readTree(BitReader(bytes, 0, treeBits)));
    // Every code has a bit, unless all bytes are the same one: then nothing but the shape says how many there are.
    constexpr uint64_t kLargest = uint64_t{1} << 31;
    if (count > kLargest || (!nodes[0].isLeaf() && count > dataBits))
        return misfit(std::to_string(dataBits) + " bits cannot hold " + std::to_string(count) + " codes");
    const auto out = std::make_shared<std::vector<std::byte>>(count);
    BitReader bits(bytes, treeBits, treeBits + dataBits);
    for (std::byte& byte : *out) {
        size_t at = 0;
        while (!nodes[at].isLeaf()) {
            if (bits.atEnd()) return misfit("the data is cut off");
            at = static_cast<size_t>(nodes[at].branches[static_cast<size_t>(bits.next())]);
        }
        byte = nodes[at].leaf;
    }
    if (!bits.atEnd()) return misfit(std::to_string(bits.left()) + " bits are left over");
    const std::span<const std::byte> view = *out;
    return Bytes(view, out);
}

} // namespace loopscope
