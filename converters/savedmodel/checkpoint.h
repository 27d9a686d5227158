// TensorFlow checkpoints ("tensor bundles"): an index, which is a sorted table of entries, and shards with the bytes. Tensors are
// slices of the mapped shards; every checksum that is read over is verified.
#pragma once

#include "engine/base/bytes.h"
#include "engine/base/memory_budget.h"
#include "engine/base/result.h"
#include "engine/ir/attribute.h"

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace loopscope::savedmodel {

/// A part of a tensor: where it begins along each dimension, and how long it is; length −1: all of the dimension.
struct TensorSlice {
    std::vector<int64_t> starts, lengths;
};

/// Where a tensor lies.
struct CheckpointEntry {
    int dtypeNumber = 0; ///< DT_…
    Shape shape;
    int32_t shard = 0;
    int64_t offset = 0, size = 0;
    uint32_t maskedCrc = 0;
    std::vector<TensorSlice> slices; ///< not empty: stored in these parts, under other keys
};

class Checkpoint {
public:
    /// Opens `PREFIX.index`. Shards are opened when a tensor of theirs is read.
    /// Errors: badFile (missing, damaged: with the file and the offset).
    static Result<Checkpoint> open(const std::string& prefix);

    const std::map<std::string, CheckpointEntry, std::less<>>& entries() const { return m_entries; }
    /// Errors: badFile (no such entry, no such shard, a shard that is too short, a checksum that differs, parts that do not fit),
    /// unsupported (dtypes without a form here).
    Result<TensorAttribute> read(std::string_view key);
    /// A part of an entry as RestoreV2 spells it: the dimensions of the whole, then "start,length" or "-" for each of them ("4 2 0,2:-").
    Result<TensorAttribute> readSlice(std::string_view key, std::string_view slice);

private:
    explicit Checkpoint(std::string prefix) : m_prefix(std::move(prefix)) {}
    Status readIndex(const Bytes& file);
    Status readBlock(std::string_view file, uint64_t offset, uint64_t size, std::vector<std::pair<std::string, std::string_view>>& out);
    Status addEntry(std::string key, std::string_view value);
    Result<TensorAttribute> readParts(std::string_view key, const CheckpointEntry& entry);
    Result<Bytes> shard(int32_t number);
    std::string shardName(int32_t number) const;

    std::string m_prefix;
    int32_t m_shardCount = 0;
    bool m_hasHeader = false;
    bool m_isBigEndian = false;         ///< the bytes in the shards
    std::deque<std::string> m_unpacked; ///< blocks that were compressed
    MemoryMeter m_memory{"index"};      ///< a block may be named, and a key repeated, any number of times
    std::map<std::string, CheckpointEntry, std::less<>> m_entries;
    std::map<int32_t, Bytes> m_shards;
};

} // namespace loopscope::savedmodel
