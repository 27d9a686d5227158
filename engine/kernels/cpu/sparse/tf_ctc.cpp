// Kernels of connectionist temporal classification: losses with their gradients, and the search for the likeliest sequences.
// core/util/ctc/ctc_loss_calculator.h, ctc_beam_search.h, ctc_beam_entry.h (Graves et al., 2006). Probabilities are logarithms in f64.
#include "engine/base/interruption.h"
#include "engine/kernels/cpu/tf_support.h"
#include "engine/tensor/statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>

using namespace loopscope;

namespace {

constexpr double kImpossible = -std::numeric_limits<double>::infinity();

double sumOf(double a, double b)
{
    if (a == kImpossible) return b;
    if (b == kImpossible) return a;
    return std::max(a, b) + std::log1p(std::exp(-std::abs(a - b)));
}

/// Logits [T,B,C] and how many of the T steps each entry of the batch has.
struct Batch {
    const Tensor& logits;
    int64_t steps, size, classes;
    std::vector<int64_t> lengths;

    /// The logarithms of the probabilities at step t.
    std::vector<double> at(int64_t t, int64_t b) const
    {
        std::vector<double> row(static_cast<size_t>(classes));
        for (int64_t c = 0; c < classes; ++c) row[static_cast<size_t>(c)] = elementAsReal(logits, (t * size + b) * classes + c);
        const double most = *std::ranges::max_element(row);
        double sum = 0;
        for (const double x : row) sum += std::exp(x - most);
        for (double& x : row) x -= most + std::log(sum);
        return row;
    }
};

/// Errors: InvalidArgument.
Result<Batch> batchOf(const KernelArgs& args, int lengths)
{
    const Shape& shape = args.in(0).shape;
    if (shape.rank() != 3 || shape.back() < 1) return invalidArgument("inputs is not a 3-Tensor: " + toString(shape));
    Batch batch{args.in(0), shape[0], shape[1], shape[2], tfIntegers(args.in(lengths))};
    if (static_cast<int64_t>(batch.lengths.size()) != batch.size)
        return invalidArgument("len(sequence_length) != batch_size.  len(sequence_length):  " + std::to_string(batch.lengths.size()) +
                               " batch_size: " + std::to_string(batch.size));
    for (size_t b = 0; b < batch.lengths.size(); ++b)
        if (batch.lengths[b] < 0 || batch.lengths[b] > batch.steps)
            return invalidArgument("sequence_length(" + std::to_string(b) + ") <= " + std::to_string(batch.steps) + " is required, found " +
                                   std::to_string(batch.lengths[b]));
    return batch;
}

/// The labels of each entry: a sparse matrix, in order.
Result<std::vector<std::vector<int64_t>>> labelsOf(const KernelArgs& args, const Batch& batch, int64_t blank, bool collapses)
{
    const Shape& shape = args.in(1).shape;
    const std::vector<int64_t> places = tfIntegers(args.in(1)), values = tfIntegers(args.in(2));
    if (shape.rank() != 2 || shape[1] != 2 || shape[0] != static_cast<int64_t>(values.size()))
        return invalidArgument("labels_indices and labels_values must contain the same number of rows, but saw shapes: " + toString(shape) +
                               " vs. " + toString(args.in(2).shape));
    std::vector<std::vector<int64_t>> labels(static_cast<size_t>(batch.size));
    for (size_t i = 0; i < values.size(); ++i) {
        const int64_t b = places[2 * i];
        if (b < 0 || b >= batch.size)
            return invalidArgument("labels batch index must be between 0 and " + std::to_string(batch.size) +
                                   " but saw: " + std::to_string(b));
        if (values[i] < 0 || values[i] >= batch.classes || values[i] == blank)
            return invalidArgument("All labels must be nonnegative integers, batch: " + std::to_string(b) +
                                   " labels: " + std::to_string(values[i]));
        std::vector<int64_t>& own = labels[static_cast<size_t>(b)];
        if (!collapses || own.empty() || own.back() != values[i]) own.push_back(values[i]);
    }
    return labels;
}

/// The way through one sequence: labels with blanks between, and whether equal ones in a row are one.
struct Alignment {
    std::vector<int64_t> path;
    int64_t blank;
    bool merges;

    Alignment(const std::vector<int64_t>& labels, int64_t blank, bool merges) : blank(blank), merges(merges)
    {
        path.push_back(blank);
        for (const int64_t label : labels) {
            path.push_back(label);
            path.push_back(blank);
        }
    }
    bool mayStay(size_t u) const { return merges || path[u] == blank; }
    /// From u to u + 2, past the blank between.
    bool maySkip(size_t u) const { return u + 2 < path.size() && path[u + 2] != blank && !(merges && path[u] == path[u + 2]); }
    bool isReachable(size_t u, int64_t t, int64_t steps) const
    {
        const auto at = static_cast<int64_t>(u), size = static_cast<int64_t>(path.size());
        return at >= size - 2 * (steps - t) && at < 2 * (t + 1);
    }
};

/// −log P(labels), and the gradient by the logits.
double lossOf(const std::vector<std::vector<double>>& y, const Alignment& way, std::vector<std::vector<double>>& gradient)
{
    const size_t steps = y.size(), size = way.path.size();
    using Table = std::vector<std::vector<double>>;
    Table ahead(steps, std::vector<double>(size, kImpossible)), behind = ahead; // up to step t with it; from behind it
    const auto p = [&](size_t t, size_t u) { return y[t][static_cast<size_t>(way.path[u])]; };
    for (size_t t = 0; t < steps; ++t)
        for (size_t u = 0; u < size; ++u) {
            if (!way.isReachable(u, static_cast<int64_t>(t), static_cast<int64_t>(steps))) continue;
            double sum = t == 0 && u < 2 ? 0 : kImpossible;
            if (t > 0) {
                if (way.mayStay(u)) sum = ahead[t - 1][u];
                if (u > 0) sum = sumOf(sum, ahead[t - 1][u - 1]);
                if (u > 1 && way.maySkip(u - 2)) sum = sumOf(sum, ahead[t - 1][u - 2]);
            }
            ahead[t][u] = p(t, u) + sum;
        }
    for (size_t u = size < 2 ? 0 : size - 2; u < size; ++u) behind[steps - 1][u] = 0;
    for (size_t t = steps - 1; t-- > 0;)
        for (size_t u = 0; u < size; ++u) {
            if (!way.isReachable(u, static_cast<int64_t>(t), static_cast<int64_t>(steps))) continue;
            if (way.mayStay(u)) behind[t][u] = behind[t + 1][u] + p(t + 1, u);
            if (u + 1 < size) behind[t][u] = sumOf(behind[t][u], behind[t + 1][u + 1] + p(t + 1, u + 1));
            if (way.maySkip(u)) behind[t][u] = sumOf(behind[t][u], behind[t + 1][u + 2] + p(t + 1, u + 2));
        }
    double whole = kImpossible;
    for (size_t u = 0; u < size; ++u) whole = sumOf(whole, ahead[0][u] + behind[0][u]);
    for (size_t t = 0; t < steps; ++t) {
        std::vector<double> part(y[t].size(), kImpossible);
        for (size_t u = 0; u < size; ++u) {
            double& sum = part[static_cast<size_t>(way.path[u])];
            sum = sumOf(sum, ahead[t][u] + behind[t][u]);
        }
        for (size_t c = 0; c < part.size(); ++c)
            gradient[t][c] = std::exp(y[t][c]) - (whole == kImpossible ? 0 : std::exp(part[c] - whole));
    }
    return -whole;
}

Status runLoss(const KernelArgs& args)
{
    LS_TRY(const Batch batch, batchOf(args, 3));
    const AttributeList& attributes = attributesOf(args);
    const int64_t blank = batch.classes - 1;
    const bool merges = attributeBool(attributes, "ctc_merge_repeated", true);
    const bool ignoresLonger = attributeBool(attributes, "ignore_longer_outputs_than_inputs", false);
    LS_TRY(const auto labels, labelsOf(args, batch, blank, attributeBool(attributes, "preprocess_collapse_repeated", false)));
    LS_CHECK_OK(tfAllocate(args, 0, Shape({batch.size})));
    LS_CHECK_OK(tfAllocate(args, 1, args.in(0).shape));
    std::vector<double> losses(static_cast<size_t>(batch.size), 0), gradients(static_cast<size_t>(args.in(0).elementCount()), 0);
    for (int64_t b = 0; b < batch.size; ++b) {
        const std::vector<int64_t>& own = labels[static_cast<size_t>(b)];
        const int64_t steps = batch.lengths[static_cast<size_t>(b)];
        if (steps == 0) continue;
        const auto required = static_cast<int64_t>(own.size()); // blanks between equal ones not counted: the loss is infinite then
        if (required > steps) {
            if (ignoresLonger) continue;
            return invalidArgument("Not enough time for target transition sequence (required: " + std::to_string(required) +
                                   ", available: " + std::to_string(steps) + ")" + std::to_string(b));
        }
        std::vector<std::vector<double>> y, gradient(static_cast<size_t>(steps), std::vector<double>(static_cast<size_t>(batch.classes)));
        for (int64_t t = 0; t < steps; ++t) y.push_back(batch.at(t, b));
        interruptionPoint();
        losses[static_cast<size_t>(b)] = lossOf(y, Alignment(own, blank, merges), gradient);
        for (int64_t t = 0; t < steps; ++t)
            std::ranges::copy(gradient[static_cast<size_t>(t)], gradients.begin() + (t * batch.size + b) * batch.classes);
    }
    return forDType<TypeList<float, double>>(args.out(0).dtype, [&]<typename T>() -> Status {
        std::ranges::transform(losses, args.out(0).as<T>(), [](double x) { return static_cast<T>(x); });
        std::ranges::transform(gradients, args.out(1).as<T>(), [](double x) { return static_cast<T>(x); });
        return {};
    });
}

/// A sequence of labels that the search knows: its last label behind the sequence before.
struct Beam {
    struct Chance {
        double total = kImpossible, blank = kImpossible,
               label = kImpossible; ///< of all ways, of those that end with a blank, with the label
    };
    const Beam* parent = nullptr;
    int64_t label = -1;
    Chance before, now;
    std::map<int64_t, std::unique_ptr<Beam>> children;

    bool isActive() const { return now.total != kImpossible; }
    Beam& child(int64_t next)
    {
        std::unique_ptr<Beam>& own = children[next];
        if (!own) {
            own = std::make_unique<Beam>();
            own->parent = this;
            own->label = next;
        }
        return *own;
    }
    std::vector<int64_t> labels(bool merges) const
    {
        std::vector<int64_t> found;
        int64_t previous = -1;
        for (const Beam* beam = this; beam->parent; beam = beam->parent) {
            if (!merges || beam->label != previous) found.push_back(beam->label);
            previous = beam->label;
        }
        std::ranges::reverse(found);
        return found;
    }
};

/// The best so many, the best first.
class Leaves {
public:
    explicit Leaves(size_t most) : m_most(most) {}
    bool takes(const Beam::Chance& chance) const
    {
        return chance.total > kImpossible && (m_beams.size() < m_most || chance.total > m_beams.back()->now.total);
    }
    void add(Beam& beam)
    {
        const auto at = std::ranges::upper_bound(m_beams, beam.now.total, std::greater(), [](const Beam* b) { return b->now.total; });
        m_beams.insert(at, &beam);
        if (m_beams.size() > m_most) m_beams.pop_back();
    }
    /// Makes room for one that is better: the last is known no longer.
    void dropLast()
    {
        if (m_beams.size() == m_most) m_beams.back()->now = {};
    }
    const std::vector<Beam*>& beams() const { return m_beams; }

private:
    size_t m_most;
    std::vector<Beam*> m_beams;
};

void searchStep(const std::vector<double>& y, Leaves& leaves, size_t width)
{
    const std::vector<Beam*> branches = leaves.beams();
    const auto blank = static_cast<int64_t>(y.size()) - 1;
    leaves = Leaves(width);
    for (Beam* const beam : branches) beam->before = beam->now;
    for (Beam* const beam : branches) {
        if (beam->parent) {
            if (beam->parent->isActive())
                beam->now.label =
                    sumOf(beam->now.label, beam->label == beam->parent->label ? beam->parent->before.blank : beam->parent->before.total);
            beam->now.label += y[static_cast<size_t>(beam->label)];
        }
        beam->now.blank = beam->before.total + y[static_cast<size_t>(blank)];
        beam->now.total = sumOf(beam->now.blank, beam->now.label);
        leaves.add(*beam);
    }
    for (Beam* const beam : branches) {
        if (!leaves.takes(beam->before)) continue;
        for (int64_t label = 0; label < blank; ++label) {
            Beam& child = beam->child(label);
            if (child.isActive()) continue;
            child.now.blank = kImpossible;
            child.now.label = y[static_cast<size_t>(label)] + (label == beam->label ? beam->before.blank : beam->before.total);
            child.now.total = child.now.label;
            if (leaves.takes(child.now)) {
                leaves.dropLast();
                leaves.add(child);
            } else {
                child.before = child.now = {};
            }
        }
    }
}

/// For each of the best paths a sparse matrix, and for all of them the logarithms of their probabilities.
Status runBeamSearch(const KernelArgs& args)
{
    LS_TRY(const Batch batch, batchOf(args, 1));
    const AttributeList& attributes = attributesOf(args);
    const int64_t width = attributeInt(attributes, "beam_width", 1), paths = attributeInt(attributes, "top_paths", 1);
    if (width < 1 || paths < 1 || paths > width || width > (1 << 20) || args.outputCount != 3 * paths + 1)
        return invalidArgument("top_paths must be 1 to beam_width, got " + std::to_string(paths) + " of " + std::to_string(width));
    LS_CHECK_OK(tfAllocate(args, static_cast<int>(3 * paths), Shape({batch.size, paths})));
    std::vector<std::vector<std::vector<int64_t>>> found(static_cast<size_t>(paths)); // by path and entry
    std::vector<double> chances;
    for (int64_t b = 0; b < batch.size; ++b) {
        Beam root;
        root.now = {0, 0, kImpossible};
        Leaves leaves(static_cast<size_t>(width));
        leaves.add(root);
        for (int64_t t = 0; t < batch.lengths[static_cast<size_t>(b)]; ++t) {
            interruptionPoint();
            searchStep(batch.at(t, b), leaves, static_cast<size_t>(width));
        }
        if (static_cast<int64_t>(leaves.beams().size()) < paths) return invalidArgument("Less leaves in the beam search than requested.");
        for (int64_t k = 0; k < paths; ++k) {
            const Beam& beam = *leaves.beams()[static_cast<size_t>(k)];
            found[static_cast<size_t>(k)].push_back(beam.labels(attributeBool(attributes, "merge_repeated", true)));
            chances.push_back(beam.now.total);
        }
    }
    for (int64_t k = 0; k < paths; ++k) {
        int64_t count = 0, widest = 0;
        for (const std::vector<int64_t>& labels : found[static_cast<size_t>(k)]) {
            count += static_cast<int64_t>(labels.size());
            widest = std::max(widest, static_cast<int64_t>(labels.size()));
        }
        const auto result = [&](int64_t part) { return static_cast<int>(part * paths + k); };
        LS_CHECK_OK(tfAllocate(args, result(0), Shape({count, 2})));
        LS_CHECK_OK(tfAllocate(args, result(1), Shape({count})));
        LS_CHECK_OK(tfAllocate(args, result(2), Shape({2})));
        auto *places = args.out(result(0)).as<int64_t>(), *values = args.out(result(1)).as<int64_t>();
        for (int64_t b = 0; b < batch.size; ++b)
            for (size_t i = 0; i < found[static_cast<size_t>(k)][static_cast<size_t>(b)].size(); ++i) {
                *places++ = b;
                *places++ = static_cast<int64_t>(i);
                *values++ = found[static_cast<size_t>(k)][static_cast<size_t>(b)][i];
            }
        args.out(result(2)).as<int64_t>()[0] = batch.size;
        args.out(result(2)).as<int64_t>()[1] = widest;
    }
    return forDType<TypeList<float, double>>(args.out(static_cast<int>(3 * paths)).dtype, [&]<typename T>() -> Status {
        std::ranges::transform(chances, args.out(static_cast<int>(3 * paths)).as<T>(), [](double x) { return static_cast<T>(x); });
        return {};
    });
}

} // namespace

LS_TF_KERNEL(CTCLoss, runLoss, "f32 f64 i32 i64")
LS_TF_KERNEL(CTCBeamSearchDecoder, runBeamSearch, "f32 f64 i32 i64")
