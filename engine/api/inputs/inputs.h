// `--input NAME=SOURCE`: files, seeded random numbers, constants and patches become the arrays that a run is fed with.
#pragma once

#include "engine/api/inputs/conversion.h"
#include "engine/api/inputs/picture_input.h"
#include "engine/api/inputs/run_target.h"
#include "engine/base/result.h"
#include "engine/tensor/npy.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace loopscope {

/// What a source of `-` stands for; whoever takes options of a command line sees to it that it can be read from its beginning.
inline constexpr const char* kStandardInput = "/dev/stdin";

/// One `--input` as typed, split. `x=in.npy:cast; x[0,3,1]=nan`.
struct InputOption {
    std::string name;                         ///< empty: there is only one input, or the source is a whole archive; "all": the rest
    std::string source;                       ///< without patches and what follows
    Conversion conversion = Conversion::none; ///< `:cast`, `:quantize`
    /// `:raw`, `:csv`: what a file is that its content does not tell; `.raw`, `.bin` and `.csv`, `.tsv`, `.txt` say it by their names.
    enum class Form : uint8_t { byName, raw, table } form = Form::byName;
    PictureOptions picture; ///< `:fit`, `:nchw`, `:nhwc`
    struct Patch {
        std::string index; ///< "0,3,1"
        std::string value;
    };
    std::vector<Patch> patches;
};
Result<InputOption> splitInputOption(const std::string& text);

/// The arrays of one input: one for all runs, or (raw files) one for each.
struct BoundInput {
    std::vector<Array> arrays;
    std::string source; ///< as typed, for traces and messages
    const Array& forRun(int64_t run) const { return arrays[arrays.size() == 1 ? 0 : static_cast<size_t>(run)]; }
};

struct BoundInputs {
    std::vector<BoundInput> inputs; ///< in the order of RunTarget::inputs
    std::vector<std::string> notes; ///< "input x holds 1 NaN", "input 'x': f64 converted to f32", …
    bool usedSeed = false;
};

/// Binds every input of the target. `last`: what the run before was fed with, for `@last`; null: there was none. Errors: usage (unknown,
/// missing, wrong dtype or shape), badFile.
Result<BoundInputs> bindInputs(const RunTarget& target, const std::vector<std::string>& options, uint64_t seed, int64_t runs,
                               const BoundInputs* last = nullptr);

/// One of them alone; `source` as after `NAME=`.
Result<Array> bindInput(const Port& port, std::string_view source, uint64_t seed, const BoundInputs* last);

/// Seeded elements: floats normal(0,1), integers 0…9, bool a fair coin; with `low`/`high` uniform over both ends. Only the generator,
/// the seed and the shape decide.
struct RandomRange {
    bool given = false;
    double low = 0, high = 0;
};
Result<Array> randomArray(DType dtype, const Shape& shape, uint64_t seed, const RandomRange& range);
/// `7`, `7[-1,1]`, `7[0,9]:[4,2]`, `rand…`: what follows `@`. `position` keeps inputs that share `@rand` apart.
Result<Array> randomFromText(std::string_view text, const TensorType& type, uint64_t defaultSeed, int position, bool& usedSeed);

/// The same options with a whole archive (`in.npz`) as one option for each input that it has something for. What cannot be read stays.
std::vector<std::string> inputsByName(const RunTarget& target, const std::vector<std::string>& options);

/// The shape to use where a declared one has unknown dimensions: each becomes 1.
Shape concreteShape(const TensorType& type);

} // namespace loopscope
