#include "viewer/compare/kernel_ranking.h"

#include <utility>

namespace loopscope::viewer {

KernelRanking& KernelRanking::of(Document& document)
{
    if (auto* const made = document.findChild<KernelRanking*>({}, Qt::FindDirectChildrenOnly)) return *made;
    return *new KernelRanking(document);
}

KernelRanking::KernelRanking(Document& document) : QObject(&document), m_document(document), m_desk(CompareDesk::of(document))
{
    connect(&m_desk, &CompareDesk::runChanged, this, &KernelRanking::adopt);
    adopt();
}

void KernelRanking::adopt()
{
    if (m_desk.sharedDrift() == m_of) return;
    m_of = m_desk.sharedDrift();
    m_apart.reset();
    const auto* const proving = dynamic_cast<const Proving*>(&m_document.backend());
    m_busy = proving != nullptr && m_of != nullptr && m_document.stop()->compared.path.starts_with(kKernelsSide);
    emit changed();
    if (!m_busy) return;
    m_runs.run([proving](const std::stop_token& stop) { return proving->kernelsApart(stop); },
               [this](Result<KernelsApart> apart) {
                   m_busy = false;
                   if (apart.ok()) m_apart = std::make_shared<const KernelsApart>(std::move(apart).value());
                   else if (apart.error().code() != ErrorCode::unsupported) // there is no ranking between devices
                       m_document.report({Problem::Severity::error, apart.error().message(), {}, "the operators are not ranked"});
                   emit changed();
               });
}

} // namespace loopscope::viewer
