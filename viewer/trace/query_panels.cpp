#include "viewer/trace/query_panels.h"

#include "viewer/style/theme.h"

#include <QAbstractItemView>
#include <QCompleter>
#include <QHBoxLayout>
#include <QKeyEvent>
#include <QRegularExpression>
#include <QScrollBar>
#include <QStringListModel>
#include <QTextBlock>
#include <QTabBar>
#include <QVBoxLayout>

namespace loopscope::viewer {

namespace {

const QStringList& keywords()
{
    static const QStringList words = QString("SELECT FROM WHERE GROUP BY ORDER LIMIT OFFSET JOIN LEFT INNER CROSS ON USING AS AND OR NOT NULL IS IN LIKE GLOB BETWEEN "
                                             "CASE WHEN THEN ELSE END DISTINCT UNION ALL EXCEPT INTERSECT WITH RECURSIVE OVER PARTITION WINDOW HAVING DESC ASC EXISTS "
                                             "VALUES CAST FILTER ROWS RANGE")
                                         .split(' ');
    return words;
}

} // namespace

std::vector<std::pair<QString, QStringList>> traceSchema(const QString& path)
{
    std::vector<std::pair<QString, QStringList>> tables;
    const auto reader = TraceReader::open(path.toStdString());
    if (!reader.ok()) return tables;
    const Result<QueryResult> rows = (*reader)->query(
        "SELECT m.name, p.name FROM sqlite_schema m, pragma_table_info(m.name) p WHERE m.type IN ('table', 'view') AND m.name NOT LIKE 'sqlite_%' "
        "ORDER BY m.type, m.name, p.cid", {});
    if (!rows.ok()) return tables;
    for (const auto& row : rows->rows) {
        const QString table = QString::fromStdString(sqlText(row[0]));
        if (tables.empty() || tables.back().first != table) tables.emplace_back(table, QStringList());
        tables.back().second << QString::fromStdString(sqlText(row[1]));
    }
    return tables;
}

RecipesPanel::RecipesPanel(Document& document) : Panel(document, "panelRecipes", QString("Recipes %1").arg(traceRecipes().size()))
{
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(0);
    auto* tabs = new QTabBar(this);
    tabs->addTab("Recipes");
    tabs->addTab("Schema");
    tabs->setObjectName("recipeTabs");
    m_filter = new QLineEdit(this);
    m_filter->setObjectName("recipeFilter");
    m_filter->setPlaceholderText(QString("Filter %1 recipes").arg(traceRecipes().size()));
    m_filter->setClearButtonEnabled(true);
    m_list = new QListWidget(this);
    m_list->setObjectName("recipeList");
    m_list->setAccessibleName("Recipes");
    m_list->setFrameShape(QFrame::NoFrame);
    m_list->setUniformItemSizes(true);
    auto* schema = new QTreeWidget(this);
    schema->setObjectName("schemaTree");
    schema->setHeaderHidden(true);
    schema->setFrameShape(QFrame::NoFrame);
    schema->hide();
    auto* field = new QHBoxLayout;
    field->setContentsMargins(6, 6, 6, 6);
    field->addWidget(m_filter);
    layout->addWidget(tabs);
    layout->addLayout(field);
    layout->addWidget(m_list);
    layout->addWidget(schema);
    fill();
    connect(m_filter, &QLineEdit::textChanged, this, &RecipesPanel::fill);
    connect(m_filter, &QLineEdit::returnPressed, this, [this] {
        if (m_list->count() > 0) open(m_list->currentItem() != nullptr ? m_list->currentItem() : m_list->item(0));
    });
    connect(m_list, &QListWidget::itemActivated, this, [this](const QListWidgetItem* item) { open(item); });
    connect(m_list, &QListWidget::itemClicked, this, [this](const QListWidgetItem* item) { open(item); });
    connect(tabs, &QTabBar::currentChanged, this, [this, schema](int index) {
        if (index == 1 && schema->topLevelItemCount() == 0)
            for (const auto& [table, columns] : traceSchema(TraceDesk::of(this->document()).path())) {
                auto* item = new QTreeWidgetItem(schema, {table});
                for (const QString& column : columns) new QTreeWidgetItem(item, {column});
            }
        schema->setVisible(index == 1);
        m_list->setVisible(index == 0);
        m_filter->setVisible(index == 0);
    });
}

void RecipesPanel::fill()
{
    const QString wanted = m_filter->text().trimmed();
    m_list->clear();
    for (const Recipe& recipe : traceRecipes()) {
        const QString name = QString::fromUtf8(recipe.name.data(), static_cast<qsizetype>(recipe.name.size()));
        const QString question = QString::fromUtf8(recipe.question.data(), static_cast<qsizetype>(recipe.question.size()));
        if (!wanted.isEmpty() && !name.contains(wanted, Qt::CaseInsensitive) && !question.contains(wanted, Qt::CaseInsensitive)) continue;
        auto* item = new QListWidgetItem(name, m_list);
        item->setToolTip(question);
        item->setSizeHint({0, Theme::instance().rowHeight()});
    }
}

void RecipesPanel::open(const QListWidgetItem* item)
{
    if (item == nullptr) return;
    const Recipe* const recipe = findRecipe(item->text().toStdString());
    if (recipe == nullptr) return;
    const auto text = [](std::string_view s) { return QString::fromUtf8(s.data(), static_cast<qsizetype>(s.size())); };
    TraceDesk::of(document()).edit(text(recipe->name), "-- " + text(recipe->name) + ": " + text(recipe->question) + "\n" + text(recipe->sql), text(recipe->parameters));
}

void SqlHighlighter::highlightBlock(const QString& text)
{
    static const QRegularExpression token(R"(--.*$|'(?:[^']|'')*'|:[A-Za-z_]\w*|[A-Za-z_]\w*)");
    QTextCharFormat word, other, comment;
    word.setForeground(themed(Token::accent));
    other.setForeground(themed(Token::ok));
    comment.setForeground(themed(Token::text3));
    for (auto it = token.globalMatch(text); it.hasNext();) {
        const QRegularExpressionMatch match = it.next();
        const QString found = match.captured();
        if (found.startsWith("--")) setFormat(static_cast<int>(match.capturedStart()), static_cast<int>(found.size()), comment);
        else if (found[0] == '\'' || found[0] == ':') setFormat(static_cast<int>(match.capturedStart()), static_cast<int>(found.size()), other);
        else if (keywords().contains(found.toUpper())) setFormat(static_cast<int>(match.capturedStart()), static_cast<int>(found.size()), word);
    }
}

SqlEditor::SqlEditor(QWidget* parent) : QPlainTextEdit(parent)
{
    setObjectName("sqlEditor");
    setAccessibleName("SQL");
    setFrameShape(QFrame::NoFrame);
    setFont(Theme::instance().font(FontUse::value));
    setTabChangesFocus(true);
    setLineWrapMode(QPlainTextEdit::WidgetWidth);
    new SqlHighlighter(document());
    m_completer = new QCompleter(QStringList(), this);
    m_completer->setWidget(this);
    m_completer->setCaseSensitivity(Qt::CaseInsensitive);
    connect(m_completer, qOverload<const QString&>(&QCompleter::activated), this, [this](const QString& word) {
        QTextCursor cursor = textCursor();
        cursor.movePosition(QTextCursor::Left, QTextCursor::KeepAnchor, static_cast<int>(wordBefore().size()));
        cursor.insertText(word);
    });
}

void SqlEditor::setWords(const QStringList& words)
{
    m_completer->setModel(new QStringListModel(words, m_completer));
}

QString SqlEditor::wordBefore() const
{
    const QString line = textCursor().block().text().left(textCursor().positionInBlock());
    qsizetype begin = line.size();
    while (begin > 0 && (line[begin - 1].isLetterOrNumber() || line[begin - 1] == '_')) --begin;
    return line.mid(begin);
}

void SqlEditor::keyPressEvent(QKeyEvent* event)
{
    const bool isReturn = event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter;
    if (isReturn && (event->modifiers() & Qt::ControlModifier) != 0) {
        emit runRequested();
        return;
    }
    if (m_completer->popup()->isVisible() && (isReturn || event->key() == Qt::Key_Escape || event->key() == Qt::Key_Tab)) {
        event->ignore();
        return;
    }
    QPlainTextEdit::keyPressEvent(event);
    const QString word = wordBefore();
    if (word.size() < 3 || event->text().isEmpty()) {
        m_completer->popup()->hide();
        return;
    }
    m_completer->setCompletionPrefix(word);
    if (m_completer->completionCount() == 0 || m_completer->currentCompletion() == word) {
        m_completer->popup()->hide();
        return;
    }
    QRect place = cursorRect();
    place.setWidth(m_completer->popup()->sizeHintForColumn(0) + m_completer->popup()->verticalScrollBar()->sizeHint().width() + 12);
    m_completer->complete(place);
}

SqlPanel::SqlPanel(Document& document) : Panel(document, "panelSql", "SQL")
{
    m_editor = new SqlEditor(this);
    QStringList words;
    for (const auto& [table, columns] : traceSchema(TraceDesk::of(document).path())) words << table << columns;
    words.removeDuplicates();
    words.sort();
    m_editor->setWords(words);
    m_run = new QPushButton("Run  Ctrl+Enter", this);
    m_run->setObjectName("sqlRun");
    m_run->setProperty("primary", true);
    m_cancel = new QPushButton("Cancel", this);
    m_cancel->setObjectName("sqlCancel");
    m_longer = new QPushButton("Let it run", this);
    m_longer->setObjectName("sqlLonger");
    m_longer->hide();
    m_message = new QLabel(this);
    m_message->setObjectName("sqlMessage");
    m_message->setWordWrap(true);
    m_message->setContentsMargins(8, 0, 8, 4);
    m_message->hide();
    auto* row = new QHBoxLayout;
    row->setContentsMargins(6, 4, 6, 4);
    row->setSpacing(8);
    for (QPushButton* button : {m_run, m_cancel, m_longer}) {
        button->setFixedHeight(26);
        row->addWidget(button);
    }
    row->addStretch(1);
    m_chips = new QHBoxLayout;
    m_chips->setSpacing(6);
    row->addLayout(m_chips);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(0);
    layout->addWidget(m_editor, 1);
    layout->addWidget(m_message);
    layout->addLayout(row);
    TraceDesk& desk = TraceDesk::of(document);
    connect(&desk, &TraceDesk::editRequested, this, &SqlPanel::show);
    connect(&desk, &TraceDesk::busyChanged, this, &SqlPanel::refreshState);
    connect(&desk, &TraceDesk::answered, this, &SqlPanel::refreshState);
    connect(m_run, &QPushButton::clicked, this, [this] { run(TraceDesk::kSeconds); });
    connect(m_longer, &QPushButton::clicked, this, [this] { run(0); });
    connect(m_cancel, &QPushButton::clicked, &desk, &TraceDesk::cancel);
    connect(m_editor, &SqlEditor::runRequested, this, [this] { run(TraceDesk::kSeconds); });
    connect(m_editor, &QPlainTextEdit::textChanged, this, [this] {
        refreshParameters();
        if (!m_name.isEmpty()) setTitle(m_editor->toPlainText() == m_original ? m_name : m_name + ", edited");
    });
    refreshState();
}

bool SqlPanel::command(const QString& id)
{
    if (id != "runQuery") return false;
    run(TraceDesk::kSeconds);
    return true;
}

void SqlPanel::show(const QString& name, const QString& sql, const QString& parameters)
{
    m_name = name;
    m_original = sql;
    m_defaults.clear();
    for (const QString& word : parameters.split(' ', Qt::SkipEmptyParts))
        if (const qsizetype at = word.indexOf('='); at > 0) m_defaults[word.left(at)] = word.mid(at + 1);
    m_editor->setPlainText(sql);
    setTitle(name);
    bool ready = true;
    for (const auto& [parameter, field] : m_fields) ready = ready && !field->text().isEmpty();
    if (ready) run(TraceDesk::kSeconds);
    else
        for (const auto& [parameter, field] : m_fields)
            if (field->text().isEmpty()) {
                field->setFocus();
                break;
            }
}

void SqlPanel::refreshParameters()
{
    const QStringList names = parametersOf(m_editor->toPlainText());
    for (auto it = m_fields.begin(); it != m_fields.end();) {
        if (names.contains(it->first)) {
            ++it;
            continue;
        }
        delete it->second->parentWidget();
        it = m_fields.erase(it);
    }
    for (const QString& name : names) {
        if (m_fields.contains(name)) continue;
        auto* chip = new QWidget(this);
        auto* row = new QHBoxLayout(chip);
        row->setContentsMargins(0, 0, 0, 0);
        row->setSpacing(3);
        auto* label = new QLabel(":" + name, chip);
        label->setFont(Theme::instance().font(FontUse::value));
        auto* field = new QLineEdit(chip);
        field->setObjectName("parameter." + name);
        field->setAccessibleName(name);
        field->setFont(Theme::instance().font(FontUse::value));
        QString value = m_defaults.contains(name) ? m_defaults[name] : QString();
        if (const TraceReader* const trace = document().backend().trace(); trace != nullptr && name == "run" && trace->defaultRun() != nullptr && value.isEmpty())
            value = QString::number(trace->defaultRun()->id);
        if (name == "op" && value.isEmpty()) value = QString::fromStdString(document().selection().address);
        if (name == "limit" && value.isEmpty()) value = "100";
        field->setText(value);
        field->setFixedWidth(std::clamp(field->fontMetrics().horizontalAdvance(value) + 18, 44, 190));
        connect(field, &QLineEdit::returnPressed, this, [this] { run(TraceDesk::kSeconds); });
        row->addWidget(label);
        row->addWidget(field);
        m_chips->addWidget(chip);
        m_fields[name] = field;
    }
}

void SqlPanel::run(double seconds)
{
    QueryParameters parameters;
    for (const auto& [name, field] : m_fields) parameters[name.toStdString()] = field->text().toStdString();
    TraceDesk::of(document()).run(m_editor->toPlainText(), parameters, seconds);
}

void SqlPanel::refreshState()
{
    const TraceDesk& desk = TraceDesk::of(document());
    const auto answer = desk.answer();
    m_run->setEnabled(!desk.busy() && !desk.path().isEmpty());
    m_cancel->setEnabled(desk.busy());
    m_longer->setVisible(!desk.busy() && answer->timedOut);
    QString text = desk.path().isEmpty() ? "no recording is open" : desk.busy() ? QString() : answer->problem;
    QPalette palette = m_message->palette();
    palette.setColor(QPalette::WindowText, themed(desk.path().isEmpty() ? Token::text3 : answer->timedOut ? Token::warn : Token::err));
    m_message->setPalette(palette);
    m_message->setText(text);
    m_message->setVisible(!text.isEmpty());
}

Panel* makeRecipesPanel(Document& document)
{
    return new RecipesPanel(document);
}

Panel* makeSqlPanel(Document& document)
{
    return new SqlPanel(document);
}

} // namespace loopscope::viewer
