// Watches and variables: expressions, and what the frame in view holds.
#include "engine/debug/inspect/value_line.h"
#include "viewer/panels/common.h"
#include "viewer/panels/panels.h"
#include "viewer/style/icons.h"
#include "viewer/widgets/parts.h"

#include <QAbstractItemModel>
#include <QJsonArray>
#include <QKeyEvent>
#include <QLineEdit>
#include <QVBoxLayout>

#include <algorithm>

namespace loopscope::viewer {

namespace {

constexpr size_t kMostVariables = 2000;

struct Shown {
    QString text;
    bool failed = false, abnormal = false, changed = false, absent = false;
};

Shown shownOf(const EvaluatedValue& value)
{
    Shown shown;
    shown.absent = value.absence != Absence::present;
    Array storage;
    if (const std::optional<Tensor> elements = shown.absent ? std::nullopt : elementsOf(value, storage)) {
        const InlineValue line = firstElements(*elements, 3);
        shown.text = onScreen(line.text);
        shown.abnormal = line.abnormal;
    } else {
        shown.text = onScreen(bareText(value, {}));
    }
    return shown;
}

Shown evaluated(Debugger& debugger, FrameContext frame, const std::string& expression)
{
    const auto values = evaluateList(debugger.target(), frame, expression);
    if (!values.ok()) return {toText(values.error().message()), true, false, false, false};
    Shown all;
    for (const EvaluatedValue& value : *values) {
        const Shown one = shownOf(value);
        all.text += (all.text.isEmpty() ? "" : ", ") + one.text;
        all.abnormal = all.abnormal || one.abnormal;
        all.absent = all.absent || one.absent;
    }
    return all;
}

QVariant valueCell(const Shown& shown, int role)
{
    switch (role) {
    case Qt::DisplayRole:
    case Qt::ToolTipRole:
        return shown.text;
    case Qt::TextAlignmentRole:
        return static_cast<int>((shown.failed ? Qt::AlignLeft : Qt::AlignRight) | Qt::AlignVCenter);
    case monoRole:
        return true;
    case boldRole:
        return shown.changed;
    case toneRole:
        return static_cast<int>(shown.failed || shown.abnormal ? Tone::err : shown.absent ? Tone::text3 : Tone::text);
    default:
        return {};
    }
}

class WatchModel : public QAbstractTableModel {
    Q_OBJECT
public:
    explicit WatchModel(QObject* parent) : QAbstractTableModel(parent) {}

    void add(const QString& expression)
    {
        beginInsertRows({}, rowCount(), rowCount());
        m_rows.push_back({expression, {}});
        endInsertRows();
    }
    void remove(int row)
    {
        beginRemoveRows({}, row, row);
        m_rows.erase(m_rows.begin() + row);
        endRemoveRows();
    }
    QStringList expressions() const
    {
        QStringList all;
        for (const Row& row : m_rows) all << row.expression;
        return all;
    }
    void setExpressions(const QStringList& expressions)
    {
        beginResetModel();
        m_rows.clear();
        for (const QString& expression : expressions) m_rows.push_back({expression, {}});
        endResetModel();
    }
    void setValues(const std::vector<Shown>& values)
    {
        if (values.size() != m_rows.size() || m_rows.empty()) return;
        for (size_t i = 0; i < values.size(); ++i) {
            const QString before = m_rows[i].shown.text;
            m_rows[i].shown = values[i];
            m_rows[i].shown.changed = !before.isEmpty() && before != values[i].text && !values[i].failed;
        }
        emit dataChanged(index(0, 0), index(rowCount() - 1, 1));
    }

    int rowCount(const QModelIndex& parent = {}) const override { return parent.isValid() ? 0 : static_cast<int>(m_rows.size()); }
    int columnCount(const QModelIndex& parent = {}) const override { return parent.isValid() ? 0 : 2; }
    Qt::ItemFlags flags(const QModelIndex& index) const override
    {
        return index.column() == 0 ? QAbstractTableModel::flags(index) | Qt::ItemIsEditable : QAbstractTableModel::flags(index);
    }
    QVariant headerData(int section, Qt::Orientation orientation, int role) const override
    {
        if (orientation != Qt::Horizontal) return {};
        if (role == Qt::TextAlignmentRole && section == 1) return static_cast<int>(Qt::AlignRight);
        return role == Qt::DisplayRole ? QVariant(section == 0 ? "Expression" : "Value") : QVariant();
    }
    QVariant data(const QModelIndex& index, int role) const override
    {
        if (!index.isValid()) return {};
        const Row& row = m_rows[static_cast<size_t>(index.row())];
        if (index.column() == 1) return valueCell(row.shown, role);
        if (role == Qt::DisplayRole || role == Qt::EditRole) return row.expression;
        return role == monoRole ? QVariant(true) : QVariant();
    }
    bool setData(const QModelIndex& index, const QVariant& value, int role) override
    {
        const QString expression = value.toString().trimmed();
        if (role != Qt::EditRole || index.column() != 0 || expression.isEmpty()) return false;
        m_rows[static_cast<size_t>(index.row())] = {expression, {}};
        emit dataChanged(index, index.siblingAtColumn(1));
        emit edited();
        return true;
    }

signals:
    void edited();

private:
    struct Row {
        QString expression;
        Shown shown;
    };
    std::vector<Row> m_rows;
};

class WatchesPanel : public Panel {
    Q_OBJECT
public:
    explicit WatchesPanel(Document& document) : Panel(document, "panelWatches", "Watches"), m_model(this)
    {
        auto* column = new QVBoxLayout(this);
        column->setContentsMargins(0, 0, 0, 0);
        column->setSpacing(0);
        m_view = new RowView("watchTable", "Watches");
        m_view->setModel(&m_model);
        m_view->setColumnWidths({120});
        m_view->installEventFilter(this);
        m_stack = new EmptyStack(m_view, this);
        m_field = new QLineEdit(this);
        m_field->setObjectName("watchField");
        m_field->setAccessibleName("New watch expression");
        m_field->setPlaceholderText("Add an expression");
        column->addWidget(m_stack, 1);
        column->addWidget(m_field);
        m_add = new QAction("+", this);
        m_add->setToolTip("Add an expression");
        connect(m_add, &QAction::triggered, this, [this] { m_field->setFocus(); });
        connect(m_field, &QLineEdit::returnPressed, this, [this] {
            const QString text = m_field->text().trimmed();
            if (text.isEmpty()) return;
            m_field->clear();
            add(text);
        });
        connect(m_view, &RowView::chosen, this, [this](const QModelIndex& index) { m_view->edit(index.siblingAtColumn(0)); });
        connect(&m_model, &WatchModel::edited, this, &WatchesPanel::changed);
        connect(&document, &Document::stopChanged, this, &WatchesPanel::refresh);
        connect(&document, &Document::frameChanged, this, &WatchesPanel::refresh);
        connect(&document.bridge(), &DebugBridge::console, this, [this](const ConsoleEvent& event) {
            // `display` in the console is a watch here, too.
            const QString line = toText(event.text).trimmed();
            if (event.kind != ConsoleEvent::Kind::echo || !(line.startsWith("display ") || line.startsWith("disp "))) return;
            const QString expression = line.section(' ', 1).trimmed();
            if (!expression.isEmpty() && !m_model.expressions().contains(expression)) add(expression);
        });
        connect(&Theme::instance(), &Theme::changed, this, &WatchesPanel::restyle);
        restyle();
        refresh();
    }

    QWidget* focusTarget() override { return m_model.rowCount() == 0 ? static_cast<QWidget*>(m_field) : m_view; }
    QList<QAction*> headActions() override { return {m_add}; }
    QJsonObject state() const override
    {
        return m_model.rowCount() == 0 ? QJsonObject() : QJsonObject{{"watches", QJsonArray::fromStringList(m_model.expressions())}};
    }
    void setState(const QJsonObject& state) override
    {
        QStringList expressions;
        for (const QJsonValue& each : state["watches"].toArray()) expressions.append(each.toString());
        m_model.setExpressions(expressions);
        changed();
    }

    bool command(const QString& name) override
    {
        if (name != "watchExpression") return false;
        m_field->setFocus();
        return true;
    }

protected:
    bool eventFilter(QObject* watched, QEvent* event) override
    {
        if (event->type() == QEvent::KeyPress && m_view->currentIndex().isValid()) {
            const auto* key = static_cast<QKeyEvent*>(event);
            if (key->key() == Qt::Key_Delete) {
                m_model.remove(m_view->currentIndex().row());
                changed();
                return true;
            }
            if (key->key() == Qt::Key_F2) {
                m_view->edit(m_view->currentIndex().siblingAtColumn(0));
                return true;
            }
        }
        return Panel::eventFilter(watched, event);
    }

private:
    void restyle()
    {
        const QFont font = Theme::instance().font(FontUse::value);
        m_field->setFont(font);
        m_field->setStyleSheet(QString("font-size: %1px;").arg(font.pixelSize())); // an application style sheet would keep the old size
    }

    void add(const QString& expression)
    {
        m_model.add(expression);
        changed();
    }

    void changed()
    {
        refresh();
        emit stateChanged();
    }

    void refresh()
    {
        if (m_model.rowCount() == 0) {
            m_stack->showEmpty("Type an expression, for example max(abs(add_1)).");
            return;
        }
        m_stack->showContent();
        const QStringList expressions = m_model.expressions();
        const int depth = frameInView(document());
        if (depth < 0) {
            m_model.setValues(std::vector<Shown>(static_cast<size_t>(expressions.size()), Shown{"no run yet", false, false, false, true}));
            return;
        }
        document().bridge().ask(
            this, "watches",
            [expressions, depth, tick = document().stop()->tick](Debugger& debugger) {
                std::vector<Shown> values;
                if (debugger.timeline().tick() != tick) return values;
                for (const QString& expression : expressions) values.push_back(evaluated(debugger, {depth}, expression.toStdString()));
                return values;
            },
            [this](const std::vector<Shown>& values) { m_model.setValues(values); });
    }

    WatchModel m_model;
    RowView* m_view = nullptr;
    EmptyStack* m_stack = nullptr;
    QLineEdit* m_field = nullptr;
    QAction* m_add = nullptr;
};

class VariableModel : public QAbstractTableModel {
    Q_OBJECT
public:
    struct Row {
        QString section; ///< a heading; the rest is empty
        GraphId graph;
        ValueId value;
        OperatorId op;
        QString name, type;
        Shown shown;
    };
    explicit VariableModel(QObject* parent) : QAbstractTableModel(parent) {}
    void setRows(std::vector<Row> rows)
    {
        std::map<std::pair<int32_t, int32_t>, QString> before;
        for (const Row& row : m_rows)
            if (row.value.valid()) before[{row.graph.index, row.value.index}] = row.shown.text;
        for (Row& row : rows)
            if (const auto old = before.find({row.graph.index, row.value.index}); row.value.valid() && old != before.end())
                row.shown.changed = old->second != row.shown.text;
        beginResetModel();
        m_rows = std::move(rows);
        endResetModel();
    }
    const Row& row(int index) const { return m_rows[static_cast<size_t>(index)]; }
    int rowCount(const QModelIndex& parent = {}) const override { return parent.isValid() ? 0 : static_cast<int>(m_rows.size()); }
    int columnCount(const QModelIndex& parent = {}) const override { return parent.isValid() ? 0 : 2; }
    Qt::ItemFlags flags(const QModelIndex& index) const override
    {
        return index.isValid() && !row(index.row()).section.isEmpty() ? Qt::ItemIsEnabled : QAbstractTableModel::flags(index);
    }
    QVariant headerData(int section, Qt::Orientation orientation, int role) const override
    {
        if (orientation != Qt::Horizontal) return {};
        if (role == Qt::TextAlignmentRole && section == 1) return static_cast<int>(Qt::AlignRight);
        return role == Qt::DisplayRole ? QVariant(section == 0 ? "Name" : "Value") : QVariant();
    }
    QVariant data(const QModelIndex& index, int role) const override
    {
        if (!index.isValid()) return {};
        const Row& at = row(index.row());
        if (!at.section.isEmpty()) {
            if (role == sectionRole) return true;
            if (index.column() != 0) return {};
            return role == Qt::DisplayRole ? QVariant(at.section) : role == boldRole ? QVariant(true) : QVariant();
        }
        if (index.column() == 1) return valueCell(at.shown, role);
        switch (role) {
        case Qt::DisplayRole:
            return at.name + "  " + at.type;
        case Qt::ToolTipRole:
            return at.name + "  " + at.type + "\n" + at.shown.text;
        case monoRole:
            return true;
        case toneRole:
            return static_cast<int>(at.shown.absent ? Tone::text3 : Tone::text);
        default:
            return {};
        }
    }

private:
    std::vector<Row> m_rows;
};

class VariablesPanel : public Panel {
    Q_OBJECT
public:
    explicit VariablesPanel(Document& document) : Panel(document, "panelVariables", "Variables"), m_model(this)
    {
        auto* column = new QVBoxLayout(this);
        column->setContentsMargins(0, 0, 0, 0);
        m_view = new RowView("variableTable", "Variables");
        m_view->setModel(&m_model);
        m_view->setColumnWidths({130});
        m_stack = new EmptyStack(m_view, this);
        column->addWidget(m_stack);
        connect(m_view->selectionModel(), &QItemSelectionModel::currentRowChanged, this, [this](const QModelIndex& index) {
            if (!index.isValid() || m_showing) return;
            const VariableModel::Row& row = m_model.row(index.row());
            if (!row.value.valid()) return;
            const int depth = frameInView(this->document());
            if (depth < 0) return;
            Selection selection;
            selection.graph = row.graph;
            selection.op = row.op;
            selection.value = row.value;
            const std::string& frame = this->document().stop()->stack[static_cast<size_t>(depth)].address;
            selection.address = row.op.valid() ? frame + "/" + siteOf(row) : frame;
            this->document().select(selection);
        });
        connect(&document, &Document::stopChanged, this, &VariablesPanel::refresh);
        connect(&document, &Document::frameChanged, this, &VariablesPanel::refresh);
        refresh();
    }
    QWidget* focusTarget() override { return m_view; }

private:
    std::string siteOf(const VariableModel::Row& row)
    {
        const OperatorName name = operatorName(document().model().graph(row.graph).op(row.op), row.op.index);
        return name.index >= 0 ? name.kind + "#" + std::to_string(name.index) : name.name;
    }

    void refresh()
    {
        const int depth = frameInView(document());
        if (depth < 0) {
            m_stack->showEmpty("No run yet.", {{"Run (F5)", [this] { document().execute("run"); }}});
            return;
        }
        document().bridge().ask(
            this, "variables", [depth, stop = document().stop()](Debugger& debugger) { return rowsOf(debugger, depth, *stop); },
            [this](std::vector<VariableModel::Row> rows) {
                m_showing = true;
                const int selected = m_view->currentIndex().row();
                const int count = m_model.rowCount();
                m_model.setRows(std::move(rows));
                if (count == m_model.rowCount() && selected >= 0) m_view->setCurrentIndex(m_model.index(selected, 0));
                if (m_model.rowCount() == 0)
                    m_stack->showEmpty("This frame has no values.");
                else
                    m_stack->showContent();
                m_showing = false;
            });
    }

    static std::vector<VariableModel::Row> rowsOf(Debugger& debugger, int depth, const StopSnapshot& stop)
    {
        std::vector<VariableModel::Row> rows;
        if (debugger.timeline().tick() != stop.tick || depth >= debugger.executor().position().depth) return rows;
        const FrameInfo frame = debugger.executor().frame(depth);
        const Graph& graph = debugger.model().graph(frame.graph);
        const auto add = [&](ValueId id, OperatorId op) {
            const Value& value = graph.value(id);
            const Tensor* tensor = debugger.executor().value(depth, id);
            VariableModel::Row row;
            row.graph = frame.graph;
            row.value = id;
            row.op = op;
            row.name = toText(value.id);
            row.type = toText(shortType(value.type));
            if (tensor == nullptr || tensor->data == nullptr) {
                row.shown.absent = true;
                row.shown.text = debugger.executor().isRecorded(depth, id) ? "no value" : "not recorded";
            } else {
                const InlineValue shown = firstElements(*tensor);
                row.shown.text = onScreen(shown.text);
                row.shown.abnormal = shown.abnormal;
            }
            rows.push_back(std::move(row));
        };
        const auto heading = [&](const QString& text) {
            VariableModel::Row row;
            row.section = text;
            rows.push_back(row);
        };
        if (!graph.inputs.empty()) heading(frame.role == CallRole::loop ? "Loop variables" : "Inputs");
        for (const ValueId id : graph.inputs) add(id, {});
        const size_t before = rows.size();
        const auto ran =
            static_cast<size_t>(!frame.next.valid() || stop.isDataflow ? static_cast<int64_t>(graph.operators.size()) : frame.next.index);
        if (ran > 0) heading("Results");
        size_t left = 0;
        for (size_t o = std::min(ran, graph.operators.size()); o-- > 0;) { // the newest first
            for (const ValueId id : graph.operators[o].results) {
                if (stop.isDataflow && debugger.executor().value(depth, id) == nullptr) continue;
                if (rows.size() - before < kMostVariables)
                    add(id, OperatorId(static_cast<int64_t>(o)));
                else
                    ++left;
            }
        }
        if (left > 0) heading(QString("%1 of %2 results shown").arg(kMostVariables).arg(kMostVariables + left));
        return rows;
    }

    VariableModel m_model;
    RowView* m_view = nullptr;
    EmptyStack* m_stack = nullptr;
    bool m_showing = false;
};

} // namespace

Panel* makeWatchesPanel(Document& document) { return new WatchesPanel(document); }

Panel* makeVariablesPanel(Document& document) { return new VariablesPanel(document); }

} // namespace loopscope::viewer

#include "values_panel.moc"
