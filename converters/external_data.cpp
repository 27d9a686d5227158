#include "converters/external_data.h"

#include "engine/base/file_guard.h"
#include "engine/ir/stored_constant.h"

#include <filesystem>
#include <map>
#include <optional>

namespace loopscope {

void findExternalData(Model& model, const std::string& folder)
{
    std::map<std::string, std::optional<Bytes>> files;
    for (ExternalBuffer& buffer : model.externalBuffers) {
        const std::string name(attributeString(buffer.attributes, "group", ""));
        const int64_t offset = attributeInt(buffer.attributes, "offset", 0);
        const int64_t length = attributeInt(buffer.attributes, "length", 0);
        // A model may name files beside it, never others of this machine.
        const std::filesystem::path path(name);
        if (name.empty() || path.is_absolute() || name.find("..") != std::string::npos || offset < 0 || length < 0) continue;
        const auto [at, isNew] = files.try_emplace(name);
        if (isNew)
            if (Result<Bytes> file = mapFileWithin(folder, name); file.ok()) at->second = std::move(file).value();
        const std::optional<Bytes>& file = at->second;
        const auto first = static_cast<uint64_t>(offset);
        const auto count = static_cast<uint64_t>(length);
        if (!file || first > file->size() || count > file->size() - first) continue;
        Bytes bytes = file->slice(first, count);
        if (reinterpret_cast<uintptr_t>(bytes.data()) % 16 != 0) bytes = Bytes::copyOf(bytes.view()); // kernels read whole elements
        setFoundData(buffer, std::move(bytes));
    }
}

} // namespace loopscope
