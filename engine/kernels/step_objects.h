// Objects that live for one run of a TensorFlow graph: tensor arrays and stacks. Elements share their bytes, so that copying the state of
// a session (a snapshot) copies pointers.
#pragma once

#include "engine/base/swapped_bytes.h"
#include "engine/tensor/shared_elements.h"
#include "engine/tensor/tensor.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace loopscope {

/// A tensor kept by an object. `dtype` unknown: nothing.
struct StoredTensor {
    DType dtype = DType::unknown;
    Shape shape;
    KeptBytes bytes;
    int64_t origin = -1; ///< ResourceStore::iterationTick() of who put it there; no part of its value
    mutable BytesPin pin = {};

    bool isSet() const { return dtype != DType::unknown; }
    /// Valid as long as this tensor lives, which holds its bytes in memory from then on. Copy it first, if it is one of many.
    Tensor view() const;
    static StoredTensor copyOf(const Tensor& tensor);
    bool operator==(const StoredTensor& other) const;
};

/// TensorFlow's TensorArray (core/kernels/tensor_array.h).
struct TensorArray {
    struct Element {
        StoredTensor value;
        bool written = false, read = false, cleared = false;
        bool operator==(const Element&) const = default;
    };
    std::string name;
    DType dtype = DType::unknown;
    Shape elementShape = Shape::unknownRank();
    bool isDynamic = false; ///< grows when written beyond its end
    bool clearsAfterRead = true;
    bool identicalShapes = false; ///< the first element fixes the shape of all
    bool isClosed = false;
    bool isGradient = false; ///< a second write to an element adds
    bool hasAggregated = false;
    std::vector<Element> elements;
    std::map<std::string, int32_t> gradients; ///< by source: handle
    bool operator==(const TensorArray&) const = default;
};

/// The elements of a stack. Copies share all but the last few of them, and an element that lies elsewhere takes 40 bytes: a loop may push a
/// million, and each saved state of a debugger has the stack as it was.
class StackElements {
public:
    size_t size() const { return m_size; }
    bool empty() const { return m_size == 0; }
    void push(StoredTensor element);
    StoredTensor pop(); ///< there is one
    StoredTensor at(size_t i) const;
    void clear();
    bool operator==(const StackElements& other) const;

private:
    struct Chunk;
    Chunk& last();

    std::vector<std::shared_ptr<Chunk>> m_chunks; ///< all but the last are full
    size_t m_size = 0;
};

/// TensorFlow's Stack (core/kernels/stack.cc).
struct TensorStack {
    std::string name;
    DType dtype = DType::unknown;
    int64_t maxSize = -1; ///< −1: any
    bool isClosed = false;
    StackElements elements;
    bool operator==(const TensorStack&) const = default;
};

/// The shared elements that lists of a run refer to. Which of them nobody refers to any more is found out where the run can be looked at
/// as a whole: whenever there are twice as many bytes as were still needed the last time. They say nothing about a state that its lists do
/// not say.
class ListElements {
public:
    /// Errors: cannotWrite, as keptCopy().
    Result<ElementHandle> add(std::span<const std::byte> content, bool isOfList);
    bool wantsSweep() const { return m_held.bytes() > m_most; }
    /// Lets go what is not among `needed`.
    void sweep(ElementSet needed);
    uint64_t bytes() const { return m_held.bytes(); }
    size_t count() const { return m_held.count(); }
    bool operator==(const ListElements&) const { return true; }

private:
    static constexpr uint64_t kLeast = uint64_t{64} << 20;
    ElementSet m_held;
    uint64_t m_most = kLeast;
};

/// All objects of a run. Handles begin beyond those of variables and tables.
class StepObjects {
public:
    int32_t addArray(TensorArray array);
    int32_t addStack(TensorStack stack);
    TensorArray* array(int32_t handle); ///< null if there is none
    TensorStack* stack(int32_t handle);
    void clear();

    ListElements& elements() { return m_elements; }
    const ListElements& elements() const { return m_elements; }
    const std::map<int32_t, TensorArray>& arrays() const { return m_arrays; }
    const std::map<int32_t, TensorStack>& stacks() const { return m_stacks; }
    uint64_t hash() const; ///< equal for equal states
    bool operator==(const StepObjects&) const = default;

private:
    static constexpr int32_t kFirst = 1 << 30;
    int32_t m_next = kFirst;
    std::map<int32_t, TensorArray> m_arrays;
    std::map<int32_t, TensorStack> m_stacks;
    ListElements m_elements;
};

} // namespace loopscope
