// How loops get the vector instructions of the machine that they run on.
#pragma once

/// In front of a function: it is compiled for AVX2 too, and the program takes that where the machine has it. Results do not differ:
/// -ffp-contract=off holds for all versions. The cost model is said again: a precompiled header with another one wins where an intrinsics
/// header is included. Not under sanitizers, which cannot start before the choice is made.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define LS_VECTORISED __attribute__((target_clones("avx2", "default"), optimize("vect-cost-model=dynamic")))
#else
#define LS_VECTORISED
#endif
