// Random numbers, spectra and counts.
#include "converters/lower/graph_lowering.h"
#include "converters/lower/shapes.h"

#include <array>
#include <bit>

namespace loopscope::lowering {

namespace {

AttributeList seedsOf(const GraphLowering& l)
{
    return {{"seed", attributeInt(l.op().attributes, "seed", 0)}, {"seed2", attributeInt(l.op().attributes, "seed2", 0)}};
}

/// LiteRT's generator is TensorFlow's, but what TensorFlow skips between two draws of one operator it does not.
Status randomNumbers(GraphLowering& l)
{
    if (l.declared(0).dtype != DType::f32) return noForm("random numbers of " + std::string(dtypeName(l.declared(0).dtype)));
    LS_TRY(const ValueId shape, l.asInt32(l.input(0)));
    const AttributeList seeds = seedsOf(l);
    const bool isSeeded = attributeInt(seeds, "seed", 0) != 0 || attributeInt(seeds, "seed2", 0) != 0;
    l.note(l.place() + (isSeeded ? ": draws TensorFlow's numbers the first time, and others from then on"
                                 : ": has no seeds, so that it draws other numbers than TensorFlow"));
    return l.finish(l.op().kind.name == "RandomUniform" ? "random_uniform" : "random_standard_normal", {shape}, seeds);
}

Status multinomial(GraphLowering& l)
{
    LS_TRY(const ValueId count, l.asInt32(l.input(1)));
    const AttributeList seeds = seedsOf(l);
    if (attributeInt(seeds, "seed", 0) == 0 && attributeInt(seeds, "seed2", 0) == 0)
        l.note(l.place() + ": has no seeds, so that it draws other numbers than TensorFlow");
    return l.finish("multinomial", {l.input(0), count}, seeds);
}

/// Of matrices, and of rows, which are matrices of one row.
Status realTransform(GraphLowering& l)
{
    const bool isOfRows = l.op().kind.name == "RFFT";
    const Shape shape = l.type(l.input(0)).dynamicShape();
    if (!shape.hasRank()) return noForm("an operand of unknown rank");
    const auto lengths = l.integers(l.input(1));
    if (!lengths || lengths->size() != (isOfRows ? 1U : 2U)) return noForm("its lengths are computed");
    for (const int64_t n : *lengths)
        if (n < 1 || !std::has_single_bit(static_cast<uint64_t>(n)))
            return noForm("a length of " + std::to_string(n) + ", which is no power of two");
    if (lengths->back() == 1) return noForm("rows of one number, which LiteRT does not transform");
    if (l.declared(0).dtype != DType::c64) return noForm("numbers of " + std::string(dtypeName(l.declared(0).dtype)));
    if (!isOfRows) {
        LS_TRY(const ValueId both, l.asInt32(l.input(1)));
        return l.finish("rfft2d", {l.input(0), both});
    }
    LS_TRY(const ValueId one, l.emit("expand_dims", {l.input(0), number(l, -2)}));
    LS_TRY(const ValueId transformed, l.emit("rfft2d", {one, numbers(l, {1, lengths->front()})}, {}, DType::c64));
    const AttributeList dims = {{"squeeze_dims", AttributeItems{int64_t{shape.rank() - 1}}}};
    return l.finish("squeeze", {transformed}, dims);
}

/// How often each number below `size` is there, or the sum of their weights. A negative place is none.
Status bincount(GraphLowering& l)
{
    const Shape shape = l.type(l.input(0)).dynamicShape();
    if (!shape.hasRank() || shape.rank() != 1) return noForm("what is no vector");
    const DType dtype = l.declared(0).dtype;
    LS_TRY(const ValueId values, l.asInt32(l.input(0)));
    LS_TRY(const ValueId size, l.asInt32(l.input(1)));
    LS_TRY(const ValueId dims, l.shapeOf(values));
    LS_TRY(const ValueId ones, l.emit("fill", {dims, l.realConstant(dtype, 1)}, {}, dtype));
    const Shape weights = l.type(l.input(2)).dynamicShape();
    if (!weights.isStatic()) return noForm("weights of unknown shape");
    const bool isBinary = attributeBool(l.op().attributes, "binary_output", false);
    const bool isWeighted = !isBinary && weights.rank() == 1 && weights[0] != 0;
    LS_TRY(const ValueId isIn, l.emit("less", {values, size}, {}, DType::boolean));
    LS_TRY(const ValueId places, l.emit("select_v2", {isIn, values, number(l, -1)}, {}, DType::i32));
    if (!isBinary) return l.finish("unsorted_segment_sum", {isWeighted ? l.input(2) : ones, places, size});
    LS_TRY(const ValueId counts, l.emit("unsorted_segment_sum", {ones, places, size}, {}, dtype));
    return l.finish("minimum", {counts, l.realConstant(dtype, 1)});
}

constexpr NamedRule kSignalRules[] = {
    {"DenseBincount", bincount},
    {"Multinomial", multinomial},
    {"RFFT", realTransform},
    {"RFFT2D", realTransform},
    {"RandomStandardNormal", randomNumbers},
    {"RandomUniform", randomNumbers},
};

} // namespace

std::span<const NamedRule> signalRules() { return kSignalRules; }

} // namespace loopscope::lowering
