// The parser's inside: what the grammar says, over the tokens of token_reader.h, in four files (statements of the file, graph bodies, terms
// of a line, types). Not for others to include.
//
// Functions that return bool say false after they reported an error; the statement is then skipped. References to values are collected
// while a graph is read and resolved at its end, since a value may be used before its definition.
#pragma once

#include "engine/ir/text/literals.h"
#include "engine/ir/text/parser.h"
#include "engine/ir/text/token_reader.h"

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace loopscope::text {

/// A reference to a value as written, with its place.
struct Reference {
    std::string name;
    std::string output; ///< "", "1", or "out:0": what follows the node's name
    uint32_t line = 1, column = 1;
};

/// The bytes of a hex token, whose digits the lexer has checked.
std::string bytesOfHex(std::string_view digits);
/// The digits of a hash token in lower case.
std::string lowerHash(const Token& token);

class Parser : private TokenReader {
public:
    Parser(std::string_view text, const ParseOptions& options);
    ParsedText run();

private:
    // parser.cpp: the statements of the file
    void file();
    void findGraphs();
    void findDialect();
    bool statement();
    bool version();
    bool modelLine();
    bool versions();
    bool signature();
    bool bindings(std::vector<SignatureBinding>& list, std::vector<Reference>& references);
    bool metadata();
    bool external();
    bool names();
    bool gradient();
    bool data();
    void resolveSignatures();

    // parser_graph.cpp: graph bodies
    bool graph();
    bool head(Graph& graph);
    bool bodyStatement();
    bool declaration(const Token& id);
    bool operation(const std::vector<Token>& names);
    bool nameFact(Operator& op, const Token& at, OperatorPlace& place);
    bool operands(Operator& op, size_t index);
    bool resultTypes(std::vector<Value>& results);
    bool returnStatement();
    bool define(const Token& at, const std::string& id, Value value);
    void poison(const std::vector<Token>& names);
    void finishGraph();
    void createTfResults();
    ValueId resolve(const Reference& reference);
    OperatorId resolveNode(const Reference& reference);
    void resolveAttributes(AttributeList& list);
    void resolveAttribute(Attribute& attribute);
    void resolveBlockwise(TensorType& type);

    // parser_terms.cpp: names, numbers, attributes, constants
    bool isId(const Token& token) const;
    bool id(std::string& text);
    bool reference(Reference& reference);
    bool kind(Kind& kind);
    bool integer(int64_t& value);
    bool graphRef(GraphRef& ref, bool withAttributes, int depth = 0);
    bool shapeAttribute(Shape& shape);
    bool integers(std::vector<int32_t>& list);
    bool attributes(AttributeList& list, bool ofTfl = false, int depth = 0, OperatorPlace* place = nullptr);
    bool attributeStarts() const;
    bool value(Attribute& value, bool bareIds, int depth);
    bool wordValue(Attribute& value, bool bareIds);
    bool tensorValue(Attribute& value);
    bool constantData(const TensorType& type, ConstantPtr& constant);
    bool sparseLayout(Sparsity& sparsity);
    bool scalar(Scalar& scalar);
    bool literal(const TensorType& type, const Sparsity* sparsity, ConstantPtr& constant);
    bool atScalar() const;

    // parser_types.cpp
    bool type(TensorType& type, int depth = 0);
    bool dims(TensorType& type);
    bool quantization(TensorType& type);
    bool quantizationBody(Quantization& q, const TensorType& type, const Token& at);
    bool scales(std::vector<float>& list, std::string& hash, int64_t count);
    bool zeros(std::vector<int64_t>& list, std::string& hash, int64_t count);
    bool expand(const Token& at, int64_t count, uint64_t bytesEach);

    ParseOptions m_options;
    ParsedText m_parsed;
    uint64_t m_expanded = 0;
    std::unordered_map<std::string, GraphId> m_graphIds;
    std::unordered_map<std::string, uint32_t> m_graphLines;
    std::vector<std::string> m_graphNames;
    struct SignatureReferences {
        std::vector<Reference> inputs, outputs;
    };
    std::vector<SignatureReferences> m_signatureReferences; ///< as long as the model's signatures
    std::map<int32_t, std::vector<size_t>> m_signaturesOf;  ///< graph → its signatures
    std::unordered_set<std::string> m_versioned;            ///< kinds in `versions`
    std::unordered_set<int32_t> m_externals, m_named;       ///< numbers of external buffers; graphs with a names block
    std::vector<std::pair<std::string, Bytes>> m_blobs;     ///< hash → inline data

    /// State of the graph that is being read.
    struct Definition {
        ValueId value;
        OperatorId op; ///< TensorFlow node
        uint32_t line = 1;
    };
    struct Body {
        GraphId id;
        Graph graph;
        std::unordered_map<std::string, Definition> names;
        std::unordered_set<std::string> poisoned; ///< defined by a statement that failed: uses are no further errors
        struct Operand {
            size_t op;
            size_t position;
            Reference reference;
        };
        std::vector<Operand> operands;
        std::vector<OperatorPlace> places;
        struct Control {
            size_t op;
            Reference reference;
        };
        std::vector<Control> controls;
        std::vector<std::pair<std::string, Reference>> outputs, controlOutputs;
        std::unordered_map<std::string, ValueId> namedOutputs;                 ///< TensorFlow: `node:out:k` → its value
        std::vector<std::vector<Value>> nodeResults;                           ///< TensorFlow: what the types of each node say
        std::vector<Reference> valueRefs;                                      ///< ValueRef attributes hold −2 − index until the end
        std::vector<std::pair<Reference, std::optional<Reference>>> blockRefs; ///< the same for blockwise quantization
    };
    std::unique_ptr<Body> m_body;
};

} // namespace loopscope::text
