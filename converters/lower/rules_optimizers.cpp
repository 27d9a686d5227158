// One step of training: variables that are read, changed and written back.
#include "converters/lower/graph_lowering.h"

#include <array>

namespace loopscope::lowering {

namespace {

/// What operators on one dtype are put together from.
class Sums {
public:
    Sums(GraphLowering& l, DType dtype) : m_lowering(l), m_dtype(dtype) {}

    Result<ValueId> read(int variable) { return m_lowering.emit("read_variable", {m_lowering.input(variable)}, {}, m_dtype); }
    Status write(int variable, ValueId value)
    {
        LS_CHECK_OK(m_lowering.emitAll({"tfl", "assign_variable"}, {m_lowering.input(variable), value}, {}, {}));
        return {};
    }
    Result<ValueId> of(std::string_view kind, ValueId a, ValueId b) { return m_lowering.emit(kind, {a, b}, {}, m_dtype); }
    Result<ValueId> root(ValueId a) { return m_lowering.emit("sqrt", {a}, {}, m_dtype); }
    Result<ValueId> oneLess(ValueId a) { return of("sub", m_lowering.realConstant(m_dtype, 1), a); }
    /// a + (b − a) · (1 − weight)
    Result<ValueId> towards(ValueId a, ValueId b, ValueId weight)
    {
        LS_TRY(const ValueId distance, of("sub", b, a));
        LS_TRY(const ValueId share, oneLess(weight));
        LS_TRY(const ValueId way, of("mul", distance, share));
        return of("add", a, way);
    }

private:
    GraphLowering& m_lowering;
    DType m_dtype;
};

/// Operands: var, m, v, beta1_power, beta2_power, lr, beta1, beta2, epsilon, gradient.
Status adam(GraphLowering& l)
{
    const DType dtype = l.type(l.input(9)).dtype;
    Sums s(l, dtype);
    const ValueId gradient = l.input(9), beta1 = l.input(6);
    LS_TRY(const ValueId beyond1, s.oneLess(l.input(3)));
    LS_TRY(const ValueId beyond2, s.oneLess(l.input(4)));
    LS_TRY(const ValueId correction, s.root(beyond2));
    LS_TRY(const ValueId scaled, s.of("mul", l.input(5), correction));
    LS_TRY(const ValueId rate, s.of("div", scaled, beyond1));
    LS_TRY(const ValueId oldM, s.read(1));
    LS_TRY(const ValueId m, s.towards(oldM, gradient, beta1));
    LS_TRY(const ValueId square, s.of("mul", gradient, gradient));
    LS_TRY(const ValueId oldV, s.read(2));
    LS_TRY(const ValueId v, s.towards(oldV, square, l.input(7)));
    LS_TRY(const ValueId root, s.root(v));
    LS_TRY(const ValueId divisor, s.of("add", root, l.input(8)));
    ValueId along = m;
    if (attributeBool(l.op().attributes, "use_nesterov", false)) { // g · (1 − β1) + m · β1
        LS_TRY(const ValueId share, s.oneLess(beta1));
        LS_TRY(const ValueId now, s.of("mul", gradient, share));
        LS_TRY(const ValueId kept, s.of("mul", m, beta1));
        LS_TRY(along, s.of("add", now, kept));
    }
    LS_TRY(const ValueId step, s.of("mul", along, rate));
    LS_TRY(const ValueId change, s.of("div", step, divisor));
    LS_TRY(const ValueId old, s.read(0));
    LS_TRY(const ValueId next, s.of("sub", old, change));
    LS_CHECK_OK(s.write(1, m));
    LS_CHECK_OK(s.write(2, v));
    return s.write(0, next);
}

/// Operands: var, accum, lr, gradient, momentum.
Status momentum(GraphLowering& l)
{
    Sums s(l, l.type(l.input(3)).dtype);
    LS_TRY(const ValueId old, s.read(1));
    LS_TRY(const ValueId kept, s.of("mul", old, l.input(4)));
    LS_TRY(const ValueId accumulated, s.of("add", kept, l.input(3)));
    LS_TRY(ValueId step, s.of("mul", accumulated, l.input(2)));
    if (attributeBool(l.op().attributes, "use_nesterov", false)) { // lr · g + lr · momentum · accum
        LS_TRY(const ValueId now, s.of("mul", l.input(3), l.input(2)));
        LS_TRY(const ValueId later, s.of("mul", step, l.input(4)));
        LS_TRY(step, s.of("add", now, later));
    }
    LS_TRY(const ValueId variable, s.read(0));
    LS_TRY(const ValueId next, s.of("sub", variable, step));
    LS_CHECK_OK(s.write(1, accumulated));
    return s.write(0, next);
}

constexpr NamedRule kOptimizerRules[] = {{"ResourceApplyAdam", adam}, {"ResourceApplyMomentum", momentum}};

} // namespace

std::span<const NamedRule> optimizerRules() { return kOptimizerRules; }

} // namespace loopscope::lowering
