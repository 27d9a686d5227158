// What is left of a file that a reader has refused: which of its parts lie inside of it. A rough look of its own, since a reader gives up
// at the first thing that is wrong.
#pragma once

#include <QByteArrayView>
#include <QList>
#include <QString>

namespace loopscope::viewer {

struct FilePart {
    enum class State : uint8_t { whole, partly, missing } state = State::whole;
    QString text; ///< "Subgraphs"
    QString note; ///< "2 of 3"; empty: nothing to add
    bool operator==(const FilePart&) const = default;
};

/// TFLite, Circle, GraphDef, SavedModel's protocol buffer and recordings; of anything else nothing. Never reads outside of `bytes`; looks
/// at no more than about 100,000 entries.
QList<FilePart> filePartsOf(QByteArrayView bytes);

/// Whether there is a subgraph among the parts, so that a graph can be drawn.
bool hasReadablePart(const QList<FilePart>& parts);

} // namespace loopscope::viewer
