#include "viewer/window/key_editor.h"

#include "viewer/style/theme.h"
#include "viewer/window/key_bindings.h"
#include "viewer/window/key_sheet.h"
#include "viewer/window/main_window.h"

#include <QEvent>
#include <QHeaderView>
#include <QKeySequenceEdit>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QStyledItemDelegate>
#include <QTableWidget>
#include <QToolButton>
#include <QVBoxLayout>

#include <functional>

namespace loopscope::viewer {

namespace {

enum Column { commandColumn, whereColumn, keyColumn, secondColumn, resetColumn, columnCount };

QString typedKey(const QKeySequence& keys) { return keys.isEmpty() ? QString() : keyText(keys[0]); }

/// Records one key; Return, Tab and Escape are keys like any other here.
class KeyDelegate : public QStyledItemDelegate {
public:
    KeyDelegate(QObject* parent, std::function<void(const QModelIndex&, const QString&)> typed,
                std::function<void(const QModelIndex&, const QString&)> done)
        : QStyledItemDelegate(parent),
          m_typed(std::move(typed)),
          m_done(std::move(done))
    {
    }
    QWidget* createEditor(QWidget* parent, const QStyleOptionViewItem&, const QModelIndex& index) const override
    {
        auto* const edit = new QKeySequenceEdit(parent);
        edit->setObjectName("keyEdit");
        connect(edit, &QKeySequenceEdit::keySequenceChanged, this,
                [this, edit, at = QPersistentModelIndex(index)](const QKeySequence& keys) {
                    if (keys.count() > 1) edit->setKeySequence(QKeySequence(keys[0]));
                    else m_typed(at, typedKey(keys));
                });
        connect(edit, &QKeySequenceEdit::editingFinished, this, [this, edit] {
            auto* const self = const_cast<KeyDelegate*>(this); // NOLINT(cppcoreguidelines-pro-type-const-cast): Qt's factory is const
            emit self->commitData(edit);
            emit self->closeEditor(edit);
        });
        return edit;
    }
    void setEditorData(QWidget* editor, const QModelIndex& index) const override
    {
        static_cast<QKeySequenceEdit*>(editor)->setKeySequence(QKeySequence(index.data().toString()));
    }
    void setModelData(QWidget* editor, QAbstractItemModel*, const QModelIndex& index) const override
    {
        m_done(index, typedKey(static_cast<QKeySequenceEdit*>(editor)->keySequence()));
    }
    bool eventFilter(QObject* editor, QEvent* event) override
    {
        return event->type() != QEvent::KeyPress && event->type() != QEvent::ShortcutOverride &&
               QStyledItemDelegate::eventFilter(editor, event);
    }

private:
    std::function<void(const QModelIndex&, const QString&)> m_typed, m_done;
};

/// The places of a row: of its command, and of its second key if it has one.
std::pair<const KeyPlace*, const KeyPlace*> placesOf(const QTableWidget& table, int row)
{
    const QTableWidgetItem& item = *table.item(row, commandColumn);
    const QString context = item.data(Qt::UserRole).toString(), command = item.data(Qt::UserRole + 1).toString();
    return {KeyBindings::find(context, command), KeyBindings::find(context, command, true)};
}

const KeyPlace* placeAt(const QTableWidget& table, const QModelIndex& index)
{
    const auto [first, second] = placesOf(table, index.row());
    return index.column() == keyColumn ? first : second;
}

} // namespace

KeyEditor::KeyEditor(MainWindow& window, QWidget* parent) : QWidget(parent), m_window(window)
{
    auto* const column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(8);
    m_filter = new QLineEdit(this);
    m_filter->setObjectName("keyFilter");
    m_filter->setPlaceholderText(tr("Filter keys by command or key"));
    m_filter->setAccessibleName(m_filter->placeholderText());
    column->addWidget(m_filter);
    m_table = new QTableWidget(0, columnCount, this);
    m_table->setObjectName("keyTable");
    m_table->setAccessibleName(tr("Keys of commands"));
    m_table->setHorizontalHeaderLabels({tr("Command"), tr("Where"), tr("Key"), tr("Or"), QString()});
    m_table->horizontalHeader()->setSectionResizeMode(commandColumn, QHeaderView::Stretch);
    m_table->horizontalHeader()->setDefaultAlignment(Qt::AlignLeft | Qt::AlignVCenter);
    m_table->setColumnWidth(whereColumn, 84);
    m_table->setColumnWidth(keyColumn, 120);
    m_table->setColumnWidth(secondColumn, 84);
    m_table->setColumnWidth(resetColumn, 64);
    m_table->verticalHeader()->hide();
    m_table->verticalHeader()->setDefaultSectionSize(24);
    m_table->setShowGrid(false);
    m_table->setSelectionMode(QAbstractItemView::SingleSelection);
    m_table->setTabKeyNavigation(false); // the focus moves on: no trap
    const auto at = [this](auto work) {
        return [this, work](const QModelIndex& index, const QString& key) {
            if (const KeyPlace* const place = placeAt(*m_table, index)) (this->*work)(*place, key);
        };
    };
    m_table->setItemDelegate(new KeyDelegate(this, at(&KeyEditor::typed), at(&KeyEditor::change)));
    column->addWidget(m_table, 1);
    m_clash = new QLabel(this);
    m_clash->setObjectName("keyClash");
    m_clash->setProperty("tone", "error");
    m_clash->setAccessibleName(tr("Whose key it is"));
    auto* const reset = new QPushButton(tr("Reset all keys"), this);
    reset->setObjectName("keyResetAll");
    auto* const foot = new QHBoxLayout;
    foot->addWidget(m_clash, 1);
    foot->addWidget(reset);
    column->addLayout(foot);
    connect(m_filter, &QLineEdit::textChanged, this, &KeyEditor::filter);
    connect(reset, &QPushButton::clicked, this, [this] {
        m_clash->clear();
        m_window.resetKeys();
        for (int row = 0; row < m_table->rowCount(); ++row) showRow(row);
    });
    fill();
    restyle();
    connect(&Theme::instance(), &Theme::changed, this, &KeyEditor::restyle);
}

/// Items keep the colour that they were given.
void KeyEditor::restyle()
{
    for (int row = 0; row < m_table->rowCount(); ++row) {
        m_table->item(row, whereColumn)->setForeground(themed(Token::text3));
        if (QTableWidgetItem* const key = m_table->item(row, keyColumn); !key->flags().testFlag(Qt::ItemIsEditable))
            key->setForeground(themed(Token::text3));
    }
}

void KeyEditor::fill()
{
    for (const KeyPlace& place : KeyBindings::places()) {
        if (place.isSecond) continue;
        const int row = m_table->rowCount();
        m_table->insertRow(row);
        for (int i = 0; i < columnCount; ++i) {
            auto* const item = new QTableWidgetItem;
            const bool editable =
                (i == keyColumn && !place.isFixed) || (i == secondColumn && KeyBindings::find(place.context, place.command, true));
            item->setFlags(editable ? Qt::ItemIsEnabled | Qt::ItemIsSelectable | Qt::ItemIsEditable
                                    : Qt::ItemIsEnabled | Qt::ItemIsSelectable);
            if (i == keyColumn && place.isFixed) item->setToolTip(tr("Digits type a number"));
            m_table->setItem(row, i, item);
        }
        QTableWidgetItem* const name = m_table->item(row, commandColumn);
        name->setText(place.label);
        name->setToolTip(place.label);
        name->setData(Qt::UserRole, place.context);
        name->setData(Qt::UserRole + 1, place.command);
        m_table->item(row, whereColumn)->setText(keyContextTitle(place.context));
        showRow(row);
    }
}

void KeyEditor::showRow(int row)
{
    const auto [first, second] = placesOf(*m_table, row);
    const KeyBindings& keys = m_window.keys();
    const auto show = [&](int column, const KeyPlace* place) {
        if (!place) return false;
        m_table->item(row, column)->setText(keys.keyOf(*place).replace(QLatin1String(".."), tr(" to ")));
        m_table->item(row, column)->setFont(Theme::instance().font(FontUse::body, keys.isChanged(*place)));
        return keys.isChanged(*place);
    };
    const bool firstChanged = show(keyColumn, first), secondChanged = show(secondColumn, second);
    if (!firstChanged && !secondChanged) return m_table->removeCellWidget(row, resetColumn);
    auto* const reset = new QToolButton(m_table);
    reset->setObjectName("keyReset." + first->id());
    reset->setText(tr("Reset"));
    reset->setAccessibleName(tr("Reset the keys of %1").arg(first->label));
    connect(reset, &QToolButton::clicked, this, [this, first = first, second = second] {
        change(*first, first->key);
        if (second) change(*second, second->key);
    });
    m_table->setCellWidget(row, resetColumn, reset);
}

void KeyEditor::filter(const QString& text)
{
    for (int row = 0; row < m_table->rowCount(); ++row) {
        bool hit = false;
        for (int i = commandColumn; i <= secondColumn; ++i) hit = hit || m_table->item(row, i)->text().contains(text, Qt::CaseInsensitive);
        m_table->setRowHidden(row, !hit);
    }
}

void KeyEditor::typed(const KeyPlace& place, const QString& key)
{
    const KeyPlace* const other = m_window.keys().holder(place, key);
    m_clash->setText(other ? tr("%1 is the key of “%2” already").arg(key, other->label) : QString());
}

void KeyEditor::change(const KeyPlace& place, const QString& key)
{
    if (key == m_window.keys().keyOf(place)) return m_clash->clear();
    QString clash;
    if (m_window.rebind(place, key, &clash)) m_clash->clear();
    else m_clash->setText(tr("%1 is the key of “%2” already; nothing was changed").arg(key, clash));
    for (int row = 0; row < m_table->rowCount(); ++row)
        if (const auto [first, second] = placesOf(*m_table, row); first == &place || second == &place) {
            // The button that asked for it may be the one that goes.
            QMetaObject::invokeMethod(
                this, [this, row] { showRow(row); }, Qt::QueuedConnection);
        }
}

} // namespace loopscope::viewer
