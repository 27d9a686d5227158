#include "viewer/bridge/elsewhere.h"

#include "engine/observe/address_names.h"

namespace loopscope::viewer {

namespace {

constexpr int64_t kSampledNs = 15'000'000;   ///< while the pointer moves
constexpr int64_t kLookedNs = 1'000'000'000; ///< looking must not become a long replay

/// "@4 @1"; empty: it lies in no loop.
std::string iterationsOf(const std::string& invocation)
{
    std::string text;
    const Result<Address> address = parseAddress(invocation);
    if (!address.ok()) return text;
    for (const AddressStep& step : address->steps)
        if (step.iteration >= 0) text += (text.empty() ? "@" : " @") + std::to_string(step.iteration);
    return text;
}

} // namespace

ReadElsewhere readElsewhere(Inspector& inspector, const ValuePlace& place, const std::function<void(const EndedInvocation&)>& look)
{
    ReadElsewhere read;
    read.address = place.invocation;
    read.isSampled = place.sampledStep >= 0;
    const Result<Address> address = parseAddress(place.invocation);
    if (!address.ok()) {
        read.why = address.error().detail().what;
        return read;
    }
    EndSearch search;
    search.budgetNs = read.isSampled ? kSampledNs : kLookedNs;
    search.nearestInStep = place.sampledStep;
    const Result<EndFound> found = inspector.lookAtEnd(*address, search, [&](const EndedInvocation& end) {
        read.address = end.address();
        look(end);
    });
    const std::string moment = iterationsOf(place.invocation);
    if (!found.ok()) read.why = found.error().detail().what;
    else if (*found == EndFound::notRun) read.why = moment.empty() ? "not run to its end" : "not run in " + moment;
    else if (*found == EndFound::tooFar)
        read.why = read.isSampled ? "no saved state near " + moment : "too far away to look at: Return goes there";
    return read;
}

QString momentText(const ReadElsewhere& read)
{
    std::string text = iterationsOf(read.address);
    if (text.empty()) text = lastPart(read.address);
    return (read.isSampled ? QStringLiteral("≈ ") : QString()) + QString::fromStdString(text);
}

} // namespace loopscope::viewer
