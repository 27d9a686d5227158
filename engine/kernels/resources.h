// Session state that kernels share: resource variables and hash tables, by container and name. Explicit and copyable, so that a
// snapshot of a session holds it (docs/architecture.md, "Debugging and time travel").
#pragma once

#include "engine/base/result.h"
#include "engine/kernels/step_objects.h"
#include "engine/tensor/tensor.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace loopscope {

/// A resource variable. `assigned` is false until the first write.
struct Variable {
    std::string name; ///< "[container/]shared_name": the NAME of `var:NAME` addresses
    bool assigned = false;
    DType dtype = DType::unknown;
    Shape shape;
    std::vector<std::byte> bytes;
    bool operator==(const Variable&) const = default;
};

/// A lookup table with keys and values of one dtype each; strings and integers as their bytes.
struct HashTable {
    std::string name;
    bool initialised = false;
    DType keyType = DType::unknown, valueType = DType::unknown;
    std::map<std::string, std::string> entries; ///< element bytes → element bytes
    bool operator==(const HashTable&) const = default;
};

enum class AccessKind : uint8_t { create, read, write };

/// Hears of every access while set; executors forward to their observer.
class ResourceListener {
public:
    virtual ~ResourceListener() = default;
    /// `value`: what was read or written; null for create.
    virtual void accessed(const std::string& name, AccessKind kind, const Tensor* value) = 0;
    /// What a Print operator says, ends of lines included; `stream` as the model names it ("stderr", "stdout", "log(info)", …).
    virtual void printed(std::string_view /*stream*/, std::string_view /*text*/) {}
    /// Asked by who puts an element into a stack, list or tensor array: the stop before the operator that runs, if it lies in an iteration
    /// of a loop; else −1. The element keeps it.
    virtual int64_t iterationTick() const { return -1; }
    /// There may be more of ResourceStore::objects().elements() than lists refer to.
    virtual void elementsPileUp() {}
    /// An element that came from there is taken out, or read.
    virtual void elementTaken(int64_t /*tick*/, bool /*pops*/) {}
};

/// Numbers handles from 0 in order of first use, so that runs are repeatable. Copying copies the state, not the listener.
class ResourceStore {
public:
    ResourceStore() = default;
    ResourceStore(const ResourceStore& other)
        : m_names(other.m_names),
          m_variables(other.m_variables),
          m_tables(other.m_tables),
          m_objects(other.m_objects),
          m_counts(other.m_counts)
    {
    }
    ResourceStore& operator=(const ResourceStore& other)
    {
        m_names = other.m_names;
        m_variables = other.m_variables;
        m_tables = other.m_tables;
        m_objects = other.m_objects;
        m_counts = other.m_counts;
        return *this;
    }

    /// The handle of a name, made on first use.
    int32_t handle(const std::string& name);
    int32_t size() const { return static_cast<int32_t>(m_names.size()); }
    /// The variable behind a handle, created unassigned on first use; null if the handle was never given out.
    Variable* variable(int32_t handle);
    HashTable* table(int32_t handle);

    /// Tensor arrays and stacks of the present run. Whoever begins a run clears them.
    StepObjects& objects() { return m_objects; }

    const std::map<int32_t, Variable>& variables() const { return m_variables; }
    const std::map<int32_t, HashTable>& tables() const { return m_tables; }

    ResourceListener* listener = nullptr;
    /// How often something has happened in this session, by who counts it.
    int64_t& count(const std::string& name) { return m_counts[name]; }
    int64_t iterationTick() const { return listener ? listener->iterationTick() : -1; }
    /// A large element of a list, kept beside it; `isOfList`: of others, a part of the list itself.
    Result<ElementHandle> shareElement(std::span<const std::byte> content, bool isOfList = false)
    {
        LS_TRY(ElementHandle element, m_objects.elements().add(content, isOfList));
        if (listener && m_objects.elements().wantsSweep()) listener->elementsPileUp();
        return element;
    }
    void elementTaken(int64_t tick, bool pops) const
    {
        if (listener && tick >= 0) listener->elementTaken(tick, pops);
    }
    uint64_t hash() const; ///< equal for equal states
    bool operator==(const ResourceStore& o) const
    {
        return m_names == o.m_names && m_variables == o.m_variables && m_tables == o.m_tables && m_objects == o.m_objects &&
               m_counts == o.m_counts;
    }

private:
    std::vector<std::string> m_names; ///< by handle
    std::map<int32_t, Variable> m_variables;
    std::map<int32_t, HashTable> m_tables;
    StepObjects m_objects;
    std::map<std::string, int64_t> m_counts;
};

/// Philox 4x32-10 as TensorFlow and LiteRT use it: 64 bits of key, 128 bits of counter.
struct PhiloxStream {
    uint64_t key = 0, counterLow = 0, counterHigh = 0;
    /// The next four numbers.
    std::array<uint32_t, 4> next();
    void skip(uint64_t blocks);
    bool operator==(const PhiloxStream&) const = default;
};

/// Random numbers as explicit state. The same seed gives the same numbers everywhere.
class RandomState {
public:
    explicit RandomState(uint64_t seed = 1) { m_session.key = seed; }
    uint32_t next32();
    float uniform(); ///< [0, 1)
    float normal();  ///< mean 0, deviation 1 (Box–Muller on two draws)

    /// The stream of all operators without a seed.
    PhiloxStream& session() { return m_session; }
    /// The stream of the operator `identity`, which starts at its own seeds and goes on from run to run.
    PhiloxStream& stream(uint64_t identity, uint64_t seed, uint64_t seed2);

    uint64_t hash() const; ///< equal for equal states
    bool operator==(const RandomState&) const = default;

private:
    PhiloxStream m_session;
    std::array<uint32_t, 4> m_block = {}; ///< of next32
    int m_used = 4;
    std::map<uint64_t, PhiloxStream> m_streams;
};

} // namespace loopscope
