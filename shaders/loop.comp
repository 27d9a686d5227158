#version 450
// What a loop that runs whole inside one dispatch is put together of, while the program runs (engine/kernels/vulkan/loop_shader.cpp): every
// function is a step on tensors of one buffer, the arena, and is called with constants, so that compilers leave of it what one operator
// needs. `main` is written there.
#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_memory_scope_semantics : require
#include "storage.glsl"
#include "functions.glsl"
layout(local_size_x = 1) in; // as many as the loop's tensors want

#ifdef LS_SHARED // the arena is in the memory of the workgroup while a dispatch runs, and in the buffer between dispatches
#extension GL_EXT_shared_memory_block : require
const uint kSharedWords = 12288; // of 48 KiB, which every GPU has
layout(set = 0, binding = 0, std430) buffer Home { int home[]; };
shared F32Arena { float f32Arena[kSharedWords]; };
shared I32Arena { int i32Arena[kSharedWords]; };
shared I64Arena { int64_t i64Arena[kSharedWords / 2]; };
shared U8Arena { uint8_t u8Arena[kSharedWords * 4]; };
shared I8Arena { int8_t i8Arena[kSharedWords * 4]; };
shared I16Arena { int16_t i16Arena[kSharedWords * 2]; };
shared U16Arena { uint16_t u16Arena[kSharedWords * 2]; };
shared F16Arena { float16_t f16Arena[kSharedWords * 2]; };
#elif defined(LS_GROUP) // several invocations, which see what the others wrote
LS_VIEWS(0, Arena, coherent)
#else
LS_VIEWS(0, Arena, )
#endif
LS_READ_FUNCTIONS(Arena)
LS_WRITE_FUNCTIONS(Arena)

layout(push_constant) uniform Parameters
{
    uint mostTrips;
    uint fuel, mostSteps; ///< of loops with others inside: iterations of an invocation's loops, and operators that may be completed
} run;

// What are specialisation constants elsewhere; and where operands begin, in elements.
int kOp, kClass, kStoreIn, kStoreA, kStoreB, kStoreC, kStoreOut, kStore, kMode;
bool kStrided, kClamps;
uint baseA, baseB, baseC, baseOut;
#define readIntA(store, i) readIntArena(store, baseA + (i))
#define readIntB(store, i) readIntArena(store, baseB + (i))
#define readIntC(store, i) readIntArena(store, baseC + (i))
#define readLongA(store, i) readLongArena(store, baseA + (i))
#define readLongB(store, i) readLongArena(store, baseB + (i))
#define readLongC(store, i) readLongArena(store, baseC + (i))
#define readFloatA(store, i) readFloatArena(store, baseA + (i))
#define readFloatB(store, i) readFloatArena(store, baseB + (i))
#define writeIntOut(store, i, v) writeIntArena(store, baseOut + (i), v)
#define writeLongOut(store, i, v) writeLongArena(store, baseOut + (i), v)
#define writeFloatOut(store, i, v) writeFloatArena(store, baseOut + (i), v)

uint invocations, trips, steps, branches;

/// Everybody is here, and sees what everybody wrote. One barrier does both: behind a barrier of memory of its own, what others wrote may be
/// read before they are here.
void meet()
{
#ifdef LS_GROUP
    if (invocations > 1)
        controlBarrier(gl_ScopeWorkgroup, gl_ScopeWorkgroup, gl_StorageSemanticsBuffer | gl_StorageSemanticsShared,
                       gl_SemanticsAcquireRelease);
#endif
}

#ifdef LS_GROUP
#define LS_EACH(i, count) for (uint i = gl_LocalInvocationID.x; i < count; i += invocations)
#else
#define LS_EACH(i, count) for (uint i = 0; i < count; ++i)
#endif

struct Elementwise
{
    uint count, rank;
    uint dims[6];
    uint stepA[6], stepB[6], stepC[6];
    float low, high, extra;
};
Elementwise elementwiseParameters;
#define p elementwiseParameters
#include "elementwise.glsl"
float computedPlain(float a, float b) { return clamped(computePlain(a, b)); }
#define LS_ELEMENT computeElement
#define LS_COMPUTED computed
#include "element.glsl"
#undef LS_ELEMENT
#undef LS_COMPUTED
#define LS_ELEMENT computePlainElement
#define LS_COMPUTED computedPlain
#include "element.glsl"
#undef p
// The commonest of all, of elements of one width, or of two that are compared.
#define LS_FORM(name, reader, writer, expression)                                                                                         \
    void name(uint i)                                                                                                                      \
    {                                                                                                                                      \
        uvec3 places = placesOf(i);                                                                                                        \
        writer[baseOut + i] = expression(reader[baseA + places.x], reader[baseB + places.y]);                                              \
    }
#define LS_FUNCTION(name, call)                                                                                                           \
    float name(float a, float b) { return clamped(call); }
LS_FUNCTION(oneExp, exponential(a))
LS_FUNCTION(oneLog, logarithm(a))
LS_FUNCTION(oneTanh, hyperbolicTangent(a))
LS_FUNCTION(oneLogistic, logistic(a))
LS_FUNCTION(oneSqrt, squareRoot(a))
LS_FUNCTION(oneDiv, quotient(a, b))
uint8_t compareReal(float a, float b) { return LS_COMPARE(a, b) ? uint8_t(1) : uint8_t(0); }
uint8_t compareWhole(int a, int b) { return LS_COMPARE(a, b) ? uint8_t(1) : uint8_t(0); }
LS_FORM(computeReal, f32Arena, f32Arena, computedPlain)
LS_FORM(computeWhole, i32Arena, i32Arena, computeInt)
LS_FORM(computeWide, i64Arena, i64Arena, computeLong)
LS_FORM(computeExp, f32Arena, f32Arena, oneExp)
LS_FORM(computeLog, f32Arena, f32Arena, oneLog)
LS_FORM(computeTanh, f32Arena, f32Arena, oneTanh)
LS_FORM(computeLogistic, f32Arena, f32Arena, oneLogistic)
LS_FORM(computeSqrt, f32Arena, f32Arena, oneSqrt)
LS_FORM(computeDiv, f32Arena, f32Arena, oneDiv)
LS_FORM(computeRealTruth, f32Arena, u8Arena, compareReal)
LS_FORM(computeWholeTruth, i32Arena, u8Arena, compareWhole)

// The same step in several forms, since a compiler takes its time to see what of the general one is not needed.
#define LS_ELEMENTWISE(name, compute)                                                                                                     \
    void name(const int op, const int computedIn, const int storeA, const int storeB, const int storeC, const int storeOut,                \
              const bool isStrided, const bool clamps, const Elementwise parameters, const uint a, const uint b, const uint c,             \
              const uint to)                                                                                                               \
    {                                                                                                                                      \
        kOp = op;                                                                                                                          \
        kClass = computedIn;                                                                                                               \
        kStoreA = storeA;                                                                                                                  \
        kStoreB = storeB;                                                                                                                  \
        kStoreC = storeC;                                                                                                                  \
        kStoreOut = storeOut;                                                                                                              \
        kStrided = isStrided;                                                                                                              \
        kClamps = clamps;                                                                                                                  \
        elementwiseParameters = parameters;                                                                                                \
        baseA = a;                                                                                                                         \
        baseB = b;                                                                                                                         \
        baseC = c;                                                                                                                         \
        baseOut = to;                                                                                                                      \
        LS_EACH(i, parameters.count) compute(i);                                                                                           \
        meet();                                                                                                                            \
    }
LS_ELEMENTWISE(elementwise, computeElement)
LS_ELEMENTWISE(elementwisePlain, computePlainElement)
LS_ELEMENTWISE(elementwiseReal, computeReal)
LS_ELEMENTWISE(elementwiseWhole, computeWhole)
LS_ELEMENTWISE(elementwiseWide, computeWide)
LS_ELEMENTWISE(elementwiseExp, computeExp)
LS_ELEMENTWISE(elementwiseLog, computeLog)
LS_ELEMENTWISE(elementwiseTanh, computeTanh)
LS_ELEMENTWISE(elementwiseLogistic, computeLogistic)
LS_ELEMENTWISE(elementwiseSqrt, computeSqrt)
LS_ELEMENTWISE(elementwiseDiv, computeDiv)
LS_ELEMENTWISE(elementwiseRealTruth, computeRealTruth)
LS_ELEMENTWISE(elementwiseWholeTruth, computeWholeTruth)

#define readIntIn readIntA
#define readLongIn readLongA
#define readFloatIn readFloatA
#define readIntTable readIntB
struct Copy
{
    uint count, rank;
    uint dims[6];
    int stepIn[6], stepOut[6];
    int beginIn, beginOut;
    uint fillLow, fillHigh;
};
Copy copyParameters;
#define p copyParameters
#include "copy.glsl"
#undef p

void copy(const int store, const int mode, const Copy parameters, const uint from, const uint to, const uint table)
{
    kStore = store;
    kMode = mode;
    copyParameters = parameters;
    baseA = from;
    baseB = table;
    baseOut = to;
    LS_EACH(i, parameters.count) copyElement(i);
    meet();
}

struct Reduction
{
    uint count, ranks;
    uint kept[4], keptSteps[4];
    uint reduced[4], reducedSteps[4];
    uint reduceCount;
};
Reduction reductionParameters;
#define p reductionParameters
#include "reduce.glsl"
#undef p

void reduce(const int op, const int computedIn, const int storeIn, const int storeOut, const Reduction parameters, const uint from, const uint to)
{
    kOp = op;
    kClass = computedIn;
    kStoreIn = storeIn;
    kStoreOut = storeOut;
    reductionParameters = parameters;
    baseA = from;
    baseOut = to;
    LS_EACH(i, parameters.count) reduceAlone(i);
    meet();
}

/// 32-bit words.
void move(const uint from, const uint to, const uint count)
{
    LS_EACH(i, count) i32Arena[to + i] = i32Arena[from + i];
    meet();
}

void begin(const uint ofGroup)
{
    invocations = ofGroup;
    trips = steps = branches = 0;
#ifdef LS_SHARED
    uint words = min(uint(home.length()), kSharedWords);
    LS_EACH(i, words) i32Arena[i] = home[i];
    meet();
#endif
}
bool mayGoRound() { return trips < run.mostTrips; }
bool holds(const uint place) { return u8Arena[place] != uint8_t(0); }
/// A branch of an If was taken, of so many operators.
void took(const uint operators)
{
    ++branches;
    steps += operators;
    meet();
}
void wentRound()
{
    ++trips;
    meet();
}

// A loop with others inside, one after the other, numbered from 1 on. A dispatch may end in the midst of one of them: the next goes on there.
// Carried values change when an iteration is complete, and what is counted until then counts from then on.
const uint kMostInside = 4;
uint inside, fuel, doneSteps, doneBranches;
uint tripsInside[kMostInside], doneInside[kMostInside];
bool isOver, isStopped;

void resume()
{
    inside = uint(i32Arena[4]);
    steps = uint(i32Arena[5]);
    branches = uint(i32Arena[6]);
    fuel = run.fuel;
    doneSteps = doneBranches = 0;
    for (uint j = 0; j < kMostInside; ++j) {
        tripsInside[j] = uint(i32Arena[8 + 2 * j]);
        doneInside[j] = 0;
    }
    isOver = isStopped = false;
    meet();
}
/// Whether an iteration of so many operators may be completed, or has been begun and is to be gone on with.
bool mayGoOn(const uint operators, const uint rounds)
{
    if (inside != 0) { // what is left of it takes no more than all of it
        fuel -= min(fuel, rounds);
        return true;
    }
    if (fuel < rounds) return false;
    isStopped = (trips + 1) * operators + doneSteps > run.mostSteps;
    return !isStopped;
}
bool isFresh() { return inside == 0; }
void burn(const uint rounds) { fuel -= rounds; }
bool holdsAround(const uint place)
{
    isOver = !holds(place);
    return !isOver;
}
void enter(const uint loop)
{
    inside = loop;
    ++branches;
    meet();
}
bool mayGoInside(const uint loop, const uint rounds)
{
    if (inside != loop || fuel < rounds) return false;
    fuel -= rounds;
    return true;
}
/// Behind a cond of so many operators: another iteration begins, or the loop inside is over.
bool holdsInside(const uint loop, const uint place, const uint condSteps, const uint bodySteps, const uint operators)
{
    bool goesOn = holds(place);
    steps += condSteps;
    if (goesOn) {
        steps += bodySteps;
        ++branches;
        ++tripsInside[loop - 1];
    } else {
        inside = 0;
    }
    isStopped = (trips + 1) * operators + doneSteps + steps > run.mostSteps;
    return goesOn && !isStopped;
}
bool isBehind(const uint loop) { return !isStopped && inside != loop; }
bool mayComplete(const uint operators)
{
    isStopped = (trips + 1) * operators + doneSteps + steps > run.mostSteps;
    return !isStopped;
}
void completed()
{
    ++trips;
    doneSteps += steps;
    doneBranches += branches;
    steps = branches = 0;
    for (uint j = 0; j < kMostInside; ++j) {
        doneInside[j] += tripsInside[j];
        tripsInside[j] = 0;
    }
    meet();
}

void writeReport(const int isOver, const uint ofSteps, const uint ofBranches)
{
    i32Arena[0] = int(trips);
    i32Arena[1] = isOver;
    i32Arena[2] = int(ofSteps);
    i32Arena[3] = int(ofBranches);
}
void leave()
{
#ifdef LS_SHARED
    meet();
    uint words = min(uint(home.length()), kSharedWords);
    LS_EACH(i, words) home[i] = i32Arena[i];
#endif
}
void endOrPause()
{
    meet();
    if (gl_LocalInvocationID.x == 0) {
        writeReport(isOver ? 1 : 0, doneSteps, doneBranches);
        i32Arena[4] = int(inside);
        i32Arena[5] = int(steps);
        i32Arena[6] = int(branches);
        i32Arena[7] = isStopped ? 1 : 0;
        for (uint j = 0; j < kMostInside; ++j) {
            i32Arena[8 + 2 * j] = int(tripsInside[j]);
            i32Arena[9 + 2 * j] = int(doneInside[j]);
        }
    }
    leave();
}
/// The first words of the arena tell how often this dispatch went round, whether the loop is over, and what it counted in branches.
void end()
{
    meet();
    if (gl_LocalInvocationID.x == 0) writeReport(trips < run.mostTrips ? 1 : 0, steps, branches);
    leave();
}

void main() {}
