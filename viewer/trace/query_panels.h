// The panels of recipes and SQL, private to this folder.
#pragma once

#include "viewer/trace/query_tabs.h"
#include "viewer/trace/trace_desk.h"
#include "viewer/trace/trace_panels.h"
#include "viewer/widgets/flow_layout.h"

#include <QAction>
#include <QLabel>
#include <QLineEdit>
#include <QListWidget>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QSyntaxHighlighter>
#include <QTreeWidget>

#include <map>
#include <utility>
#include <vector>

class QCompleter;

namespace loopscope::viewer {

/// Recipes under their topics, one's own first.
class RecipesPanel final : public Panel {
    Q_OBJECT
public:
    explicit RecipesPanel(Document& document);
    QWidget* focusTarget() override { return m_filter; }
    QJsonObject state() const override; ///< one's own recipes
    void setState(const QJsonObject& state) override;

protected:
    bool eventFilter(QObject* watched, QEvent* event) override; ///< Delete forgets a recipe of one's own

private:
    void fill();
    void open(const QListWidgetItem* item);
    void mark(const QString& name); ///< as the one that the editor shows
    QLineEdit* m_filter = nullptr;
    QListWidget* m_list = nullptr;
};

/// Tables and views of the recording with their columns; read when it is first shown.
class SchemaPanel final : public Panel {
    Q_OBJECT
public:
    explicit SchemaPanel(Document& document);
    QWidget* focusTarget() override { return m_tree; }
    bool settled() const override { return !m_reading; }

protected:
    void showEvent(QShowEvent* event) override;

private:
    QTreeWidget* m_tree = nullptr;
    bool m_reading = false, m_isRead = false;
    Background m_reader;
};

class SqlHighlighter final : public QSyntaxHighlighter {
    Q_OBJECT
public:
    using QSyntaxHighlighter::QSyntaxHighlighter;

protected:
    void highlightBlock(const QString& text) override;
};

/// The editor, with completion from the schema.
class SqlEditor final : public QPlainTextEdit {
    Q_OBJECT
public:
    explicit SqlEditor(QWidget* parent);
    void setWords(const QStringList& words);

signals:
    void runRequested();

protected:
    void keyPressEvent(QKeyEvent* event) override;

private:
    QString wordBefore() const;
    QCompleter* m_completer = nullptr;
};

class SqlPanel final : public Panel {
    Q_OBJECT
public:
    explicit SqlPanel(Document& document);
    QWidget* focusTarget() override { return m_editor; }
    QList<QAction*> headActions() override { return {m_add}; }
    bool settled() const override;
    bool command(const QString& id) override;
    QJsonObject state() const override; ///< the queries, once somebody has chosen or changed one
    void setState(const QJsonObject& state) override;

private:
    void begin();
    void makeTabs();
    QJsonObject query() const; ///< as it stands in the editor
    void setQuery(const QJsonObject& query);
    void name(const QString& title);
    void show(const QString& name, const QString& sql, const QString& parameters);
    void set(const QString& name, const QString& original, const QString& sql, std::map<QString, QString> parameters);
    bool isReady() const; ///< every parameter has a value
    void touch();
    void refreshParameters();
    void run(double seconds);
    void askName();
    void keep();
    void refreshState();
    QueryTabs* m_tabs = nullptr;
    QAction* m_add = nullptr; ///< another query in a tab of its own
    SqlEditor* m_editor = nullptr;
    QPushButton *m_run = nullptr, *m_cancel = nullptr, *m_longer = nullptr, *m_keep = nullptr;
    QLineEdit* m_keepName = nullptr; ///< asked for in its place
    QLabel* m_message = nullptr;
    FlowLayout* m_row = nullptr; ///< buttons, then a chip for each parameter
    std::map<QString, QLineEdit*> m_fields;
    std::map<QString, QString> m_defaults;
    QString m_name, m_original;
    bool m_isChosen = false;  ///< what the editor holds is a person's choice, not what the panel began with
    bool m_isSetting = false; ///< set() is at work
    bool m_isBeginning = false;
    Background m_reader; ///< of the schema's words
    Background m_beginner;
};

/// Tables and views of a trace with their columns.
std::vector<std::pair<QString, QStringList>> traceSchema(const QString& path);

} // namespace loopscope::viewer
