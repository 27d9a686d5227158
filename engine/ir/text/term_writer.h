// The parts of a line of text: types, attribute values, constants, references. Used by the printer and by the structured view.
#pragma once

#include "engine/ir/text/printer.h"

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace loopscope {

/// Decides how many digits of each hash are written: 16, or 32 where two blobs share these. Blobs come in one by one, so the first
/// printing may find out too late: then `clashes` grew, and the text is printed again.
class HashNames {
public:
    /// "#…" for a blob with that hash (16 or 32 digits). Remembers the bytes.
    std::string name(const std::string& digits, const Bytes* bytes);

    bool foundClash() const { return m_foundClash; }
    /// Ready for printing again: forgets the blobs, keeps the clashes.
    void restart();
    /// Sorted by hash, one per content.
    std::vector<TextBlob> blobs() const;

private:
    std::map<std::string, std::string> m_lowHalves; ///< leading half → trailing half of the first blob that has it
    std::set<std::string> m_clashes;                ///< leading halves that need all digits
    std::map<std::string, Bytes> m_blobs;           ///< printed digits → bytes
    bool m_foundClash = false;
};

/// Writes terms in the context of one graph of one model.
class TermWriter {
public:
    TermWriter(const Model& model, HashNames& hashes, bool fullConstants) : m_model(model), m_hashes(hashes), m_full(fullConstants) {}
    void enter(const Graph* graph) { m_graph = graph; }

    std::string type(const TensorType& type);
    /// What follows the type of a constant: `[1.0, 2.0]`, `splat 0`, `#…`.
    std::string data(const TensorType& type, const Constant& constant);
    std::string metadata(const Constant& data);
    std::string attribute(const Attribute& attribute, bool bareIds = false);
    /// ` key=value` for each, with the leading blank.
    std::string attributes(const AttributeList& list);
    std::string graphRef(GraphId graph) const;
    /// An operand, output or binding: an id, `node:1`, `node:out:0`.
    std::string valueRef(ValueId value) const;
    std::string operatorRef(OperatorId op) const;

private:
    std::string quantization(const Quantization& q, const TensorType& type);
    template <typename T> std::string numbers(const std::vector<T>& list, const std::string& hash, bool oneNumber);

    const Model& m_model;
    HashNames& m_hashes;
    bool m_full;
    const Graph* m_graph = nullptr;
};

} // namespace loopscope
