// Files for TensorFlow's kernels: those that a SavedModel has brought along, by their names in the model, and those that were named on the
// command line. Nothing else is read.
#pragma once

#include "engine/kernels/cpu/tf_support.h"

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace loopscope {

/// The parameters of a kernel that reads files.
struct TfFileParams {
    Operator op;
    std::vector<Metadata> assets;

    /// Errors: NotFound.
    Result<std::string_view> read(std::string_view name) const
    {
        constexpr std::string_view kFolder = "assets/"; // of a SavedModel, whose nodes give names with it; other graphs give paths
        const auto asset = std::ranges::find_if(
            assets, [&](const Metadata& one) { return one.name == name || std::string_view(one.name).substr(kFolder.size()) == name; });
        if (asset == assets.end() || !asset->data || !asset->data->hasBytes())
            return tfError(TfCode::notFound, std::string(name) + "; No such file among the model's assets");
        return std::string_view(asset->data->bytes().as<char>(), asset->data->bytes().size());
    }
};

/// Kernels whose parameters are TfFileParams. Errors: as checkTfSignature.
template <KernelFunction function> Result<PreparedKernel> prepareTfFile(const KernelSetup& setup)
{
    LS_CHECK_OK(checkTfSignature(setup.op, setup.inputs, setup.outputs));
    TfFileParams params{setup.op, {}};
    if (setup.model)
        for (const Metadata& entry : setup.model->metadata)
            if (entry.name.starts_with("assets/")) params.assets.push_back(entry);
    return PreparedKernel{function, std::make_shared<const TfFileParams>(std::move(params))};
}

} // namespace loopscope
