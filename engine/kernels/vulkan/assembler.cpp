#include "engine/kernels/vulkan/assembler.h"

#include <algorithm>

namespace loopscope::vulkan {

namespace {

/// Of the SPIR-V specification, what is needed here.
enum Spv : uint32_t {
    spvName = 5,
    spvEntryPoint = 15,
    spvExecutionMode = 16,
    spvTypeVoid = 19,
    spvTypeBool = 20,
    spvTypeInt = 21,
    spvTypeFloat = 22,
    spvTypeVector = 23,
    spvTypeArray = 28,
    spvTypeStruct = 30,
    spvTypeFunction = 33,
    spvConstantTrue = 41,
    spvConstantFalse = 42,
    spvConstant = 43,
    spvConstantComposite = 44,
    spvFunction = 54,
    spvFunctionEnd = 56,
    spvFunctionCall = 57,
    spvVariable = 59,
    spvDecorate = 71,
    spvLoopMerge = 246,
    spvSelectionMerge = 247,
    spvLabel = 248,
    spvBranch = 249,
    spvBranchConditional = 250,
    spvReturn = 253,
};

constexpr uint32_t kMagic = 0x07230203;
constexpr size_t kHeaderWords = 5;
constexpr size_t kBoundAt = 3;
constexpr uint32_t kExecutionModel = 5; ///< GLCompute
constexpr uint32_t kLocalSize = 17;
constexpr uint32_t kBuiltIn = 11, kWorkgroupSize = 25; ///< a constant that devices believe more than the size of the entry point
constexpr uint32_t kMainName[] = {0x6E69616D, 0};      ///< "main"

std::string textOf(std::span<const uint32_t> words)
{
    std::string text;
    for (const uint32_t word : words)
        for (int shift = 0; shift < 32; shift += 8) {
            const char c = static_cast<char>(word >> shift & 255);
            if (c == 0) return text;
            text += c;
        }
    return text;
}

uint32_t firstWord(uint32_t op, size_t words) { return op | static_cast<uint32_t>(words) << 16; }

} // namespace

Result<ShaderAssembler> ShaderAssembler::of(std::span<const uint32_t> module)
{
    ShaderAssembler made;
    LS_CHECK_OK(made.read(module));
    return made;
}

Status ShaderAssembler::read(std::span<const uint32_t> module)
{
    const Error broken(ErrorCode::internal, "no module to put a shader together of");
    if (module.size() < kHeaderWords || module[0] != kMagic) return broken.copy();
    m_before.assign(module.begin(), module.begin() + kHeaderWords);
    m_bound = module[kBoundAt];
    bool isInMain = false, hasFunctions = false;
    for (size_t at = kHeaderWords; at < module.size();) {
        const uint32_t op = module[at] & 65535, size = module[at] >> 16;
        if (size == 0 || at + size > module.size()) return broken.copy();
        const std::span<const uint32_t> words = module.subspan(at, size);
        at += size;
        if (op == spvEntryPoint) {
            m_mainId = words[2];
            m_entryAt = m_before.size();
        } else if (op == spvExecutionMode && words[2] == kLocalSize) {
            continue; // written anew
        } else if (op == spvDecorate && size > 3 && words[2] == kBuiltIn && words[3] == kWorkgroupSize) {
            continue; // that of the module's own main
        } else if (op == spvFunction && words[2] == m_mainId) {
            m_mainBegin.assign(words.begin(), words.end());
            isInMain = true;
        } else if (isInMain) {
            isInMain = op != spvFunctionEnd;
        } else if (hasFunctions || op == spvFunction) {
            hasFunctions = true;
            if (op == spvFunction) m_functionTypes[words[2]] = words[4];
            m_functions.insert(m_functions.end(), words.begin(), words.end());
        } else {
            readDeclaration(op, words);
            m_before.insert(m_before.end(), words.begin(), words.end());
        }
    }
    if (m_entryAt == 0 || m_mainBegin.empty()) return broken.copy();
    label(newId());
    return {};
}

void ShaderAssembler::readDeclaration(uint32_t op, std::span<const uint32_t> words)
{
    switch (op) {
    case spvName: {
        const std::string name = textOf(words.subspan(2));
        if (const size_t end = name.find('('); end != std::string::npos) m_names[name.substr(0, end)] = words[1];
        break;
    }
    case spvTypeVoid:
    case spvTypeBool:
    case spvTypeInt:
    case spvTypeFloat:
    case spvTypeVector:
    case spvTypeArray:
    case spvTypeStruct:
    case spvTypeFunction: m_types[words[1]] = {op, {words.begin() + 2, words.end()}}; break;
    case spvConstant: m_lengths[words[2]] = words[3]; break;
    case spvVariable: m_variables.push_back(words[2]); break;
    default: break;
    }
}

ShaderAssembler::Id ShaderAssembler::scalar(Id type, uint32_t op, std::vector<uint32_t> value)
{
    std::vector<uint32_t> key = {type, op};
    key.insert(key.end(), value.begin(), value.end());
    Id& known = m_known[key];
    if (known == 0) {
        known = newId();
        m_constants.push_back(firstWord(op, value.size() + 3));
        m_constants.push_back(type);
        m_constants.push_back(known);
        m_constants.insert(m_constants.end(), value.begin(), value.end());
    }
    return known;
}

ShaderAssembler::Id ShaderAssembler::constant(Id type, std::span<const uint32_t>& words)
{
    const auto take = [&] {
        const uint32_t first = words.empty() ? 0 : words[0];
        if (words.empty()) m_failure = "too few constants";
        else words = words.subspan(1);
        return first;
    };
    const Type& t = m_types[type];
    std::vector<Id> members;
    switch (t.op) {
    case spvTypeBool: return scalar(type, take() != 0 ? spvConstantTrue : spvConstantFalse, {});
    case spvTypeInt:
    case spvTypeFloat:
        if (t.operands[0] == 32) return scalar(type, spvConstant, {take()});
        break;
    case spvTypeVector:
    case spvTypeArray: {
        const uint32_t count = t.op == spvTypeVector ? t.operands[1] : m_lengths[t.operands[1]];
        for (uint32_t i = 0; i < count && m_failure.empty(); ++i) members.push_back(constant(t.operands[0], words));
        return scalar(type, spvConstantComposite, members);
    }
    case spvTypeStruct:
        for (const Id member : t.operands) members.push_back(constant(member, words));
        return scalar(type, spvConstantComposite, members);
    default: break;
    }
    m_failure = "a parameter of another type";
    return 0;
}

void ShaderAssembler::emit(uint32_t op, std::initializer_list<uint32_t> words)
{
    m_main.push_back(firstWord(op, words.size() + 1));
    m_main.insert(m_main.end(), words);
}

void ShaderAssembler::label(Id id) { emit(spvLabel, {id}); }

void ShaderAssembler::call(std::string_view function, std::span<const uint32_t> constants)
{
    const auto named = m_names.find(function);
    if (named == m_names.end()) {
        m_failure = "no function '" + std::string(function) + "'";
        return;
    }
    const Id type = m_functionTypes[named->second];
    std::vector<Id> arguments;
    const std::vector<uint32_t> signature = m_types[type].operands; // what it returns, then its parameters
    for (size_t i = 1; i < signature.size(); ++i) arguments.push_back(constant(signature[i], constants));
    if (!constants.empty() || signature.empty()) {
        m_failure = "too many constants for '" + std::string(function) + "'";
        return;
    }
    m_result = newId();
    m_main.push_back(firstWord(spvFunctionCall, arguments.size() + 4));
    m_main.insert(m_main.end(), {signature[0], m_result, named->second});
    m_main.insert(m_main.end(), arguments.begin(), arguments.end());
}

ShaderAssembler::Later ShaderAssembler::callLater(std::string_view function, size_t numbers)
{
    call(function, std::vector<uint32_t>(numbers));
    const auto named = m_names.find(function);
    return {m_main.size() - numbers, named == m_names.end() ? 0 : named->second};
}

void ShaderAssembler::complete(const Later& call, std::span<const uint32_t> numbers)
{
    if (!m_failure.empty()) return;
    const std::vector<uint32_t> signature = m_types[m_functionTypes[call.function]].operands;
    for (size_t i = 1; i < signature.size(); ++i) m_main[call.at + i - 1] = constant(signature[i], numbers);
}

void ShaderAssembler::beginIf()
{
    const Id then = newId();
    m_ifs.push_back({newId(), newId()});
    emit(spvSelectionMerge, {m_ifs.back().merge, 0});
    emit(spvBranchConditional, {m_result, then, m_ifs.back().otherwise});
    label(then);
}

void ShaderAssembler::orElse()
{
    emit(spvBranch, {m_ifs.back().merge});
    label(m_ifs.back().otherwise);
}

void ShaderAssembler::endIf()
{
    emit(spvBranch, {m_ifs.back().merge});
    label(m_ifs.back().merge);
    m_ifs.pop_back();
}

void ShaderAssembler::beginLoop()
{
    const Loop loop = {newId(), newId(), newId()};
    m_loops.push_back(loop);
    const Id body = newId();
    emit(spvBranch, {loop.header});
    label(loop.header);
    emit(spvLoopMerge, {loop.merge, loop.next, 0});
    emit(spvBranch, {body});
    label(body);
}

void ShaderAssembler::goOnIf()
{
    const Id on = newId();
    emit(spvBranchConditional, {m_result, on, m_loops.back().merge});
    label(on);
}

void ShaderAssembler::endLoop()
{
    const Loop loop = m_loops.back();
    m_loops.pop_back();
    emit(spvBranch, {loop.next});
    label(loop.next);
    emit(spvBranch, {loop.header});
    label(loop.merge);
}

Result<std::vector<uint32_t>> ShaderAssembler::done()
{
    if (!m_failure.empty()) return Error(ErrorCode::internal, m_failure).at("a shader that was put together");
    emit(spvReturn, {});
    emit(spvFunctionEnd, {});
    std::vector<uint32_t> all(m_before.begin(), m_before.begin() + static_cast<std::ptrdiff_t>(m_entryAt));
    const auto append = [&](const std::vector<uint32_t>& words) { all.insert(all.end(), words.begin(), words.end()); };
    all.push_back(firstWord(spvEntryPoint, 3 + std::size(kMainName) + m_variables.size()));
    all.insert(all.end(), {kExecutionModel, m_mainId, kMainName[0], kMainName[1]});
    append(m_variables);
    all.insert(all.end(), {firstWord(spvExecutionMode, 6), m_mainId, kLocalSize, m_localSize, 1, 1});
    all.insert(all.end(), m_before.begin() + static_cast<std::ptrdiff_t>(m_entryAt), m_before.end());
    append(m_constants);
    append(m_functions);
    append(m_mainBegin);
    append(m_main);
    all[kBoundAt] = m_bound;
    return all;
}

} // namespace loopscope::vulkan
