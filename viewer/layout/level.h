// Inside the layout engine: a graph with nested groups is cut into levels, one per group, each of which is a flat layered graph. A group
// is one item of the level around it; an edge that crosses borders is a chain of pieces, joined at entries (on a group's upper border)
// and exits (on its lower one).
#pragma once

#include "viewer/layout/layout.h"

#include <cstdint>
#include <stop_token>
#include <vector>

namespace loopscope::layout {

enum class ItemKind : uint8_t { node, group, entry, exit };

struct Item {
    ItemKind kind = ItemKind::node;
    int index = 0; ///< of the node or group; of an entry or exit its number
    int row = -1;
    int key = 0;  ///< order of input: smallest node inside
    int rank = 0; ///< 0: entries; the items begin at 1; the exits are the last
    int vertex = -1;
    bool live = true; ///< entries and exits of portals are not
    double width = 0, height = 0;
};

/// One end of a net in a level.
struct Sink {
    int net = -1;
    int item = 0;
    int port = -1;       ///< group items: number of the entry
    float fraction = -1; ///< node items; negative: free
    bool back = false;   ///< against the ranks
    bool feedback = false;
    int live = 0;      ///< edges that are routed through it
    double offset = 0; ///< of the port from the item's left
    int chain = -1;    ///< back: first vertex (at the target's rank) of its chain upwards
    int rail = -1;     ///< feedback: number of its rail
};

/// One value in a level: where it comes from and all its ends.
struct Net {
    int item = 0;
    int port = -1; ///< group items: number of the exit
    float fraction = -1;
    int firstSink = 0, sinkCount = 0;
    int firstDummy = -1; ///< vertices of the ranks below the source, consecutive
    int dummyCount = 0;
    double offset = 0;
};

/// A place in a rank: an item, or where a net passes.
struct Vertex {
    int item = -1;
    int net = -1;
    int rank = 0;
    int position = 0; ///< in its rank, from the left
    double width = 0;
    double x = 0; ///< left
};

/// Part of a net between two neighbouring ranks.
struct Segment {
    int up = 0, down = 0; ///< vertices
    int net = -1;
    int sink = -1; ///< −1: ends in a dummy
    double upOffset = 0, downOffset = 0;
};

struct Level {
    int group = -1, parent = -1; ///< levels are numbered group + 1
    int depth = 0;
    std::vector<Item> items; ///< nodes and groups by key, then entries and exits
    int realItems = 0;
    std::vector<Net> nets;
    std::vector<Sink> sinks;                 ///< by net
    std::vector<int> entryItems, exitItems;  ///< item of each entry and exit
    std::vector<double> entryHint, exitHint; ///< order at the border, as the level around sees it
    int ranks = 0;                           ///< with those of entries and exits
    bool hasRails = false;

    std::vector<Vertex> vertices;
    std::vector<Segment> segments;
    std::vector<std::vector<int>> order;                           ///< rank → vertices from left to right
    std::vector<int> upBegin, upSegments, downBegin, downSegments; ///< vertex → its segments above and below
    int64_t passed = 0, crossings = 0;

    // Geometry, relative to the group's border.
    double originX = 0, originY = 0; ///< absolute, of the border
    double contentX = 0;
    double width = 0, height = 0;
    double head = 0, left = 0, right = 0, top = 0, bottom = 0, minWidth = 0;
    std::vector<double> rankTop, rankHeight;
    std::vector<std::vector<Point>> sinkRoutes; ///< of each live sink, relative to the border
};

/// Where an edge passes: sinks of levels, from its source to its target.
struct Piece {
    int level = 0, sink = 0;
};

struct Plan {
    const Graph* graph = nullptr;
    Options options;
    std::vector<Level> levels;
    std::vector<int> levelOrder; ///< parents before children
    std::vector<int> itemOfNode, itemOfGroup;
    std::vector<Piece> pieces;
    std::vector<int> firstPiece; ///< edges + 1
    std::vector<bool> portal;    ///< edges
};

// The phases, in order. Each returns false if `stop` was requested.

/// Cuts the graph into levels. Incomplete if `stop` was requested.
Plan makePlan(const Graph& graph, const Options& options, const std::stop_token& stop);
/// Ranks of all levels; decides which edges are portals.
bool rankLevels(Plan& plan, const std::stop_token& stop);
/// Vertices, segments and their order in the ranks; parents before children.
bool orderLevel(Plan& plan, int level, const std::stop_token& stop);
/// x of all vertices, from the sizes of the items; children before parents.
bool placeLevel(Level& level, const Options& options, const std::stop_token& stop);
/// y of all ranks, routes of all sinks and the size of the level.
bool routeLevel(Plan& plan, int level, const std::stop_token& stop);

/// Offsets of ports within their items; after ordering.
void placePorts(Plan& plan, Level& level);
int64_t countCrossings(const Level& level);

} // namespace loopscope::layout
