// Shaders that are put together while the program runs: functions that were compiled while it was built, called with constants by a `main`
// that is written here. No compiler is needed for that, only the form of SPIR-V: constants, calls, loops.
#pragma once

#include "engine/base/result.h"

#include <cstdint>
#include <initializer_list>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace loopscope::vulkan {

/// Writes the `main` of a module whose own is empty. Functions of the module are named as in its source.
class ShaderAssembler {
public:
    /// Errors: internal, no module of that kind.
    static Result<ShaderAssembler> of(std::span<const uint32_t> module);

    void setLocalSize(uint32_t invocations) { m_localSize = invocations; }
    /// Calls a function with constants: one word for each number or bool, members of structures and elements of arrays one after the
    /// other, in the order of its parameters. What it returns is kept for the next goOnIf().
    void call(std::string_view function, std::span<const uint32_t> constants = {});
    void call(std::string_view function, std::initializer_list<uint32_t> constants)
    {
        call(function, std::span(constants.begin(), constants.size()));
    }
    /// The same with numbers that complete() gives it later.
    struct Later {
        size_t at = 0;
        uint32_t function = 0;
    };
    Later callLater(std::string_view function, size_t numbers);
    void complete(const Later& call, std::span<const uint32_t> numbers);
    /// What follows, up to orElse(), is done if the last call gave true, what follows that, up to endIf(), if not.
    void beginIf();
    void orElse();
    void endIf();
    /// What follows, up to endLoop(), is repeated.
    void beginLoop();
    /// The innermost loop goes on if the last call gave true, else it is over.
    void goOnIf();
    void endLoop();
    /// The whole module. Errors: internal, a call that does not fit its function.
    Result<std::vector<uint32_t>> done();

private:
    using Id = uint32_t;
    struct Type {
        uint32_t op = 0;
        std::vector<uint32_t> operands;
    };
    struct If {
        Id otherwise = 0, merge = 0;
    };
    struct Loop {
        Id header = 0, next = 0, merge = 0;
    };

    Status read(std::span<const uint32_t> module);
    void readDeclaration(uint32_t op, std::span<const uint32_t> words);
    /// A constant of a type, made of the first words, which are taken away; 0: it does not fit.
    Id constant(Id type, std::span<const uint32_t>& words);
    Id scalar(Id type, uint32_t op, std::vector<uint32_t> value);
    Id newId() { return m_bound++; }
    void emit(uint32_t op, std::initializer_list<uint32_t> words);
    void label(Id id);

    std::vector<uint32_t> m_before;                 ///< header, and everything before the functions but the entry point and its size
    size_t m_entryAt = 0;                           ///< where in m_before the entry point stood
    std::vector<uint32_t> m_constants;              ///< new ones
    std::vector<uint32_t> m_functions, m_main;      ///< all but the module's main; its new one
    std::map<std::string, Id, std::less<>> m_names; ///< of functions
    std::map<Id, Type> m_types;
    std::map<Id, Id> m_functionTypes;            ///< by function
    std::map<Id, uint32_t> m_lengths;            ///< values of integer constants, which arrays have as lengths
    std::vector<Id> m_variables;                 ///< of the module
    std::map<std::vector<uint32_t>, Id> m_known; ///< constants by type and value
    std::vector<Loop> m_loops;
    std::vector<If> m_ifs;
    Id m_bound = 0, m_mainId = 0, m_result = 0;
    std::vector<uint32_t> m_mainBegin; ///< OpFunction of main
    uint32_t m_localSize = 1;
    std::string m_failure;
};

} // namespace loopscope::vulkan
