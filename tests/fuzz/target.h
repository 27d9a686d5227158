// A reader that is fuzzed, in one file each (targets/): under libFuzzer a program of its own, else a part of fuzz_test.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace loopscope {

using FuzzFunction = int (*)(const uint8_t* data, size_t size);

/// How a target's files are changed by fuzz_test, and how often.
struct FuzzTarget {
    std::string_view name; ///< of its folder below tests/fuzz/corpus
    bool isText = false;
    int rounds = 0;
    FuzzFunction run = nullptr;
};
/// Puts a target into the list of fuzz_test.
struct FuzzRegistration {
    explicit FuzzRegistration(const FuzzTarget& target);
};

/// A file with this content, for readers that take a path; it goes with the object.
class FuzzFile {
public:
    FuzzFile(const uint8_t* data, size_t size, const std::string& ending = "");
    ~FuzzFile();
    FuzzFile(const FuzzFile&) = delete;
    FuzzFile& operator=(const FuzzFile&) = delete;
    const std::string& path() const { return m_path; }

private:
    std::string m_path;
};

} // namespace loopscope

// LS_FUZZ_TARGET(name, isText, rounds) { … data, size … }
#ifdef LOOPSCOPE_LIBFUZZER
#define LS_FUZZ_TARGET(name, isText, rounds) extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size)
#else
#define LS_FUZZ_TARGET(name, isText, rounds)                                                                                               \
    static int fuzz_##name(const uint8_t* data, size_t size);                                                                              \
    static const loopscope::FuzzRegistration registration_##name({#name, isText, rounds, fuzz_##name});                                    \
    static int fuzz_##name(const uint8_t* data, size_t size)
#endif
