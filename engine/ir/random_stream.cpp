#include "engine/ir/random_stream.h"

#include "engine/base/hash.h"

#include <span>

namespace loopscope {

bool drawsRandomNumbers(const Operator& op)
{
    return findAttribute(op.attributes, "seed") != nullptr || findAttribute(op.attributes, "seed2") != nullptr;
}

uint64_t randomStreamIdentity(const Operator& op, std::string_view placeInFile)
{
    if (op.streamIdentity != 0) return op.streamIdentity;
    if (op.kind.dialect == "tf") return hash64(std::as_bytes(std::span(op.name)));
    uint64_t identity = 0;
    const auto mix = [&](uint64_t number) { identity = hash64(std::as_bytes(std::span(&number, 1)), identity); };
    const auto mixText = [&](std::string_view text) { identity = hash64(std::as_bytes(std::span(text)), identity); };
    mixText(op.kind.name);
    mixText(op.name);
    if (!placeInFile.empty()) mixText(placeInFile);
    for (const ValueId id : op.inputs) mix(static_cast<uint64_t>(id.index));
    for (const ValueId id : op.results) mix(static_cast<uint64_t>(id.index));
    mix(static_cast<uint64_t>(attributeInt(op.attributes, "seed", 0)));
    mix(static_cast<uint64_t>(attributeInt(op.attributes, "seed2", 0)));
    return identity;
}

} // namespace loopscope
