// The compiler's state for one expression. Private to this folder.
#pragma once

#include "engine/debug/expression/program.h"

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace loopscope {

class ExpressionCompiler {
public:
    ExpressionCompiler(std::string_view text, const Syntax& syntax, ExpressionSource& source)
        : m_text(text),
          m_syntax(syntax),
          m_source(source)
    {
    }
    Result<Expression> run(uint32_t root, ExpressionUse use);

private:
    /// Which version of values is meant: that of the history function around them.
    struct History {
        ExpressionHistory kind = ExpressionHistory::current;
        uint32_t node = kNoNode; ///< how far back, or which iteration
        std::optional<uint32_t> loop;
        const SyntaxNode* call = nullptr;
    };

    Error errorAt(uint32_t at, std::string what) const;
    Error placed(Error error, uint32_t at) const;
    Error noValue(uint32_t at, std::string_view written) const;
    static std::string describe(const StaticType& type);

    uint32_t push(ProgramNode node);
    Result<uint32_t> pushPure(ProgramNode node);
    uint32_t pushConstant(const SyntaxNode& syntax, ExpressionType type);
    Result<uint32_t> pushBinary(const SyntaxNode& syntax, BinaryOperator op, uint32_t left, uint32_t right);
    ProgramNode nodeFor(const SyntaxNode& syntax, ProgramKind kind) const;
    std::optional<int64_t> constantInt(uint32_t node) const;
    void depend(ExpressionDependency dependency);
    void raiseCost(ProgramNode& node, const Shape& worked) const;
    Status checkIndexType(uint32_t node, bool mayBeMask) const;

    Result<uint32_t> compile(uint32_t index, const History& history);
    Result<uint32_t> load(const SyntaxNode& syntax, const ExpressionPlace& place, const History& history);
    Result<uint32_t> compileWord(const SyntaxNode& syntax, const History& history);
    Result<uint32_t> compileReservedWord(const SyntaxNode& syntax);
    Result<uint32_t> compileNamed(const SyntaxNode& syntax, const History& history);
    Result<uint32_t> compileMembers(uint32_t value, std::string_view members, const SyntaxNode& syntax);
    Result<uint32_t> compileMember(uint32_t value, std::string_view member, const SyntaxNode& syntax);
    Result<uint32_t> compileAccessor(const FunctionEntry& entry, uint32_t value, const SyntaxNode& syntax);
    Result<uint32_t> compileIndex(const SyntaxNode& syntax, const History& history);
    Result<uint32_t> compileLogical(const SyntaxNode& syntax, const History& history);
    Result<uint32_t> compileList(const SyntaxNode& syntax, const History& history);

    // compile_call.cpp
    Result<uint32_t> compileCall(const SyntaxNode& syntax, const History& history);
    Result<uint32_t> compileCast(const SyntaxNode& syntax, DType to, const History& history);
    Result<uint32_t> compileHistory(const SyntaxNode& syntax, ExpressionFunction function, const History& history);
    Result<uint32_t> compilePosition(const SyntaxNode& syntax, ExpressionFunction function);
    Result<uint32_t> compileFile(const SyntaxNode& syntax);
    Result<uint32_t> compilePlain(const SyntaxNode& syntax, const FunctionEntry& entry, const History& history);
    Result<uint32_t> site(const SyntaxNode& operatorName, bool isBranch);
    bool isReadBefore(const ExpressionDependency& dependency, size_t count) const;
    Status checkArguments(const SyntaxNode& syntax, const FunctionEntry& entry) const;

    std::string_view m_text;
    const Syntax& m_syntax;
    ExpressionSource& m_source;
    std::unique_ptr<ExpressionProgram> m_program;
};

} // namespace loopscope
