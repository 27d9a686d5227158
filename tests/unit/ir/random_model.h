// Random models that obey the verifier: every dialect, dtype, attribute kind, quantization form and odd name, for property tests.
#pragma once

#include "engine/ir/model.h"

#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace loopscope {

class RandomModel {
public:
    explicit RandomModel(uint64_t seed) : m_random(seed) {}
    Model make();

private:
    int64_t upTo(int64_t largest) { return std::uniform_int_distribution<int64_t>(0, largest)(m_random); }
    bool oneIn(int64_t n) { return upTo(n - 1) == 0; }
    template <typename T> const T& oneOf(const std::vector<T>& list)
    {
        return list[static_cast<size_t>(upTo(static_cast<int64_t>(list.size()) - 1))];
    }

    std::string text();
    std::string word();
    std::string uniqueName();
    std::string hash() { return m_hashes[static_cast<size_t>(upTo(static_cast<int64_t>(m_hashes.size()) - 1))]; }
    DType dtype();
    Shape shape(bool known);
    TensorType type(bool data, int depth = 0);
    QuantizationPtr quantization(const TensorType& type);
    double real();
    ConstantPtr constant(TensorType& type, bool mayBeSparse);
    Attribute attribute(int depth);
    AttributeList attributes(int64_t most);
    Kind kind();
    void graph(Graph& graph);
    void operation(Graph& graph, size_t index);
    void tfResults(Graph& graph, size_t index, int64_t count);

    std::mt19937_64 m_random;
    Model m_model;
    const Graph* m_graph = nullptr; ///< whose values attributes may name
    int64_t m_names = 0;
    std::vector<std::string> m_hashes = {"0123456789abcdef", "fedcba98765432100000000000000001", "fedcba98765432100000000000000002"};
};

} // namespace loopscope
