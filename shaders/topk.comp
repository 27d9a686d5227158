#version 450
// The k largest of each row in falling order, and their places; of equal ones the first. Few of them are found one by one, by a workgroup a
// row; else an invocation an element counts how many come before its own.
#extension GL_GOOGLE_include_directive : require
#include "storage.glsl"
layout(local_size_x = 64) in;

layout(constant_id = 0) const int kClass = 0;
layout(constant_id = 1) const int kStore = 0; ///< floats as integers of their width: bits stay as they are
layout(constant_id = 2) const int kStorePlaces = 0;
layout(constant_id = 3) const bool kOneByOne = false;

LS_READS(0, In)
LS_WRITES(1, Values)
LS_WRITES(2, Places)

layout(push_constant) uniform Parameters
{
    uint rows, size, k;
} p;

const uint kNowhere = 0xFFFFFFFFu;
shared int64_t keys[64];
shared uint places[64];

/// In the order of elements; what is no number comes behind all that are, and both zeros are equal.
int64_t keyAt(uint i)
{
    int64_t value = readLongIn(kStore, i);
    if (kClass != inFloat) return value;
    int bits = int(value), size = bits & 0x7FFFFFFF;
    if (size > 0x7F800000) return int64_t(-2147483647 - 1);
    return int64_t(bits < 0 ? -size : size);
}

bool isBefore(int64_t a, uint placeOfA, int64_t b, uint placeOfB) { return a > b || (a == b && placeOfA < placeOfB); }

void write(uint row, uint rank, uint place)
{
    writeLongValues(kStore, row * p.k + rank, readLongIn(kStore, row * p.size + place));
    writeIntPlaces(kStorePlaces, row * p.k + rank, int(place));
}

void findOneByOne(uint row)
{
    uint lane = gl_LocalInvocationID.x, base = row * p.size, lastPlace = 0;
    int64_t last = 0;
    for (uint rank = 0; rank < p.k; ++rank) {
        int64_t best = 0;
        uint place = kNowhere;
        for (uint i = lane; i < p.size; i += 64) {
            int64_t key = keyAt(base + i);
            bool isLeft = rank == 0 || isBefore(last, lastPlace, key, i);
            if (isLeft && (place == kNowhere || isBefore(key, i, best, place))) {
                best = key;
                place = i;
            }
        }
        keys[lane] = best;
        places[lane] = place;
        for (uint reach = 32; reach > 0; reach >>= 1) {
            barrier();
            uint other = lane + reach;
            if (lane < reach && places[other] != kNowhere &&
                (places[lane] == kNowhere || isBefore(keys[other], places[other], keys[lane], places[lane]))) {
                keys[lane] = keys[other];
                places[lane] = places[other];
            }
        }
        barrier();
        last = keys[0];
        lastPlace = places[0];
        barrier();
        if (lane == 0) write(row, rank, lastPlace);
    }
}

void main()
{
    if (kOneByOne) {
        uint row = gl_WorkGroupID.x + gl_WorkGroupID.y * gl_NumWorkGroups.x;
        if (row < p.rows) findOneByOne(row);
        return;
    }
    uint element = elementIndex();
    if (element >= p.rows * p.size) return;
    uint row = element / p.size, place = element % p.size, rank = 0;
    int64_t key = keyAt(element);
    for (uint i = 0; i < p.size; ++i)
        if (isBefore(keyAt(row * p.size + i), i, key, place)) ++rank;
    if (rank < p.k) write(row, rank, place);
}
