#include "viewer/layout/graphviz_export.h"

#include <graphviz/gvc.h>

#include <memory>
#include <mutex>

namespace loopscope::layout {

namespace {

std::mutex& graphvizMutex()
{
    static std::mutex mutex;
    return mutex;
}

std::string& lastError()
{
    static std::string text;
    return text;
}

int keepError(char* text)
{
    lastError() += text;
    return 0;
}

struct FreeContext {
    void operator()(GVC_t* context) const { gvFreeContext(context); }
};

struct CloseGraph {
    void operator()(Agraph_t* graph) const { agclose(graph); }
};

/// Graphviz's text measurer remembers the last font by a pointer into the context that asked for it, and looks there when the next one
/// does. A context that is never freed asks last, so that nothing dangles once a drawing is gone.
void parkFont()
{
    static GVC_t* const context = gvContext();
    static Agraph_t* const parked = agmemread("graph { a [fontname=\"Times\"] }");
    if (context == nullptr || parked == nullptr || gvLayout(context, parked, "dot") != 0) return;
    gvFreeLayout(context, parked);
}

GraphvizOutput failed(std::string what)
{
    std::string reason = lastError().substr(0, lastError().find('\n'));
    return {{}, reason.empty() ? std::move(what) : std::move(what) + ": " + reason};
}

} // namespace

GraphvizOutput runGraphviz(const std::string& text, const char* engine, const char* format)
{
    const std::lock_guard lock(graphvizMutex());
    lastError().clear();
    agseterr(AGERR); // warnings would go to stderr
    agseterrf(keepError);
    const std::unique_ptr<GVC_t, FreeContext> context(gvContext());
    if (!context) return failed("Graphviz does not start");
    const std::unique_ptr<Agraph_t, CloseGraph> graph(agmemread(text.c_str()));
    if (!graph) return failed("Graphviz does not read the graph");
    if (gvLayout(context.get(), graph.get(), engine) != 0) return failed(std::string("Graphviz has no layout engine '") + engine + "'");
    char* data = nullptr;
    unsigned int size = 0;
    const int status = gvRenderData(context.get(), graph.get(), format, &data, &size);
    GraphvizOutput output;
    if (status == 0 && data != nullptr) output.data.assign(data, size);
    else output = failed(std::string("Graphviz does not write ") + format);
    if (data != nullptr) gvFreeRenderData(data);
    gvFreeLayout(context.get(), graph.get());
    parkFont();
    return output;
}

} // namespace loopscope::layout
