// Kernels of TensorFlow's operators that take tf.Example messages apart: core/util/example_proto_fast_parsing.cc, core/example/*.proto. The
// messages are read as they lie in memory: fields of the wire format, one example after the other.
#include "engine/kernels/cpu/tf_support.h"

#include <algorithm>
#include <map>

using namespace loopscope;

namespace {

/// Fields of a protobuf message.
struct Wire {
    std::string_view rest;
    bool failed = false;

    uint64_t varint()
    {
        uint64_t value = 0;
        for (int shift = 0; shift < 64; shift += 7) {
            if (rest.empty()) break;
            const auto byte = static_cast<uint8_t>(rest.front());
            rest.remove_prefix(1);
            value |= static_cast<uint64_t>(byte & 0x7f) << shift;
            if (byte < 0x80) return value;
        }
        failed = true;
        return 0;
    }
    std::string_view bytes(uint64_t count)
    {
        if (count > rest.size()) {
            failed = true;
            return {};
        }
        const std::string_view taken = rest.substr(0, static_cast<size_t>(count));
        rest.remove_prefix(static_cast<size_t>(count));
        return taken;
    }
    /// The next field; its content if it has a length. False at the end, or if the message is damaged.
    bool next(uint32_t& number, uint32_t& type, std::string_view& content)
    {
        if (rest.empty() || failed) return false;
        const uint64_t tag = varint();
        number = static_cast<uint32_t>(tag >> 3);
        type = static_cast<uint32_t>(tag & 7);
        if (type == kLength) content = bytes(varint());
        else if (type == kFixed64) content = bytes(8);
        else if (type == kFixed32) content = bytes(4);
        else if (type == kVarint) number64 = varint();
        else failed = true;
        return !failed;
    }
    uint64_t number64 = 0; ///< of a field of type kVarint

    static constexpr uint32_t kVarint = 0, kFixed64 = 1, kLength = 2, kFixed32 = 5;
};

/// The values of one feature. Strings view the message.
struct Feature {
    DType dtype = DType::unknown; ///< nothing was set
    std::vector<std::string_view> strings;
    std::vector<float> floats;
    std::vector<int64_t> integers;

    int64_t count() const
    {
        return static_cast<int64_t>(dtype == DType::string ? strings.size() : dtype == DType::f32 ? floats.size() : integers.size());
    }
};

bool readList(std::string_view message, Feature& feature)
{
    Wire list{message};
    uint32_t number = 0, type = 0;
    std::string_view content;
    while (list.next(number, type, content)) {
        if (number != 1) continue;
        if (feature.dtype == DType::string) {
            if (type != Wire::kLength) return false;
            feature.strings.push_back(content);
        } else if (feature.dtype == DType::f32) {
            if ((type != Wire::kLength && type != Wire::kFixed32) || content.size() % sizeof(float) != 0) return false;
            for (; !content.empty(); content.remove_prefix(sizeof(float))) {
                float value = 0;
                std::memcpy(&value, content.data(), sizeof value);
                feature.floats.push_back(value);
            }
        } else if (type == Wire::kVarint) {
            feature.integers.push_back(static_cast<int64_t>(list.number64));
        } else {
            if (type != Wire::kLength) return false;
            Wire packed{content};
            while (!packed.rest.empty() && !packed.failed) feature.integers.push_back(static_cast<int64_t>(packed.varint()));
            if (packed.failed) return false;
        }
    }
    return !list.failed;
}

/// The messages of an example's features, by name; of a name that comes twice the last one.
Result<std::map<std::string_view, std::string_view>> featuresOf(std::string_view example)
{
    std::map<std::string_view, std::string_view> features;
    const auto read = [&] {
        Wire outer{example};
        uint32_t number = 0, type = 0;
        std::string_view content;
        while (outer.next(number, type, content)) {
            if (number != 1 || type != Wire::kLength) continue;
            Wire all{content};
            while (all.next(number, type, content)) {
                if (number != 1 || type != Wire::kLength) continue;
                Wire entry{content};
                std::string_view key, value;
                while (entry.next(number, type, content)) {
                    if (type == Wire::kLength && number == 1) key = content;
                    if (type == Wire::kLength && number == 2) value = content;
                }
                if (entry.failed) return false;
                features[key] = value;
            }
            if (all.failed) return false;
        }
        return !outer.failed;
    };
    if (read()) return features;
    return invalidArgument("Could not parse example input, value: '" + std::string(example) + "'");
}

constexpr DType kKinds[] = {DType::unknown, DType::string, DType::f32, DType::i64}; ///< by field number of Feature

/// What is parsed, and into which results.
struct Request {
    std::vector<std::string_view> serialized, names;
    bool isBatch = true; ///< results have a first dimension for the examples
    std::vector<std::string> sparseKeys, denseKeys, raggedKeys;
    int firstDefault = 0;
};

class Parser {
public:
    Parser(const KernelArgs& args, Request request) : m_args(args), m_request(std::move(request)) {}

    Status run()
    {
        for (const std::string_view example : m_request.serialized) {
            LS_TRY(auto features, featuresOf(example));
            m_examples.push_back(std::move(features));
        }
        const auto sparse = static_cast<int>(m_request.sparseKeys.size());
        const auto dense = static_cast<int>(m_request.denseKeys.size());
        const auto ragged = static_cast<int>(m_request.raggedKeys.size());
        if (m_args.outputCount != 3 * sparse + dense + 2 * ragged || m_args.inputCount != m_request.firstDefault + dense)
            return invalidArgument("the numbers of keys, defaults and results do not agree");
        for (int s = 0; s < sparse; ++s)
            LS_CHECK_OK(giveSparse(m_request.sparseKeys[static_cast<size_t>(s)], s, sparse + s, 2 * sparse + s));
        for (int d = 0; d < dense; ++d) LS_CHECK_OK(giveDense(d, 3 * sparse + d));
        for (int r = 0; r < ragged; ++r)
            LS_CHECK_OK(giveRagged(m_request.raggedKeys[static_cast<size_t>(r)], 3 * sparse + dense + r, 3 * sparse + dense + ragged + r));
        return {};
    }

private:
    /// "Name: <unknown>, Key: a, Index: 0": what TensorFlow's messages begin with.
    std::string place(std::string_view key, size_t example) const
    {
        const std::string_view name = example < m_request.names.size() ? m_request.names[example] : "<unknown>";
        return "Name: " + std::string(name) + ", Key: " + std::string(key) + ", Index: " + std::to_string(example) + ".  ";
    }

    /// Without values where the example has none under that key.
    Result<Feature> feature(std::string_view key, size_t example, DType wanted) const
    {
        Feature feature;
        const auto found = m_examples[example].find(key);
        if (found == m_examples[example].end()) return feature;
        Wire message{found->second};
        uint32_t number = 0, type = 0;
        std::string_view content;
        while (message.next(number, type, content)) {
            if (number < 1 || number > 3 || type != Wire::kLength) continue;
            if (feature.dtype != kKinds[number]) feature = Feature{kKinds[number], {}, {}, {}}; // one of: the last kind holds
            if (!readList(content, feature)) message.failed = true;
        }
        if (message.failed) return invalidArgument(place(key, example) + "Can't parse serialized Example.");
        if (feature.dtype != DType::unknown && feature.dtype != wanted)
            return invalidArgument(place(key, example) + "Data types don't match. Data type: " + std::string(tfTypeName(feature.dtype)) +
                                   " but expected type: " + std::string(tfTypeName(wanted)));
        return feature;
    }

    Result<std::vector<Feature>> column(std::string_view key, DType wanted) const
    {
        std::vector<Feature> column;
        for (size_t e = 0; e < m_examples.size(); ++e) {
            LS_TRY(Feature values, feature(key, e, wanted));
            column.push_back(std::move(values));
        }
        return column;
    }

    static void append(TfTarget& out, int64_t at, const Feature& feature)
    {
        if (feature.dtype == DType::string) std::ranges::copy(feature.strings, reinterpret_cast<std::string_view*>(out.data()) + at);
        if (feature.dtype == DType::f32) std::ranges::copy(feature.floats, reinterpret_cast<float*>(out.data()) + at);
        if (feature.dtype == DType::i64) std::ranges::copy(feature.integers, reinterpret_cast<int64_t*>(out.data()) + at);
    }

    /// All values of a column, one after the other, as result `k`.
    Status giveValues(const std::vector<Feature>& column, int k) const
    {
        int64_t total = 0;
        for (const Feature& feature : column) total += feature.count();
        TfTarget out;
        LS_CHECK_OK(out.begin(m_args, k, Shape({total})));
        int64_t at = 0;
        for (const Feature& feature : column) {
            append(out, at, feature);
            at += feature.count();
        }
        return out.finish();
    }

    Status giveSparse(std::string_view key, int indices, int values, int shape) const
    {
        LS_TRY(const std::vector<Feature> column, this->column(key, m_args.out(values).dtype));
        LS_CHECK_OK(giveValues(column, values));
        const int rank = m_request.isBatch ? 2 : 1;
        int64_t total = 0, longest = 0;
        for (const Feature& feature : column) {
            total += feature.count();
            longest = std::max(longest, feature.count());
        }
        LS_CHECK_OK(tfAllocate(m_args, indices, Shape({total, rank})));
        auto* to = m_args.out(indices).as<int64_t>();
        for (size_t e = 0; e < column.size(); ++e)
            for (int64_t i = 0; i < column[e].count(); ++i) {
                if (m_request.isBatch) *to++ = static_cast<int64_t>(e);
                *to++ = i;
            }
        LS_CHECK_OK(tfAllocate(m_args, shape, Shape({rank})));
        if (m_request.isBatch) m_args.out(shape).as<int64_t>()[0] = static_cast<int64_t>(column.size());
        m_args.out(shape).as<int64_t>()[rank - 1] = longest;
        return {};
    }

    Status giveRagged(std::string_view key, int values, int splits) const
    {
        LS_TRY(const std::vector<Feature> column, this->column(key, m_args.out(values).dtype));
        LS_CHECK_OK(giveValues(column, values));
        if (!m_request.isBatch) return invalidArgument("ragged features need a batch of examples");
        LS_CHECK_OK(tfAllocate(m_args, splits, Shape({static_cast<int64_t>(column.size()) + 1})));
        int64_t at = 0;
        for (size_t e = 0; e <= column.size(); ++e) {
            if (m_args.out(splits).dtype == DType::i32) m_args.out(splits).as<int32_t>()[e] = static_cast<int32_t>(at);
            else m_args.out(splits).as<int64_t>()[e] = at;
            if (e < column.size()) at += column[e].count();
        }
        return {};
    }

    Status giveDense(int d, int k) const
    {
        const std::string& key = m_request.denseKeys[static_cast<size_t>(d)];
        const Tensor& otherwise = m_args.in(m_request.firstDefault + d);
        const Shape declared = denseShape(d);
        const bool isVariable = declared.hasRank() && declared.rank() > 0 && declared[0] == kUnknownDim;
        Shape row = declared;
        if (isVariable) row[0] = 1;
        if (!row.isStatic())
            return invalidArgument("dense_shapes[" + std::to_string(d) + "] is not fully defined: " + tfShapeText(declared));
        const int64_t stride = row.elementCount(); // of variable features: elements of one row
        LS_TRY(const std::vector<Feature> column, this->column(key, m_args.out(k).dtype));
        int64_t rows = 1;
        if (isVariable) {
            rows = 0;
            for (size_t e = 0; e < column.size(); ++e) {
                if (stride > 0 && column[e].count() % stride != 0)
                    return invalidArgument(place(key, e) + "Number of " + noun(m_args.out(k).dtype) +
                                           " values is not a multiple of stride length. Saw " + std::to_string(column[e].count()) +
                                           " values but output shape is: " + tfShapeText(declared));
                rows = std::max(rows, stride > 0 ? column[e].count() / stride : 0);
            }
        } else {
            for (size_t e = 0; e < column.size(); ++e) {
                if (column[e].dtype == DType::unknown) {
                    if (otherwise.elementCount() == 0) return invalidArgument(missing(key, e));
                    if (otherwise.elementCount() != stride)
                        return invalidArgument("dense_default[" + std::to_string(d) + "] has " + std::to_string(otherwise.elementCount()) +
                                               " elements, expected " + std::to_string(stride));
                } else if (column[e].count() != stride) {
                    return invalidArgument(place(key, e) + "Number of " + noun(m_args.out(k).dtype) +
                                           " values != expected.  Values size: " + std::to_string(column[e].count()) +
                                           " but output shape: " + tfShapeText(declared));
                }
            }
        }
        Shape shape = m_request.isBatch ? Shape({static_cast<int64_t>(column.size())}) : Shape();
        for (int i = 0; i < row.rank(); ++i) shape.append(i == 0 && isVariable ? rows : row[i]);
        TfTarget out;
        LS_CHECK_OK(out.begin(m_args, k, shape));
        LS_TRY(const TfSource defaults, TfSource::of(otherwise));
        if (isVariable && otherwise.elementCount() != 1)
            return invalidArgument("a default of one element is needed for '" + key + "', whose length varies");
        const int64_t each = rows * stride;
        for (size_t e = 0; e < column.size(); ++e) {
            const int64_t first = static_cast<int64_t>(e) * each;
            append(out, first, column[e]);
            for (int64_t i = column[e].count(); i < each; ++i)
                std::memcpy(out.at(first + i), defaults.at(isVariable ? 0 : i), static_cast<size_t>(out.size()));
        }
        return out.finish();
    }

    static std::string noun(DType dtype) { return dtype == DType::string ? "bytes" : std::string(tfTypeName(dtype)); }
    std::string missing(std::string_view key, size_t example) const
    {
        const std::string_view name = example < m_request.names.size() ? m_request.names[example] : "<unknown>";
        return "Name: " + std::string(name) + ", Feature: " + std::string(key) + " (data type: " +
               std::string(tfTypeName(m_args.out(static_cast<int>(3 * m_request.sparseKeys.size()) + indexOf(key)).dtype)) +
               ") is required but could not be found.";
    }
    int indexOf(std::string_view key) const
    {
        return static_cast<int>(std::ranges::find(m_request.denseKeys, key) - m_request.denseKeys.begin());
    }

    Shape denseShape(int d) const
    {
        const Attribute* const attribute = findAttribute(attributesOf(m_args), "dense_shapes");
        const auto* const shapes = attribute ? attribute->as<AttributeItems>() : nullptr;
        const Shape* const shape =
            shapes && static_cast<size_t>(d) < shapes->size() ? (*shapes)[static_cast<size_t>(d)].as<Shape>() : nullptr;
        return shape ? *shape : Shape::unknownRank();
    }

    const KernelArgs& m_args;
    const Request m_request;
    std::vector<std::map<std::string_view, std::string_view>> m_examples;
};

Result<std::vector<std::string>> textsOf(const Tensor& tensor)
{
    LS_TRY(const auto strings, readStrings(tensor));
    return std::vector<std::string>(strings.begin(), strings.end());
}

/// The examples of operand 0 and their names, if there are any.
Result<Request> examplesOf(const KernelArgs& args, bool hasNames)
{
    Request request;
    LS_TRY(request.serialized, readStrings(args.in(0)));
    request.isBatch = args.in(0).shape.rank() == 1;
    if (args.in(0).shape.rank() > 1)
        return invalidArgument("serialized must be a scalar or a vector, got shape " + tfShapeText(args.in(0).shape));
    if (!hasNames) return request;
    LS_TRY(request.names, readStrings(args.in(1)));
    if (!request.names.empty() && request.names.size() != request.serialized.size())
        return invalidArgument("Expected len(names) == len(serialized), but got: " + std::to_string(request.names.size()) + " vs. " +
                               std::to_string(request.serialized.size()));
    return request;
}

Status runParseExample(const KernelArgs& args)
{
    LS_TRY(Request request, examplesOf(args, true));
    const auto sparse = static_cast<int>(attributeInt(attributesOf(args), "Nsparse", 0));
    const auto dense = static_cast<int>(attributeInt(attributesOf(args), "Ndense", 0));
    if (!request.isBatch) return invalidArgument("Expected serialized to be a vector, got shape: " + tfShapeText(args.in(0).shape));
    if (args.inputCount != 2 + sparse + 2 * dense) return invalidArgument("the numbers of keys, defaults and results do not agree");
    for (int i = 0; i < sparse + dense; ++i) {
        LS_TRY(const std::vector<std::string> key, textsOf(args.in(2 + i)));
        if (key.size() != 1) return invalidArgument("Expected keys to be scalars, got shape: " + tfShapeText(args.in(2 + i).shape));
        (i < sparse ? request.sparseKeys : request.denseKeys).push_back(key[0]);
    }
    request.firstDefault = 2 + sparse + dense;
    return Parser(args, std::move(request)).run();
}

Status runParseExampleV2(const KernelArgs& args)
{
    LS_TRY(Request request, examplesOf(args, true));
    LS_TRY(request.sparseKeys, textsOf(args.in(2)));
    LS_TRY(request.denseKeys, textsOf(args.in(3)));
    LS_TRY(request.raggedKeys, textsOf(args.in(4)));
    request.firstDefault = 5;
    return Parser(args, std::move(request)).run();
}

std::vector<std::string> textAttribute(const KernelArgs& args, std::string_view key)
{
    std::vector<std::string> texts;
    const Attribute* const attribute = findAttribute(attributesOf(args), key);
    if (const auto* const items = attribute ? attribute->as<AttributeItems>() : nullptr)
        for (const Attribute& item : *items)
            if (const auto* const text = item.as<std::string>()) texts.push_back(*text);
    return texts;
}

Status runParseSingleExample(const KernelArgs& args)
{
    LS_TRY(Request request, examplesOf(args, false));
    if (args.in(0).shape.rank() != 0)
        return invalidArgument("Expected serialized to be a scalar, got shape: " + tfShapeText(args.in(0).shape));
    request.sparseKeys = textAttribute(args, "sparse_keys");
    request.denseKeys = textAttribute(args, "dense_keys");
    request.firstDefault = 1;
    return Parser(args, std::move(request)).run();
}

} // namespace

LS_TF_KERNEL(ParseExample, runParseExample, "str")
LS_TF_KERNEL(ParseExampleV2, runParseExampleV2, "str")
LS_TF_KERNEL(ParseSingleExample, runParseSingleExample, "str")
