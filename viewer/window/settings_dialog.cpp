#include "viewer/window/settings_dialog.h"

#include "viewer/style/theme.h"
#include "viewer/window/key_editor.h"
#include "viewer/window/main_window.h"

#include <QCheckBox>
#include <QComboBox>
#include <QDialog>
#include <QFormLayout>
#include <QLabel>
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
    dialog->resize(680, 640);
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
        if (window.document()) window.document()->setOpenCallee(calleeNamed(name));
    });
    form->addRow(QObject::tr("Called graphs open"), callee);
    auto* const wheel = new QCheckBox(QObject::tr("The wheel zooms the graph, with Ctrl it scrolls"), dialog);
    wheel->setChecked(settings.value("wheelZooms").toBool());
    QObject::connect(wheel, &QCheckBox::toggled, dialog, [&window](bool on) { window.setWheelZooms(on); });
    form->addRow({}, wheel);
    auto* const dense = new QCheckBox(QObject::tr("Dense rows"), dialog);
    dense->setChecked(Theme::instance().dense());
    QObject::connect(dense, &QCheckBox::toggled, dialog, [&window](bool on) {
        Theme::instance().setDense(on);
        window.settings().set("dense", on);
    });
    form->addRow({}, dense);
    column->addLayout(form);

    auto* const heading = new QLabel(QObject::tr("Keys"), dialog);
    heading->setProperty("type", "section");
    column->addWidget(heading);
    column->addWidget(new KeyEditor(window, dialog), 1);
    dialog->show();
}

} // namespace loopscope::viewer
