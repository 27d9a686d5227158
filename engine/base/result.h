// Errors as values: Status (worked or an Error) and Result<T> (a value or an Error). No exception and no abort crosses a layer;
// what a file, an input or a user supplies always ends here. docs/style.md says how messages are worded.
#pragma once

#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace loopscope {

/// What went wrong, grouped by who can act on it. Each code is a process exit code (docs/commands.md, "Exit codes").
enum class ErrorCode : unsigned char {
    usage = 2,       ///< the caller: an option, address, expression or input
    badFile = 3,     ///< the file's author: it cannot be read or is malformed
    unsupported = 4, ///< us, later: an operator, dtype or conversion target that we do not have
    execution = 5,   ///< the model or its inputs: kernel error, budget, dead fetch
    cannotWrite = 6, ///< the caller: output exists, read-only, disk full, quota
    device = 7,      ///< the machine: no such device, or it was lost
    internal = 70,   ///< us: a fault of ours
    cancelled = 130, ///< nobody: the caller asked to stop
};

/// The content of an Error. Empty parts are left out of the message.
struct ErrorDetail {
    ErrorCode code = ErrorCode::internal;
    std::string where;                ///< address, file, input, option; innermost place last ("m.tflite: at 0x1a4")
    std::string what;                 ///< lower case, no final period
    std::string found, expected;      ///< the value found and the one expected
    std::vector<std::string> nearest; ///< at most three near names
    std::vector<std::string> notes;   ///< further lines, each printed as "note: …"
    const char* sourceFile = "";      ///< where in our code it was raised (for -v and reports of our own faults)
    int sourceLine = 0;
};

/// One error. Cheap to move (a pointer), built fluently:
///   return Error(ErrorCode::badFile, "truncated").at("m.tflite").found("16 bytes").expected("at least 32");
class [[nodiscard]] Error {
public:
    explicit Error(ErrorCode code, std::string what, const char* file = __builtin_FILE(), int line = __builtin_LINE());

    /// Puts a place in front of the places named so far: `error.at("m.tflite")` gives "m.tflite: at 0x1a4: …".
    Error&& at(std::string_view place) &&;
    Error& at(std::string_view place) &;
    Error&& found(std::string text) &&;
    Error&& expected(std::string text) &&;
    Error&& nearest(std::vector<std::string> names) &&;
    Error&& note(std::string text) &&;

    ErrorCode code() const { return m_detail->code; }
    const ErrorDetail& detail() const { return *m_detail; }
    ErrorDetail& detail() { return *m_detail; }

    /// "WHERE: WHAT, found F, expected E; did you mean 'N'?" without the leading "error: " and without notes.
    std::string message() const;
    Error copy() const;

private:
    friend class Status;
    explicit Error(std::unique_ptr<ErrorDetail> detail) : m_detail(std::move(detail)) {}
    std::unique_ptr<ErrorDetail> m_detail;
};

/// Success, or an Error. One pointer; success is null, so that a kernel call returns it in a register.
class [[nodiscard]] Status {
public:
    Status() = default;
    Status(Error error) : m_detail(std::move(error.m_detail)) {} // NOLINT(google-explicit-constructor): `return Error(…)` must read well

    bool ok() const { return !m_detail; }
    const ErrorDetail& detail() const { return *m_detail; }     ///< only if !ok()
    Error takeError() && { return Error(std::move(m_detail)); } ///< only if !ok()

private:
    std::unique_ptr<ErrorDetail> m_detail;
};

namespace detail {
[[noreturn]] void wrongSideOfResult(); ///< throws std::logic_error: the value of an error was asked for, or the error of a value
}

/// A T, or an Error. A union of its own and no std::variant: the latter's tables and visitors were a tenth of what it takes to compile this
/// project, where each function that can fail has a Result.
template <typename T> class [[nodiscard]] Result {
public:
    Result(T value) : m_ok(true), m_value(std::move(value)) {}      // NOLINT(google-explicit-constructor)
    Result(Error error) : m_ok(false), m_error(std::move(error)) {} // NOLINT(google-explicit-constructor)
    Result(Result&& other) noexcept : m_ok(other.m_ok) { moveFrom(std::move(other)); }
    Result& operator=(Result&& other) noexcept
    {
        if (this != &other) {
            destroy();
            m_ok = other.m_ok;
            moveFrom(std::move(other));
        }
        return *this;
    }
    Result(const Result&) = delete;
    Result& operator=(const Result&) = delete;
    ~Result() { destroy(); }

    bool ok() const { return m_ok; }
    T& value() &
    {
        expect(true);
        return m_value;
    }
    const T& value() const&
    {
        expect(true);
        return m_value;
    }
    T&& value() &&
    {
        expect(true);
        return std::move(m_value);
    }
    T& operator*() & { return value(); }
    const T& operator*() const& { return value(); }
    T* operator->() { return &value(); }
    const T* operator->() const { return &value(); }
    const Error& error() const
    {
        expect(false);
        return m_error;
    }
    Error takeError() &&
    {
        expect(false);
        return std::move(m_error);
    }

private:
    void expect(bool ok) const
    {
        if (m_ok != ok) [[unlikely]]
            detail::wrongSideOfResult();
    }
    void destroy()
    {
        if (m_ok) m_value.~T();
        else m_error.~Error();
    }
    void moveFrom(Result&& other)
    {
        if (m_ok) new (&m_value) T(std::move(other.m_value));
        else new (&m_error) Error(std::move(other.m_error));
    }

    bool m_ok;
    union {
        T m_value;
        Error m_error;
    };
};

namespace detail {
inline Error errorOf(Status&& status) { return std::move(status).takeError(); }
template <typename T> Error errorOf(Result<T>&& result) { return std::move(result).takeError(); }
} // namespace detail

#define LS_CONCAT_INNER(a, b) a##b
#define LS_CONCAT(a, b) LS_CONCAT_INNER(a, b)

/// `LS_TRY(auto x, mayFail());` declares x, or returns the error from the enclosing function.
#define LS_TRY(declaration, expression) LS_TRY_INNER(LS_CONCAT(lsResult, __COUNTER__), declaration, expression)
#define LS_TRY_INNER(name, declaration, expression)                                                                                        \
    auto name = (expression);                                                                                                              \
    if (!name.ok()) [[unlikely]]                                                                                                           \
        return ::loopscope::detail::errorOf(std::move(name));                                                                              \
    declaration = std::move(name).value()

/// `LS_CHECK_OK(mayFail());` returns the error of a Status from the enclosing function.
#define LS_CHECK_OK(expression)                                                                                                            \
    do {                                                                                                                                   \
        if (auto lsStatus = (expression); !lsStatus.ok()) [[unlikely]]                                                                     \
            return ::loopscope::detail::errorOf(std::move(lsStatus));                                                                      \
    } while (false)

} // namespace loopscope
