#include "app/output/progress.h"

#include "app/output/console.h"
#include "engine/base/clock.h"

#include <algorithm>
#include <array>

namespace loopscope::app {

std::string rateText(double perSecond)
{
    std::array<char, 32> text = {};
    if (perSecond >= 1e6) std::snprintf(text.data(), text.size(), "%.2f M", perSecond / 1e6);
    else if (perSecond >= 1e3) std::snprintf(text.data(), text.size(), "%.0f k", perSecond / 1e3);
    else std::snprintf(text.data(), text.size(), "%.3g", perSecond);
    return text.data();
}

std::string loopPlace(const std::string& address)
{
    const size_t at = address.rfind('@');
    if (at == std::string::npos) return address;
    return address.substr(0, address.find_first_not_of("0123456789", at + 1)) + " of ?";
}

ProgressMeter::ProgressMeter(Console& console, std::string label, int64_t total, std::string unit)
    : m_console(console),
      m_label(std::move(label)),
      m_total(total),
      m_unit(std::move(unit)),
      m_started(nowNs())
{
    m_console.progressDue(); // starts the delay before anything shows
}

ProgressMeter::~ProgressMeter() { m_console.endProgress(); }

bool ProgressMeter::due() { return m_console.progressDue(); }

void ProgressMeter::show(int64_t done, std::string_view place, std::string_view extra)
{
    const double seconds = static_cast<double>(nowNs() - m_started) / 1e9;
    const double rate = seconds > 0 ? static_cast<double>(done) / seconds : 0;
    std::string text = m_label + "  " + std::string(place);
    if (m_total > 0) {
        constexpr int kBar = 12;
        const double share = std::clamp(static_cast<double>(done) / static_cast<double>(m_total), 0.0, 1.0);
        const auto filled = static_cast<size_t>(share * kBar);
        text += "  [" + std::string(filled, '=') + (filled < kBar ? ">" + std::string(kBar - 1 - filled, ' ') : "") + "] " +
                std::to_string(static_cast<int>(share * 100)) + " %";
    }
    text += "  " + rateText(rate) + " " + m_unit;
    if (!extra.empty()) text += "  " + std::string(extra);
    if (m_total > 0 && rate > 0 && done < m_total)
        text += "  " + std::to_string(static_cast<int64_t>(static_cast<double>(m_total - done) / rate + 0.5)) + " s left";
    m_console.progress(text);
}

} // namespace loopscope::app
