// Catalogue entries of TensorFlow's simulated quantization: numbers rounded to what a grid of integers can say, still as floats.
#include "engine/ops/catalog.h"
#include "engine/ops/tf_rules.h"

using namespace loopscope;

LS_DEFINE_OP(tf, FakeQuantWithMinMaxArgs)
{
    return tfDef({1, 1}, "inputs", "Numbers rounded to the grid of num_bits between min and max, which holds 0.", inferTfSame);
}
LS_DEFINE_OP(tf, FakeQuantWithMinMaxArgsGradient)
{
    return tfDef({2, 2}, "gradients, inputs", "Gradients where the input lies inside of the grid, else 0.", inferTfSame);
}
LS_DEFINE_OP(tf, FakeQuantWithMinMaxVars)
{
    return tfDef({3, 3}, "inputs, min [], max []", "Numbers rounded to the grid of num_bits between min and max, which holds 0.",
                 inferTfSame);
}
LS_DEFINE_OP(tf, FakeQuantWithMinMaxVarsGradient)
{
    return tfDef({4, 4, 3, 3}, "gradients, inputs, min [], max []", "Gradients by the input, by min and by max.", inferAtRunTime,
                 withinRelative(1e-6));
}
LS_DEFINE_OP(tf, FakeQuantWithMinMaxVarsPerChannel)
{
    return tfDef({3, 3}, "inputs [..,C], min [C], max [C]", "Numbers rounded to the grid of their channel, the last dimension.",
                 inferTfSame);
}
LS_DEFINE_OP(tf, FakeQuantWithMinMaxVarsPerChannelGradient)
{
    return tfDef({4, 4, 3, 3}, "gradients, inputs [..,C], min [C], max [C]", "Gradients by the input, by min and by max of each channel.",
                 inferAtRunTime, withinRelative(1e-6));
}
