#include "viewer/bridge/text.h"

namespace loopscope::viewer {

QString onScreen(std::string_view numbers)
{
    QString text = toText(numbers);
    for (qsizetype i = 0; i + 1 < text.size(); ++i) {
        const bool begins = i == 0 || !text[i - 1].isLetterOrNumber();
        if (text[i] == '-' && (text[i + 1].isDigit() || text.mid(i + 1, 3) == QLatin1String("inf")) && (begins || text[i - 1] == 'e'))
            text[i] = QChar(0x2212);
    }
    return text;
}

} // namespace loopscope::viewer
