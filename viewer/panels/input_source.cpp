#include "viewer/panels/input_source.h"

#include <QRegularExpression>
#include <QStringList>

namespace loopscope::viewer {

namespace {

/// Position of a character outside of quotes, or −1.
qsizetype outsideQuotes(const QString& text, QChar wanted)
{
    bool quoted = false;
    for (qsizetype i = 0; i < text.size(); ++i) {
        if (text[i] == '\\' && quoted) ++i;
        else if (text[i] == '"') quoted = !quoted;
        else if (text[i] == wanted && !quoted) return i;
    }
    return -1;
}

InputSource::Kind kindOf(const QString& text)
{
    using Kind = InputSource::Kind;
    if (text.isEmpty()) return Kind::none;
    if (text == "@last") return Kind::lastRun;
    if (text.startsWith('@')) return Kind::seed;
    if (text.startsWith('[')) return Kind::table;
    if (text.startsWith('"')) return Kind::constant;
    static const QRegularExpression file(R"(/|\.(npy|npz|png|jpe?g|bin|raw)\b)", QRegularExpression::CaseInsensitiveOption);
    return file.match(text).hasMatch() ? Kind::file : Kind::constant;
}

} // namespace

bool isPictureName(const QString& path)
{
    static const QRegularExpression ending(R"(\.(png|jpe?g)$)", QRegularExpression::CaseInsensitiveOption);
    return ending.match(path).hasMatch();
}

InputSource inputSourceOf(QString text)
{
    InputSource source;
    text = text.trimmed();
    if (const qsizetype semicolon = outsideQuotes(text, ';'); semicolon >= 0) {
        source.patches = text.mid(semicolon + 1).trimmed();
        text = text.left(semicolon).trimmed();
    }
    const auto take = [&](const QString& suffix) {
        if (!text.endsWith(suffix)) return false;
        text.chop(suffix.size());
        return true;
    };
    for (bool taken = true; taken;) {
        taken = false;
        if (take(":cast")) taken = source.cast = true;
        if (take(":fit")) taken = source.fit = true;
        for (const auto& [word, layout] : {std::pair(":nchw", InputSource::Layout::nchw), std::pair(":nhwc", InputSource::Layout::nhwc)})
            if (take(word)) {
                source.layout = layout;
                taken = true;
            }
    }
    static const QRegularExpression shape(R"(:\[\s*(\d+(?:\s*,\s*\d+)*)?\s*\]$)");
    if (const QRegularExpressionMatch match = shape.match(text); match.hasMatch() && !text.startsWith('"')) {
        std::vector<int64_t> sizes;
        for (const QString& size : match.captured(1).split(',', Qt::SkipEmptyParts)) sizes.push_back(size.trimmed().toLongLong());
        source.shape = std::move(sizes);
        text = text.left(match.capturedStart());
    }
    static const QRegularExpression range(R"(\.(?:png|jpe?g)(\[[^\]]*\])$)", QRegularExpression::CaseInsensitiveOption);
    if (const QRegularExpressionMatch match = range.match(text); match.hasMatch()) {
        source.range = match.captured(1).mid(1).chopped(1);
        text.chop(match.captured(1).size());
    }
    source.text = text;
    source.kind = kindOf(text);
    return source;
}

QString textOf(const InputSource& source)
{
    QString text = source.text;
    if (text.isEmpty()) return text;
    if (!source.range.isEmpty()) text += "[" + source.range + "]";
    if (source.shape) {
        QStringList sizes;
        for (const int64_t size : *source.shape) sizes << QString::number(size);
        text += ":[" + sizes.join(",") + "]";
    }
    if (source.layout != InputSource::Layout::declared) text += source.layout == InputSource::Layout::nchw ? ":nchw" : ":nhwc";
    if (source.fit) text += ":fit";
    if (source.cast) text += ":cast";
    return source.patches.isEmpty() ? text : text + "; " + source.patches;
}

} // namespace loopscope::viewer
