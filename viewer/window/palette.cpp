#include "viewer/window/palette.h"

#include "engine/base/text.h"
#include "engine/ir/model.h"
#include "engine/observe/address.h"
#include "engine/observe/address_names.h"
#include "engine/observe/address_resolution.h"
#include "viewer/style/theme.h"
#include "viewer/window/key_table.h"
#include "viewer/window/main_window.h"

#include <QAction>
#include <QDialog>
#include <QHeaderView>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QMenuBar>
#include <QSet>
#include <QSortFilterProxyModel>
#include <QStandardItemModel>
#include <QTreeView>
#include <QVBoxLayout>

#include <set>

namespace loopscope::viewer {

namespace {

/// Rows whose text holds every typed word.
class WordFilter : public QSortFilterProxyModel {
public:
    using QSortFilterProxyModel::QSortFilterProxyModel;
    void setWords(const QString& text)
    {
        m_words = text.split(' ', Qt::SkipEmptyParts);
        invalidateFilter();
    }

protected:
    bool filterAcceptsRow(int row, const QModelIndex& parent) const override
    {
        QString text;
        for (int column = 0; column < sourceModel()->columnCount(); ++column)
            text += sourceModel()->index(row, column, parent).data().toString() + ' ';
        return std::all_of(m_words.begin(), m_words.end(), [&](const QString& word) { return text.contains(word, Qt::CaseInsensitive); });
    }

private:
    QStringList m_words;
};

class PalettePopup : public QDialog {
public:
    PalettePopup(QWidget* parent, const QString& hint, QStandardItemModel* rows, std::function<void(const QString&)> chosen)
        : QDialog(parent, Qt::Popup),
          m_chosen(std::move(chosen))
    {
        setObjectName("palette");
        setAttribute(Qt::WA_DeleteOnClose);
        rows->setParent(this);
        auto* const column = new QVBoxLayout(this);
        column->setContentsMargins(8, 8, 8, 8);
        column->setSpacing(6);
        m_field = new QLineEdit(this);
        m_field->setObjectName("paletteField");
        m_field->setPlaceholderText(hint);
        m_field->setAccessibleName(hint);
        m_field->installEventFilter(this);
        column->addWidget(m_field);
        m_filter = new WordFilter(this);
        m_filter->setSourceModel(rows);
        m_list = new QTreeView(this);
        m_list->setObjectName("paletteList");
        m_list->setAccessibleName(hint);
        m_list->setModel(m_filter);
        m_list->setRootIsDecorated(false);
        m_list->setUniformRowHeights(true);
        m_list->setHeaderHidden(true);
        m_list->setEditTriggers(QAbstractItemView::NoEditTriggers);
        m_list->setFocusPolicy(Qt::NoFocus);
        m_list->header()->setStretchLastSection(false);
        m_list->header()->setSectionResizeMode(0, QHeaderView::Stretch);
        for (int i = 1; i < rows->columnCount(); ++i) m_list->header()->setSectionResizeMode(i, QHeaderView::ResizeToContents);
        column->addWidget(m_list, 1);
        m_empty = new QLabel(this);
        m_empty->setObjectName("paletteEmpty");
        m_empty->setWordWrap(true);
        m_empty->setProperty("tone", "dim");
        m_empty->setAlignment(Qt::AlignTop | Qt::AlignLeft);
        m_empty->hide();
        column->addWidget(m_empty, 1);
        connect(m_field, &QLineEdit::textChanged, this, [this](const QString& text) {
            m_filter->setWords(text);
            m_list->setCurrentIndex(m_filter->index(0, 0));
            sayWhetherEmpty(text);
        });
        connect(m_list, &QTreeView::clicked, this, [this] { choose(); });
        resize(600, 420);
        move(parent->mapToGlobal(QPoint((parent->width() - width()) / 2, 64)));
        m_list->setCurrentIndex(m_filter->index(0, 0));
        m_field->setFocus();
    }

protected:
    bool eventFilter(QObject* watched, QEvent* event) override
    {
        if (event->type() == QEvent::KeyPress) {
            const int key = static_cast<QKeyEvent*>(event)->key();
            const int page = key == Qt::Key_PageDown ? 12
                             : key == Qt::Key_PageUp ? -12
                             : key == Qt::Key_Down   ? 1
                             : key == Qt::Key_Up     ? -1
                                                     : 0;
            if (page != 0) {
                const int row = std::clamp(m_list->currentIndex().row() + page, 0, std::max(0, m_filter->rowCount() - 1));
                m_list->setCurrentIndex(m_filter->index(row, 0));
                return true;
            }
            if (key == Qt::Key_Return || key == Qt::Key_Enter) {
                choose();
                return true;
            }
        }
        return QDialog::eventFilter(watched, event);
    }

private:
    /// Nothing fits: what is near is named, as everywhere else.
    void sayWhetherEmpty(const QString& text)
    {
        const bool isEmpty = m_filter->rowCount() == 0;
        m_list->setVisible(!isEmpty);
        m_empty->setVisible(isEmpty);
        if (!isEmpty) return;
        std::vector<std::string> names;
        for (int row = 0; row < m_filter->sourceModel()->rowCount(); ++row)
            names.push_back(m_filter->sourceModel()->index(row, 0).data().toString().toStdString());
        QStringList near;
        for (const std::string& name : nearestNames(text.toStdString(), names)) near.append(QString::fromStdString(name));
        m_empty->setText(QObject::tr("Nothing matches \"%1\".").arg(text) +
                         (near.isEmpty() ? QString() : ' ' + QObject::tr("Nearest: %1.").arg(near.join(", "))));
    }

    void choose()
    {
        const QString key = m_list->currentIndex().siblingAtColumn(0).data(Qt::UserRole).toString();
        const auto chosen = m_chosen;
        close();
        if (!key.isEmpty()) chosen(key);
    }

    std::function<void(const QString&)> m_chosen;
    QLineEdit* m_field;
    WordFilter* m_filter;
    QTreeView* m_list;
    QLabel* m_empty;
};

QList<QStandardItem*> rowOf(const QString& key, const QStringList& texts)
{
    QList<QStandardItem*> row;
    for (qsizetype i = 0; i < texts.size(); ++i) {
        row.append(new QStandardItem(texts[i]));
        if (i > 0) {
            row.back()->setForeground(themed(Token::text3));
            row.back()->setFont(Theme::instance().font(i == 1 ? FontUse::small : FontUse::value));
        }
    }
    row.front()->setData(key, Qt::UserRole);
    return row;
}

/// What only menus offer: "Text size: 125 %". Found again by its way through them.
void addMenuRows(const QMenu& menu, const QString& way, const QSet<const QAction*>& known, QStandardItemModel& rows)
{
    for (QAction* const action : menu.actions()) {
        QString label = action->text().section('\t', 0, 0);
        label.remove('&');
        if (action->menu() != nullptr) {
            emit action->menu()->aboutToShow(); // lists of files and the like are filled then
            addMenuRows(*action->menu(), way + '/' + label, known, rows);
            continue;
        }
        if (action->isSeparator() || label.isEmpty() || known.contains(action)) continue;
        const QString group = way.section('/', -1);
        rows.appendRow(rowOf(QStringLiteral("menu:") + way + '/' + label,
                             {way.count('/') > 0 ? group + QStringLiteral(": ") + label : label, action->text().section('\t', 1), group}));
        if (!action->isEnabled()) rows.item(rows.rowCount() - 1)->setForeground(themed(Token::text3));
    }
}

void triggerMenu(const QMenu& menu, const QString& way, const QString& wanted)
{
    for (QAction* const action : menu.actions()) {
        QString label = action->text().section('\t', 0, 0);
        label.remove('&');
        if (action->menu() != nullptr) triggerMenu(*action->menu(), way + '/' + label, wanted);
        else if (way + '/' + label == wanted && action->isEnabled()) return action->trigger();
    }
}

QMenu* menuOf(const QAction& top) { return top.menu(); }

QString nameOf(const QAction& top) { return QString(top.text()).remove('&'); }

} // namespace

void showCommandPalette(MainWindow& window)
{
    auto* const rows = new QStandardItemModel;
    QSet<const QAction*> known;
    for (const KeyRow& row : keyTable()) {
        if (QLatin1String(row.context) != QLatin1String("global") || QLatin1String(row.command) == QLatin1String("palette")) continue;
        const QAction* const action = window.action(row.command);
        if (!action || QString(row.key).contains("..")) continue;
        rows->appendRow(rowOf(row.command, {action->text(), window.keyOf(row.command), QString::fromUtf8(row.console)}));
        if (!action->isEnabled()) rows->item(rows->rowCount() - 1)->setForeground(themed(Token::text3));
    }
    for (const QString& name : window.commands())
        if (const QAction* const action = window.action(name)) known.insert(action);
    for (const KeyPlace& place : KeyBindings::places())
        if (const QAction* const action = window.action(place.command)) known.insert(action);
    for (const QAction* const top : window.menuBar()->actions())
        if (menuOf(*top) != nullptr) addMenuRows(*menuOf(*top), nameOf(*top), known, *rows);
    auto* const palette = new PalettePopup(&window, QObject::tr("A command, or part of its name"), rows, [&window](const QString& command) {
        if (!command.startsWith(QLatin1String("menu:"))) {
            window.runIfEnabled(command);
            return;
        }
        for (const QAction* const top : window.menuBar()->actions())
            if (menuOf(*top) != nullptr) triggerMenu(*menuOf(*top), nameOf(*top), command.mid(5));
    });
    palette->show();
}

void showOperatorPalette(MainWindow& window, const Model& model, std::function<void(const QString& address)> chosen)
{
    auto* const rows = new QStandardItemModel;
    // Every graph is listed once, under the first call that leads there.
    std::set<GraphId> seen;
    std::vector<std::pair<GraphId, Address>> queue;
    if (!model.graphs.empty()) {
        Address root;
        root.root = model.graphs.front().id;
        queue.push_back({GraphId(0), root});
        seen.insert(GraphId(0));
    }
    for (size_t at = 0; at < queue.size(); ++at) {
        const auto [graph, path] = queue[at];
        const Graph& shown = model.graph(graph);
        for (size_t i = 0; i < shown.operators.size(); ++i) {
            const Operator& op = shown.operators[i];
            Address place = path;
            place.target = TargetKind::op;
            place.op = operatorName(op, static_cast<int64_t>(i));
            const QString address = QString::fromStdString(toString(place));
            const QString result = op.results.empty() ? QString() : QString::fromStdString(shown.value(op.results.front()).id);
            rows->appendRow(
                rowOf(address, {QString::fromStdString(lastPart(toString(place))), QString::fromStdString(toString(path)), result}));
            for (const Callee& callee : calleesOf(op)) {
                if (!seen.insert(callee.graph).second) continue;
                const std::string text = toString(place) + ":" + callee.role;
                if (Result<Address> inside = parseAddress(text); inside.ok()) queue.push_back({callee.graph, *inside});
            }
        }
    }
    auto* const palette = new PalettePopup(&window, QObject::tr("An operator: name, index, result"), rows, std::move(chosen));
    palette->show();
}

} // namespace loopscope::viewer
