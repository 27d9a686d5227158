#include "viewer/trace/query_panels.h"

#include "tracer/api/sql_layout.h"
#include "viewer/bridge/text.h"
#include "viewer/style/theme.h"
#include "viewer/trace/opening_query.h"

#include <QAbstractItemView>
#include <QCompleter>
#include <QHBoxLayout>
#include <QJsonArray>
#include <QJsonObject>
#include <QKeyEvent>
#include <QRegularExpression>
#include <QScrollBar>
#include <QStringListModel>
#include <QTextBlock>
#include <QVBoxLayout>

namespace loopscope::viewer {

namespace {

const QStringList& keywords()
{
    static const QStringList words =
        QString("SELECT FROM WHERE GROUP BY ORDER LIMIT OFFSET JOIN LEFT INNER CROSS ON USING AS AND OR NOT NULL IS IN LIKE GLOB BETWEEN "
                "CASE WHEN THEN ELSE END DISTINCT UNION ALL EXCEPT INTERSECT WITH RECURSIVE OVER PARTITION WINDOW HAVING DESC ASC EXISTS "
                "VALUES CAST FILTER ROWS RANGE")
            .split(' ');
    return words;
}

/// As the editor shows it, with its question above.
QString sqlOf(const Recipe& recipe)
{
    return "-- " + toText(recipe.name) + ": " + toText(recipe.question) + "\n" + toText(laidOutSql(recipe.sql));
}

void setField(QLineEdit& field, const QString& value)
{
    field.setText(value);
    field.setCursorPosition(0); // the beginning of a long address is seen
    field.setToolTip(value);
    field.setFixedWidth(std::clamp(field.fontMetrics().horizontalAdvance(value) + 22, 44, Theme::instance().barHeight(220)));
}

} // namespace

std::vector<std::pair<QString, QStringList>> traceSchema(const QString& path)
{
    std::vector<std::pair<QString, QStringList>> tables;
    const auto reader = TraceReader::open(path.toStdString());
    if (!reader.ok()) return tables;
    const Result<QueryResult> names = (*reader)->query(
        "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite_%' ORDER BY type, name", {});
    if (!names.ok()) return tables;
    for (const auto& row : names->rows) { // pragmas are no reading
        const Result<QueryResult> empty = (*reader)->query("SELECT * FROM \"" + sqlText(row[0]) + "\" LIMIT 0", {});
        if (!empty.ok()) continue;
        tables.emplace_back(QString::fromStdString(sqlText(row[0])), QStringList());
        for (const std::string& column : empty->columns) tables.back().second << QString::fromStdString(column);
    }
    return tables;
}

RecipesPanel::RecipesPanel(Document& document) : Panel(document, "panelRecipes", QString("Recipes %1").arg(traceRecipes().size()))
{
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(0);
    m_filter = new QLineEdit(this);
    m_filter->setObjectName("recipeFilter");
    m_filter->setAccessibleName("Filter of the recipes");
    m_filter->setPlaceholderText(QString("Filter %1 recipes").arg(traceRecipes().size()));
    m_filter->setClearButtonEnabled(true);
    m_list = new QListWidget(this);
    m_list->setObjectName("recipeList");
    m_list->setAccessibleName("Recipes");
    m_list->setFrameShape(QFrame::NoFrame);
    m_list->setUniformItemSizes(true);
    m_list->installEventFilter(this);
    auto* field = new QHBoxLayout;
    field->setContentsMargins(6, 6, 6, 6);
    field->addWidget(m_filter);
    layout->addLayout(field);
    layout->addWidget(m_list);
    fill();
    connect(m_filter, &QLineEdit::textChanged, this, &RecipesPanel::fill);
    connect(m_filter, &QLineEdit::returnPressed, this, [this] {
        for (int row = 0; row < m_list->count(); ++row)
            if (m_list->item(row)->flags().testFlag(Qt::ItemIsSelectable) && (m_list->currentRow() < 0 || m_list->currentRow() == row))
                return open(m_list->item(row));
    });
    connect(m_list, &QListWidget::itemActivated, this, [this](const QListWidgetItem* item) { open(item); });
    connect(m_list, &QListWidget::itemClicked, this, [this](const QListWidgetItem* item) { open(item); });
    connect(&TraceDesk::of(document), &TraceDesk::recipesChanged, this, &RecipesPanel::fill);
    connect(&TraceDesk::of(document), &TraceDesk::shown, this, &RecipesPanel::mark);
    connect(&Theme::instance(), &Theme::changed, this, &RecipesPanel::fill);
}

void RecipesPanel::fill()
{
    const QString wanted = m_filter->text().trimmed();
    m_list->clear();
    const auto matches = [&](const QString& name, const QString& question) {
        return wanted.isEmpty() || name.contains(wanted, Qt::CaseInsensitive) || question.contains(wanted, Qt::CaseInsensitive);
    };
    const auto add = [this](const QString& name, const QString& tip) {
        auto* item = new QListWidgetItem("   " + name, m_list);
        item->setData(Qt::UserRole, name);
        item->setToolTip(tip);
        item->setSizeHint({0, Theme::instance().rowHeight()});
    };
    const auto section = [this](const QString& title) {
        auto* item = new QListWidgetItem(title, m_list);
        item->setFlags(Qt::ItemIsEnabled);
        item->setFont(Theme::instance().font(FontUse::body, true));
        item->setForeground(themed(Token::text));
        item->setBackground(themed(Token::raised));
        item->setSizeHint({0, Theme::instance().rowHeight()});
    };
    bool headed = false;
    for (const OwnRecipe& recipe : TraceDesk::of(document()).ownRecipes()) {
        if (!matches(recipe.name, recipe.sql)) continue;
        if (!std::exchange(headed, true)) section("Own");
        add(recipe.name, "Delete forgets it");
    }
    for (const std::string_view topic : recipeTopics()) {
        headed = false;
        for (const Recipe& recipe : traceRecipes()) {
            if (recipe.topic() != topic || !matches(toText(recipe.name), toText(recipe.question))) continue;
            if (!std::exchange(headed, true)) section(toText(topic));
            add(toText(recipe.name), toText(recipe.question));
        }
    }
}

void RecipesPanel::open(const QListWidgetItem* item)
{
    if (item == nullptr || !item->flags().testFlag(Qt::ItemIsSelectable)) return;
    const QString name = item->data(Qt::UserRole).toString();
    TraceDesk& desk = TraceDesk::of(document());
    for (const OwnRecipe& own : desk.ownRecipes())
        if (own.name == name) return desk.edit(own.name, own.sql, own.parameters);
    if (const Recipe* const recipe = findRecipe(name.toStdString())) desk.edit(name, sqlOf(*recipe), toText(recipe->parameters));
}

void RecipesPanel::mark(const QString& name)
{
    for (int row = 0; row < m_list->count(); ++row)
        if (m_list->item(row)->data(Qt::UserRole).toString() == name) {
            m_list->setCurrentRow(row);
            m_list->scrollToItem(m_list->item(row));
        }
}

bool RecipesPanel::eventFilter(QObject* watched, QEvent* event)
{
    if (watched == m_list && event->type() == QEvent::KeyPress && static_cast<QKeyEvent*>(event)->key() == Qt::Key_Delete &&
        m_list->currentItem() != nullptr) {
        TraceDesk::of(document()).forget(m_list->currentItem()->data(Qt::UserRole).toString());
        return true;
    }
    return Panel::eventFilter(watched, event);
}

QJsonObject RecipesPanel::state() const
{
    QJsonArray own;
    auto& desk =
        TraceDesk::of(const_cast<RecipesPanel*>(this)->document()); // NOLINT(cppcoreguidelines-pro-type-const-cast): Panel has one accessor
    for (const OwnRecipe& recipe : desk.ownRecipes())
        own.append(QJsonObject{{"name", recipe.name}, {"sql", recipe.sql}, {"parameters", recipe.parameters}});
    return own.isEmpty() ? QJsonObject() : QJsonObject{{"own", own}};
}

void RecipesPanel::setState(const QJsonObject& state)
{
    std::vector<OwnRecipe> own;
    for (const QJsonValue& value : state["own"].toArray()) {
        const QJsonObject recipe = value.toObject();
        if (!recipe["name"].toString().isEmpty())
            own.push_back({recipe["name"].toString(), recipe["sql"].toString(), recipe["parameters"].toString()});
    }
    TraceDesk::of(document()).setOwnRecipes(std::move(own));
}

SchemaPanel::SchemaPanel(Document& document) : Panel(document, "panelSchema", "Schema")
{
    m_tree = new QTreeWidget(this);
    m_tree->setObjectName("schemaTree");
    m_tree->setAccessibleName("Tables and views");
    m_tree->setHeaderHidden(true);
    m_tree->setFrameShape(QFrame::NoFrame);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->addWidget(m_tree);
}

void SchemaPanel::showEvent(QShowEvent* event)
{
    Panel::showEvent(event);
    if (std::exchange(m_isRead, true)) return;
    m_reading = true;
    m_reader.run([path = TraceDesk::of(document()).path()](std::stop_token) { return traceSchema(path); },
                 [this](const std::vector<std::pair<QString, QStringList>>& tables) {
                     m_reading = false;
                     for (const auto& [table, columns] : tables) {
                         auto* item = new QTreeWidgetItem(m_tree, {table});
                         for (const QString& column : columns) new QTreeWidgetItem(item, {column});
                     }
                 });
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
        else if (found[0] == '\'' || found[0] == ':')
            setFormat(static_cast<int>(match.capturedStart()), static_cast<int>(found.size()), other);
        else if (keywords().contains(found.toUpper()))
            setFormat(static_cast<int>(match.capturedStart()), static_cast<int>(found.size()), word);
    }
}

SqlEditor::SqlEditor(QWidget* parent) : QPlainTextEdit(parent)
{
    setObjectName("sqlEditor");
    setAccessibleName("SQL");
    setFrameShape(QFrame::NoFrame);
    Theme::instance().wear(*this, FontUse::value);
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

void SqlEditor::setWords(const QStringList& words) { m_completer->setModel(new QStringListModel(words, m_completer)); }

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
    m_reader.run([path = TraceDesk::of(document).path()](std::stop_token) { return traceSchema(path); },
                 [this](const std::vector<std::pair<QString, QStringList>>& tables) {
                     QStringList words;
                     for (const auto& [table, columns] : tables) words << table << columns;
                     words.removeDuplicates();
                     words.sort();
                     m_editor->setWords(words);
                 });
    m_run = new QPushButton("Run  Ctrl+Enter", this);
    m_run->setObjectName("sqlRun");
    m_run->setProperty("primary", true);
    m_cancel = new QPushButton("Cancel", this);
    m_cancel->setObjectName("sqlCancel");
    m_longer = new QPushButton("Let it run", this);
    m_longer->setObjectName("sqlLonger");
    m_longer->hide();
    m_keep = new QPushButton("Save as recipe", this);
    m_keep->setObjectName("sqlKeep");
    m_keep->setToolTip("Keeps the query in the list of recipes, for this recording");
    m_keepName = new QLineEdit(this);
    m_keepName->setObjectName("sqlKeepName");
    m_keepName->setAccessibleName("Name of the recipe");
    m_keepName->setPlaceholderText("name, then Return");
    m_keepName->hide();
    m_message = new QLabel(this);
    m_message->setObjectName("sqlMessage");
    m_message->setWordWrap(true);
    m_message->setContentsMargins(8, 0, 8, 4);
    m_message->hide();
    m_row = new FlowLayout(8);
    m_row->setContentsMargins(6, 4, 6, 4);
    for (QWidget* widget : std::initializer_list<QWidget*>{m_run, m_cancel, m_longer, m_keep, m_keepName}) m_row->addWidget(widget);
    const auto grow = [this] {
        for (QWidget* widget : std::initializer_list<QWidget*>{m_run, m_cancel, m_longer, m_keep, m_keepName})
            widget->setFixedHeight(Theme::instance().barHeight(26));
        for (const auto& [name, field] : m_fields) setField(*field, field->text());
    };
    grow();
    connect(&Theme::instance(), &Theme::changed, this, grow);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(0);
    makeTabs();
    layout->addWidget(m_tabs);
    layout->addWidget(m_editor, 1);
    layout->addWidget(m_message);
    layout->addLayout(m_row);
    TraceDesk& desk = TraceDesk::of(document);
    connect(&desk, &TraceDesk::editRequested, this, &SqlPanel::show);
    connect(&desk, &TraceDesk::busyChanged, this, &SqlPanel::refreshState);
    connect(&desk, &TraceDesk::answered, this, &SqlPanel::refreshState);
    connect(m_run, &QPushButton::clicked, this, [this] { run(TraceDesk::kSeconds); });
    connect(m_longer, &QPushButton::clicked, this, [this] { run(0); });
    connect(m_cancel, &QPushButton::clicked, &desk, &TraceDesk::cancel);
    connect(m_keep, &QPushButton::clicked, this, &SqlPanel::askName);
    connect(m_keepName, &QLineEdit::returnPressed, this, &SqlPanel::keep);
    connect(m_keepName, &QLineEdit::editingFinished, this, [this] {
        m_keepName->hide();
        m_keep->show();
    });
    connect(m_editor, &SqlEditor::runRequested, this, [this] { run(TraceDesk::kSeconds); });
    connect(m_editor, &QPlainTextEdit::textChanged, this, [this] {
        refreshParameters();
        refreshState();
        if (!m_name.isEmpty()) name(m_editor->toPlainText() == m_original ? m_name : m_name + ", edited");
        touch();
    });
    refreshState();
    if (!desk.path().isEmpty()) begin();
}

/// With a recipe that has something to show, unless somebody was faster.
void SqlPanel::begin()
{
    m_isBeginning = true;
    m_beginner.run([&model = document().model(), path = TraceDesk::of(document()).path().toStdString()](
                       std::stop_token stop) { return openingQuery(model, path, std::move(stop)); },
                   [this](const OpeningQuery& opening) {
                       m_isBeginning = false;
                       const Recipe* const recipe = findRecipe(opening.recipe);
                       if (recipe == nullptr || m_isChosen || !m_editor->toPlainText().isEmpty()) return;
                       std::map<QString, QString> parameters;
                       for (const auto& [name, value] : opening.parameters)
                           parameters[QString::fromStdString(name)] = QString::fromStdString(value);
                       set(toText(recipe->name), sqlOf(*recipe), sqlOf(*recipe), std::move(parameters));
                       emit TraceDesk::of(document()).shown(m_name);
                       run(TraceDesk::kSeconds);
                   });
}

bool SqlPanel::settled() const
{
    return !m_isBeginning && !TraceDesk::of(const_cast<SqlPanel*>(this)->document())
                                  .busy(); // NOLINT(cppcoreguidelines-pro-type-const-cast): Panel has one accessor
}

void SqlPanel::touch()
{
    if (m_isSetting) return;
    m_isChosen = true;
    emit stateChanged();
}

QJsonObject SqlPanel::state() const
{
    if (!m_isChosen || m_editor->toPlainText().trimmed().isEmpty()) return {};
    QJsonObject state = query();
    if (m_tabs->count() < 2) return state;
    m_tabs->keep(state);
    state["tabs"] = m_tabs->all();
    state["tab"] = m_tabs->current();
    return state;
}

void SqlPanel::setState(const QJsonObject& state)
{
    m_tabs->setAll(state["tabs"].toArray(), state["tab"].toInt());
    setQuery(state);
}

void SqlPanel::setQuery(const QJsonObject& state)
{
    const QString name = state["name"].toString(), sql = state["sql"].toString();
    if (sql.trimmed().isEmpty()) return;
    QString original;
    if (const Recipe* const recipe = findRecipe(name.toStdString())) original = sqlOf(*recipe);
    for (const OwnRecipe& own : TraceDesk::of(document()).ownRecipes())
        if (own.name == name) original = own.sql;
    std::map<QString, QString> parameters;
    const QJsonObject kept = state["parameters"].toObject();
    for (const QString& parameter : kept.keys()) parameters[parameter] = kept[parameter].toString();
    set(name, original, sql, std::move(parameters));
    emit TraceDesk::of(document()).shown(name);
    m_isChosen = true;
    if (isReady()) run(TraceDesk::kSeconds);
}

bool SqlPanel::command(const QString& id)
{
    if (id.startsWith("recipe ")) {
        const QString name = id.mid(7);
        const Recipe* const recipe = findRecipe(name.toStdString());
        if (recipe != nullptr) show(name, sqlOf(*recipe), toText(recipe->parameters));
        return recipe != nullptr;
    }
    if (id != "runQuery") return false;
    run(TraceDesk::kSeconds);
    return true;
}

void SqlPanel::show(const QString& name, const QString& sql, const QString& parameters)
{
    std::map<QString, QString> defaults;
    for (const QString& word : parameters.split(' ', Qt::SkipEmptyParts))
        if (const qsizetype at = word.indexOf('='); at > 0) defaults[word.left(at)] = word.mid(at + 1);
    set(name, sql, sql, std::move(defaults));
    emit TraceDesk::of(document()).shown(name);
    touch();
    if (isReady()) run(TraceDesk::kSeconds);
    else
        for (const auto& [parameter, field] : m_fields)
            if (field->text().isEmpty()) {
                field->setFocus();
                break;
            }
}

void SqlPanel::set(const QString& name, const QString& original, const QString& sql, std::map<QString, QString> parameters)
{
    m_isSetting = true;
    m_name = name;
    m_original = original;
    m_defaults = std::move(parameters);
    m_editor->setPlainText(sql);
    this->name(name.isEmpty() ? QString("SQL") : sql == original ? name : name + ", edited");
    for (const auto& [parameter, field] : m_fields) // those that the text before had, too
        if (const auto value = m_defaults.find(parameter); value != m_defaults.end()) setField(*field, value->second);
    m_isSetting = false;
}

bool SqlPanel::isReady() const
{
    return std::ranges::none_of(m_fields, [](const auto& each) { return each.second->text().isEmpty(); });
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
        Theme::instance().wear(*label, FontUse::value);
        auto* field = new QLineEdit(chip);
        field->setObjectName("parameter." + name);
        field->setAccessibleName(name);
        Theme::instance().wear(*field, FontUse::value);
        QString value = m_defaults.contains(name) ? m_defaults[name] : QString();
        if (const TraceReader* const trace = document().backend().trace();
            trace != nullptr && name == "run" && trace->defaultRun() != nullptr && value.isEmpty())
            value = QString::number(trace->defaultRun()->id);
        if (name == "op" && value.isEmpty()) value = QString::fromStdString(document().selection().address);
        if (name == "limit" && value.isEmpty()) value = "100";
        setField(*field, value);
        connect(field, &QLineEdit::textEdited, this, &SqlPanel::touch);
        connect(field, &QLineEdit::returnPressed, this, [this] { run(TraceDesk::kSeconds); });
        row->addWidget(label);
        row->addWidget(field);
        m_fields[name] = field;
    }
    for (const QString& name : names) { // in the order of the text
        QWidget* const chip = m_fields[name]->parentWidget();
        m_row->removeWidget(chip);
        m_row->addWidget(chip);
    }
}

void SqlPanel::run(double seconds)
{
    QueryParameters parameters;
    for (const auto& [name, field] : m_fields) parameters[name.toStdString()] = field->text().toStdString();
    TraceDesk::of(document()).run(m_editor->toPlainText(), parameters, seconds);
}

void SqlPanel::askName()
{
    const bool isOwn = findRecipe(m_name.toStdString()) == nullptr;
    m_keepName->setText(m_name.isEmpty() ? QString("my-query") : isOwn ? m_name : "my-" + m_name);
    m_keep->hide();
    m_keepName->show();
    m_keepName->setFocus();
    m_keepName->selectAll();
}

/// The query under its name, with the parameters as they stand.
void SqlPanel::keep()
{
    const QString name = m_keepName->text().trimmed().replace(' ', '-');
    if (name.isEmpty()) return;
    if (findRecipe(name.toStdString()) != nullptr) {
        m_message->setText(name + " is a recipe of the program: choose another name");
        m_message->show();
        return;
    }
    QStringList parameters;
    for (const auto& [parameter, field] : m_fields) parameters << parameter + "=" + field->text();
    m_name = name;
    m_original = m_editor->toPlainText();
    this->name(name);
    TraceDesk::of(document()).keep({name, m_original, parameters.join(' ')});
    m_editor->setFocus();
    refreshState();
}

void SqlPanel::refreshState()
{
    const TraceDesk& desk = TraceDesk::of(document());
    const auto answer = desk.answer();
    m_run->setEnabled(!desk.busy() && !desk.path().isEmpty());
    m_cancel->setEnabled(desk.busy());
    m_keep->setEnabled(!desk.path().isEmpty() && !m_editor->toPlainText().trimmed().isEmpty() && m_editor->toPlainText() != m_original);
    m_longer->setVisible(!desk.busy() && answer->timedOut);
    QString text = desk.path().isEmpty() ? "no recording is open" : desk.busy() ? QString() : answer->problem;
    QPalette palette = m_message->palette();
    palette.setColor(QPalette::WindowText, themed(desk.path().isEmpty() ? Token::text3 : answer->timedOut ? Token::warn : Token::err));
    m_message->setPalette(palette);
    m_message->setText(text);
    m_message->setVisible(!text.isEmpty());
}

Panel* makeRecipesPanel(Document& document) { return new RecipesPanel(document); }

Panel* makeSchemaPanel(Document& document) { return new SchemaPanel(document); }

Panel* makeSqlPanel(Document& document) { return new SqlPanel(document); }

} // namespace loopscope::viewer
