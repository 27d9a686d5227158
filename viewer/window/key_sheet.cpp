#include "viewer/window/key_sheet.h"

#include "viewer/style/theme.h"
#include "viewer/window/key_bindings.h"
#include "viewer/window/main_window.h"

#include <QDialog>
#include <QHeaderView>
#include <QLabel>
#include <QLineEdit>
#include <QTreeWidget>
#include <QVBoxLayout>

#include <algorithm>

namespace loopscope::viewer {

QString keyContextTitle(const QString& context)
{
    if (context == "global") return QObject::tr("Everywhere");
    if (context == "sql") return QObject::tr("SQL pane");
    return QString(context).replace(0, 1, context.left(1).toUpper());
}

void showKeySheet(MainWindow& window)
{
    auto* const sheet = new QDialog(&window);
    sheet->setObjectName("keySheet");
    sheet->setWindowTitle(QObject::tr("Keys · Loopscope"));
    sheet->setAttribute(Qt::WA_DeleteOnClose);
    auto* const column = new QVBoxLayout(sheet);
    column->setContentsMargins(12, 12, 12, 12);
    column->setSpacing(8);
    auto* const about = new QLabel(
        QObject::tr("Forward keys are those of VS Code; Alt and the same key goes backwards. In graph and listing the letters of gdb "
                    "go forward, with Shift backwards. Keys are changed under Settings."),
        sheet);
    about->setWordWrap(true);
    about->setProperty("tone", "dim");
    column->addWidget(about);
    auto* const field = new QLineEdit(sheet);
    field->setPlaceholderText(QObject::tr("Filter"));
    field->setAccessibleName(QObject::tr("Filter keys"));
    column->addWidget(field);
    auto* const tree = new QTreeWidget(sheet);
    tree->setObjectName("keyTree");
    tree->setAccessibleName(QObject::tr("Keys of commands"));
    tree->setColumnCount(4);
    tree->setHeaderLabels({QObject::tr("Command"), QObject::tr("Key"), QObject::tr("Or"), QObject::tr("Console")});
    tree->setUniformRowHeights(true);
    tree->setIndentation(12);
    QTreeWidgetItem* section = nullptr;
    QString last;
    for (const KeyRow& row : keyTable()) {
        const QString context(row.context);
        if (context != last) {
            section = new QTreeWidgetItem(tree, {keyContextTitle(context)});
            section->setFont(0, Theme::instance().font(FontUse::body, true));
            last = context;
        }
        const auto keyOf = [&](bool second) {
            if (const KeyPlace* const place = KeyBindings::find(context, row.command, second)) return window.keys().keyOf(*place);
            QStringList keys;
            for (const KeyPlace& place : KeyBindings::places())
                if (place.isOfMany && !second && place.context == context && place.command.section('.', 0, 0) == QLatin1String(row.command))
                    keys.append(window.keys().keyOf(place));
            return keys.isEmpty() || keys == keysOf(row.key) ? QString(second ? row.second : row.key) : keys.join(' ');
        };
        auto* const item = new QTreeWidgetItem(section, {QString::fromUtf8(row.label), keyOf(false).replace("..", QObject::tr(" to ")),
                                                         keyOf(true), QString::fromUtf8(row.console)});
        item->setFont(3, Theme::instance().font(FontUse::value));
    }
    tree->expandAll();
    int wide = 48; // margins, frame and scroll bar
    for (int i = 0; i < tree->columnCount(); ++i) {
        tree->resizeColumnToContents(i);
        wide += tree->columnWidth(i);
    }
    tree->setColumnWidth(tree->columnCount() - 1, 60); // it takes what is left
    sheet->resize(std::clamp(wide, 720, std::max(720, window.width() - 48)), Theme::instance().barHeight(640));
    column->addWidget(tree, 1);
    QObject::connect(field, &QLineEdit::textChanged, tree, [tree](const QString& text) {
        for (int i = 0; i < tree->topLevelItemCount(); ++i) {
            QTreeWidgetItem* const part = tree->topLevelItem(i);
            bool any = false;
            for (int j = 0; j < part->childCount(); ++j) {
                QTreeWidgetItem* const item = part->child(j);
                bool hit = false;
                for (int c = 0; c < 4; ++c) hit = hit || item->text(c).contains(text, Qt::CaseInsensitive);
                item->setHidden(!hit);
                any = any || hit;
            }
            part->setHidden(!any);
        }
    });
    field->setFocus();
    sheet->show();
}

} // namespace loopscope::viewer
