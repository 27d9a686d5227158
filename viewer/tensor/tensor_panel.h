// The panel "Tensor": the selected value as table, heat map, image, histogram, plot, statistics, scales; and the same viewer for a tensor
// that somebody else chooses.
#pragma once

#include "viewer/tensor/value_source.h"
#include "viewer/widgets/panel.h"

#include <functional>

namespace loopscope::viewer {

Panel* makeTensorPanel(Document& document);

/// In which modes a tensor panel shows values, by dtype and rank, as it was left by `changed`. Entries that it does not know are kept.
void keepTensorModes(Panel& tensorPanel, const QJsonObject& modes, std::function<void(const QJsonObject&)> changed);

/// What a viewer shows that does not follow the selection.
struct FedTensor {
    const Value* declared = nullptr; ///< its name and type; null: there is nothing. Outlives the document's panels
    QString why;                     ///< what is said where there is nothing
    QString place;                   ///< an address, for file names
    TensorFetch fetch;
};

/// Feeds such a viewer. GUI thread.
class TensorFeed : public QObject {
    Q_OBJECT
public:
    using QObject::QObject;
    virtual FedTensor now() const = 0;

signals:
    void changed();
};

/// Becomes the parent of `feed`.
Panel* makeFedTensorPanel(Document& document, const QString& objectName, const QString& title, TensorFeed* feed);

} // namespace loopscope::viewer
