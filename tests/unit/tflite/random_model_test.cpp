// Random models: every option table with random values in every field, random types, quantizations, names and roles. What is exported
// must come back equal.
#include "converters/tflite/flat_format.h"
#include "converters/tflite/tflite.h"
#include "engine/ir/ids.h"
#include "engine/ir/verifier.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>

namespace loopscope {
namespace {

using namespace tflite_format;

/// Makes one model. Ids come from names, as the importer deals them out, so that the comparison may be by id.
class RandomModel {
public:
    explicit RandomModel(uint32_t seed) : m_random(seed) {}

    Model make()
    {
        Model model;
        setAttribute(model.attributes, "schema", int64_t{3});
        if (chance(2)) setAttribute(model.attributes, "description", "d" + name());
        m_graphCount = 1 + below(3);
        for (int g = 0; g < m_graphCount; ++g) model.graphs.push_back(graph(g));
        assignIds(model);
        for (int i = below(3); i > 0; --i) model.signatures.push_back(signature(model));
        for (int i = below(3); i > 0; --i) model.metadata.push_back({name(), constant(static_cast<size_t>(below(40)))});
        return model;
    }

private:
    int below(int n) { return static_cast<int>(m_random() % static_cast<uint32_t>(n)); }
    bool chance(int n) { return below(n) == 0; }

    std::string name()
    {
        static const std::vector<std::string> parts = {
            "a", "b", "while", "add", "", "x:0", "serving_default_y", "R\xc3\xa9", "t3", "very_long_name_that_goes_on_and_on_and_on_1"};
        std::string out = parts[static_cast<size_t>(below(10))];
        for (int i = below(4); i > 0; --i) out += (chance(6) ? ";" : "/") + parts[static_cast<size_t>(below(10))];
        return out;
    }

    ConstantPtr constant(size_t size)
    {
        std::vector<std::byte> bytes(size);
        for (std::byte& b : bytes) b = static_cast<std::byte>(m_random());
        return std::make_shared<Constant>(Bytes::copyOf(bytes));
    }

    QuantizationPtr quantization(const Shape& shape)
    {
        Quantization q;
        if (chance(3)) q.min = {-1.5F};
        if (chance(3)) q.max = {std::numeric_limits<float>::infinity()};
        if (chance(2)) {
            q.kind = Quantization::Kind::affine;
            q.axis = shape.rank() > 0 ? below(shape.rank()) : 0;
            q.perChannel = shape.rank() > 0 && shape[q.axis] > 1 && chance(2);
            if (!q.perChannel) q.axis = 0;
            const auto count = static_cast<size_t>(q.perChannel ? shape[q.axis] : 1);
            for (size_t i = 0; i < count; ++i) q.scales.push_back(static_cast<float>(m_random()) / 1e9F);
            if (!chance(4))
                for (size_t i = 0; i < count; ++i) q.zeroPoints.push_back(below(256) - 128);
        } else if (q.min.empty() && q.max.empty()) {
            return nullptr;
        }
        return std::make_shared<const Quantization>(std::move(q));
    }

    TensorType type()
    {
        TensorType out;
        out.dtype = *tfliteFormat().schema.elementTypes().dtypeOf(below(23));
        if (chance(8)) return out; // unknown rank
        out.shape = Shape();
        for (int i = below(4); i > 0; --i) out.shape.append(below(4));
        if (out.shape.rank() > 0 && chance(4)) {
            out.signature = out.shape;
            (*out.signature)[below(out.shape.rank())] = kUnknownDim;
        }
        if (out.dtype == DType::variant && chance(2))
            out.elementTypes = {TensorType(DType::f32, Shape{2, -1}), TensorType(DType::i32, Shape::unknownRank())};
        out.quantization = quantization(out.shape);
        return out;
    }

    Value constantValue()
    {
        Value v;
        v.name = name();
        v.role = ValueRole::constant;
        do v.type = type();
        while (!v.type.shape.hasRank() || v.type.dtype == DType::string || dtypeClass(v.type.dtype) == DTypeClass::handle ||
               v.type.shape.elementCount() == 0);
        v.constant = constant(byteSize(v.type.dtype, v.type.shape.elementCount()));
        return v;
    }

    int64_t integer(Scalar scalar)
    {
        switch (scalar) {
        case Scalar::boolean: return below(2);
        case Scalar::i8: return below(256) - 128;
        case Scalar::u8: return below(256);
        case Scalar::i16: return below(65536) - 32768;
        case Scalar::u16: return below(65536);
        case Scalar::i32: return static_cast<int32_t>(m_random());
        case Scalar::u32: return m_random();
        default: return static_cast<int64_t>((uint64_t{m_random()} << 32) | m_random());
        }
    }

    Attribute scalarValue(const FieldSpec& field)
    {
        if (field.meaning == Meaning::graph || field.meaning == Meaning::graphList || field.meaning == Meaning::branches)
            return GraphRef{GraphId(below(m_graphCount)), nullptr};
        if (field.meaning == Meaning::elementType) return *tfliteFormat().schema.elementTypes().dtypeOf(below(23));
        if (field.meaning == Meaning::enumerator) {
            auto at = field.enumeration->names.begin();
            std::advance(at, below(static_cast<int>(field.enumeration->names.size())));
            return Word{at->second};
        }
        if (field.scalar == Scalar::f32) return floatAttribute(static_cast<float>(below(1000) - 500) / 7.0F);
        if (field.scalar == Scalar::boolean) return chance(2);
        return integer(field.scalar);
    }

    bool isDefault(const FieldSpec& field, const Attribute& value)
    {
        if (const auto* word = value.as<Word>())
            return field.name != "padding" && field.enumeration->valueOf(word->text) == field.defaultInteger;
        if (const auto* dtype = value.as<DType>()) return *tfliteFormat().schema.elementTypes().numberOf(*dtype) == field.defaultInteger;
        if (const auto* flag = value.as<bool>()) return int64_t{*flag} == field.defaultInteger;
        if (const auto* number = value.as<int64_t>()) return *number == field.defaultInteger;
        if (const auto* real = value.as<double>()) return *real == 0;
        return false;
    }

    void options(const OptionTable& table, AttributeList& out)
    {
        for (const FieldSpec& field : table.fields) {
            const bool isForced = field.meaning == Meaning::graph || (field.enumeration && field.enumeration->name == "Padding");
            if (field.isDeprecated || (!isForced && chance(4))) continue;
            if (field.isString) setAttribute(out, field.key, name());
            else if (field.meaning == Meaning::flexBuffer) {
                if (chance(2)) setAttribute(out, field.key, HexBytes{name()});
                else
                    setAttribute(out, field.key,
                                 AttributeMap{{"z", int64_t{below(100000)}}, {"a", AttributeItems{true, std::string("s"), 0.1}}});
            } else if (field.meaning == Meaning::branches) {
                for (int i = below(4); i >= 0; --i) setAttribute(out, field.key + std::to_string(i), scalarValue(field));
            } else if (field.isVector) {
                AttributeItems items;
                for (int i = below(4); i > 0; --i) items.push_back(scalarValue(field));
                setAttribute(out, field.key, std::move(items));
            } else if (Attribute value = scalarValue(field); !isDefault(field, value)) {
                setAttribute(out, field.key, std::move(value));
            }
        }
    }

    Operator op(const Graph& graph)
    {
        Operator out;
        if (chance(10)) {
            out.kind = {"custom", "My " + std::to_string(below(5))};
            if (chance(2)) setAttribute(out.attributes, "options", HexBytes{"\x01\x02"});
        } else {
            const int32_t code = chance(10) ? 300 + below(5) : below(210);
            out.kind = tfliteFormat().schema.kindOf(code);
            if (const OptionTable* table = tfliteFormat().schema.usualOptions(code)) options(*table, out.attributes);
        }
        if (chance(5)) setAttribute(out.attributes, "@debug", int64_t{below(100)});
        for (int i = below(4); i > 0; --i)
            out.inputs.push_back(chance(5) ? ValueId() : ValueId(below(static_cast<int>(graph.values.size()))));
        return out;
    }

    Graph graph(int index)
    {
        Graph out;
        out.name = index == 0 && chance(2) ? "main" : name();
        for (int i = below(3); i >= 0; --i) {
            Value v;
            v.name = name();
            v.role = ValueRole::input;
            v.type = type();
            out.inputs.emplace_back(static_cast<int64_t>(out.values.size()));
            out.values.push_back(std::move(v));
        }
        for (int i = below(4); i > 0; --i) out.values.push_back(constantValue());
        for (int i = below(8); i > 0; --i) {
            Operator o = op(out);
            for (int slot = below(3); slot >= 0; --slot) {
                Value v;
                v.name = name();
                v.role = ValueRole::result;
                v.producer = OperatorId(static_cast<int64_t>(out.operators.size()));
                v.slot = static_cast<int32_t>(o.results.size());
                v.type = type();
                o.results.emplace_back(static_cast<int64_t>(out.values.size()));
                out.values.push_back(std::move(v));
            }
            out.operators.push_back(std::move(o));
        }
        for (int i = below(3); i > 0; --i) out.outputs.push_back({"", ValueId(below(static_cast<int>(out.values.size())))});
        return out;
    }

    Signature signature(const Model& model)
    {
        Signature out;
        out.key = name();
        out.graph = GraphId(below(m_graphCount));
        const auto count = static_cast<int>(model.graph(out.graph).values.size());
        for (int i = below(3); i > 0; --i) out.inputs.push_back({name(), ValueId(below(count))});
        for (int i = below(3); i > 0; --i) out.outputs.push_back({name(), ValueId(below(count))});
        return out;
    }

    std::mt19937 m_random;
    int m_graphCount = 1;
};

TEST(TfliteRandomModels, comeBackEqual)
{
    for (uint32_t seed = 1; seed <= 600; ++seed) {
        const Model model = RandomModel(seed).make();
        const Status verified = verifyModel(model);
        ASSERT_TRUE(verified.ok()) << "seed " << seed << ": "
                                   << Error(ErrorCode::internal, verified.detail().where + verified.detail().what).message();
        const auto file = exportTflite(model, seed % 5 == 0 ? 0 : kMaxInlineData);
        ASSERT_TRUE(file.ok()) << "seed " << seed << ": " << file.error().message();
        const auto again = importTflite("again", Bytes::copyOf(*file));
        ASSERT_TRUE(again.ok()) << "seed " << seed << ": " << again.error().message();
        ASSERT_EQ(firstDifference(model, *again), "") << "seed " << seed;
    }
}

} // namespace
} // namespace loopscope
