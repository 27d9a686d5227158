// Nodes and regions: names, sizes, families.
#include "engine/ir/text/literals.h"
#include "engine/observe/address.h"
#include "engine/observe/address_resolution.h"
#include "engine/ops/catalog.h"
#include "viewer/scene/operand_names.h"
#include "viewer/scene/scene_builder.h"

#include <algorithm>
#include <cmath>

namespace loopscope::viewer {

namespace {

constexpr size_t kLongestStrip = 64;
constexpr double kNarrowest = 56, kWidest = 200; ///< nodes
constexpr double kBadgeRoom = 42;                ///< of v1 nodes, which wear their values: "1 of 2", "false", "2187"

/// What remains of a v1 node's name inside its scope.
std::string shortName(std::string_view name, std::string_view scope)
{
    if (!scope.empty() && name.size() > scope.size() + 1 && name.starts_with(scope) && name[scope.size()] == '/')
        name.remove_prefix(scope.size() + 1);
    return std::string(name);
}

/// The last two parts of a name: "functional_1/conv2d/Conv2D" → "conv2d/Conv2D".
std::string nameEnd(std::string_view name)
{
    const size_t last = name.rfind('/');
    const size_t before = last == std::string_view::npos || last == 0 ? last : name.rfind('/', last - 1);
    return std::string(before == std::string_view::npos ? name : name.substr(before + 1));
}

} // namespace

std::string shapeText(const TensorType& type)
{
    if (type.dtype == DType::unknown && !type.shape.hasRank()) return {};
    std::string text(dtypeName(type.dtype));
    if (!type.shape.hasRank()) return text;
    text += '[';
    for (int i = 0; i < type.shape.rank(); ++i) {
        if (i > 0) text += ',';
        text += type.shape[i] < 0 ? "?" : std::to_string(type.shape[i]);
    }
    return text + "]";
}

std::string constantText(const Value& value)
{
    const TensorType& type = value.type;
    if (value.constant && value.constant->hasBytes() && type.shape.isStatic() && type.shape.elementCount() > 0 &&
        type.shape.elementCount() <= 4096 && !value.constant->sparsity) {
        const auto reader = ElementReader::create(type.dtype, type.shape.elementCount(), value.constant->bytes().view());
        if (reader) {
            const std::string first = reader->text(0);
            if (type.shape.elementCount() == 1) return first.size() <= 12 ? first : shapeText(type);
            if (reader->allEqual()) {
                if (first == "0" || first == "0.0") return "zeros";
                if (first == "1" || first == "1.0") return "ones";
            }
        }
    }
    return shapeText(type);
}

int SceneBuilder::addNode(SceneNode node)
{
    const int index = static_cast<int>(m_scene.nodes.size());
    m_scene.nodeById.emplace(node.id, index);
    m_scene.nodes.push_back(std::move(node));
    m_actualOf.push_back(-1);
    return index;
}

int SceneBuilder::addRegion(SceneRegion region)
{
    const int index = static_cast<int>(m_scene.regions.size());
    m_scene.regionById.emplace(region.id, index);
    if (!region.site.empty()) m_scene.regionById.emplace(region.site, index);
    m_scene.regions.push_back(std::move(region));
    return index;
}

std::string operatorAddress(const std::string& prefix, const Operator& op, OperatorId id)
{
    Address address;
    address.root = "g";
    address.target = TargetKind::op;
    address.op = operatorName(op, id.index);
    return prefix + toString(address).substr(1);
}

int SceneBuilder::addPill(NodeKind kind, const Emission& emission, ValueId value, size_t number)
{
    const Graph& graph = m_model.graph(emission.graph);
    SceneNode node;
    node.kind = kind;
    node.graph = emission.graph;
    node.value = value;
    node.region = emission.region;
    const bool isInput = kind == NodeKind::input;
    const std::string valueId = value.valid() ? graph.value(value).id : std::string("?");
    if (isInput) {
        node.id = emission.prefix + ">" + valueId;
        node.name = valueId;
    } else {
        node.id = emission.prefix + "<out" + std::to_string(number);
        const std::string& name = graph.outputs[number].name;
        node.name = emission.region < 0 && !name.empty() ? name : std::to_string(number) + " " + valueId;
    }
    if (value.valid()) node.shape = shapeText(graph.value(value).type);
    const bool twoLines = isInput || emission.region < 0;
    double width = textWidth(node.name, TextStyle::name);
    if (twoLines) width = std::max(width, textWidth(node.shape, TextStyle::monoSmall));
    node.rect.width = std::clamp(width + 20, kNarrowest, kWidest);
    node.rect.height = twoLines ? 28 : m_view.dense ? 16 : 18;
    return addNode(std::move(node));
}

int SceneBuilder::addTogether(NodeKind kind, const Emission& emission, std::string name)
{
    SceneNode node;
    node.kind = kind;
    node.graph = emission.graph;
    node.region = emission.region;
    node.id = emission.prefix + (kind == NodeKind::input ? ">" : "<") + "*invariant";
    node.name = std::move(name);
    node.rect.width = std::max(kNarrowest, textWidth(node.name, TextStyle::name) + 20);
    node.rect.height = kind == NodeKind::input ? 28 : m_view.dense ? 16 : 18;
    return addNode(std::move(node));
}

std::string SceneBuilder::attributeLine(const Graph& graph, const Operator& op) const
{
    constexpr size_t longest = 40;
    std::string line;
    for (const std::string& text : attributeTexts(m_model, graph, op, op.attributes.size())) {
        line += (line.empty() ? "" : " ") + text;
        if (line.size() > longest) break;
    }
    return line;
}

int SceneBuilder::addOperator(const Emission& emission, OperatorId id, const std::string& address, std::string_view scope)
{
    const Graph& graph = m_model.graph(emission.graph);
    const Operator& op = graph.op(id);
    SceneNode node;
    node.kind = NodeKind::op;
    node.id = address;
    node.graph = emission.graph;
    node.op = id;
    node.region = emission.region;
    if (op.name.empty()) {
        node.name = op.kind.name;
        node.index = "#" + std::to_string(id.index);
    } else {
        node.name = shortName(op.name, scope);
    }
    if (!op.results.empty() && op.results.front().valid()) {
        node.value = op.results.front();
        node.shape = shapeText(graph.value(node.value).type);
    }
    node.family = familyOf(op.kind);
    node.custom = op.kind.dialect == "custom";
    node.unknown = op.kind.dialect != "tf" && !node.custom && findOp(op.kind) == nullptr;
    node.call = !calleesOf(op).empty();
    if (m_view.showAttributes) node.detail = attributeLine(graph, op);
    if (m_view.showKinds && !op.name.empty()) {
        node.name = op.kind.name;
        node.detail = nameEnd(op.name);
    }
    double width = textWidth(node.name, TextStyle::name);
    if (!node.index.empty()) width += 4 + textWidth(node.index, TextStyle::index);
    if (node.unknown) width += 8;
    if (emission.frames) width += kBadgeRoom;
    width = std::max(width, textWidth(node.detail, TextStyle::monoSmall));
    node.rect.width = std::clamp(width + 18, kNarrowest, kWidest);
    node.rect.height = (m_view.dense ? 18 : 20) + (node.detail.empty() ? 0 : 14);
    return addNode(std::move(node));
}

int SceneBuilder::addGroupNode(const Emission& emission, const OpGroup& group, int region)
{
    const Graph& graph = m_model.graph(emission.graph);
    SceneNode node;
    node.kind = NodeKind::group;
    node.id = emission.prefix + groupSuffix(group);
    node.graph = emission.graph;
    node.region = region;
    node.name = group.name;
    node.members = group.members;
    for (const OperatorId op : group.members) {
        if (node.strip.size() == kLongestStrip) break;
        node.strip.push_back(familyOf(graph.op(op).kind));
    }
    node.family = node.strip.empty() ? Family::other : node.strip.front();
    node.detail = std::to_string(group.members.size()) + (group.members.size() == 1 ? " op" : " ops");
    for (auto op = group.members.rbegin(); op != group.members.rend() && !node.value.valid(); ++op)
        for (const ValueId result : graph.op(*op).results)
            if (result.valid() && !node.value.valid()) node.value = result;
    if (node.value.valid()) node.shape = shapeText(graph.value(node.value).type);
    const double strip = std::min(88.0, 7.0 * static_cast<double>(node.strip.size()));
    double width = 18 + textWidth(node.name, TextStyle::name) + 10 + strip + 6 + textWidth(node.detail, TextStyle::index) + 8;
    if (!node.shape.empty()) width += 10 + textWidth(node.shape, TextStyle::monoSmall);
    node.rect.width = std::clamp(width, 96.0, 320.0);
    node.rect.height = m_view.dense ? 18 : 20;
    const int index = addNode(std::move(node));
    ++m_scene.folded;
    for (const OperatorId op : group.members) {
        m_scene.nodeById.emplace(operatorAddress(emission.prefixOf(op), graph.op(op), op), index);
        if (emission.frames) m_scene.nodeById.emplace(operatorAddress(emission.prefix, graph.op(op), op), index);
    }
    return index;
}

} // namespace loopscope::viewer
