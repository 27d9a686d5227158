// Rows of the v1 panels, made from a stop. No widgets.
#pragma once

#include "viewer/bridge/document.h"

#include <QString>

#include <memory>
#include <string>
#include <vector>

namespace loopscope::viewer {

/// A row of the tree of frames.
struct FlowNode {
    QString text, state;
    std::string address; ///< canonical: of the iteration or of the node
    bool isNext = false, isDead = false, isQuiet = false, isBold = false;
    bool isOperator = false;
    int family = -1; ///< of operators
    FlowNode* parent = nullptr;
    int row = 0;
    std::vector<std::unique_ptr<FlowNode>> children;
};
/// The root frame with what lies in it; an empty root where nothing runs.
std::unique_ptr<FlowNode> frameTree(const StopSnapshot& stop, const Model& model);

/// A row of the table of tokens.
struct FlowRow {
    QString section, sectionNote; ///< a heading
    QString number;               ///< place in the ready set, from 1
    QString name, iteration, has;
    std::string address;
    bool isNext = false, isDead = false, isWaiting = false;
    int family = -1;
};
std::vector<FlowRow> tokenRows(const StopSnapshot& stop, const Model& model);

/// "@4 @1" of "main/outer@4:frame/inner@1/Add".
QString iterationsOf(const std::string& address);

} // namespace loopscope::viewer
