#include "app/terminal/value_view.h"

#include "engine/tensor/statistics.h"

namespace loopscope::app {

namespace {
constexpr int64_t kFullElements = 16;
} // namespace

std::string printedText(const std::vector<EvaluatedValue>& values, const NumberFormat& format, const Ink& ink, const std::string& level)
{
    if (values.size() == 1) {
        const EvaluatedValue& value = values.front();
        if (value.absence != Absence::present)
            return (value.id.empty() ? "" : value.id + ": " + shortType(value.type) + "  ") +
                   ink(Style::faint,
                       absenceText(value.absence) + (value.absence == Absence::notRecorded && !level.empty() ? " (" + level + ")" : "")) +
                   "\n";
        if (value.id.empty() || value.tensor.data == nullptr) return computedText(value.value, format, true) + "\n";
        const std::string head = value.id + ": ";
        std::string text = valueText(value.tensor, value.tensor.elementCount() > kFullElements ? 2 : static_cast<int>(head.size()), format);
        if (isFloat(value.tensor.dtype) && computeStatistics(value.tensor).firstAbnormal >= 0) text = ink(Style::bad, text);
        return head + text + "\n";
    }
    std::string line;
    for (const EvaluatedValue& value : values) line += (line.empty() ? "" : ", ") + bareText(value, format);
    return line + "\n";
}

} // namespace loopscope::app
