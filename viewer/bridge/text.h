// Text of the engine as text of Qt: one conversion for all of the window.
#pragma once

#include <QString>
#include <QStringList>

#include <string>
#include <string_view>
#include <vector>

namespace loopscope::viewer {

inline QString toText(std::string_view utf8) { return QString::fromUtf8(utf8.data(), static_cast<qsizetype>(utf8.size())); }
inline QStringList toText(const std::vector<std::string>& all)
{
    QStringList texts;
    for (const std::string& one : all) texts.append(toText(one));
    return texts;
}
/// Numbers as people read them on screen: U+2212 for minus.
QString onScreen(std::string_view numbers);

} // namespace loopscope::viewer
