// A composite of StableHLO as its lowerings see it: name, attributes, operands; and the lowerings of layers, which are more than a
// change of the name.
#pragma once

#include "converters/fuse/site.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace loopscope::fusing {

struct Composite {
    std::string name;
    const AttributeMap* attributes = nullptr;
    std::vector<ValueId> inputs;
    std::vector<ValueId> results;
    OperatorId op;

    const Attribute* find(std::string_view key) const;
    int64_t integer(std::string_view key, int64_t otherwise) const;
    double real(std::string_view key, double otherwise) const;
    bool truth(std::string_view key, bool otherwise) const;
    std::string text(std::string_view key) const;
    std::vector<int64_t> integers(std::string_view key) const; ///< empty: there are none
    /// Operands in front of those that the operator takes are shapes, which it finds out for itself.
    std::vector<ValueId> lastInputs(size_t count) const;
};

/// Fills in the operator that the composite is, TFLite's if nothing else is said; what goes before it is inserted. Empty, or why it is
/// none.
using Lowering = std::string (*)(Site& site, const Composite& composite, OperatorDraft& draft);

std::string lowerResize(Site& site, const Composite& composite, OperatorDraft& draft);
std::string lowerAveragePool(Site& site, const Composite& composite, OperatorDraft& draft);
std::string lowerRandom(Site& site, const Composite& composite, OperatorDraft& draft);
std::string lowerMean(Site& site, const Composite& composite, OperatorDraft& draft);
std::string lowerMirrorPad(Site& site, const Composite& composite, OperatorDraft& draft);
std::string lowerMovement(Site& site, const Composite& composite, OperatorDraft& draft);
std::string lowerCacheUpdate(Site& site, const Composite& composite, OperatorDraft& draft);

} // namespace loopscope::fusing
