// Fuzz target: the message of a SavedModel.
#include "tests/fuzz/target.h"

#include "converters/savedmodel/savedmodel.h"
#include "tests/fuzz/opened.h"

#include <filesystem>
#include <fstream>
#include <unistd.h>

using namespace loopscope;

LS_FUZZ_TARGET(saved_model, false, 200)
{
    // A folder of its own: the reader looks for variables and assets beside the message.
    const std::filesystem::path folder = std::filesystem::temp_directory_path() / ("loopscope_fuzz_saved." + std::to_string(getpid()));
    std::filesystem::create_directories(folder);
    std::ofstream(folder / "saved_model.pb", std::ios::binary)
        .write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
    if (const auto model = importSavedModel(folder.string()); model.ok()) lookAtModel(*model);
    std::filesystem::remove_all(folder);
    return 0;
}
