// Catalogue entries of TensorFlow's operators with regular expressions.
#include "engine/ops/catalog.h"
#include "engine/ops/tf_rules.h"

using namespace loopscope;

namespace {

OpDef regexDef(TfArity arity, std::string_view operands, std::string_view summary)
{
    OpDef def = tfDef(arity, operands, summary);
    def.source = "TensorFlow 2.21 core/kernels/regex_replace_op.cc, regex_full_match_op.cc";
    return def;
}

} // namespace

LS_DEFINE_OP(tf, RegexReplace) { return regexDef({3, 3}, "input, pattern, rewrite", "Strings with what matches a pattern rewritten."); }
LS_DEFINE_OP(tf, StaticRegexReplace) { return regexDef({1, 1}, "input", "Strings with what matches a pattern rewritten."); }
LS_DEFINE_OP(tf, RegexFullMatch) { return regexDef({2, 2}, "input, pattern", "Which strings match a pattern as a whole."); }
LS_DEFINE_OP(tf, StaticRegexFullMatch) { return regexDef({1, 1}, "input", "Which strings match a pattern as a whole."); }
