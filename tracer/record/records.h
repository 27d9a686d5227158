// What the executor's thread tells the writer's thread: records of 64 bytes in a ring, and items on the heap for what is rare or large.
#pragma once

#include "engine/tensor/dtype.h"
#include "engine/tensor/shape.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

namespace loopscope {

enum class RecordKind : uint8_t { event, output, range, abnormal, started, ended, digest, gap, item };

/// The columns `state` of event and output.
enum class WriteState : uint8_t { live = 0, dead = 1, failed = 2, notTaken = 3, notWritten = 4 };

enum class GapReason : uint8_t { policy, filter, quota, fullDisk, level };

/// Bits of ValueRecord::flags.
inline constexpr uint8_t kHasLo = 1;
inline constexpr uint8_t kLoIsInteger = 2; ///< `lo` holds an int64_t, else the bits of a double
inline constexpr uint8_t kHasRange = 4;    ///< a RangeRecord follows
inline constexpr uint8_t kHasContent = 8;
inline constexpr uint8_t kContinues = 16; ///< more records of the same event follow: no commit in between

/// Every record begins with its kind.
struct RecordHead {
    RecordKind kind = RecordKind::event;
    WriteState state = WriteState::live;
    uint8_t flags = 0;
};

/// A row of `event` (kind event) or `output` (kind output).
struct ValueRecord {
    RecordHead head;
    int32_t op = 0; ///< event: id of the operator; output: slot
    int64_t event = 0;
    int64_t invocation = 0; ///< row id; event only
    int64_t ns = -1;        ///< event only
    int64_t lo = 0;
    int64_t content = 0;
};

/// The rest of the statistics of the write before.
struct RangeRecord {
    RecordHead head{RecordKind::range};
    double hi = 0, mean = 0, std = 0;
    int64_t zeros = 0;
};

struct AbnormalRecord {
    RecordHead head{RecordKind::abnormal};
    int32_t slot = 0;
    int64_t event = 0;
    int64_t nan = 0, positiveInf = 0, negativeInf = 0, denormal = 0, saturated = 0, firstIndex = -1;
};

struct StartedRecord {
    RecordHead head{RecordKind::started};
    int32_t call = 0;
    int64_t id = 0, parent = 0, iteration = -1, first = 0, run = 0;
};

struct EndedRecord {
    RecordHead head{RecordKind::ended};
    int64_t id = 0, steps = 0, ns = -1;
};

struct DigestRecord {
    RecordHead head{RecordKind::digest};
    int64_t last = 0;
    uint64_t hash = 0;
};

struct GapRecord {
    RecordHead head{RecordKind::gap};
    GapReason reason = GapReason::policy;
    int64_t run = 0, first = 0, last = 0;
};

struct Item;
struct ItemRecord {
    RecordHead head{RecordKind::item};
    Item* item = nullptr; ///< owned by whoever takes the record out
};

/// Bytes to store under their content key.
struct BlobItem {
    int64_t key = 0, guard = 0;
    DType dtype = DType::unknown;
    Shape shape;
    std::vector<std::byte> bytes;
};
struct ReshapeItem {
    int64_t value = 0, event = 0;
    Shape shape;
};
struct AccessItem {
    int64_t event = 0;
    std::string variable;
    const char* kind = "";
    uint8_t flags = 0;
    int64_t lo = 0, content = 0;
    double hi = 0, mean = 0;
};
struct PrintItem {
    int64_t event = 0;
    std::string stream, text;
};
struct AlertItem {
    int64_t run = 0, event = 0;
    int32_t slot = -1;
    std::string kind, text;
};
struct CallItem {
    int64_t id = 0, op = 0; ///< op 0: none
    std::string role;
    int64_t graph = 0, cond = 0; ///< cond 0: none
    std::string frame;
};
struct FeedItem {
    int32_t position = 0;
    std::string name, source, dtype, shape;
    bool hasContent = false;
    int64_t content = 0;
};
struct PlaceItem {
    int64_t op = 0;
    std::string device;
    int64_t rank = 0;
};
struct RunItem {
    int64_t id = 0, base = 0, first = 0;
    int64_t startNs = 0;
    std::string signature, started;
    std::vector<FeedItem> feeds;
    std::vector<PlaceItem> places;
};
struct RunEndItem {
    int64_t id = 0, base = 0, first = 0;
    int64_t steps = 0; ///< step after the last one
    int64_t ns = -1;
    const char* state = "complete";
    std::string error;
};

struct Item {
    std::variant<BlobItem, ReshapeItem, AccessItem, PrintItem, AlertItem, CallItem, RunItem, RunEndItem> content;
};

/// Room for any record.
struct alignas(64) RingSlot {
    std::byte bytes[64];
};

template <typename T> inline constexpr bool kIsRecord = std::is_trivially_copyable_v<T> && sizeof(T) <= sizeof(RingSlot);
static_assert(kIsRecord<ValueRecord> && kIsRecord<RangeRecord> && kIsRecord<AbnormalRecord> && kIsRecord<StartedRecord> &&
              kIsRecord<EndedRecord> && kIsRecord<DigestRecord> && kIsRecord<GapRecord> && kIsRecord<ItemRecord>);

} // namespace loopscope
