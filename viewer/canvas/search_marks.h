// Counts of search hits on a canvas: beside operators, folded groups, heads of open ones, and chips of cut edges.
#pragma once

#include "viewer/canvas/camera.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace loopscope::viewer {

class SearchMarks {
public:
    SearchMarks(const CanvasPicture& picture, const Camera& camera) : m_picture(picture), m_camera(camera) {}

    /// Static addresses of operators.
    void setHits(std::vector<std::string> addresses);
    /// After another picture: which of its things the hits belong to.
    void count();
    bool empty() const { return m_nodes.empty(); }
    int atNode(int node) const;
    int atRegion(int region) const;
    /// Among the ends that the chip at a cut edge's source stands for, and at its source.
    std::pair<int, int> atPortal(int edge) const;
    int total() const;
    int groups() const; ///< folded ones that hold hits
    void paint(QPainter& painter) const;

private:
    const CanvasPicture& m_picture;
    const Camera& m_camera;
    std::vector<std::string> m_addresses;
    std::map<int, int> m_nodes, m_regions; ///< node, opened group → hits in it
    std::map<int, std::pair<int, int>> m_portals;
};

} // namespace loopscope::viewer
