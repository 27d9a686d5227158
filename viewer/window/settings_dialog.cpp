#include "viewer/window/settings_dialog.h"

#include "viewer/style/theme.h"
#include "viewer/window/key_table.h"
#include "viewer/window/main_window.h"

#include <QAction>
#include <QCheckBox>
#include <QComboBox>
#include <QDialog>
#include <QFormLayout>
#include <QHeaderView>
#include <QJsonObject>
#include <QKeySequenceEdit>
#include <QLabel>
#include <QPushButton>
#include <QTableWidget>
#include <QVBoxLayout>

namespace loopscope::viewer {

namespace {

QComboBox* choice(QWidget* parent, const QList<std::pair<QString, QString>>& entries, const QString& now)
{
    auto* const box = new QComboBox(parent);
    for (const auto& [name, label] : entries) box->addItem(label, name);
    box->setCurrentIndex(std::max(0, box->findData(now)));
    return box;
}

} // namespace

void showSettings(MainWindow& window)
{
    auto* const dialog = new QDialog(&window);
    dialog->setObjectName("settingsDialog");
    dialog->setWindowTitle(QObject::tr("Settings · Loopscope"));
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->resize(640, 600);
    auto* const column = new QVBoxLayout(dialog);
    column->setContentsMargins(12, 12, 12, 12);
    column->setSpacing(8);
    auto* const form = new QFormLayout;
    Settings& settings = window.settings();
    QComboBox* const theme = choice(dialog,
                                    {{"light", QObject::tr("Light")},
                                     {"dark", QObject::tr("Dark")},
                                     {"contrast", QObject::tr("High contrast")},
                                     {"system", QObject::tr("Follow the system")}},
                                    settings.value("theme").toString("light"));
    QObject::connect(theme, &QComboBox::activated, dialog, [&window, theme] { window.setTheme(theme->currentData().toString()); });
    form->addRow(QObject::tr("Theme"), theme);
    QComboBox* const callee = choice(dialog,
                                     {{"inline", QObject::tr("in the picture")},
                                      {"drillIn", QObject::tr("in place of the picture")},
                                      {"split", QObject::tr("beside the picture")}},
                                     settings.value("openCallee").toString("inline"));
    QObject::connect(callee, &QComboBox::activated, dialog, [&window, callee] {
        const QString name = callee->currentData().toString();
        window.settings().set("openCallee", name);
        if (window.document())
            window.document()->setOpenCallee(calleeNamed(name));
    });
    form->addRow(QObject::tr("Called graphs open"), callee);
    auto* const dense = new QCheckBox(QObject::tr("Dense rows"), dialog);
    dense->setChecked(Theme::instance().dense());
    QObject::connect(dense, &QCheckBox::toggled, dialog, [&window](bool on) {
        Theme::instance().setDense(on);
        window.settings().set("dense", on);
    });
    form->addRow({}, dense);
    column->addLayout(form);

    auto* const clash = new QLabel(dialog);
    clash->setObjectName("keyClash");
    clash->setProperty("tone", "error");
    auto* const table = new QTableWidget(0, 2, dialog);
    table->setHorizontalHeaderLabels({QObject::tr("Command"), QObject::tr("Key")});
    table->horizontalHeader()->setSectionResizeMode(0, QHeaderView::Stretch);
    table->setColumnWidth(1, 180);
    table->verticalHeader()->hide();
    for (const KeyRow& row : keyTable()) {
        const QString command(row.command);
        if (QLatin1String(row.context) != QLatin1String("global") || QString(row.key).contains("..")) continue;
        const int at = table->rowCount();
        table->insertRow(at);
        auto* const name = new QTableWidgetItem(QString::fromUtf8(row.label));
        name->setFlags(Qt::ItemIsEnabled);
        table->setItem(at, 0, name);
        auto* const edit = new QKeySequenceEdit(QKeySequence(window.keyOf(command)), table);
        edit->setClearButtonEnabled(true);
        edit->setObjectName("key." + command);
        table->setCellWidget(at, 1, edit);
        table->setRowHeight(at, 28);
        QObject::connect(edit, &QKeySequenceEdit::editingFinished, dialog, [&window, edit, clash, command] {
            QString other;
            const QString key = edit->keySequence().toString(QKeySequence::PortableText);
            if (window.rebind(command, key, &other)) {
                clash->clear();
            } else {
                clash->setText(QObject::tr("%1 is the key of \"%2\" already").arg(key, other));
                edit->setKeySequence(QKeySequence(window.keyOf(command)));
            }
        });
    }
    column->addWidget(new QLabel(QObject::tr("Keys"), dialog));
    column->addWidget(table, 1);
    column->addWidget(clash);
    auto* const reset = new QPushButton(QObject::tr("Reset all keys"), dialog);
    QObject::connect(reset, &QPushButton::clicked, dialog, [&window, table] {
        for (const KeyRow& row : keyTable())
            if (QLatin1String(row.context) == QLatin1String("global") && !QString(row.key).contains("..")) {
                window.rebind(row.command, row.key);
                if (auto* const edit = table->findChild<QKeySequenceEdit*>(QStringLiteral("key.") + row.command))
                    edit->setKeySequence(QKeySequence(QString(row.key)));
            }
    });
    column->addWidget(reset, 0, Qt::AlignLeft);
    dialog->show();
}

} // namespace loopscope::viewer
