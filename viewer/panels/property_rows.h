// What is known of an operator, a value or a graph, as rows under headings: the properties panel without its widgets.
#pragma once

#include "viewer/bridge/document.h"

#include <QString>

#include <vector>

namespace loopscope::viewer {

struct PropertyRow {
    QString section; ///< a heading; `note` stands at its right
    QString name, value, type, note;
    QString address;           ///< of a link: what the value leads to
    std::vector<float> scales; ///< a histogram of these instead of texts
    bool isCode = true;        ///< the value is set in the fixed-width face
};

struct PropertySheet {
    QString title, titleIndex, titleNote; ///< "depthwise_conv_2d", "#56", "of 157, in block_13"
    int family = -1;                      ///< of an operator
    std::vector<PropertyRow> rows;
};

/// Of what is selected; of the graph in view where nothing is.
PropertySheet propertiesOf(Document& document);

/// Counts of `scales` in `bins` equal steps of the logarithm; zero and negative ones are left out.
std::vector<int> logHistogram(const std::vector<float>& scales, int bins, float& low, float& high);

} // namespace loopscope::viewer
