#include "engine/api/printed_text.h"

#include <utility>

namespace loopscope {

bool canPrint(const Model& model)
{
    if (model.dialect != Dialect::tf) return false;
    for (const Graph& graph : model.graphs)
        for (const Operator& op : graph.operators)
            if (op.kind.name == "Print" || op.kind.name == "PrintV2") return true;
    return false;
}

void PrintedKeeper::printed(const PrintedText& event)
{
    const std::scoped_lock lock(m_mutex);
    if (m_text.size() < kMost) m_text += event.text;
}

std::string PrintedKeeper::take()
{
    const std::scoped_lock lock(m_mutex);
    return std::exchange(m_text, {});
}

} // namespace loopscope
