// HDF5 as h5py writes it by default, read and no more: superblock 0, groups with symbol tables, whole datasets of numbers, texts in
// attributes. What else the format knows is refused by name. Written by hand because these files come from strangers
// (docs/dependencies.md).
#pragma once

#include "engine/base/bytes.h"
#include "engine/base/result.h"
#include "engine/ir/attribute.h"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace loopscope::keras {

/// An open file. Its groups and the heads of its datasets are read when it is opened, each once; data are slices of the bytes.
class Hdf5File {
public:
    struct Node {
        bool isDataset = false;
        std::map<std::string, size_t, std::less<>> children; ///< of a group: name, place in the file's nodes
        TensorType type;                                     ///< of a dataset
        uint64_t offset = 0, size = 0;                       ///< of a dataset: where its bytes lie
        std::string problem;                                 ///< of a dataset that cannot be read: what it is
        /// Texts of attributes, as far as Keras says there what its models are made of.
        std::map<std::string, std::vector<std::string>, std::less<>> texts;
    };

    /// Errors: badFile (damaged, with the offset), unsupported (a part of the format that is not read, with what was found).
    static Result<Hdf5File> open(Bytes content);

    /// The group or dataset of a path such as "layers/dense/vars/0"; null if there is none.
    const Node* find(std::string_view path) const;
    /// The dataset's elements. Errors: badFile (no such dataset), unsupported (`problem`).
    Result<TensorAttribute> read(std::string_view path) const;
    /// Makes an object known under another path, too. False if there is no such object, or something else has that path.
    bool link(std::string_view path, std::string_view target);
    /// Paths of all datasets below a group, in the order of their names, numbers by their value.
    std::vector<std::string> datasetsBelow(std::string_view path) const;

private:
    friend class Hdf5Reader;
    size_t placeOf(std::string_view path) const; ///< kNowhere: there is none
    static constexpr size_t kNowhere = SIZE_MAX;
    Bytes m_content;
    std::vector<Node> m_nodes; ///< the root comes first
};

} // namespace loopscope::keras
