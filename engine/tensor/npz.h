// NumPy's .npz archives: a zip file of .npy members, read member by member and written in one piece.
#pragma once

#include "engine/base/result.h"
#include "engine/tensor/npy.h"
#include "engine/tensor/zip_archive.h"

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace loopscope {

/// An open archive. Members are read when asked for. Not thread-safe.
class NpzFile {
public:
    /// Errors: badFile ("no such file", not a zip archive).
    static Result<NpzFile> open(const std::string& path);

    /// Member names without `.npy`, in file order.
    const std::vector<std::string>& keys() const { return m_keys; }
    bool has(std::string_view key) const;
    /// Errors: usage "no key 'x'; keys: 0, 1"; badFile if the member is damaged.
    Result<Array> read(std::string_view key) const;

private:
    NpzFile(std::string path, ZipArchive archive, std::vector<std::string> keys)
        : m_path(std::move(path)),
          m_archive(std::move(archive)),
          m_keys(std::move(keys))
    {
    }
    std::string m_path;
    ZipArchive m_archive;
    std::vector<std::string> m_keys;
};

struct NamedTensor {
    std::string name; ///< the key
    Tensor tensor;
};

/// Writes a deflated archive aside and renames it. The same tensors give the same bytes. Errors: unsupported (a dtype without a form
/// in .npy), cannotWrite.
Status writeNpz(const std::string& path, std::span<const NamedTensor> tensors, bool overwrite);

} // namespace loopscope
