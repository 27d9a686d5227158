// What is selected, hovered and lit on a canvas: by address, so that it outlives pictures, and as things of the present one.
#pragma once

#include "viewer/canvas/canvas_picture.h"

#include <QObject>

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace loopscope::viewer {

/// A call operator, as a node or as the head of its opened callee.
struct CallSite {
    std::string address; ///< static
    GraphId graph;       ///< that owns it
    OperatorId op;
    static CallSite of(const SceneNode& node) { return {node.id, node.graph, node.op}; }
};

class CanvasSelection : public QObject {
    Q_OBJECT
public:
    explicit CanvasSelection(const CanvasPicture& picture) : m_picture(picture) {}

    /// Static addresses (or ids of groups); the first is the current one.
    void select(const std::vector<std::string>& addresses);
    const std::vector<std::string>& addresses() const { return m_addresses; }
    const std::vector<int>& nodes() const { return m_nodes; }
    bool contains(int node) const { return std::ranges::find(m_nodes, node) != m_nodes.end(); }
    /// The current one; −1: none.
    int node() const { return m_nodes.empty() ? -1 : m_nodes.front(); }
    /// Of an opened callee or group whose head is selected; −1: none.
    int region() const { return m_region; }
    int edge() const { return m_edge; }
    /// The call that is selected; none: something else is.
    std::optional<CallSite> call() const;

    // By pointer or key. ----------------------------------------------------------------------------------------------------------------
    void setCurrent(int node, bool add = false);
    void setNodes(std::vector<std::string> addresses);
    void setRegion(int region);
    void setEdge(int edge); ///< and the node that it begins at
    /// Whether the current one is reached by keys: then it has a ring.
    void setByKeys(bool byKeys) { m_byKeys = byKeys; }
    bool isByKeys() const { return m_byKeys; }

    void setHover(int node, int edge);
    int hoverNode() const { return m_hoverNode; }
    int hoverEdge() const { return m_hoverEdge; }
    /// Lights what leads to the selected ones, what follows from them, nothing.
    void traceNext();
    const std::set<int>& traced() const { return m_traced; }
    /// Edges of the nets that are emphasised, for what is selected or for what is hovered.
    std::vector<int> litEdges(bool selected) const;

    /// Another picture: what was marked on the one before is forgotten, what is selected is found again by resolve().
    void forgetMarks();
    void resolve();

signals:
    void changed();              ///< to be painted
    void edited();               ///< by pointer or key
    void currentMoved(int node); ///< by pointer or key, for screen readers

private:
    const CanvasPicture& m_picture;
    std::vector<std::string> m_addresses;
    std::vector<int> m_nodes;
    int m_region = -1, m_edge = -1;
    int m_hoverNode = -1, m_hoverEdge = -1;
    std::set<int> m_traced;
    int m_traceMode = 0; ///< 0 off, 1 up, 2 down
    bool m_byKeys = false;
};

} // namespace loopscope::viewer
