// The shapes of well-known networks, as lists of layers and as models: what they compute is of no interest, how much they do is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace loopscope::bench {

/// A convolution, or a depthwise one, of a square image with SAME padding and RELU6.
struct Layer {
    int64_t side, inputs, outputs, filter, stride;
    bool isDepthwise = false;
    int joins = 0; ///< adds the input of the layer that many before this one
};

inline std::vector<Layer> mobilenetV1()
{
    std::vector<Layer> layers = {{224, 3, 32, 3, 2}};
    const int64_t blocks[][3] = {{112, 64, 1}, {112, 128, 2}, {56, 128, 1}, {56, 256, 2}, {28, 256, 1},  {28, 512, 2}, {14, 512, 1},
                                 {14, 512, 1}, {14, 512, 1},  {14, 512, 1}, {14, 512, 1}, {14, 1024, 2}, {7, 1024, 1}};
    int64_t channels = 32;
    for (const auto& [side, outputs, stride] : blocks) {
        layers.push_back({side, channels, channels, 3, stride, true});
        layers.push_back({side / stride, channels, outputs, 1, 1});
        channels = outputs;
    }
    return layers;
}

/// Blocks that widen six times, and add what they began with where that has their shape.
inline std::vector<Layer> mobilenetV2()
{
    std::vector<Layer> layers = {{224, 3, 32, 3, 2}, {112, 32, 32, 3, 1, true}, {112, 32, 16, 1, 1}};
    const int64_t groups[][3] = {{24, 2, 2}, {32, 3, 2}, {64, 4, 2}, {96, 3, 1}, {160, 3, 2}, {320, 1, 1}}; // channels, blocks, stride
    int64_t channels = 16, side = 112;
    for (const auto& [outputs, blocks, first] : groups)
        for (int64_t block = 0; block < blocks; ++block) {
            const int64_t stride = block == 0 ? first : 1, wide = 6 * channels;
            layers.push_back({side, channels, wide, 1, 1});
            layers.push_back({side, wide, wide, 3, stride, true});
            side /= stride;
            layers.push_back({side, wide, outputs, 1, 1, false, block == 0 ? 0 : 2});
            channels = outputs;
        }
    layers.push_back({7, 320, 1280, 1, 1});
    return layers;
}

/// Bottlenecks of 1 by 1, 3 by 3 and 1 by 1, as of ResNet-50 behind its first layer.
inline std::vector<Layer> resnet50()
{
    std::vector<Layer> layers = {{112, 3, 64, 7, 2}};
    const int64_t groups[][3] = {{64, 3, 1}, {128, 4, 2}, {256, 6, 2}, {512, 3, 2}}; // channels inside, blocks, stride
    int64_t channels = 64, side = 56;
    for (const auto& [inside, blocks, first] : groups)
        for (int64_t block = 0; block < blocks; ++block) {
            const int64_t stride = block == 0 ? first : 1;
            layers.push_back({side, channels, inside, 1, 1});
            layers.push_back({side, inside, inside, 3, stride});
            side /= stride;
            layers.push_back({side, inside, 4 * inside, 1, 1, false, block == 0 ? 0 : 2});
            channels = 4 * inside;
        }
    return layers;
}

/// The products of a transformer's block of width 768 and length 121: rows are the pixels of an image of 11 by 11.
inline std::vector<Layer> transformerBlock() { return {{11, 768, 768, 1, 1}, {11, 768, 3072, 1, 1}, {11, 3072, 768, 1, 1}}; }

/// A cell of `units` over a sequence of 32 numbers each, as Keras's LSTM unrolled as While is converted.
inline std::string lstmLoopText(int64_t units, int64_t steps)
{
    const std::string n = std::to_string(steps), u = std::to_string(units), all = std::to_string(4 * units);
    const std::string types = "(i32[], f32[1," + u + "], f32[1," + u + "], f32[" + n + ",1,32])";
    const std::string params = "(i: i32[], h: f32[1," + u + "], c: f32[1," + u + "], x: f32[" + n + ",1,32])";
    std::string text = "graph main(x: f32[" + n + ",1,32]) {\n  zero = const i32[] 0\n  none = const f32[1," + u + "] splat 0.0\n" +
                       "  i, h, c, all = while(zero, none, none, x) cond=@cond body=@body : " + types + "\n  return h\n}\n";
    text += "graph cond" + params + " {\n  most = const i32[] " + n + "\n  go = less(i, most) : bool[]\n  return go\n}\n";
    text += "graph body" + params + " {\n  one = const i32[] 1\n  axis = const i32[] 1\n  flat = const i32[1] [" + all + "]\n";
    text += "  bias = const f32[" + all + "] splat 0.1\n  wx = const f32[" + all + ",32] splat 0.01\n";
    text += "  wh = const f32[" + all + "," + u + "] splat 0.01\n  next = add(i, one) : i32[]\n";
    text += "  fromstate = fully_connected(h, wh, _) : f32[1," + all + "]\n  row = reshape(fromstate, flat) : f32[" + all + "]\n";
    text += "  now = gather(x, i) axis=0 : f32[1,32]\n  frominput = fully_connected(now, wx, _) : f32[1," + all + "]\n";
    text += "  both = add(frominput, row) : f32[1," + all + "]\n  sums = add(both, bias) : f32[1," + all + "]\n";
    const std::string gate = " : f32[1," + u + "]\n";
    text += "  a, b, d, e = split(axis, sums) num_splits=4 : (f32[1," + u + "], f32[1," + u + "], f32[1," + u + "], f32[1," + u + "])\n";
    text += "  write = logistic(a)" + gate + "  keep = logistic(b)" + gate + "  kept = mul(keep, c)" + gate + "  show = logistic(e)" + gate;
    text += "  update = tanh(d)" + gate + "  written = mul(write, update)" + gate + "  state = add(kept, written)" + gate;
    text += "  shown = tanh(state)" + gate + "  out = mul(show, shown)" + gate;
    return text + "  return next, out, state, x\n}\n";
}

/// The text of a model of such layers, each with weights of its own.
inline std::string textOf(const std::vector<Layer>& layers, bool isInteger)
{
    const auto shape = [](int64_t a, int64_t b, int64_t c, int64_t d) {
        return "[" + std::to_string(a) + "," + std::to_string(b) + "," + std::to_string(c) + "," + std::to_string(d) + "]";
    };
    const std::string dtype = isInteger ? "i8" : "f32", scale = isInteger ? " q(0.02, 0)" : "";
    std::string constants, operators;
    const auto image = [&](int64_t side, int64_t channels) { return dtype + shape(1, side, side, channels) + scale; };
    for (size_t i = 0; i < layers.size(); ++i) {
        const Layer& layer = layers[i];
        const std::string n = std::to_string(i), from = i == 0 ? "x" : "y" + std::to_string(i - 1);
        const int64_t side = (layer.side + layer.stride - 1) / layer.stride;
        const std::string filter = layer.isDepthwise ? shape(1, layer.filter, layer.filter, layer.inputs)
                                                     : shape(layer.outputs, layer.filter, layer.filter, layer.inputs);
        const std::string outputs = std::to_string(layer.outputs);
        constants += "  w" + n + " = const " + dtype + filter +
                     (isInteger ? " q(0.01, 0) splat " + std::to_string(1 + i % 100)
                                : " splat " + std::to_string(1e-3 * static_cast<double>(1 + i))) +
                     "\n";
        constants +=
            "  b" + n + " = const " + (isInteger ? "i32[" + outputs + "] q(0.0002, 0) splat 100" : "f32[" + outputs + "] splat 0.1") + "\n";
        operators += "  " + std::string(layer.joins > 0 ? "z" : "y") + n + (layer.isDepthwise ? " = depthwise_conv_2d(" : " = conv_2d(") +
                     from + ", w" + n + ", b" + n + ") padding=SAME act=RELU6 stride_h=" + std::to_string(layer.stride) +
                     " stride_w=" + std::to_string(layer.stride) + (layer.isDepthwise ? " depth_multiplier=1" : "") + " : " +
                     image(side, layer.outputs) + "\n";
        if (layer.joins > 0)
            operators += "  y" + n + " = add(z" + n + ", y" + std::to_string(static_cast<int64_t>(i) - 1 - layer.joins) +
                         ") : " + image(side, layer.outputs) + "\n";
    }
    return "graph main(x: " + image(layers[0].side, layers[0].inputs) + ") {\n" + constants + operators + "  return y" +
           std::to_string(layers.size() - 1) + "\n}\n";
}

} // namespace loopscope::bench
