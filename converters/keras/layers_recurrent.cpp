// Recurrent layers: a functional While over the steps of the sequence, with a graph for its condition and one for its body, so that
// iterations can be stepped through. States that the layer is not given begin with zeros.
#include "converters/keras/layer.h"

#include <algorithm>
#include <array>

namespace loopscope::keras {

namespace {

/// A cell of a layer: what it computes in a step, and where its weights lie.
struct Cell {
    const Json* config = nullptr;
    std::string kind; ///< "LSTM", "GRU", "SimpleRNN", "ConvLSTM"
    std::string part;
    int rank = 0;               ///< of the pictures that a ConvLSTM sees
    std::vector<int64_t> state; ///< its states' dimensions behind the batch
    size_t states() const { return kind == "LSTM" || kind == "ConvLSTM" ? 2 : 1; }
};

ValueId gate(LayerCall& l, const Cell& c, ValueId x) { return activate(l, (*c.config)["recurrent_activation"], x); }

/// z = x·K + h·R + b; i, f, c̃, o = split(z); c = σ(f)·c + σ(i)·tanh(c̃); h = σ(o)·tanh(c)
std::vector<ValueId> lstmStep(LayerCall& l, const Cell& c, ValueId x, const std::vector<ValueId>& states)
{
    ValueId z = l.b.add(l.b.op("MatMul", {x, l.weight(0, "kernel", c.part)}),
                        l.b.op("MatMul", {states[0], l.weight(1, "recurrent_kernel", c.part)}));
    if ((*c.config)["use_bias"].truth(true)) z = l.b.op("BiasAdd", {z, l.weight(2, "bias", c.part)});
    const std::vector<ValueId> parts = l.b.all("Split", {l.b.integer(1), z}, {{"num_split", int64_t{4}}});
    if (parts.size() != 4) return {};
    const Json& activation = (*c.config)["activation"];
    const ValueId input = gate(l, c, parts[0]), forget = gate(l, c, parts[1]);
    const ValueId carry = l.b.add(l.b.mul(forget, states[1]), l.b.mul(input, activate(l, activation, parts[2])));
    const ValueId output = gate(l, c, parts[3]);
    return {l.b.mul(output, activate(l, activation, carry)), carry};
}

/// z and r gate the state; the candidate sees it reset before its product, or after (`reset_after`).
std::vector<ValueId> gruStep(LayerCall& l, const Cell& c, ValueId x, const std::vector<ValueId>& states)
{
    const bool after = (*c.config)["reset_after"].truth(true), bias = (*c.config)["use_bias"].truth(true);
    const ValueId h = states[0], kernel = l.weight(0, "kernel", c.part), recurrent = l.weight(1, "recurrent_kernel", c.part);
    ValueId inner = l.b.op("MatMul", {x, kernel}), biases = bias ? l.weight(2, "bias", c.part) : ValueId();
    if (bias) {
        const ValueId own = after ? l.b.squeeze(l.b.slice(biases, 0, 0, 1), {0}) : biases;
        inner = l.b.op("BiasAdd", {inner, own});
    }
    const std::vector<ValueId> xs = l.b.all("Split", {l.b.integer(1), inner}, {{"num_split", int64_t{3}}});
    if (xs.size() != 3) return {};
    ValueId update, reset, candidate;
    if (after) {
        ValueId outer = l.b.op("MatMul", {h, recurrent});
        if (bias) outer = l.b.op("BiasAdd", {outer, l.b.squeeze(l.b.slice(biases, 0, 1, 2), {0})});
        const std::vector<ValueId> hs = l.b.all("Split", {l.b.integer(1), outer}, {{"num_split", int64_t{3}}});
        if (hs.size() != 3) return {};
        update = gate(l, c, l.b.add(xs[0], hs[0]));
        reset = gate(l, c, l.b.add(xs[1], hs[1]));
        candidate = l.b.add(xs[2], l.b.mul(reset, hs[2]));
    } else {
        const std::vector<ValueId> rs = l.b.all("Split", {l.b.integer(1), recurrent}, {{"num_split", int64_t{3}}});
        if (rs.size() != 3) return {};
        update = gate(l, c, l.b.add(xs[0], l.b.op("MatMul", {h, rs[0]})));
        reset = gate(l, c, l.b.add(xs[1], l.b.op("MatMul", {h, rs[1]})));
        candidate = l.b.add(xs[2], l.b.op("MatMul", {l.b.mul(reset, h), rs[2]}));
    }
    candidate = activate(l, (*c.config)["activation"], candidate);
    // h = z·h + (1 − z)·candidate
    return {l.b.add(l.b.mul(update, h), l.b.mul(l.b.sub(l.b.number(1, update), update), candidate))};
}

std::vector<ValueId> simpleStep(LayerCall& l, const Cell& c, ValueId x, const std::vector<ValueId>& states)
{
    ValueId y = l.b.op("MatMul", {x, l.weight(0, "kernel", c.part)});
    if ((*c.config)["use_bias"].truth(true)) y = l.b.op("BiasAdd", {y, l.weight(2, "bias", c.part)});
    y = l.b.add(y, l.b.op("MatMul", {states[0], l.weight(1, "recurrent_kernel", c.part)}));
    return {activate(l, (*c.config)["activation"], y)};
}

/// An LSTM whose products are convolutions: of the state always with padding, so that it stays as large.
std::vector<ValueId> convLstmStep(LayerCall& l, const Cell& c, ValueId x, const std::vector<ValueId>& states)
{
    const Json& config = *c.config;
    const auto quarters = [&](ValueId of, int axis) {
        std::vector<ValueId> parts = l.b.all("Split", {l.b.integer(axis), of}, {{"num_split", int64_t{4}}});
        parts.resize(4);
        return parts;
    };
    const std::vector<ValueId> kernels = quarters(l.weight(0, "kernel", c.part), c.rank + 1);
    const std::vector<ValueId> recurrent = quarters(l.weight(1, "recurrent_kernel", c.part), c.rank + 1);
    const bool hasBias = config["use_bias"].truth(true), same = config["padding"].text("valid") == "same";
    const std::vector<ValueId> biases = hasBias ? quarters(l.weight(2, "bias", c.part), 0) : std::vector<ValueId>(4);
    const std::vector<int64_t> ones(static_cast<size_t>(c.rank), 1);
    const std::vector<int64_t> strides = l.perAxis("strides", c.rank), dilations = l.perAxis("dilation_rate", c.rank);
    std::vector<ValueId> sums;
    for (size_t i = 0; i < 4; ++i) {
        ValueId seen = convolve(l, x, kernels[i], strides, dilations, same);
        if (hasBias) seen = l.b.add(seen, biases[i]);
        sums.push_back(l.b.add(seen, convolve(l, states[0], recurrent[i], ones, ones, true)));
    }
    const ValueId input = gate(l, c, sums[0]), forget = gate(l, c, sums[1]);
    const ValueId carry = l.b.add(l.b.mul(forget, states[1]), l.b.mul(input, activate(l, config["activation"], sums[2])));
    const ValueId output = gate(l, c, sums[3]);
    return {l.b.mul(output, activate(l, config["activation"], carry)), carry};
}

std::vector<ValueId> step(LayerCall& l, const Cell& c, ValueId x, const std::vector<ValueId>& states)
{
    if (c.kind == "LSTM") return lstmStep(l, c, x, states);
    if (c.kind == "ConvLSTM") return convLstmStep(l, c, x, states);
    return c.kind == "GRU" ? gruStep(l, c, x, states) : simpleStep(l, c, x, states);
}

/// What a ConvLSTM over pictures of `rank` axes remembers: as many pictures as it has filters, as large as its convolution makes them.
std::vector<Cell> convolutionCell(LayerCall& l, int rank)
{
    Cell cell{&l.config, "ConvLSTM", "cell", rank, {}};
    const ValueId x = l.in();
    if (!l.channelsLast() || l.b.failed()) return {cell};
    if (l.b.rank(x) != rank + 3) l.refuse("its input has rank " + std::to_string(l.b.rank(x)));
    const std::vector<int64_t> strides = l.perAxis("strides", rank), dilations = l.perAxis("dilation_rate", rank),
                               window = l.perAxis("kernel_size", rank);
    const bool same = l.config["padding"].text("valid") == "same";
    for (int i = 0; i < rank && !l.b.failed(); ++i) {
        const auto k = static_cast<size_t>(i);
        const int64_t size = l.b.dim(x, i + 2), stride = std::max<int64_t>(strides[k], 1);
        if (size < 0) l.refuse("its pictures have no known size");
        const int64_t left = same ? size : size - (window[k] - 1) * dilations[k];
        if (left < 1) l.refuse("its pictures are smaller than its window");
        cell.state.push_back((left + stride - 1) / stride);
    }
    cell.state.push_back(std::clamp<int64_t>(l.config["filters"].integer(), 1, INT32_MAX));
    return {cell};
}

/// The cells of LSTM, GRU, SimpleRNN (one, which the layer itself describes) and RNN (that of its config, or a stack).
std::vector<Cell> cellsOf(LayerCall& l)
{
    const std::string name = l.layer["class_name"].text();
    for (const int rank : {1, 2, 3})
        if (name == "ConvLSTM" + std::to_string(rank) + "D") return convolutionCell(l, rank);
    std::vector<Cell> cells;
    const auto add = [&](const Json& config, std::string kind, std::string part) {
        if (kind.ends_with("Cell")) kind.resize(kind.size() - 4);
        const int64_t units = config["units"].integer();
        if ((kind != "LSTM" && kind != "GRU" && kind != "SimpleRNN") || units < 1 || units > INT32_MAX)
            l.refuse("no graph for cells of class " + kind);
        cells.push_back({&config, kind, std::move(part), 0, {units}});
    };
    if (name != "RNN") {
        add(l.config, name, "cell");
        return cells;
    }
    const Json& cell = l.config["cell"];
    if (cell["class_name"].text() != "StackedRNNCells") {
        add(cell["config"], cell["class_name"].text(), "cell");
        return cells;
    }
    std::map<std::string, int> used;
    for (const Json& inner : cell["config"]["cells"].items()) {
        const std::string kind = inner["class_name"].text();
        const std::string group = kind == "LSTMCell" ? "lstm_cell" : kind == "GRUCell" ? "gru_cell" : "simple_rnn_cell";
        const int n = used[group]++;
        add(inner["config"], kind, "cell/cells/" + group + (n == 0 ? "" : "_" + std::to_string(n)));
    }
    if (cells.empty()) l.refuse("a stack without cells");
    return cells;
}

/// A loop's variables: names and types in the graphs, values at its begin.
struct Loop {
    std::vector<std::string> names;
    std::vector<ValueId> first;
    std::vector<TensorType> types;
    size_t add(std::string name, ValueId value, TensorType type)
    {
        names.push_back(std::move(name));
        first.push_back(value);
        types.push_back(std::move(type));
        return names.size() - 1;
    }
};

GraphId newGraph(LayerCall& l, const std::string& suffix)
{
    const std::string wanted = l.b.scope() + "/" + suffix;
    std::string id = wanted;
    auto& graphs = l.state.model.graphs;
    for (int n = 1; std::ranges::find(graphs, id, &Graph::id) != graphs.end(); ++n) id = wanted + "_" + std::to_string(n);
    graphs.emplace_back().id = id;
    return GraphId(static_cast<int64_t>(graphs.size()) - 1);
}

std::vector<ValueId> parameters(GraphBuilder& b, const Loop& loop)
{
    std::vector<ValueId> values;
    for (size_t i = 0; i < loop.names.size(); ++i) values.push_back(b.input(loop.names[i], loop.types[i]));
    return values;
}

class Recurrence {
public:
    explicit Recurrence(LayerCall& call) : m_l(call), m_b(call.b), m_cells(cellsOf(call)) {}

    void run()
    {
        if (m_l.config["stateful"].truth()) m_l.refuse("it keeps its states between calls");
        m_x = m_l.in();
        if (m_b.failed()) return;
        if (m_b.rank(m_x) != m_cells.front().rank + 3) m_l.refuse("its input has rank " + std::to_string(m_b.rank(m_x)));
        if (m_b.failed()) return;
        m_mask = m_l.mask();
        m_sequences = m_l.config["return_sequences"].truth();
        m_backwards = m_l.config["go_backwards"].truth();
        prepare();
        if (m_b.failed()) return;
        const std::vector<ValueId> results = loop();
        if (results.empty()) return;
        finish(results);
    }

private:
    ValueId listOf(ValueId timeFirst, const std::vector<int64_t>& element)
    {
        return m_b.op("TensorListFromTensor", {timeFirst, m_b.ints(element)});
    }
    ValueId timeFirst(ValueId x)
    {
        std::vector<int64_t> order = {1, 0};
        for (int i = 2; i < m_b.rank(x); ++i) order.push_back(i);
        const ValueId turned = m_b.transpose(x, order);
        return m_backwards ? m_b.op("ReverseV2", {turned, m_b.ints({0})}) : turned;
    }
    static TensorType variant() { return {DType::variant, Shape()}; }

    void prepare()
    {
        for (int i = 2; i < m_b.rank(m_x); ++i) m_element.push_back(m_b.dim(m_x, i));
        const ValueId begin = m_b.integer(0);
        m_time = m_loop.add("time", begin, {DType::i32, Shape()});
        const ValueId count = extentOf(m_l, m_x, 1);
        m_steps = m_loop.add("steps", count, {DType::i32, Shape()});
        const ValueId xs = timeFirst(m_x);
        m_b.setShape(xs, shapeOf({m_b.dim(m_x, 1), m_b.dim(m_x, 0)}, m_element));
        m_inputs = m_loop.add("inputs", listOf(xs, behind({-1}, m_element)), variant());
        std::vector<ValueId> given = m_l.namedTensors("initial_state");
        const std::vector<ValueId> placed = m_l.tensors();
        if (given.empty()) given.assign(placed.begin() + 1, placed.end());
        size_t states = 0;
        for (const Cell& cell : m_cells) states += cell.states();
        if (!given.empty() && given.size() != states)
            return m_l.refuse("it is called with " + std::to_string(given.size()) + " states, where it has " + std::to_string(states));
        m_firstState = m_loop.names.size();
        size_t k = 0;
        for (size_t c = 0; c < m_cells.size(); ++c)
            for (size_t s = 0; s < m_cells[c].states(); ++s, ++k) {
                const std::string name = std::string(s == 0 ? "h" : "c") + (m_cells.size() > 1 ? std::to_string(c) : "");
                m_loop.add(name, given.empty() ? zeros(m_cells[c].state) : given[k], stateType(m_cells[c].state));
            }
        const std::vector<int64_t>& last = m_cells.back().state;
        if (m_mask.valid()) {
            m_masks = m_loop.add("masks", listOf(timeFirst(m_mask), {-1}), variant());
            m_previous = m_loop.add("previous", zeros(last), stateType(last));
        }
        if (m_sequences) {
            const ValueId list = m_b.op("TensorListReserve", {m_b.ints(behind({-1}, last)), count}, {{"element_dtype", m_b.dtype(m_x)}});
            m_outputs = m_loop.add("outputs", list, variant());
        }
    }

    static std::vector<int64_t> behind(std::vector<int64_t> first, const std::vector<int64_t>& rest)
    {
        first.insert(first.end(), rest.begin(), rest.end());
        return first;
    }
    static Shape shapeOf(const std::vector<int64_t>& first, const std::vector<int64_t>& rest) { return Shape(behind(first, rest)); }
    TensorType stateType(const std::vector<int64_t>& state) const { return {m_b.dtype(m_x), shapeOf({m_b.dim(m_x, 0)}, state)}; }
    /// A state of zeros; one value for all states of a size.
    ValueId zeros(const std::vector<int64_t>& state)
    {
        ValueId& made = m_zeros[state];
        std::vector<Extent> extents = {m_b.same(m_x, 0)};
        for (const int64_t size : state) extents.push_back({size, {}, 0});
        if (!made.valid()) made = m_b.op("Fill", {m_b.sizes(extents), m_b.number(0, m_x)});
        return made;
    }

    std::vector<ValueId> loop()
    {
        const GraphId condition = newGraph(m_l, "while_cond"), body = newGraph(m_l, "while_body");
        if (!writeCondition(condition) || !writeBody(body)) return {};
        AttributeItems types, shapes;
        for (const TensorType& type : m_loop.types) {
            types.emplace_back(type.dtype);
            shapes.emplace_back(type.shape);
        }
        return m_b.typed({"tf", "While"}, "while", m_loop.first,
                         {{"T", Attribute(std::move(types))},
                          {"cond", GraphRef{condition, nullptr}},
                          {"body", GraphRef{body, nullptr}},
                          {"output_shapes", Attribute(std::move(shapes))}},
                         m_loop.types);
    }

    /// Moves a graph into the model; false, and the layer has failed, if it could not be written.
    bool take(GraphBuilder& graph, GraphId id)
    {
        if (std::optional<Error> failure = graph.takeFailure()) m_b.fail(std::move(*failure));
        m_l.state.model.graph(id) = std::move(graph.graph());
        return !m_b.failed();
    }

    bool writeCondition(GraphId id)
    {
        GraphBuilder b(m_l.state.model.graph(id).id, false);
        const std::vector<ValueId> values = parameters(b, m_loop);
        b.output("more", b.op("Less", {values[m_time], values[m_steps]}));
        return take(b, id);
    }

    bool writeBody(GraphId id)
    {
        GraphBuilder b(m_l.state.model.graph(id).id, false);
        LayerCall inside{m_l.state, b, m_l.layer, m_l.config, m_l.name, m_l.path, {}, {}, {}};
        inside.compute = m_l.compute;
        const std::vector<ValueId> values = parameters(b, m_loop);
        std::vector<ValueId> next = values;
        const DType dtype = m_b.dtype(m_x);
        ValueId x =
            b.op("TensorListGetItem", {values[m_inputs], values[m_time], b.ints(behind({-1}, m_element))}, {{"element_dtype", dtype}});
        b.setShape(x, shapeOf({m_b.dim(m_x, 0)}, m_element));
        size_t at = m_firstState;
        for (const Cell& cell : m_cells) {
            const std::vector<ValueId> states(values.begin() + static_cast<ptrdiff_t>(at),
                                              values.begin() + static_cast<ptrdiff_t>(at + cell.states()));
            const std::vector<ValueId> written = step(inside, cell, x, states);
            if (written.size() != states.size()) return take(b, id);
            std::ranges::copy(written, next.begin() + static_cast<ptrdiff_t>(at));
            at += cell.states();
            x = written.front();
        }
        if (m_mask.valid()) x = masked(b, values, next, x);
        next[m_time] = b.add(values[m_time], b.integer(1));
        if (m_sequences) next[m_outputs] = b.op("TensorListSetItem", {values[m_outputs], values[m_time], x});
        for (size_t i = 0; i < next.size(); ++i) b.output(m_loop.names[i], next[i]);
        return take(b, id);
    }

    /// Steps that the mask leaves out keep the states, and give what the step before gave, or zeros.
    ValueId masked(GraphBuilder& b, const std::vector<ValueId>& values, std::vector<ValueId>& next, ValueId output)
    {
        const ValueId flags =
            b.op("TensorListGetItem", {values[m_masks], values[m_time], b.ints({-1})}, {{"element_dtype", DType::boolean}});
        b.setShape(flags, Shape{m_b.dim(m_x, 0)});
        ValueId keep = flags;
        for (size_t i = 0; i < m_cells.back().state.size(); ++i) keep = b.expand(keep, -1);
        for (size_t i = m_firstState; i < m_masks; ++i) next[i] = b.op("SelectV2", {keep, next[i], values[i]});
        const bool zero = m_l.config["zero_output_for_mask"].truth();
        const ValueId seen = b.op("SelectV2", {keep, output, zero ? b.number(0, output) : values[m_previous]});
        next[m_previous] = seen;
        return seen;
    }

    void finish(const std::vector<ValueId>& results)
    {
        const std::vector<int64_t>& state = m_cells.back().state;
        size_t last = m_firstState;
        for (size_t c = 0; c + 1 < m_cells.size(); ++c) last += m_cells[c].states();
        ValueId y = m_mask.valid() ? results[m_previous] : results[last];
        if (m_sequences) {
            y = m_b.op("TensorListStack", {results[m_outputs], m_b.ints(behind({-1}, state))}, {{"element_dtype", m_b.dtype(m_x)}});
            m_b.setShape(y, shapeOf({m_b.dim(m_x, 1), m_b.dim(m_x, 0)}, state));
            std::vector<int64_t> order = {1, 0};
            for (size_t i = 0; i < state.size(); ++i) order.push_back(static_cast<int64_t>(i) + 2);
            y = m_b.transpose(y, order);
        }
        m_l.outputs = {y};
        const size_t end = m_firstState + stateCount();
        if (m_l.config["return_state"].truth())
            for (size_t i = m_firstState; i < end; ++i) m_l.outputs.push_back(results[i]);
    }

    size_t stateCount() const
    {
        size_t count = 0;
        for (const Cell& cell : m_cells) count += cell.states();
        return count;
    }

    LayerCall& m_l;
    GraphBuilder& m_b;
    std::vector<Cell> m_cells;
    ValueId m_x, m_mask;
    std::map<std::vector<int64_t>, ValueId> m_zeros;
    std::vector<int64_t> m_element; ///< of one step, behind the batch
    bool m_sequences = false, m_backwards = false;
    Loop m_loop;
    size_t m_time = 0, m_steps = 0, m_inputs = 0, m_masks = 0, m_previous = 0, m_outputs = 0, m_firstState = 0; ///< places in the loop
};

void recurrent(LayerCall& l)
{
    if (!l.b.failed()) Recurrence(l).run();
}

constexpr std::array kRecurrentLayers = {
    NamedRule{"LSTM", recurrent},       NamedRule{"GRU", recurrent},        NamedRule{"SimpleRNN", recurrent},  NamedRule{"RNN", recurrent},
    NamedRule{"ConvLSTM1D", recurrent}, NamedRule{"ConvLSTM2D", recurrent}, NamedRule{"ConvLSTM3D", recurrent},
};

} // namespace

std::span<const NamedRule> recurrentLayers() { return kRecurrentLayers; }

} // namespace loopscope::keras
