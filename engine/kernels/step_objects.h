// Objects that live for one run of a TensorFlow graph: tensor arrays and stacks. Elements share their bytes, so that copying the state of
// a session (a snapshot) copies pointers.
#pragma once

#include "engine/base/swapped_bytes.h"
#include "engine/tensor/tensor.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace loopscope {

/// What holds a stored tensor in memory while somebody looks at it. Whoever copies the tensor does not look at it yet.
struct StoredTensorPin {
    Bytes bytes;

    StoredTensorPin() = default;
    ~StoredTensorPin() = default;
    StoredTensorPin(const StoredTensorPin&) {} // NOLINT(bugprone-copy-constructor-init)
    StoredTensorPin(StoredTensorPin&& other) noexcept = default;
    StoredTensorPin& operator=(const StoredTensorPin&) { return *this = StoredTensorPin(); } // NOLINT(bugprone-unhandled-self-assignment)
    StoredTensorPin& operator=(StoredTensorPin&& other) noexcept = default;
};

/// A tensor kept by an object. `dtype` unknown: nothing.
struct StoredTensor {
    DType dtype = DType::unknown;
    Shape shape;
    KeptBytes bytes;
    int64_t origin = -1; ///< ResourceStore::iterationTick() of who put it there; no part of its value
    mutable StoredTensorPin pin = {};

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

/// TensorFlow's Stack (core/kernels/stack.cc).
struct TensorStack {
    std::string name;
    DType dtype = DType::unknown;
    int64_t maxSize = -1; ///< −1: any
    bool isClosed = false;
    std::vector<StoredTensor> elements;
    bool operator==(const TensorStack&) const = default;
};

/// All objects of a run. Handles begin beyond those of variables and tables.
class StepObjects {
public:
    int32_t addArray(TensorArray array);
    int32_t addStack(TensorStack stack);
    TensorArray* array(int32_t handle); ///< null if there is none
    TensorStack* stack(int32_t handle);
    void clear();

    const std::map<int32_t, TensorArray>& arrays() const { return m_arrays; }
    const std::map<int32_t, TensorStack>& stacks() const { return m_stacks; }
    uint64_t hash() const; ///< equal for equal states
    bool operator==(const StepObjects&) const = default;

private:
    static constexpr int32_t kFirst = 1 << 30;
    int32_t m_next = kFirst;
    std::map<int32_t, TensorArray> m_arrays;
    std::map<int32_t, TensorStack> m_stacks;
};

} // namespace loopscope
