// Kernels of TensorFlow's diagonals and bands of matrices, and of Einsum: core/kernels/diag_op.cc, matrix_diag_op.cc,
// matrix_set_diag_op.cc, matrix_band_part_op.cc, linalg/einsum_op_impl.h.
#include "engine/base/interruption.h"
#include "engine/kernels/cpu/tf_support.h"

#include <algorithm>
#include <map>

using namespace loopscope;

namespace {

/// Which diagonals of matrices of a size are meant, and how they are laid out as rows of equal length.
struct Diagonals {
    int64_t rows = 0, columns = 0, low = 0, high = 0, longest = 0;
    bool superLeft = false, subLeft = false;

    int64_t count() const { return high - low + 1; }
    bool holds(int64_t d) const { return d >= low && d <= high; }
    int64_t length(int64_t d) const { return std::min(rows + std::min<int64_t>(d, 0), columns - std::max<int64_t>(d, 0)); }
    /// Where element `k` of diagonal `d` lies in the rows of one matrix.
    int64_t place(int64_t d, int64_t k) const
    {
        const bool left = (d >= 0 && superLeft) || (d <= 0 && subLeft);
        return (high - d) * longest + k + (left ? 0 : longest - length(d));
    }
    /// Diagonals as the last dimensions of a tensor: one has no dimension of its own.
    void append(Shape& shape) const
    {
        if (count() > 1) shape.append(count());
        shape.append(longest);
    }
};

/// The first version knows the main diagonal only, the second lays diagonals out to the left.
void readAlignment(const KernelArgs& args, Diagonals& diagonals)
{
    const std::string_view align =
        attributeString(attributesOf(args), "align", args.paramsAs<Operator>().kind.name.ends_with("V3") ? "RIGHT_LEFT" : "LEFT_LEFT");
    diagonals.superLeft = align.starts_with("LEFT");
    diagonals.subLeft = align.ends_with("LEFT");
}

Status readBand(const KernelArgs& args, int operand, Diagonals& diagonals)
{
    const std::vector<int64_t> band = args.has(operand) ? tfIntegers(args.in(operand)) : std::vector<int64_t>{0};
    if (band.empty() || band.size() > 2)
        return invalidArgument("diag_index must have one or two elements, received " + std::to_string(band.size()) + " elements.");
    diagonals.low = band.front();
    diagonals.high = band.back();
    if (diagonals.low > diagonals.high)
        return invalidArgument("lower_diag_index must not be larger than upper_diag_index: " + std::to_string(diagonals.low) + " > " +
                               std::to_string(diagonals.high));
    return {};
}

/// The diagonals that operand `operand` names of the matrices of `shape`.
Result<Diagonals> diagonalsOf(const KernelArgs& args, int operand, const Shape& shape)
{
    if (shape.rank() < 2) return invalidArgument("input must be at least 2-dim, received shape: " + toString(shape));
    Diagonals diagonals;
    LS_CHECK_OK(readBand(args, operand, diagonals));
    readAlignment(args, diagonals);
    diagonals.rows = shape[shape.rank() - 2];
    diagonals.columns = shape.back();
    for (const auto& [d, name] : {std::pair(diagonals.low, "lower"), {diagonals.high, "upper"}})
        if (d != 0 && (d <= -diagonals.rows || d >= diagonals.columns))
            return invalidArgument(std::string(name) + "_diag_index is out of bound: " + std::to_string(d) + ". It must be between " +
                                   std::to_string(-diagonals.rows) + " and " + std::to_string(diagonals.columns));
    diagonals.longest =
        std::min(diagonals.rows + std::min<int64_t>(diagonals.high, 0), diagonals.columns - std::max<int64_t>(diagonals.low, 0));
    return diagonals;
}

void copyElement(std::byte* to, const std::byte* from, int64_t size) { std::memcpy(to, from, static_cast<size_t>(size)); }

Status runMatrixDiag(const KernelArgs& args)
{
    const Shape& in = args.in(0).shape;
    if (in.rank() < 1) return invalidArgument("diagonal must be at least 1-dim, received shape: []");
    Diagonals diagonals;
    LS_CHECK_OK(readBand(args, 1, diagonals));
    readAlignment(args, diagonals);
    const bool stacked = diagonals.count() > 1;
    if (stacked && (in.rank() < 2 || in[in.rank() - 2] != diagonals.count()))
        return invalidArgument(
            "The number of diagonals provided in the input does not match the lower_diag_index and upper_diag_index range.");
    diagonals.longest = in.back();
    const int64_t leastRows = diagonals.longest - std::min<int64_t>(diagonals.high, 0);
    const int64_t leastColumns = diagonals.longest + std::max<int64_t>(diagonals.low, 0);
    int64_t rows = -1, columns = -1;
    if (args.has(2)) {
        LS_TRY(rows, tfInteger(args, 2, "num_rows"));
    }
    if (args.has(3)) {
        LS_TRY(columns, tfInteger(args, 3, "num_cols"));
    }
    if (rows == -1 && columns == -1) rows = columns = std::max(leastRows, leastColumns);
    else if (rows == -1) rows = leastRows;
    else if (columns == -1) columns = leastColumns;
    if (rows < leastRows || columns < leastColumns || (rows != leastRows && columns != leastColumns))
        return invalidArgument("The number of rows or columns is not consistent with the specified d_lower, d_upper, and diagonal.");
    diagonals.rows = rows;
    diagonals.columns = columns;
    Shape shape(in.dims().first(static_cast<size_t>(in.rank() - (stacked ? 2 : 1))));
    const int64_t batches = shape.elementCount();
    shape.append(rows);
    shape.append(columns);
    LS_TRY(const TfSource source, TfSource::of(args.in(0)));
    std::optional<TfSource> padding;
    if (args.has(4)) {
        LS_TRY(padding, TfSource::of(args.in(4)));
        if (args.in(4).elementCount() != 1) return invalidArgument("padding_value must be a scalar");
    }
    TfTarget out;
    LS_CHECK_OK(out.begin(args, 0, shape, true));
    for (int64_t b = 0; b < batches; ++b)
        for (int64_t r = 0; r < rows; ++r)
            for (int64_t c = 0; c < columns; ++c) {
                std::byte* const to = out.at((b * rows + r) * columns + c);
                if (diagonals.holds(c - r))
                    copyElement(to, source.at(b * diagonals.count() * diagonals.longest + diagonals.place(c - r, std::min(r, c))),
                                out.size());
                else if (padding) copyElement(to, padding->at(0), out.size());
            }
    return out.finish();
}

Status runMatrixDiagPart(const KernelArgs& args)
{
    const Shape& in = args.in(0).shape;
    LS_TRY(const Diagonals diagonals, diagonalsOf(args, 1, in));
    Shape shape(in.dims().first(static_cast<size_t>(in.rank() - 2)));
    const int64_t batches = shape.elementCount();
    diagonals.append(shape);
    LS_TRY(const TfSource source, TfSource::of(args.in(0)));
    TfTarget out;
    LS_CHECK_OK(out.begin(args, 0, shape, true));
    const int64_t size = diagonals.count() * diagonals.longest;
    if (args.has(2)) {
        if (args.in(2).elementCount() != 1) return invalidArgument("padding_value must be a scalar");
        LS_TRY(const TfSource padding, TfSource::of(args.in(2)));
        for (int64_t i = 0; i < batches * size; ++i) copyElement(out.at(i), padding.at(0), out.size());
    }
    for (int64_t b = 0; b < batches; ++b)
        for (int64_t d = diagonals.low; d <= diagonals.high; ++d)
            for (int64_t k = 0; k < diagonals.length(d); ++k) {
                const int64_t r = k - std::min<int64_t>(d, 0), c = k + std::max<int64_t>(d, 0);
                copyElement(out.at(b * size + diagonals.place(d, k)), source.at((b * diagonals.rows + r) * diagonals.columns + c),
                            out.size());
            }
    return out.finish();
}

Status runMatrixSetDiag(const KernelArgs& args)
{
    const Shape& in = args.in(0).shape;
    LS_TRY(const Diagonals diagonals, diagonalsOf(args, 2, in));
    Shape expected(in.dims().first(static_cast<size_t>(in.rank() - 2)));
    const int64_t batches = expected.elementCount();
    diagonals.append(expected);
    if (!(args.in(1).shape == expected))
        return invalidArgument(
            "Either first dimensions of diagonal don't match input.shape[:-2], or diagonal.shape[:-1] is not equal to the longests "
            "diagonal in range [lower_diag_index:upper_diag_index]. Input shape: " +
            toString(in) + ", diagonal shape: " + toString(args.in(1).shape) + ", expected diagonal shape: " + toString(expected));
    LS_TRY(const TfSource source, TfSource::of(args.in(0)));
    LS_TRY(const TfSource diagonal, TfSource::of(args.in(1)));
    TfTarget out;
    LS_CHECK_OK(out.begin(args, 0, in));
    for (int64_t b = 0; b < batches; ++b)
        for (int64_t r = 0; r < diagonals.rows; ++r)
            for (int64_t c = 0; c < diagonals.columns; ++c) {
                const int64_t at = (b * diagonals.rows + r) * diagonals.columns + c;
                copyElement(out.at(at),
                            diagonals.holds(c - r)
                                ? diagonal.at(b * diagonals.count() * diagonals.longest + diagonals.place(c - r, std::min(r, c)))
                                : source.at(at),
                            out.size());
            }
    return out.finish();
}

/// A tensor [a,b] on the diagonal of one of [a,b,a,b].
Status runDiag(const KernelArgs& args)
{
    const Shape& in = args.in(0).shape;
    if (in.rank() < 1) return invalidArgument("Input must be at least rank 1, got 0");
    Shape shape = in;
    for (const int64_t dim : in.dims()) shape.append(dim);
    LS_TRY(const TfSource source, TfSource::of(args.in(0)));
    TfTarget out;
    LS_CHECK_OK(out.begin(args, 0, shape, true));
    const int64_t count = in.elementCount();
    for (int64_t i = 0; i < count; ++i) copyElement(out.at(i * (count + 1)), source.at(i), out.size());
    return out.finish();
}

Status runDiagPart(const KernelArgs& args)
{
    const Shape& in = args.in(0).shape;
    if (in.rank() % 2 != 0) return invalidArgument("The rank of the tensor should be even and positive, got shape " + toString(in));
    const int half = in.rank() / 2;
    for (int d = 0; d < half; ++d)
        if (in[d] != in[half + d])
            return invalidArgument("Invalid shape " + toString(in) + ": dimensions " + std::to_string(d) + " and " +
                                   std::to_string(half + d) + " do not match.");
    const Shape shape(in.dims().first(static_cast<size_t>(half)));
    LS_TRY(const TfSource source, TfSource::of(args.in(0)));
    TfTarget out;
    LS_CHECK_OK(out.begin(args, 0, shape));
    const int64_t count = shape.elementCount();
    for (int64_t i = 0; i < count; ++i) copyElement(out.at(i), source.at(i * (count + 1)), out.size());
    return out.finish();
}

/// What lies between num_lower diagonals below the main one and num_upper above it stays; −1: all of them.
Status runMatrixBandPart(const KernelArgs& args)
{
    const Shape& shape = args.in(0).shape;
    if (shape.rank() < 2) return invalidArgument("input must be at least 2-dim, received shape: " + toString(shape));
    LS_TRY(const int64_t lower, tfInteger(args, 1, "num_lower"));
    LS_TRY(const int64_t upper, tfInteger(args, 2, "num_upper"));
    const int64_t rows = shape[shape.rank() - 2], columns = shape.back();
    if (lower > rows)
        return invalidArgument("num_lower must be negative or less or equal to number of rows (" + std::to_string(rows) +
                               ") got: " + std::to_string(lower));
    if (upper > columns)
        return invalidArgument("num_upper must be negative or less or equal to number of columns (" + std::to_string(columns) +
                               ") got: " + std::to_string(upper));
    LS_TRY(const TfSource source, TfSource::of(args.in(0)));
    TfTarget out;
    LS_CHECK_OK(out.begin(args, 0, shape, true));
    for (int64_t i = 0, count = shape.elementCount(); i < count; ++i) {
        const int64_t r = i / columns % rows, c = i % columns;
        if ((lower < 0 || r - c <= lower) && (upper < 0 || c - r <= upper)) copyElement(out.at(i), source.at(i), out.size());
    }
    return out.finish();
}

/// The labels of one term of an equation; dimensions that "…" stands for are bytes from 128 on, counted from the last.
using Labels = std::string;

/// Spells the term of operand `input`, or of the result, for a tensor of that rank. Errors: InvalidArgument.
Result<Labels> labelsOf(std::string_view term, int rank, int input)
{
    const size_t dots = term.find("...");
    const auto named = static_cast<int>(term.size()) - (dots == std::string_view::npos ? 0 : 3);
    if (dots == std::string_view::npos ? named != rank : named > rank)
        return invalidArgument("Expected input " + std::to_string(input) + " to have rank " +
                               (dots == std::string_view::npos ? "" : "at least ") + std::to_string(named) +
                               " but got: " + std::to_string(rank));
    Labels labels;
    for (size_t i = 0; i < term.size(); ++i) {
        if (i == dots) {
            for (int d = rank - named - 1; d >= 0; --d) labels += static_cast<char>(128 + d);
            i += 2;
        } else {
            labels += term[i];
        }
    }
    return labels;
}

/// Sizes of all labels, and for each operand and the result how many elements one step of a label goes on.
struct Summation {
    Labels labels; ///< of the result, then those that are summed over
    std::vector<int64_t> sizes;
    std::vector<std::vector<int64_t>> strides; ///< [operand, the result last][label]
    Shape result;
};

Result<Summation> planEinsum(const KernelArgs& args)
{
    std::string equation(attributeString(attributesOf(args), "equation", ""));
    std::erase(equation, ' ');
    const size_t arrow = equation.find("->");
    if (arrow == std::string::npos) return invalidArgument("Expecting exactly one '->' in einsum equation: " + equation);
    std::vector<std::string_view> terms;
    const std::string_view left = std::string_view(equation).substr(0, arrow), right = std::string_view(equation).substr(arrow + 2);
    for (size_t from = 0; from <= left.size();) {
        const size_t comma = std::min(left.find(',', from), left.size());
        terms.push_back(left.substr(from, comma - from));
        from = comma + 1;
    }
    if (static_cast<int>(terms.size()) != args.inputCount)
        return invalidArgument("Expecting " + std::to_string(terms.size()) + " input subscripts for equation '" + equation +
                               "' but got: " + std::to_string(args.inputCount));
    std::map<char, int64_t> sizes;
    std::vector<Labels> each;
    int broadcast = 0;
    for (int i = 0; i < args.inputCount; ++i) {
        const Shape& shape = args.in(i).shape;
        LS_TRY(const Labels labels, labelsOf(terms[static_cast<size_t>(i)], shape.rank(), i));
        for (size_t d = 0; d < labels.size(); ++d) {
            const int64_t size = shape[static_cast<int>(d)];
            const bool dots = static_cast<unsigned char>(labels[d]) >= 128;
            if (dots) broadcast = std::max(broadcast, static_cast<unsigned char>(labels[d]) - 127);
            const auto [at, isNew] = sizes.emplace(labels[d], size);
            if (isNew || at->second == size || (dots && size == 1)) continue;
            if (!dots || at->second != 1)
                return invalidArgument("Expected dimension " + std::to_string(at->second) + " at axis " + std::to_string(d) +
                                       " of the input shaped " + toString(shape) + " but got dimension " + std::to_string(size));
            at->second = size;
        }
        each.push_back(labels);
    }
    const bool outputHasDots = right.find("...") != std::string_view::npos;
    Summation plan;
    LS_TRY(plan.labels, labelsOf(right, static_cast<int>(right.size()) - (outputHasDots ? 3 - broadcast : 0), -1));
    for (const char label : plan.labels) {
        if (!sizes.contains(label))
            return invalidArgument("Output subscripts contain the label '" + std::string(1, label) +
                                   "' not present in the input subscripts.");
        plan.result.append(sizes[label]);
    }
    for (const auto& [label, size] : sizes)
        if (plan.labels.find(label) == Labels::npos) plan.labels += label;
    each.push_back(plan.labels.substr(0, static_cast<size_t>(plan.result.rank())));
    Labels unique;
    for (const char label : plan.labels)
        if (unique.find(label) == Labels::npos) unique += label;
    plan.labels = unique;
    for (const char label : plan.labels) plan.sizes.push_back(sizes[label]);
    for (size_t t = 0; t < each.size(); ++t) {
        const Shape& shape = t + 1 < each.size() ? args.in(static_cast<int>(t)).shape : plan.result;
        std::vector<int64_t> strides(plan.labels.size(), 0);
        for (size_t d = 0; d < each[t].size(); ++d) // a label that comes twice steps along the diagonal
            if (shape[static_cast<int>(d)] != 1) strides[plan.labels.find(each[t][d])] += strideOf(shape, static_cast<int>(d));
        plan.strides.push_back(std::move(strides));
    }
    return plan;
}

Status runEinsum(const KernelArgs& args)
{
    LS_TRY(const Summation plan, planEinsum(args));
    LS_CHECK_OK(tfAllocate(args, 0, plan.result));
    return forDType<TfFloats, TfSigned, TfUnsigned, TfComplex>(args.out(0).dtype, [&]<typename T>() -> Status {
        using Compute = typename Element<T>::Compute;
        using Wide = std::conditional_t<kIsComplex<Compute>, std::complex<double>,
                                        std::conditional_t<std::is_floating_point_v<Compute>, double, Compute>>;
        std::vector<Wide> sums(static_cast<size_t>(plan.result.elementCount()), Wide(0));
        const std::optional<int64_t> count = checkedElementCount(Shape(std::span<const int64_t>(plan.sizes))); // of products
        if (!count) return tfError(TfCode::resourceExhausted, "the sums have too many products");
        std::vector<int64_t> index(plan.sizes.size(), 0), at(plan.strides.size(), 0);
        LoopPace pace;
        for (int64_t i = 0; i < *count; ++i) {
            pace.did(1);
            Wide product(1);
            for (size_t t = 0; t + 1 < at.size(); ++t)
                product = wrappingMul(product, static_cast<Wide>(Element<T>::load(args.in(static_cast<int>(t)).as<T>()[at[t]])));
            Wide& sum = sums[static_cast<size_t>(at.back())];
            sum = wrappingAdd(sum, product);
            for (size_t d = index.size(); d-- > 0;) {
                const bool carries = ++index[d] == plan.sizes[d];
                for (size_t t = 0; t < at.size(); ++t) at[t] += carries ? -plan.strides[t][d] * (plan.sizes[d] - 1) : plan.strides[t][d];
                if (!carries) break;
                index[d] = 0;
            }
        }
        for (size_t i = 0; i < sums.size(); ++i) args.out(0).as<T>()[i] = Element<T>::store(static_cast<Compute>(sums[i]));
        return {};
    });
}

} // namespace

LS_TF_KERNEL(Diag, runDiag, kAllDTypes)
LS_TF_KERNEL(DiagPart, runDiagPart, kAllDTypes)
LS_TF_KERNEL(MatrixDiag, runMatrixDiag, kAllDTypes)
LS_TF_KERNEL(MatrixDiagV2, runMatrixDiag, kAllDTypes)
LS_TF_KERNEL(MatrixDiagV3, runMatrixDiag, kAllDTypes)
LS_TF_KERNEL(MatrixDiagPart, runMatrixDiagPart, kAllDTypes)
LS_TF_KERNEL(MatrixDiagPartV2, runMatrixDiagPart, kAllDTypes)
LS_TF_KERNEL(MatrixDiagPartV3, runMatrixDiagPart, kAllDTypes)
LS_TF_KERNEL(MatrixSetDiag, runMatrixSetDiag, kAllDTypes)
LS_TF_KERNEL(MatrixSetDiagV2, runMatrixSetDiag, kAllDTypes)
LS_TF_KERNEL(MatrixSetDiagV3, runMatrixSetDiag, kAllDTypes)
LS_TF_KERNEL(MatrixBandPart, runMatrixBandPart, kAllDTypes)
LS_TF_KERNEL(Einsum, runEinsum, kTfNumbers)
