// What every stop of a run is like, found by nothing but stepping forward: what travelling and stopping are held against.
#pragma once

#include "engine/exec/machine_state.h"
#include "tests/unit/debug/timeline_models.h"

#include <random>

namespace loopscope::testing {

/// An edit as the plain run makes it: by hand in a state that was saved there.
struct PlainEdit {
    int64_t tick = 0;
    size_t frame = 0;
    bool carried = false;
    size_t index = 0; ///< among the frame's values, or carried position
    Bytes bytes;
};

struct PlainStop {
    uint64_t hash = 0;
    std::string address;
    int64_t step = 0;
    GraphId graph;
    OperatorId op;
    std::vector<FrameInfo> frames;
    int depth() const { return static_cast<int>(frames.size()); }
};

/// All stops of a forward run with edits, by tick.
inline std::vector<PlainStop> plainRun(const Subject& subject, const std::vector<PlainEdit>& edits)
{
    const auto interpreter = subject.make();
    EXPECT_OK(interpreter->start());
    std::vector<PlainStop> stops;
    size_t next = 0;
    for (;;) {
        // At the tick of an edit the stop is the edited one.
        for (; next < edits.size() && edits[next].tick == static_cast<int64_t>(stops.size()); ++next) {
            const PlainEdit& edit = edits[next];
            MachineState state = interpreter->snapshot();
            FrameState& frame = state.frames[edit.frame];
            (edit.carried ? frame.carried : frame.values)[edit.index].bytes = edit.bytes;
            EXPECT_OK(interpreter->restore(state));
        }
        const Position& position = interpreter->position();
        stops.push_back({interpreter->snapshot().hash(), interpreter->positionAddress(), position.step, position.graph, position.op,
                         interpreter->callStack()});
        if (position.finished || !interpreter->step().ok()) return stops;
    }
}

/// A value that is live at a stop, and other contents for it.
struct RandomEdit {
    PlainEdit plain;
    ValueId value;
    DType dtype = DType::i32;
    Shape shape;

    /// False: what was hit upon cannot be changed.
    bool choose(const MachineState& state, const Model& model, int64_t tick, std::mt19937& random)
    {
        const auto below = [&](size_t limit) { return random() % static_cast<uint32_t>(limit); };
        plain.tick = tick;
        plain.frame = below(state.frames.size());
        const FrameState& frame = state.frames[plain.frame];
        plain.carried = !frame.carried.empty() && below(2) == 0;
        const std::vector<ValueState>& values = plain.carried ? frame.carried : frame.values;
        if (values.empty()) return false;
        plain.index = below(values.size());
        const ValueState& chosen = values[plain.index];
        if (chosen.dtype != DType::i32 && chosen.dtype != DType::f32) return false;
        std::vector<int32_t> data(chosen.bytes.size() / 4);
        for (int32_t& number : data) number = static_cast<int32_t>(below(9)) - 4; // of floats the very small ones, and NaN
        plain.bytes = Bytes::copyOf(data.data(), data.size() * 4);
        value = plain.carried ? model.graph(frame.graph).inputs[plain.index] : chosen.value;
        dtype = chosen.dtype;
        shape = chosen.shape;
        return true;
    }

    /// Over the bytes of `plain`.
    Tensor tensor() const
    {
        Tensor tensor;
        tensor.dtype = dtype;
        tensor.shape = shape;
        tensor.data = const_cast<std::byte*>(plain.bytes.data()); // NOLINT(cppcoreguidelines-pro-type-const-cast): only read from here
        tensor.bytes = plain.bytes.size();
        return tensor;
    }
};

} // namespace loopscope::testing
