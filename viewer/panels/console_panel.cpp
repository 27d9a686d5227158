// The console: what every action is called in the terminal debugger, what it answered, and a line to type commands.
#include "viewer/panels/common.h"
#include "viewer/panels/panels.h"

#include <QAbstractItemView>
#include <QCompleter>
#include <QGuiApplication>
#include <QHBoxLayout>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QRegularExpression>
#include <QScrollBar>
#include <QStringListModel>
#include <QTextBlock>
#include <QTextBrowser>
#include <QVBoxLayout>

namespace loopscope::viewer {

namespace {

constexpr int kMostLines = 10000;

/// Completes the last word; everything before it stays.
class LineCompleter : public QCompleter {
public:
    LineCompleter(QObject* parent) : QCompleter(parent) { setCompletionMode(QCompleter::UnfilteredPopupCompletion); }
    QString before;
    QString pathFromIndex(const QModelIndex& index) const override { return before + index.data().toString(); }
    QStringList splitPath(const QString&) const override { return {QString()}; }
};

class ConsolePanel : public Panel {
    Q_OBJECT
public:
    explicit ConsolePanel(Document& document) : Panel(document, "panelConsole", "Console")
    {
        auto* column = new QVBoxLayout(this);
        column->setContentsMargins(0, 0, 0, 0);
        column->setSpacing(0);
        m_log = new QTextBrowser(this);
        m_log->setObjectName("consoleLog");
        m_log->setAccessibleName("Console log");
        m_log->setFrameShape(QFrame::NoFrame);
        m_log->setOpenLinks(false);
        m_log->setUndoRedoEnabled(false);
        m_log->document()->setMaximumBlockCount(kMostLines);
        m_log->document()->setDocumentMargin(4);
        m_log->setLineWrapMode(QTextEdit::NoWrap);
        m_log->setContextMenuPolicy(Qt::CustomContextMenu);
        auto* line = new QWidget(this);
        auto* row = new QHBoxLayout(line);
        row->setContentsMargins(8, 0, 4, 2);
        row->setSpacing(4);
        m_prompt = new QLabel(QString(QChar(0x203A)), line);
        m_input = new QLineEdit(line);
        m_input->setObjectName("consoleInput");
        m_input->setAccessibleName("Command");
        m_input->setFrame(false);
        m_input->setPlaceholderText("Command of the debugger, Tab completes");
        m_input->installEventFilter(this);
        row->addWidget(m_prompt);
        row->addWidget(m_input, 1);
        column->addWidget(m_log, 1);
        column->addWidget(line);
        m_line = line;
        m_completer = new LineCompleter(this);
        m_completer->setModel(new QStringListModel(m_completer));
        m_completer->setWidget(m_input);
        connect(m_completer, qOverload<const QString&>(&QCompleter::activated), this,
                [this](const QString& text) { m_input->setText(text); });

        std::string roots;
        for (const Graph& graph : document.model().graphs)
            roots += (roots.empty() ? "" : "|") + QRegularExpression::escape(toText(graph.id)).toStdString();
        m_address.setPattern(
            QString("(?<![\\w/])(?:(?:%1)(?:/[A-Za-z0-9_.%#@:\\-]+)+|step \\d[\\d,]*)").arg(toText(roots.empty() ? "main" : roots)));

        connect(m_input, &QLineEdit::returnPressed, this, [this] { enter(); });
        connect(&document.bridge(), &DebugBridge::console, this, &ConsolePanel::show);
        connect(m_log, &QTextBrowser::anchorClicked, this, [this](const QUrl& url) {
            follow(url.path(QUrl::FullyDecoded), QGuiApplication::keyboardModifiers().testFlag(Qt::ControlModifier));
        });
        connect(m_log, &QWidget::customContextMenuRequested, this, [this](QPoint at) {
            auto* const menu = new QMenu(this);
            menu->setAttribute(Qt::WA_DeleteOnClose);
            const QString link = QUrl(m_log->anchorAt(at)).path(QUrl::FullyDecoded);
            if (!link.isEmpty()) {
                menu->addAction("Select " + link, this, [this, link] { follow(link, false); });
                menu->addAction("Go to " + link, this, [this, link] { follow(link, true); });
                menu->addSeparator();
            }
            menu->addAction("Copy", m_log, &QTextEdit::copy)->setEnabled(m_log->textCursor().hasSelection());
            menu->addAction("Select all", m_log, &QTextEdit::selectAll);
            menu->addAction("Clear", m_log, &QTextEdit::clear);
            menu->popup(m_log->mapToGlobal(at));
        });
        connect(&Theme::instance(), &Theme::changed, this, &ConsolePanel::restyle);
        restyle();
    }

    QWidget* focusTarget() override { return m_input; }

protected:
    bool eventFilter(QObject* watched, QEvent* event) override
    {
        if (watched != m_input || event->type() != QEvent::KeyPress) return Panel::eventFilter(watched, event);
        const auto* key = static_cast<QKeyEvent*>(event);
        if (m_completer->popup()->isVisible()) return false;
        if (key->key() == Qt::Key_Up || key->key() == Qt::Key_Down) {
            recall(key->key() == Qt::Key_Up ? -1 : 1);
            return true;
        }
        if (key->key() == Qt::Key_Tab && key->modifiers() == Qt::NoModifier) {
            complete();
            return true;
        }
        return false;
    }

private:
    void restyle()
    {
        const QFont font = Theme::instance().font(FontUse::value);
        m_log->setFont(font);
        m_log->document()->setDefaultFont(font);
        m_input->setFont(font);
        m_prompt->setFont(font);
        const QString surface = themed(Token::surface).name();
        m_log->setStyleSheet(
            QString("QTextBrowser { background: %1; color: %2; border: none; selection-background-color: %3; selection-color: %2; }")
                .arg(surface, themed(Token::text).name(), themed(Token::accentWeak).name()));
        m_line->setStyleSheet(QString("background: %1;").arg(surface));
        m_input->setStyleSheet(QString("background: %1; color: %2; border: none;").arg(surface, themed(Token::text).name()));
        m_prompt->setStyleSheet(QString("color: %1;").arg(themed(Token::accent).name()));
        // The lines that stand keep their words; colours follow.
        const std::vector<ConsoleEvent> events = std::exchange(m_events, {});
        m_log->clear();
        for (const ConsoleEvent& event : events) show(event);
    }

    void enter()
    {
        const QString text = m_input->text().trimmed();
        m_input->clear();
        m_recalled = -1;
        if (text.isEmpty()) return;
        if (m_history.isEmpty() || m_history.last() != text) m_history << text;
        document().execute(text);
    }

    void recall(int by)
    {
        if (m_history.isEmpty()) return;
        if (m_recalled < 0) {
            if (by > 0) return;
            m_typed = m_input->text();
            m_recalled = static_cast<int>(m_history.size());
        }
        m_recalled = std::max(0, m_recalled + by);
        if (m_recalled >= m_history.size()) {
            m_recalled = -1;
            m_input->setText(m_typed);
            return;
        }
        m_input->setText(m_history[m_recalled]);
    }

    void complete()
    {
        if (document().bridge().busy()) return;
        const QString line = m_input->text().left(m_input->cursorPosition());
        QStringList words;
        for (const std::string& word : document().backend().complete(line.toStdString())) words << toText(word);
        if (words.isEmpty()) return;
        const qsizetype start = line.lastIndexOf(' ') + 1;
        if (words.size() == 1) {
            m_input->setText(line.left(start) + words.front() + " " + m_input->text().mid(line.size()));
            return;
        }
        // What all share is typed at once.
        QString common = words.front();
        for (const QString& word : words)
            while (!word.startsWith(common)) common.chop(1);
        if (common.size() > line.size() - start) m_input->setText(line.left(start) + common);
        m_completer->before = line.left(start);
        static_cast<QStringListModel*>(m_completer->model())->setStringList(words);
        m_completer->complete();
    }

    void follow(const QString& link, bool go)
    {
        if (link.startsWith("step ")) {
            document().perform(request::GoToStep{QString(link.mid(5)).remove(',').toLongLong()});
            return;
        }
        if (go) document().perform(request::GoToPlace{link.toStdString()});
        else if (document().select(link.toStdString())) document().reveal(link.toStdString());
    }

    void show(const ConsoleEvent& event)
    {
        if (m_events.size() >= kMostLines) m_events.erase(m_events.begin(), m_events.begin() + kMostLines / 10);
        m_events.push_back(event);
        QScrollBar* bar = m_log->verticalScrollBar();
        const bool atEnd = bar->value() >= bar->maximum() - 4;
        QTextCursor cursor(m_log->document());
        cursor.movePosition(QTextCursor::End);
        QString text = toText(event.text);
        while (text.endsWith('\n')) text.chop(1);
        const bool echo = event.kind == ConsoleEvent::Kind::echo;
        for (const QString& line : text.split('\n')) {
            if (!m_log->document()->isEmpty()) cursor.insertBlock();
            QTextCharFormat plain;
            plain.setForeground(themed(echo                                      ? Token::text
                                       : event.kind == ConsoleEvent::Kind::error ? Token::err
                                       : event.kind == ConsoleEvent::Kind::log   ? Token::accent
                                                                                 : Token::text2));
            QTextCharFormat mark = plain;
            mark.setForeground(themed(Token::accent));
            cursor.insertText(echo ? QString(QChar(0x203A)) + " " : "  ", mark);
            insertLinked(cursor, line, plain);
        }
        if (!atEnd && !echo) return;
        if (!m_log->textCursor().hasSelection()) { // at the end of a long line it would pull the view to the right
            cursor.movePosition(QTextCursor::StartOfBlock);
            m_log->setTextCursor(cursor);
        }
        bar->setValue(bar->maximum());
        m_log->horizontalScrollBar()->setValue(0);
    }

    void insertLinked(QTextCursor& cursor, const QString& line, const QTextCharFormat& plain)
    {
        qsizetype done = 0;
        auto matches = m_address.globalMatch(line);
        while (matches.hasNext()) {
            const QRegularExpressionMatch match = matches.next();
            cursor.insertText(line.mid(done, match.capturedStart() - done), plain);
            QTextCharFormat link = plain;
            QString target = match.captured();
            qsizetype length = target.size();
            while (length > 0 && (target[length - 1] == ':' || target[length - 1] == '.')) --length; // punctuation of the sentence
            target.truncate(length);
            QUrl url;
            url.setPath(target);
            link.setAnchor(true);
            link.setAnchorHref(url.toString(QUrl::FullyEncoded));
            link.setForeground(themed(Token::accent));
            link.setFontUnderline(false);
            cursor.insertText(target, link);
            done = match.capturedStart() + length;
        }
        cursor.insertText(line.mid(done), plain);
    }

    QTextBrowser* m_log = nullptr;
    QLineEdit* m_input = nullptr;
    QLabel* m_prompt = nullptr;
    QWidget* m_line = nullptr;
    LineCompleter* m_completer = nullptr;
    QRegularExpression m_address;
    QStringList m_history;
    QString m_typed;
    int m_recalled = -1;
    std::vector<ConsoleEvent> m_events;
};

} // namespace

Panel* makeConsolePanel(Document& document) { return new ConsolePanel(document); }

} // namespace loopscope::viewer

#include "console_panel.moc"
