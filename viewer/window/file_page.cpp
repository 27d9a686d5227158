#include "viewer/window/file_page.h"

#include "engine/base/result.h"
#include "viewer/style/icons.h"
#include "viewer/style/theme.h"

#include <QClipboard>
#include <QFile>
#include <QFileInfo>
#include <QGridLayout>
#include <QGuiApplication>
#include <QHBoxLayout>
#include <QLabel>
#include <QLocale>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QRegularExpression>
#include <QScrollArea>
#include <QStyle>
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

/// The place that a reader wanted to go to ("vtable at offset 10412", "root table at 0x1c, file ends at 0x8"); −1: none.
qint64 wantedIn(const QString& message)
{
    static const QRegularExpression offset("offset ([0-9]+)"), pointed("table at 0x([0-9a-f]+)"), ends("file ends at 0x([0-9a-f]+)");
    if (const QRegularExpressionMatch match = offset.match(message); match.hasMatch()) return match.captured(1).toLongLong();
    if (const QRegularExpressionMatch match = pointed.match(message); match.hasMatch()) return match.captured(1).toLongLong(nullptr, 16);
    const QRegularExpressionMatch match = ends.match(message); // something begins inside and does not end there
    return match.hasMatch() ? match.captured(1).toLongLong(nullptr, 16) : -1;
}

} // namespace

FilePage::FilePage(QWidget* parent) : QWidget(parent)
{
    setObjectName("filePage");
    auto* const whole = new QVBoxLayout(this);
    whole->setContentsMargins(0, 0, 0, 0);
    auto* const scroll = new QScrollArea(this);
    scroll->setFrameShape(QFrame::NoFrame);
    scroll->setWidgetResizable(true);
    auto* const page = new QWidget(scroll);
    scroll->setWidget(page);
    whole->addWidget(scroll);
    auto* const outer = new QHBoxLayout(page);
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
    m_showPart = new QPushButton(tr("Show what could be read"), this);
    m_showPart->setObjectName("showPart");
    m_showPart->setProperty("primary", true);
    m_reload = new QPushButton(tr("Reload  Ctrl+R"), this);
    auto* const copy = new QPushButton(tr("Copy report"), this);
    auto* const back = new QPushButton(tr("Welcome page"), this);
    for (QPushButton* const button : {m_showPart, m_reload, copy, back}) buttons->addWidget(button);
    buttons->addStretch(1);
    column->addWidget(m_title);
    column->addWidget(m_text);
    column->addSpacing(4);
    column->addWidget(m_bytes);
    column->addWidget(m_known);
    m_partsTitle = new QLabel(tr("What could be read"), this);
    m_partsTitle->setProperty("type", "section");
    column->addSpacing(4);
    column->addWidget(m_partsTitle);
    m_parts = new QWidget(this);
    m_parts->setObjectName("fileParts");
    column->addWidget(m_parts);
    column->addSpacing(8);
    column->addLayout(buttons);
    column->addStretch(1);
    connect(m_reload, &QPushButton::clicked, this, [this] { emit reloadRequested(m_path); });
    connect(m_showPart, &QPushButton::clicked, this, [this] { emit partRequested(m_path); });
    connect(back, &QPushButton::clicked, this, &FilePage::welcomeRequested);
    connect(copy, &QPushButton::clicked, this, [this] {
        QString report = m_path + "\n" + m_title->text() + "\n" + m_text->text() + "\n" + m_known->text() + "\n" + m_bytes->toPlainText();
        for (const FilePart& part : m_readable) report += "\n" + part.text + ": " + part.note;
        QGuiApplication::clipboard()->setText(report);
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
    showParts();
}

/// A line each: a sign in its colour, the part, and how much of it is there.
void FilePage::showParts()
{
    delete m_parts->layout();
    qDeleteAll(m_parts->findChildren<QWidget*>());
    m_partsTitle->setVisible(!m_readable.isEmpty());
    m_parts->setVisible(!m_readable.isEmpty());
    auto* const grid = new QGridLayout(m_parts);
    grid->setContentsMargins(0, 0, 0, 0);
    grid->setHorizontalSpacing(8);
    grid->setVerticalSpacing(2);
    grid->setColumnStretch(3, 1);
    const bool hasPart = hasReadablePart(m_readable);
    m_showPart->setVisible(hasPart);
    m_reload->setProperty("primary", !hasPart);
    m_reload->style()->unpolish(m_reload);
    m_reload->style()->polish(m_reload);
    for (int row = 0; row < m_readable.size(); ++row) {
        const FilePart& part = m_readable[row];
        const auto add = [&](int column, const QString& text, const char* tone) {
            auto* const label = new QLabel(text, m_parts);
            if (tone) label->setProperty("tone", tone);
            grid->addWidget(label, row, column);
        };
        switch (part.state) {
        case FilePart::State::whole: add(0, QStringLiteral("\u2713"), "ok"); break;
        case FilePart::State::partly: add(0, QStringLiteral("!"), "warning"); break;
        case FilePart::State::missing: add(0, QStringLiteral("\u2715"), "error"); break;
        }
        add(1, part.text, nullptr);
        add(2, part.note, "meta");
    }
}

void FilePage::show(const QString& path, const Error& error)
{
    m_path = path;
    const ErrorDetail& detail = error.detail();
    const QString name = QFileInfo(path).fileName();
    m_title->setText(detail.code == ErrorCode::unsupported ? tr("%1 cannot be opened yet").arg(name) : tr("%1 cannot be read").arg(name));
    m_readable.clear();
    QString text = QString::fromStdString(error.message());
    for (const QString& beginning : {path + ": ", name + ": "})
        if (text.startsWith(beginning)) text.remove(0, beginning.size());
    for (const std::string& note : detail.notes) text += "\n" + QString::fromStdString(note);
    if (const QString kind = tr("not a model: "); text.startsWith(kind)) {
        m_title->setText(tr("%1 is not a model").arg(name));
        text.remove(0, kind.size());
    }
    m_text->setText(text);

    const QString of = QFileInfo(path).isDir() ? path + "/saved_model.pb" : path;
    QFile file(of);
    m_bytes->hide();
    m_known->clear();
    m_marked.reset();
    showParts();
    if (!QFileInfo(of).isFile() || !file.open(QIODevice::ReadOnly)) return;
    if (const uchar* const bytes = file.map(0, file.size())) {
        m_readable = filePartsOf(QByteArrayView(bytes, file.size()));
        showParts();
    }
    QStringList lines;
    const qint64 place = offsetIn(text),
                 begin = place < 0 ? 0 : std::max<qint64>(0, std::min(place, file.size() - 1)) / kColumns * kColumns;
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
    m_marked = place >= 0 && place < file.size()
                   ? std::optional(QPoint(hexColumn(static_cast<int>(place - begin)), static_cast<int>(marked)))
                   : std::nullopt;
    markByte();
    const QLocale english(QLocale::English);
    QString known = tr("The file has %1 bytes").arg(english.toString(file.size()));
    if (place >= 0) known += tr("; the message is about byte %1").arg(english.toString(place));
    const qint64 wanted = std::max(place, wantedIn(text));
    if (wanted >= file.size()) {
        m_title->setText(tr("%1 cannot be read to the end").arg(name));
        known += tr(", and byte %1 is past its end. The download may be incomplete").arg(english.toString(wanted));
    }
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
