// Between the picture of a TensorFlow 1 graph and that of what was raised from it: raises once per document, says what stayed, and keeps
// both pictures at the same place. GUI thread; raising is done on a thread of its own.
#pragma once

#include "viewer/bridge/raised_model.h"
#include "viewer/canvas/graph_canvas.h"
#include "viewer/widgets/parts.h"

#include <QObject>
#include <QPointer>
#include <QString>

#include <memory>
#include <optional>
#include <string>

namespace loopscope::viewer {

class Document;

class RaisedDesk : public QObject {
    Q_OBJECT
public:
    /// That of a document; made when first asked for, owned by the document. Small v1 graphs are raised at once.
    static RaisedDesk& of(Document& document);

    enum class Stage : uint8_t {
        none,    ///< no control flow of TensorFlow 1
        waiting, ///< a large graph: raise() has to be asked for
        working,
        ready,
        failed,
    };
    Stage stage() const { return m_stage; }
    bool isBusy() const { return m_stage == Stage::working; }
    void raise();
    const RaisedModel* raised() const { return m_raised.get(); }
    QString problem() const { return m_problem; }
    /// What stands for a node of the model that runs, as a static address of the raised model; empty: nothing does.
    std::string raisedAddress(const std::string& node) const;

    void setDataflow(GraphCanvas* canvas) { follow(m_dataflow, canvas); }
    void setRaised(GraphCanvas* canvas) { follow(m_picture, canvas); }
    bool isLinked() const { return m_isLinked; }
    void setLinked(bool linked) { m_isLinked = linked; }

signals:
    void changed(); ///< stage

private:
    explicit RaisedDesk(Document& document);
    void tell();
    void follow(QPointer<GraphCanvas>& which, GraphCanvas* canvas);
    void place(const GraphCanvas& from, GraphCanvas& to);
    int partnerIn(const GraphCanvas& from, int node, const GraphCanvas& to) const;

    Document& m_document;
    Stage m_stage = Stage::none;
    std::shared_ptr<const RaisedModel> m_raised;
    QString m_problem;
    QPointer<GraphCanvas> m_dataflow, m_picture;
    bool m_isLinked = true, m_isPlacing = false;
    Background m_work; ///< last: it ends before what it uses goes
};

} // namespace loopscope::viewer
