// The progress line of long work: where it is, how far, how fast, how long still.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace loopscope::app {

class Console;

/// Feeds Console::progress. Cheap to call often: the text is built only when it is due.
class ProgressMeter {
public:
    /// `total` < 0: of unknown length, no bar. `unit` follows the rate, "steps/s".
    ProgressMeter(Console& console, std::string label, int64_t total, std::string unit);
    ~ProgressMeter();
    ProgressMeter(const ProgressMeter&) = delete;
    ProgressMeter& operator=(const ProgressMeter&) = delete;

    bool due();
    /// `place` stands after the label, `extra` ("52.1 MiB") after the rate.
    void show(int64_t done, std::string_view place, std::string_view extra);

private:
    Console& m_console;
    std::string m_label;
    int64_t m_total;
    std::string m_unit;
    int64_t m_started;
};

/// "main/while#0@37102 of ?": how far the innermost loop of an address is, whose length nobody knows; else the address.
std::string loopPlace(const std::string& address);

/// "1.21 M", "935 k", "12".
std::string rateText(double perSecond);

} // namespace loopscope::app
