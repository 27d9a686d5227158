// The table of all rules, and the pieces that rules of several families are made of.
#include "engine/transform/gradient/gradient_rules.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace loopscope {

using Case = GradientCase;
using Grad = GradientValue;

namespace {

const std::map<std::string_view, NamedGradientRule>& rulesByKind()
{
    static const std::map<std::string_view, NamedGradientRule> byKind = [] {
        std::map<std::string_view, NamedGradientRule> all;
        for (const auto family : {gradientRulesOfMath, gradientRulesOfReductions, gradientRulesOfMovement, gradientRulesOfMatrices,
                                  gradientRulesOfLayers, gradientRulesOfPictures, gradientRulesOfSparse, gradientRulesOfState})
            for (const NamedGradientRule& each : family()) all.emplace(each.kind, each);
        return all;
    }();
    return byKind;
}

const TensorType& typeOf(const Case& c, Grad v) { return c.editor.value(v.id).type; }

} // namespace

GradientRule findGradientRule(std::string_view kind)
{
    const auto found = rulesByKind().find(kind);
    return found == rulesByKind().end() ? nullptr : found->second.rule;
}

GradientRule findSymbolicRule(std::string_view kind)
{
    const auto found = rulesByKind().find(kind);
    return found == rulesByKind().end() || !found->second.isSymbolic ? nullptr : found->second.rule;
}

std::vector<std::string_view> operatorsWithGradientRules()
{
    std::vector<std::string_view> kinds;
    for (const auto& [kind, rule] : rulesByKind()) kinds.push_back(kind);
    return kinds;
}

bool hasStaticShape(const Case& c, Grad v)
{
    const TensorType& type = typeOf(c, v);
    return type.shape.isStatic() && type.dtype != DType::resource;
}

Grad shapeOf(Case& c, Grad v)
{
    if (!hasStaticShape(c, v)) return c.nodes.shape(v);
    std::vector<int32_t> dims;
    for (const int64_t dim : typeOf(c, v).shape.dims()) dims.push_back(static_cast<int32_t>(dim));
    return c.nodes.integers(dims);
}

Grad reshape(Case& c, Grad v, Grad shape) { return c.nodes.node("Reshape", {v, shape}); }
Grad sumOver(Case& c, Grad v, Grad axes) { return c.nodes.node("Sum", {v, axes}, {{"keep_dims", false}}); }

Grad sumOfLast(Case& c, Grad v)
{
    const int32_t last[] = {-1};
    return c.nodes.node("Sum", {v, c.nodes.integers(last)}, {{"keep_dims", true}});
}

Grad zerosLike(Case& c, Grad v) { return c.nodes.node("ZerosLike", {v}); }
Grad expandDims(Case& c, Grad v, int axis) { return c.nodes.node("ExpandDims", {v, c.nodes.integer(axis)}); }
Grad call(Case& c, std::string_view kind, Grad v) { return c.nodes.node(kind, {v}); }
Grad square(Case& c, Grad v) { return call(c, "Square", v); }
Grad number(Case& c, double value) { return c.nodes.number(value, c.dtype()); }
Grad castTo(Case& c, Grad v, DType dtype) { return c.nodes.dtype(v) == dtype ? v : c.nodes.node("Cast", {v}, {{"DstT", dtype}}); }
Grad sizeOf(Case& c, Grad v) { return c.nodes.node("Size", {v}, {{"out_type", DType::i32}}); }
Grad rankOf(Case& c, Grad v) { return call(c, "Rank", v); }
Grad range(Case& c, Grad from, Grad to) { return c.nodes.node("Range", {from, to, c.nodes.integer(1)}); }
Grad select(Case& c, Grad condition, Grad yes, Grad no) { return c.nodes.node("SelectV2", {condition, yes, no}); }

Grad conj(Case& c, Grad v)
{
    const DType dtype = c.nodes.dtype(v);
    return dtype == DType::c64 || dtype == DType::c128 ? call(c, "Conj", v) : v;
}

namespace {

/// `g`, which has the shape `from`, summed over what an operand of the shape `to` was repeated in; both are known.
Grad summedTo(Case& c, Grad g, const Shape& from, const Shape& to)
{
    if (!g.valid() || from == to) return g;
    std::vector<int32_t> axes;
    const int more = from.rank() - to.rank();
    for (int d = 0; d < from.rank(); ++d)
        if (d < more || from[d] != to[d - more]) axes.push_back(d);
    const Grad sum = sumOver(c, g, c.nodes.integers(axes));
    if (static_cast<int>(axes.size()) == more) return sum; // nothing but what is in front
    return reshape(c, sum, c.nodes.integers(std::vector<int32_t>(to.dims().begin(), to.dims().end())));
}

} // namespace

void giveBroadcast(Case& c, size_t i, Grad gi, size_t k, Grad gk)
{
    const Grad a = c.x[i], b = c.x[k];
    if (hasStaticShape(c, a) && hasStaticShape(c, b)) {
        if (const std::optional<Shape> both = broadcastShapes(typeOf(c, a).shape, typeOf(c, b).shape)) {
            c.dx[i] = c.wanted[i] ? summedTo(c, gi, *both, typeOf(c, a).shape) : Grad();
            c.dx[k] = c.wanted[k] ? summedTo(c, gk, *both, typeOf(c, b).shape) : Grad();
            return;
        }
    }
    const Grad shapes[] = {shapeOf(c, a), shapeOf(c, b)};
    const std::vector<Grad> axes = c.nodes.add("BroadcastGradientArgs", shapes);
    if (c.wanted[i] && gi.valid()) c.dx[i] = reshape(c, sumOver(c, gi, axes[0]), shapes[0]);
    if (c.wanted[k] && gk.valid()) c.dx[k] = reshape(c, sumOver(c, gk, axes[1]), shapes[1]);
}

void giveBroadcast(Case& c, Grad gx, Grad gy) { giveBroadcast(c, 0, gx, 1, gy); }

Grad reduceTo(Case& c, Grad g, Grad operand)
{
    const Grad y = c.y[0];
    if (hasStaticShape(c, operand) && hasStaticShape(c, y))
        if (broadcastShapes(typeOf(c, operand).shape, typeOf(c, y).shape) == typeOf(c, y).shape)
            return summedTo(c, g, typeOf(c, y).shape, typeOf(c, operand).shape);
    const Grad shapes[] = {shapeOf(c, operand), shapeOf(c, y)};
    return reshape(c, sumOver(c, g, c.nodes.add("BroadcastGradientArgs", shapes)[0]), shapes[0]);
}

Grad part(Case& c, Grad list, Grad from, int32_t count)
{
    const int32_t counts[] = {count};
    return c.nodes.node("Slice", {list, asList(c, from), c.nodes.integers(counts)});
}

Grad joined(Case& c, std::span<const Grad> lists)
{
    std::vector<Grad> operands(lists.begin(), lists.end());
    operands.push_back(c.nodes.integer(0));
    return c.nodes.add("ConcatV2", operands, {{"N", static_cast<int64_t>(lists.size())}}).front();
}

Grad asList(Case& c, Grad scalar)
{
    const int32_t one[] = {1};
    return reshape(c, scalar, c.nodes.integers(one));
}

Grad flat(Case& c, Grad v)
{
    const int32_t all[] = {-1};
    return reshape(c, v, c.nodes.integers(all));
}

Grad rows(Case& c, Grad v, Grad numbers)
{
    return c.nodes.node("GatherV2", {v, numbers, c.nodes.integer(0)}, {{"batch_dims", int64_t{0}}});
}

Grad sumRows(Case& c, Grad values, Grad numbers, Grad count) { return c.nodes.node("UnsortedSegmentSum", {values, numbers, count}); }

AttributeList attributesOf(const Case& c, std::initializer_list<const char*> keys)
{
    AttributeList kept;
    for (const char* key : keys)
        if (const Attribute* found = findAttribute(c.op.attributes, key)) setAttribute(kept, key, Attribute(*found));
    return kept;
}

} // namespace loopscope
