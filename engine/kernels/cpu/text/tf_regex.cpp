// Kernels of TensorFlow's operators with regular expressions: core/kernels/regex_replace_op.cc, regex_full_match_op.cc.
#include "engine/kernels/cpu/tf_support.h"

#include <memory>
#include <re2/re2.h>

using namespace loopscope;

namespace {

/// The text of operand `i`, or of the attribute where the operator has no such operand.
Result<std::string> textOf(const KernelArgs& args, int i, std::string_view attribute, const char* noun)
{
    if (i >= args.inputCount) return std::string(attributeString(attributesOf(args), attribute, ""));
    if (args.in(i).shape.rank() != 0)
        return invalidArgument(std::string(noun) + " must be scalar, but received " + tfShapeText(args.in(i).shape));
    LS_TRY(const auto strings, readStrings(args.in(i)));
    return std::string(strings[0]);
}

/// RE2, as in TensorFlow: its time is linear in the text, whatever the pattern.
Result<std::unique_ptr<RE2>> compiled(const std::string& pattern)
{
    auto expression = std::make_unique<RE2>(pattern, RE2::Quiet);
    if (!expression->ok()) return invalidArgument("Invalid pattern: " + pattern + ", error: " + expression->error());
    return expression;
}

Status runReplace(const KernelArgs& args)
{
    LS_TRY(const std::string pattern, textOf(args, 1, "pattern", "Pattern"));
    LS_TRY(const std::string rewrite, textOf(args, 2, "rewrite", "Rewrite"));
    LS_TRY(const std::unique_ptr<RE2> expression, compiled(pattern));
    LS_TRY(const auto texts, readStrings(args.in(0)));
    const bool all = attributeBool(attributesOf(args), "replace_global", true);
    std::vector<std::string> replaced;
    for (const std::string_view text : texts) {
        std::string& changed = replaced.emplace_back(text);
        if (all) RE2::GlobalReplace(&changed, *expression, rewrite);
        else RE2::Replace(&changed, *expression, rewrite);
    }
    const std::vector<std::string_view> views(replaced.begin(), replaced.end());
    return writeStrings(*args.runtime, args.out(0), args.in(0).shape, views);
}

Status runFullMatch(const KernelArgs& args)
{
    LS_TRY(const std::string pattern, textOf(args, 1, "pattern", "Pattern"));
    LS_TRY(const std::unique_ptr<RE2> expression, compiled(pattern));
    LS_TRY(const auto texts, readStrings(args.in(0)));
    LS_CHECK_OK(tfAllocate(args, 0, args.in(0).shape));
    for (size_t i = 0; i < texts.size(); ++i) args.out(0).as<bool>()[i] = RE2::FullMatch(texts[i], *expression);
    return {};
}

} // namespace

LS_TF_KERNEL(RegexReplace, runReplace, "str")
LS_TF_KERNEL(StaticRegexReplace, runReplace, "str")
LS_TF_KERNEL(RegexFullMatch, runFullMatch, "str")
LS_TF_KERNEL(StaticRegexFullMatch, runFullMatch, "str")
