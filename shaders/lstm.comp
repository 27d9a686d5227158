#version 450
// A step of an LSTM cell in two dispatches, or three: the sums of its gates, the states, and what a projection makes of the result.
#extension GL_GOOGLE_include_directive : require
#include "storage.glsl"
#include "functions.glsl"
layout(local_size_x = 256) in;

layout(constant_id = 0) const int kPhase = 0;
layout(constant_id = 1) const int kActivation = 0;
layout(constant_id = 2) const bool kCoupled = false; ///< no input gate: it is 1 - forget gate

// By phase. Gates: input, weights, output state, sums. States: sums, peepholes, cell state, output, result. Projection: what comes out of
// the cell, weights, the same, output state, result.
LS_READS(0, In)
LS_READS(1, Weights)
LS_WRITES(2, State)
LS_WRITES(3, Out)
LS_WRITES(4, Result)

layout(push_constant) uniform Parameters
{
    uint batches, inputs, cells, outputs;
    uint firstRow, rowStep; ///< of a batch entry's input, and of its result
    uint resultWidth, column; ///< of a result's rows, and where the cell's begin in them
    float clip;
} p;

float activated(float x)
{
    switch (kActivation) {
    case actRelu: return max(0.0, x);
    case actReluN1To1: return min(max(-1.0, x), 1.0);
    case actRelu6: return min(max(0.0, x), 6.0);
    case actTanh: return hyperbolicTangent(x);
    case actSigmoid: return logistic(x);
    }
    return x;
}

/// 0: as it is. What is no number becomes the limit.
float clipped(float x)
{
    if (!(p.clip > 0.0)) return x;
    float below = x < p.clip ? x : p.clip;
    return below > -p.clip ? below : -p.clip;
}

uint resultPlace(uint batch) { return (p.firstRow + batch * p.rowStep) * p.resultWidth + p.column; }

/// Weights lie [depth, 4 gates, cells]: inputs, outputs, and the bias. Neighbours read neighbours.
void sumGates(uint i)
{
    uint width = 4 * p.cells, batch = i / width, column = i % width;
    if (batch >= p.batches) return;
    uint x = (p.firstRow + batch * p.rowStep) * p.inputs, h = batch * p.outputs;
    precise float sum = f32Weights[(p.inputs + p.outputs) * width + column];
    precise float product;
    for (uint k = 0; k < p.inputs; ++k) {
        product = f32In[x + k] * f32Weights[k * width + column];
        sum = sum + product;
    }
    for (uint k = 0; k < p.outputs; ++k) {
        product = f32State[h + k] * f32Weights[(p.inputs + k) * width + column];
        sum = sum + product;
    }
    f32Out[i] = sum;
}

/// Peepholes of the input, the forget and the output gate, one after the other.
void moveStates(uint i)
{
    uint batch = i / p.cells, cell = i % p.cells, at = batch * 4 * p.cells + cell;
    if (batch >= p.batches) return;
    float before = f32State[i];
    precise float inputSum = f32In[at] + f32Weights[cell] * before;
    precise float forgetSum = f32In[at + p.cells] + f32Weights[p.cells + cell] * before;
    float forget = logistic(forgetSum);
    precise float rest = 1.0 - forget;
    float write = kCoupled ? rest : logistic(inputSum);
    precise float value = forget * before;
    precise float added = activated(f32In[at + 2 * p.cells]) * write;
    value = value + added;
    value = clipped(value);
    f32State[i] = value;
    precise float outputSum = f32In[at + 3 * p.cells] + f32Weights[2 * p.cells + cell] * value;
    precise float hidden = logistic(outputSum) * activated(value);
    f32Out[i] = hidden;
    f32Result[resultPlace(batch) + cell] = hidden;
}

/// Weights lie [cells, outputs], the bias behind them.
void project(uint i)
{
    uint batch = i / p.outputs, column = i % p.outputs;
    if (batch >= p.batches) return;
    precise float sum = f32Weights[p.cells * p.outputs + column];
    precise float product;
    for (uint k = 0; k < p.cells; ++k) {
        product = f32In[batch * p.cells + k] * f32Weights[k * p.outputs + column];
        sum = sum + product;
    }
    float y = clipped(sum);
    f32Out[i] = y;
    f32Result[resultPlace(batch) + column] = y;
}

void main()
{
    uint i = elementIndex();
    if (kPhase == lstmGates) sumGates(i);
    else if (kPhase == lstmStates) moveStates(i);
    else project(i);
}
