// Dense layers written as an Einsum with constant weights: Keras' EinsumDense and the projections of its attention.
#include "converters/fuse/cells.h"
#include "converters/fuse/pattern.h"

#include <algorithm>
#include <numeric>

namespace loopscope::fusing {

namespace {

bool holds(const std::string& letters, char letter) { return letters.find(letter) != std::string::npos; }

/// `x` times constant weights, by the letters of an equation.
class EinsumProduct {
public:
    EinsumProduct(Site& site, OperatorId root) : m_site(site), m_root(root), m_op(site.editor().op(root)) {}

    Outcome fuse()
    {
        const std::vector<std::string> letters = einsumLetters(m_op);
        if (letters.empty() || !findOperands(letters)) return Outcome::nothing();
        if (std::string reason = sortLetters(letters); !reason.empty()) return Outcome::declined("FULLY_CONNECTED", std::move(reason));
        const DType dtype = m_site.typeOf(m_op.results[0]).dtype;
        if (dtype != DType::f32 && dtype != DType::unknown)
            return Outcome::declined("FULLY_CONNECTED", "element type " + std::string(dtypeName(dtype)) + ", the rule is for f32");
        if (m_summed.empty()) return Outcome::nothing();
        if (m_rows.empty()) return Outcome::declined("FULLY_CONNECTED", "all of the operand is summed over: there are no rows");
        m_shape = m_site.shapeOf(m_x);
        if (!m_shape.hasRank() || m_shape.rank() != static_cast<int>(m_rows.size() + m_summed.size()))
            return Outcome::declined("FULLY_CONNECTED", "the shape of the operand is not known");
        const bool reshapes = m_summed.size() > 1 || m_columns.size() != 1;
        if (reshapes && openRows() > 1) return Outcome::declined("FULLY_CONNECTED, RESHAPE", "more than one dimension is not known");
        return write();
    }

private:
    bool findOperands(const std::vector<std::string>& letters)
    {
        for (const size_t k : {1, 0}) {
            const Numbers* const numbers = m_site.constants().floats(m_op.inputs[k]);
            if (numbers == nullptr || m_site.constants().floats(m_op.inputs[1 - k]) != nullptr) continue;
            if (numbers->shape.rank() != static_cast<int>(letters[k].size())) return false;
            m_weights = *numbers;
            m_x = m_op.inputs[1 - k];
            m_side = k;
            return true;
        }
        return false;
    }

    /// Rows, what is summed over, and columns; why they do not lie as a product of matrices has them.
    std::string sortLetters(const std::vector<std::string>& letters)
    {
        const std::string &of = letters[1 - m_side], &with = letters[m_side], &to = letters[2];
        for (const std::string& all : letters)
            for (const char letter : all)
                if (letter == '.' || std::ranges::count(all, letter) > 1) return "the equation has more than one letter for each dimension";
        for (const char letter : of) {
            if (holds(with, letter) && holds(to, letter))
                return "both operands have dimension '" + std::string(1, letter) + "' of the result";
            if (!holds(with, letter) && !holds(to, letter)) return "the operand alone is summed over '" + std::string(1, letter) + "'";
            (holds(to, letter) ? m_rows : m_summed).push_back(letter);
        }
        for (const char letter : with)
            if (!holds(of, letter) && !holds(to, letter)) return "the weights alone are summed over '" + std::string(1, letter) + "'";
        if (of != m_rows + m_summed) return "what is summed over are not the last dimensions of the operand";
        for (const char letter : to)
            if (!holds(of, letter)) m_columns.push_back(letter);
        return to == m_rows + m_columns ? "" : "the result has its dimensions in another order";
    }

    int openRows() const
    {
        int open = 0;
        for (size_t d = 0; d < m_rows.size(); ++d) open += m_shape[static_cast<int>(d)] < 0 ? 1 : 0;
        return open;
    }

    /// Weights as a row for each column of the result, as TFLite has them.
    Numbers rows(const std::string& letters) const
    {
        std::vector<int> order;
        for (const char letter : m_columns + m_summed) order.push_back(static_cast<int>(letters.find(letter)));
        Numbers turned = transposed(m_weights, order);
        const int64_t columns = std::accumulate(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(m_columns.size()), int64_t{1},
                                                [&](int64_t all, int d) { return all * m_weights.shape[d]; });
        turned.shape = Shape{columns, static_cast<int64_t>(turned.values.size()) / std::max<int64_t>(columns, 1)};
        return turned;
    }

    Shape rowsAnd(std::initializer_list<int64_t> more) const
    {
        Shape shape;
        for (size_t d = 0; d < m_rows.size(); ++d) shape.append(m_shape[static_cast<int>(d)]);
        for (const int64_t size : more) shape.append(size);
        return shape;
    }

    OperatorDraft reshaped(ValueId of, const Shape& shape, const char* what)
    {
        std::vector<int32_t> dims;
        for (int d = 0; d < shape.rank(); ++d) dims.push_back(static_cast<int32_t>(shape[d]));
        OperatorDraft draft;
        draft.kind = {"tf", "Reshape"};
        draft.attributes = {{"T", DType::f32}, {"Tshape", DType::i32}};
        draft.inputs = {of, m_site.constant(m_site.nameOf(m_root) + what, Shape{shape.rank()}, std::span<const int32_t>(dims), m_root)};
        draft.results = {TensorType(DType::f32, shape)};
        return draft;
    }

    ValueId before(OperatorDraft draft, const char* what)
    {
        draft.name = m_site.nameOf(m_root) + what;
        const OperatorId made = m_site.editor().insert(std::move(draft), m_root, InsertPoint::before(m_root));
        m_site.setParts(made, {});
        return m_site.editor().op(made).results[0];
    }

    Outcome write()
    {
        const Numbers weights = rows(einsumLetters(m_op)[m_side]);
        ValueId x = m_x;
        if (m_summed.size() > 1) x = before(reshaped(x, rowsAnd({weights.shape[1]}), "/rows/shape"), "/rows");
        OperatorDraft product;
        product.kind = {"tfl", "fully_connected"};
        if (m_rows.size() > 1) product.attributes = {{"keep_num_dims", true}};
        product.inputs = {
            x, m_site.constant(m_site.nameOf(m_root) + "/weights", weights.shape, std::span<const float>(weights.values), m_root),
            ValueId()};
        product.results = {TensorType(DType::f32, rowsAnd({weights.shape[0]}))};
        if (m_columns.size() == 1) return Outcome::made(m_site.fuse({m_root}, std::move(product), {}));
        Shape wanted = rowsAnd({});
        const std::string letters = einsumLetters(m_op)[m_side];
        for (const char letter : m_columns) wanted.append(m_weights.shape[static_cast<int>(letters.find(letter))]);
        OperatorDraft last = reshaped(before(std::move(product), "/product"), wanted, "/columns/shape");
        Outcome outcome = Outcome::made(m_site.fuse({m_root}, std::move(last), {}));
        m_site.setParts(outcome.fused, {});
        outcome.to = "FULLY_CONNECTED, RESHAPE";
        return outcome;
    }

    Site& m_site;
    OperatorId m_root;
    const Operator m_op;
    ValueId m_x;
    size_t m_side = 1; ///< which operand the weights are
    Numbers m_weights;
    std::string m_rows, m_summed, m_columns;
    Shape m_shape; ///< of x
};

Outcome einsumProduct(Site& site, OperatorId root) { return EinsumProduct(site, root).fuse(); }

} // namespace

std::span<const Rule> einsumRules()
{
    static const std::vector<Rule> rules = {
        {.name = "einsum-as-product", .equality = FusionEquality::realEqual, .roots = {"Einsum"}, .apply = einsumProduct},
    };
    return rules;
}

} // namespace loopscope::fusing
