// Models as canonical text: one operator per line, result types written, large constants as hashes. Form: docs/text_ir.md.
#pragma once

#include "engine/base/bytes.h"
#include "engine/ir/model.h"

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace loopscope {

/// Everything here adds comments or lengthens constants; the model that the text reads back to stays the same.
struct PrintOptions {
    bool origin = false;        ///< `; op 12, tensors 3 7 -> 9`: indices in the file, and what rewrites made it from
    bool addresses = false;     ///< `; main/while#7`
    bool fullConstants = false; ///< all elements instead of hashes (strings, numbers; not block formats)
    /// Further comment for an operator's line (inferred shapes, values), without the `;`; empty: none.
    std::function<std::string(GraphId, OperatorId)> comment;
};

/// A blob that the text names by its hash. `hash` is as printed: 16 digits, 32 where two blobs of the model share these.
struct TextBlob {
    std::string hash;
    Bytes bytes;
};

/// The canonical text, without data blocks. `model` must pass verifyModel. Bytes of constants are read only up to the first element
/// that differs from its predecessors, and where a hash is printed that is not known yet.
std::string printModel(const Model& model, const PrintOptions& options = {});
/// The same; fills `blobs` with the distinct blobs whose bytes are at hand, sorted by hash.
std::string printModel(const Model& model, const PrintOptions& options, std::vector<TextBlob>& blobs);
/// One graph, with its names, as it stands in the text of the model.
std::string printGraph(const Model& model, GraphId graph, const PrintOptions& options = {});

/// `f32[1?,96] q(0.5, 0)`; `graph` gives the ids of blockwise scales and may be null.
std::string typeText(const TensorType& type, const Graph* graph = nullptr);
/// `{max: 10}`, `[1, 2]`, `@body`: what stands after `key=`.
std::string attributeText(const Attribute& attribute, const Model& model, const Graph* graph = nullptr);
/// `add`, `tf.Switch`, `custom."my op"`: the kind as an operator line of a model in `dialect` begins with it.
std::string kindText(const Kind& kind, Dialect dialect);

} // namespace loopscope
