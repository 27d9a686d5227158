// Fuzz target: inputs as they are typed, and the text of files of numbers.
#include "tests/fuzz/target.h"

#include "engine/api/inputs/inputs.h"
#include "engine/base/memory_budget.h"

using namespace loopscope;

LS_FUZZ_TARGET(input, true, 400)
{
    const std::string text(reinterpret_cast<const char*>(data), size);
    if (text.find(0x2f) != text.npos) return 0;          // paths: files are targets of their own
    setMemoryLimit(memoryInUse() + (uint64_t{4} << 20)); // "@1[0,1]:[16000,16000]" is legal and takes its time
    for (const DType dtype : {DType::f32, DType::i32, DType::string, DType::boolean}) {
        Port port;
        port.name = "x";
        port.type.dtype = dtype;
        port.type.shape = Shape{2, 2};
        static_cast<void>(bindInput(port, text, 1, nullptr));
    }
    return 0;
}
