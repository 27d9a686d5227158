// Watches: expressions and what they give in the frame in view, or at the moment that is looked at.
#include "viewer/bridge/elsewhere.h"
#include "viewer/panels/common.h"
#include "viewer/panels/panels.h"
#include "viewer/panels/value_cell.h"
#include "viewer/style/icons.h"
#include "viewer/widgets/parts.h"
#include "viewer/widgets/value_menu.h"

#include <QAbstractItemModel>
#include <QJsonArray>
#include <QKeyEvent>
#include <QLineEdit>
#include <QMenu>
#include <QRegularExpression>
#include <QTimer>
#include <QVBoxLayout>

namespace loopscope::viewer {

namespace {

class WatchModel : public QAbstractTableModel {
    Q_OBJECT
public:
    explicit WatchModel(QObject* parent) : QAbstractTableModel(parent) {}

    void add(const QString& expression)
    {
        beginInsertRows({}, rowCount(), rowCount());
        m_rows.push_back({expression, {}, {}});
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
        for (const QString& expression : expressions) m_rows.push_back({expression, {}, {}});
        endResetModel();
    }
    /// `moment`: of which they are; empty: of the present stop.
    void setValues(const std::vector<ValueCell>& values, const QString& moment)
    {
        if (values.size() != m_rows.size() || m_rows.empty()) return;
        for (size_t i = 0; i < values.size(); ++i) {
            Row& row = m_rows[i];
            row.shown = values[i];
            row.shown.elsewhere = !moment.isEmpty();
            if (row.shown.elsewhere) continue;
            row.shown.changed = !row.last.isEmpty() && row.last != values[i].text && !values[i].failed;
            row.last = values[i].text;
        }
        emit dataChanged(index(0, 0), index(rowCount() - 1, 1));
        if (moment == m_moment) return;
        m_moment = moment;
        emit headerDataChanged(Qt::Horizontal, 1, 1);
    }

    int rowCount(const QModelIndex& parent = {}) const override { return parent.isValid() ? 0 : static_cast<int>(m_rows.size()); }
    int columnCount(const QModelIndex& parent = {}) const override { return parent.isValid() ? 0 : 2; }
    Qt::ItemFlags flags(const QModelIndex& index) const override
    {
        return QAbstractTableModel::flags(index) | (index.isValid() ? Qt::ItemIsEditable : Qt::NoItemFlags);
    }
    QVariant headerData(int section, Qt::Orientation orientation, int role) const override
    {
        if (orientation != Qt::Horizontal) return {};
        if (role == Qt::TextAlignmentRole && section == 1) return static_cast<int>(Qt::AlignRight);
        return role == Qt::DisplayRole ? QVariant(section == 0 ? QString("Expression") : valueHead(m_moment)) : QVariant();
    }
    QVariant data(const QModelIndex& index, int role) const override
    {
        if (!index.isValid()) return {};
        const Row& row = m_rows[static_cast<size_t>(index.row())];
        if (index.column() == 1) return cellData(row.shown, role);
        if (role == Qt::DisplayRole || role == Qt::EditRole) return row.expression;
        return role == monoRole ? QVariant(true) : QVariant();
    }
    bool setData(const QModelIndex& index, const QVariant& value, int role) override
    {
        const QString expression = value.toString().trimmed();
        if (role == Qt::EditRole && index.column() == 1 && !expression.isEmpty() &&
            expression != m_rows[static_cast<size_t>(index.row())].shown.exact)
            emit assigned(m_rows[static_cast<size_t>(index.row())].expression, expression);
        if (role != Qt::EditRole || index.column() != 0 || expression.isEmpty()) return false;
        m_rows[static_cast<size_t>(index.row())] = {expression, {}, {}};
        emit dataChanged(index, index.siblingAtColumn(1));
        emit edited();
        return true;
    }

signals:
    void edited();
    /// A person typed another value for what an expression names.
    void assigned(const QString& place, const QString& expression);

private:
    struct Row {
        QString expression;
        ValueCell shown;
        QString last; ///< at the stop before
    };
    std::vector<Row> m_rows;
    QString m_moment;
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
        connect(m_view, &RowView::chosen, this, [this](const QModelIndex& index) {
            // Values of the frame that requests are about; what is no place of one, the debugger says.
            const bool sets = index.column() == 1 && this->document().canSetValues() && this->document().frame() < 0;
            m_view->edit(index.siblingAtColumn(sets ? 1 : 0));
        });
        m_view->setContextMenuPolicy(Qt::CustomContextMenu);
        connect(m_view, &QWidget::customContextMenuRequested, this,
                [this](const QPoint& at) { showMenu(m_view->indexAt(at), m_view->viewport()->mapToGlobal(at)); });
        connect(
            &m_model, &WatchModel::assigned, this,
            [this](const QString& place, const QString& expression) {
                this->document().perform(request::SetValue{place.toStdString(), expression.toStdString()});
            },
            Qt::QueuedConnection); // the editor closes first
        connect(&m_model, &WatchModel::edited, this, &WatchesPanel::changed);
        connect(&document, &Document::stopChanged, this, &WatchesPanel::refresh);
        connect(&document, &Document::frameChanged, this, &WatchesPanel::refresh);
        connect(&document, &Document::lookedAtChanged, this, &WatchesPanel::refresh);
        m_scrubbed.setSingleShot(true);
        m_scrubbed.setInterval(0); // where scrubbing ends, the run is about to move
        connect(&m_scrubbed, &QTimer::timeout, this, [this] {
            if (!this->document().bridge().busy()) refresh();
        });
        connect(&document, &Document::previewChanged, &m_scrubbed, qOverload<>(&QTimer::start));
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

    void showMenu(const QModelIndex& index, const QPoint& at)
    {
        if (!index.isValid()) return;
        AskedValue value;
        value.expression = m_model.expressions()[index.row()];
        value.text = m_model.data(index.siblingAtColumn(1), Qt::DisplayRole).toString();
        value.isAbnormal = value.text.contains(QLatin1String("nan"), Qt::CaseInsensitive);
        // "n", "add_1[0,1]" and "{main/add#3:0}" are places; "n * 2" is none.
        static const QRegularExpression place(R"(^(\{[^}]*\}|[\w.:/]+)(\[[\d,]*\])?$)");
        value.isPlace = place.match(value.expression).hasMatch();
        if (value.isPlace && document().canSetValues() && document().frame() < 0)
            value.set = [this, cell = index.siblingAtColumn(1)] { m_view->edit(cell); };
        auto* const menu = new QMenu(this);
        menu->setObjectName("watchMenu");
        menu->setAttribute(Qt::WA_DeleteOnClose);
        fillValueMenu(*menu, document(), *this, value);
        menu->addSeparator();
        menu->addAction("Edit the expression", this, [this, cell = index.siblingAtColumn(0)] { m_view->edit(cell); });
        menu->addAction("Remove", this, [this, row = index.row()] {
            m_model.remove(row);
            changed();
        });
        menu->popup(at);
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
        const ValuePlace place = document().valuePlace();
        if (place.depth < 0 && !place.isElsewhere()) {
            m_model.setValues(std::vector<ValueCell>(static_cast<size_t>(expressions.size()), absentCell("no run yet")), {});
            return;
        }
        struct Answer {
            std::vector<ValueCell> values;
            QString moment;
        };
        document().bridge().ask(
            this, "watches",
            [expressions, place, tick = document().stop()->tick](Inspector& inspector) {
                Answer answer;
                if (inspector.tick() != tick) return answer;
                if (!place.isElsewhere()) {
                    for (const QString& expression : expressions)
                        answer.values.push_back(cellOf(inspector.evaluate({place.depth}, expression.toStdString())));
                    return answer;
                }
                const ReadElsewhere read = readElsewhere(inspector, place, [&](const EndedInvocation& end) {
                    for (const QString& expression : expressions) answer.values.push_back(cellOf(end.evaluate(expression.toStdString())));
                });
                answer.moment = momentText(read);
                if (!read.why.empty()) answer.values.assign(static_cast<size_t>(expressions.size()), absentCell(toText(read.why)));
                return answer;
            },
            [this](const Answer& answer) { m_model.setValues(answer.values, answer.moment); });
    }

    WatchModel m_model;
    RowView* m_view = nullptr;
    EmptyStack* m_stack = nullptr;
    QLineEdit* m_field = nullptr;
    QAction* m_add = nullptr;
    QTimer m_scrubbed;
};

} // namespace

Panel* makeWatchesPanel(Document& document) { return new WatchesPanel(document); }

} // namespace loopscope::viewer

#include "watches_panel.moc"
