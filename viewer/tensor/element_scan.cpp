#include "viewer/tensor/element_scan.h"

namespace loopscope::viewer {

void ElementScan::begin(Source source)
{
    if (isRunning()) return;
    m_scan.emplace();
    m_source = std::move(source);
    goOn();
}

void ElementScan::stop()
{
    m_scan.reset();
    emit progressed();
}

void ElementScan::keepIf(const Source& source)
{
    if (m_scan && m_source != source) m_scan.reset();
}

void ElementScan::goOn()
{
    if (!isRunning()) return;
    m_count(*m_scan, [this, ticket = ++m_ticket](std::optional<HistogramScan> scan) {
        if (ticket != m_ticket || !m_scan) return;
        m_scan = std::move(scan);
        emit progressed();
        goOn();
    });
}

} // namespace loopscope::viewer
