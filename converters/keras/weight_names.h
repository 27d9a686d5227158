// Where the weights of a model's layers lie in the file of a .keras archive.
#pragma once

#include "engine/base/json.h"

#include <map>
#include <string>
#include <utility>

namespace loopscope::keras {

/// The groups of a model's layers in the file of weights, in the order of the layers.
class WeightNames {
public:
    explicit WeightNames(std::string path) : m_path(std::move(path)) {}
    std::string next(const Json& layer); ///< of the next layer; empty: an operation has no weights

private:
    std::string m_path;
    std::map<std::string, int> m_used;
};

} // namespace loopscope::keras
