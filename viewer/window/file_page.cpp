#include "viewer/window/file_page.h"

#include "engine/base/result.h"
#include "viewer/style/icons.h"
#include "viewer/style/theme.h"

#include <QClipboard>
#include <QFile>
#include <QFileInfo>
#include <QGuiApplication>
#include <QHBoxLayout>
#include <QLabel>
#include <QLocale>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QRegularExpression>
#include <QTextBlock>

namespace loopscope::viewer {

namespace {

constexpr int kColumns = 16;

QString hexLine(const QByteArray& bytes, qint64 offset)
{
    QString hex, text;
    for (int i = 0; i < kColumns; ++i) {
        if (i > 0) hex += i % 4 == 0 ? "  " : " ";
        if (i >= bytes.size()) {
            hex += "  ";
            continue;
        }
        const auto byte = static_cast<uchar>(bytes[i]);
        hex += QStringLiteral("%1").arg(byte, 2, 16, QLatin1Char('0'));
        text += byte >= 32 && byte < 127 ? QLatin1Char(static_cast<char>(byte)) : QLatin1Char('.');
    }
    return QStringLiteral("%1  %2   %3").arg(offset, 8, 16, QLatin1Char('0')).arg(hex, text);
}

/// The place in the file that a message names ("at 0x27d0"); −1: none.
qint64 offsetIn(const QString& message)
{
    static const QRegularExpression place("at 0x([0-9a-f]+)");
    const QRegularExpressionMatch match = place.match(message);
    return match.hasMatch() ? match.captured(1).toLongLong(nullptr, 16) : -1;
}

/// Where a byte stands in a line of hexLine().
int hexColumn(int byte) { return 10 + 3 * byte + byte / 4; }

/// The place that a reader wanted to go to ("vtable at offset 10412"); −1: none.
qint64 wantedIn(const QString& message)
{
    static const QRegularExpression place("offset ([0-9]+)");
    const QRegularExpressionMatch match = place.match(message);
    return match.hasMatch() ? match.captured(1).toLongLong() : -1;
}

} // namespace

FilePage::FilePage(QWidget* parent) : QWidget(parent)
{
    setObjectName("filePage");
    auto* const outer = new QHBoxLayout(this);
    outer->setContentsMargins(96, 48, 96, 24);
    outer->setSpacing(12);
    m_icon = new QLabel(this);
    outer->addWidget(m_icon, 0, Qt::AlignTop);
    auto* const column = new QVBoxLayout;
    column->setSpacing(8);
    outer->addLayout(column, 1);
    m_title = new QLabel(this);
    m_title->setProperty("type", "figure");
    m_text = new QLabel(this);
    m_text->setProperty("tone", "dim");
    m_known = new QLabel(this);
    for (QLabel* const label : {m_title, m_text, m_known}) {
        label->setWordWrap(true);
        label->setTextFormat(Qt::PlainText);
        label->setTextInteractionFlags(Qt::TextSelectableByMouse);
    }
    m_bytes = new QPlainTextEdit(this);
    m_bytes->setReadOnly(true);
    m_bytes->setLineWrapMode(QPlainTextEdit::NoWrap);
    m_bytes->setAccessibleName(tr("Bytes of the file"));
    auto* const buttons = new QHBoxLayout;
    buttons->setSpacing(8);
    auto* const reload = new QPushButton(tr("Reload"), this);
    reload->setProperty("primary", true);
    auto* const copy = new QPushButton(tr("Copy report"), this);
    auto* const back = new QPushButton(tr("Welcome page"), this);
    for (QPushButton* const button : {reload, copy, back}) buttons->addWidget(button);
    buttons->addStretch(1);
    column->addWidget(m_title);
    column->addWidget(m_text);
    column->addSpacing(4);
    column->addWidget(m_bytes);
    column->addWidget(m_known);
    column->addSpacing(8);
    column->addLayout(buttons);
    column->addStretch(1);
    connect(reload, &QPushButton::clicked, this, [this] { emit reloadRequested(m_path); });
    connect(back, &QPushButton::clicked, this, &FilePage::welcomeRequested);
    connect(copy, &QPushButton::clicked, this, [this] {
        QGuiApplication::clipboard()->setText(m_path + "\n" + m_title->text() + "\n" + m_text->text() + "\n" + m_bytes->toPlainText());
    });
    restyle();
    connect(&Theme::instance(), &Theme::changed, this, &FilePage::restyle);
}

void FilePage::restyle()
{
    m_icon->setPixmap(iconPixmap("error", 20, themed(Token::err), devicePixelRatioF()));
    m_bytes->setFont(Theme::instance().font(FontUse::value));
    m_bytes->setStyleSheet(QStringLiteral("background: %1; padding: 6px;").arg(themed(Token::sunken).name()));
    m_bytes->setFixedHeight(4 * QFontMetrics(m_bytes->font()).lineSpacing() + 24);
    markByte();
}

void FilePage::show(const QString& path, const Error& error)
{
    m_path = path;
    const ErrorDetail& detail = error.detail();
    const QString name = QFileInfo(path).fileName();
    m_title->setText(detail.code == ErrorCode::unsupported ? tr("%1 cannot be opened yet").arg(name) : tr("%1 cannot be read").arg(name));
    QString text = QString::fromStdString(error.message());
    for (const QString& beginning : {path + ": ", name + ": "})
        if (text.startsWith(beginning)) text.remove(0, beginning.size());
    for (const std::string& note : detail.notes) text += "\n" + QString::fromStdString(note);
    m_text->setText(text);

    QFile file(path);
    m_bytes->hide();
    m_known->clear();
    m_marked.reset();
    if (!QFileInfo(path).isFile() || !file.open(QIODevice::ReadOnly)) return;
    QStringList lines;
    const qint64 place = offsetIn(text), begin = place < 0 ? 0 : std::max<qint64>(0, std::min(place, file.size() - 1)) / kColumns * kColumns;
    if (begin > 0) lines.append(hexLine(file.read(kColumns), 0));
    const qsizetype marked = lines.size();
    for (qint64 at = begin; at < file.size() && lines.size() < 4; at += kColumns) {
        file.seek(at);
        lines.append(hexLine(file.read(kColumns), at));
    }
    if (file.size() > 0) {
        m_bytes->setPlainText(lines.join('\n'));
        m_bytes->show();
    }
    m_marked = place >= 0 && place < file.size() ? std::optional(QPoint(hexColumn(static_cast<int>(place - begin)), static_cast<int>(marked))) : std::nullopt;
    markByte();
    const QLocale english(QLocale::English);
    QString known = tr("The file has %1 bytes").arg(english.toString(file.size()));
    if (place >= 0) known += tr("; the message is about byte %1").arg(english.toString(place));
    const qint64 wanted = std::max(place, wantedIn(text));
    if (wanted >= file.size()) known += tr(", and byte %1 is past its end. The download may be incomplete").arg(english.toString(wanted));
    m_known->setText(known + '.');
}

/// In the colour of errors, so that it is found among the others.
void FilePage::markByte()
{
    QList<QTextEdit::ExtraSelection> marks;
    if (m_marked) {
        QTextEdit::ExtraSelection mark;
        mark.cursor = QTextCursor(m_bytes->document()->findBlockByNumber(m_marked->y()));
        mark.cursor.movePosition(QTextCursor::Right, QTextCursor::MoveAnchor, m_marked->x());
        mark.cursor.movePosition(QTextCursor::Right, QTextCursor::KeepAnchor, 2);
        mark.format.setForeground(themed(Token::err));
        mark.format.setFontWeight(QFont::Bold);
        mark.format.setFontUnderline(true);
        marks.append(mark);
    }
    m_bytes->setExtraSelections(marks);
}

} // namespace loopscope::viewer
