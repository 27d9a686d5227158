// What all parts of a debugger share: the model, the executor that runs it, its timeline, and how long work is followed and stopped.
#pragma once

namespace loopscope {

class Executor;
struct Model;
class Timeline;
struct TravelControl;

/// Owns nothing. One thread, that of the engine, uses it.
struct DebugTarget {
    const Model& model;
    Executor& executor;
    Timeline& timeline;
    /// Of every long request: progress and cancellation. Whoever runs the engine sets it.
    TravelControl& control;
};

} // namespace loopscope
