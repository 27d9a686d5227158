// Which operators make the difference where the other side of a comparison is the model itself on other kernels: found out in runs of their
// own, beside the session, on the inputs that it compared. GUI thread.
#pragma once

#include "viewer/bridge/proving.h"
#include "viewer/compare/compare_desk.h"

#include <QObject>

#include <memory>

namespace loopscope::viewer {

class KernelRanking : public QObject {
    Q_OBJECT
public:
    /// That of a document; made when first asked for, owned by the document.
    static KernelRanking& of(Document& document);

    /// Null: the other side is another one, or it is being found out.
    const KernelsApart* get() const { return m_apart.get(); }
    bool isBusy() const { return m_busy; }

signals:
    void changed();

private:
    explicit KernelRanking(Document& document);
    void adopt();

    Document& m_document;
    CompareDesk& m_desk;
    std::shared_ptr<const Drift> m_of; ///< the comparison that it belongs to
    std::shared_ptr<const KernelsApart> m_apart;
    bool m_busy = false;
    Background m_runs; ///< last: it uses nothing above but ends before it goes
};

} // namespace loopscope::viewer
