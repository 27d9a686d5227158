// Where the machine stands, as an address (docs/text_ir.md, "Addresses").
#include "engine/exec/machine.h"

#include "engine/ops/catalog.h"

namespace loopscope {

namespace {

/// Bytes other than letters, digits and "_.-/#" as %HH. The root's id has no bare "/" either: the root ends at the first one.
std::string escaped(const std::string& name, bool root)
{
    constexpr char kDigits[] = "0123456789ABCDEF";
    std::string text;
    for (const char c : name) {
        const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '-' ||
                           (!root && (c == '/' || c == '#'));
        if (plain) {
            text += c;
        } else {
            text += '%';
            text += kDigits[static_cast<unsigned char>(c) >> 4];
            text += kDigits[static_cast<unsigned char>(c) & 15];
        }
    }
    return text;
}

std::string roleText(const Frame& frame)
{
    if (frame.role == CallRole::loop) return frame.inCond ? "cond" : "body";
    if (frame.role == CallRole::branch) return "branch" + std::to_string(frame.branch);
    return std::string(callRoleName(frame.role));
}

} // namespace

std::string Interpreter::Impl::address() const
{
    std::string text = escaped(m_model.graph(m_root).id, true);
    for (size_t f = 0; f < m_frames.size(); ++f) {
        const Frame& frame = m_frames[f];
        const Graph& graph = frame.activation->program().graph();
        if (f > 0) {
            if (frame.iteration >= 0) text += "@" + std::to_string(frame.iteration);
            text += ":" + roleText(frame);
        }
        const auto next = static_cast<size_t>(frame.next);
        if (next < graph.operators.size()) text += "/" + escaped(operatorLabel(graph.operators[next], frame.next), false);
    }
    return text;
}

} // namespace loopscope
