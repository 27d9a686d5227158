#include "engine/tensor/sparse.h"

#include <cstring>

namespace loopscope {

namespace {

/// Walks the stored dimensions from the outermost and puts every stored element in its place.
class Densifier {
public:
    Densifier(const Sparsity& sparsity, const Shape& shape, std::span<const std::byte> stored, std::span<std::byte> dense, size_t width,
              std::vector<int64_t>* places)
        : m_sparsity(sparsity),
          m_shape(shape),
          m_stored(stored),
          m_dense(dense),
          m_width(width),
          m_places(places),
          m_indices(sparsity.dimensions.size(), 0)
    {
    }

    Status run()
    {
        const size_t rank = static_cast<size_t>(m_shape.rank());
        const size_t levels = m_sparsity.dimensions.size();
        constexpr size_t kDeepest = 64; // levels of recursion
        if (levels > kDeepest || levels != rank + m_sparsity.blockMap.size() || m_sparsity.traversalOrder.size() != levels)
            return misfit("the number of stored dimensions");
        std::vector<bool> seen(levels, false);
        for (const int32_t dim : m_sparsity.traversalOrder) {
            if (dim < 0 || static_cast<size_t>(dim) >= levels || seen[static_cast<size_t>(dim)]) return misfit("the traversal order");
            seen[static_cast<size_t>(dim)] = true;
        }
        for (const int32_t dim : m_sparsity.blockMap)
            if (dim < 0 || static_cast<size_t>(dim) >= rank) return misfit("the block map");
        m_blockSizes.assign(m_sparsity.blockMap.size(), 0);
        for (size_t level = 0; level < levels; ++level) {
            const auto dim = static_cast<size_t>(m_sparsity.traversalOrder[level]);
            if (dim < rank) continue;
            if (m_sparsity.dimensions[level].compressed) return misfit("a block dimension that is not dense");
            m_blockSizes[dim - rank] = m_sparsity.dimensions[level].denseSize;
        }
        m_stepsLeft = 16 * (m_dense.size() + m_stored.size()) + 1024;
        LS_CHECK_OK(walk(0, 0));
        if (m_next * m_width != m_stored.size()) return misfit("the number of stored elements");
        return {};
    }

private:
    static Error misfit(const std::string& what) { return Error(ErrorCode::badFile, "sparse constant: " + what + " does not fit"); }

    Status walk(size_t level, int64_t parent)
    {
        if (level == m_sparsity.dimensions.size()) return place();
        const SparseDimension& dimension = m_sparsity.dimensions[level];
        if (!dimension.compressed) {
            for (int64_t i = 0; i < dimension.denseSize; ++i) {
                if (m_stepsLeft-- == 0) return misfit("a dense dimension");
                m_indices[level] = i;
                LS_CHECK_OK(walk(level + 1, parent * dimension.denseSize + i));
            }
            return {};
        }
        const auto at = static_cast<size_t>(parent);
        if (at + 1 >= dimension.segments.size()) return misfit("a segment list");
        for (int64_t i = dimension.segments[at]; i < dimension.segments[at + 1]; ++i) {
            if (i < 0 || static_cast<size_t>(i) >= dimension.indices.size()) return misfit("an index list");
            if (m_stepsLeft-- == 0) return misfit("a compressed dimension");
            m_indices[level] = dimension.indices[static_cast<size_t>(i)];
            LS_CHECK_OK(walk(level + 1, i));
        }
        return {};
    }

    Status place()
    {
        const auto rank = static_cast<size_t>(m_shape.rank());
        std::vector<int64_t> position(rank, 0);
        for (const bool blocks : {false, true}) // an index counts blocks first, then elements within the block
            for (size_t level = 0; level < m_indices.size(); ++level) {
                const auto dim = static_cast<size_t>(m_sparsity.traversalOrder[level]);
                if ((dim >= rank) != blocks) continue;
                if (!blocks) {
                    position[dim] = m_indices[level];
                } else {
                    int64_t& outer = position[static_cast<size_t>(m_sparsity.blockMap[dim - rank])];
                    outer = outer * m_blockSizes[dim - rank] + m_indices[level];
                }
            }
        int64_t flat = 0;
        for (size_t d = 0; d < rank; ++d) {
            if (position[d] < 0 || position[d] >= m_shape[static_cast<int>(d)]) return misfit("an index");
            flat = flat * m_shape[static_cast<int>(d)] + position[d];
        }
        if ((m_next + 1) * m_width > m_stored.size()) return misfit("the number of stored elements");
        std::memcpy(m_dense.data() + static_cast<size_t>(flat) * m_width, m_stored.data() + m_next * m_width, m_width);
        if (m_places != nullptr) m_places->push_back(flat);
        ++m_next;
        return {};
    }

    const Sparsity& m_sparsity;
    const Shape& m_shape;
    std::span<const std::byte> m_stored;
    std::span<std::byte> m_dense;
    size_t m_width;
    std::vector<int64_t>* m_places; ///< null: nobody asks
    std::vector<int64_t> m_indices; ///< by level
    std::vector<int64_t> m_blockSizes;
    size_t m_next = 0;        ///< stored element
    uint64_t m_stepsLeft = 0; ///< an honest layout takes far fewer: files must not keep us busy
};

} // namespace

Result<Bytes> densify(const Constant& constant, DType dtype, const Shape& shape, std::vector<int64_t>* places)
{
    const int bits = bitWidth(dtype);
    if (bits == 0 || bits % 8 != 0) return Error(ErrorCode::unsupported, "sparse constants of dtype " + std::string(dtypeName(dtype)));
    const std::optional<int64_t> count = checkedElementCount(shape);
    constexpr uint64_t kLargest = uint64_t{1} << 33; // a few stored bytes must not ask for all memory
    if (!count || byteSize(dtype, *count) > kLargest) return Error(ErrorCode::badFile, "sparse constant of shape " + toString(shape));
    const auto dense = std::make_shared<std::vector<std::byte>>(byteSize(dtype, *count));
    Densifier densifier(*constant.sparsity, shape, constant.bytes().view(), *dense, static_cast<size_t>(bits) / 8, places);
    LS_CHECK_OK(densifier.run());
    const std::span<const std::byte> view = *dense;
    return Bytes(view, dense);
}

} // namespace loopscope
