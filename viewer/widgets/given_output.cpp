#include "viewer/widgets/given_output.h"

#include "engine/tensor/value_text.h"
#include "viewer/bridge/text.h"

#include <QDialog>
#include <QDialogButtonBox>
#include <QFileDialog>
#include <QFileInfo>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QVBoxLayout>

namespace loopscope::viewer {

bool canGiveOutput(Document& document, const Selection& place)
{
    return document.stop()->started && place.op.valid() && place.graph.valid() && !document.bridge().isReplay() &&
           document.backend().session().canGive(place.graph, place.op);
}

void giveOutput(Document& document, QWidget& asking, const Selection& place, size_t slot)
{
    if (!canGiveOutput(document, place)) return;
    const Graph& graph = document.model().graph(place.graph);
    const std::vector<ValueId>& results = graph.op(place.op).results;
    if (slot >= results.size()) return;
    const Value& value = graph.value(results[slot]);
    auto* const dialog = new QDialog(&asking);
    dialog->setObjectName(QStringLiteral("giveOutput"));
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setWindowTitle(QObject::tr("Give %1").arg(toText(value.id)));
    auto* const column = new QVBoxLayout(dialog);
    column->addWidget(new QLabel(QObject::tr("%1 has no kernel. What is %2, %3?")
                                     .arg(toText(lastPart(place.address)), toText(value.id), toText(shortType(value.type))),
                                 dialog));
    auto* const field = new QLineEdit(dialog);
    field->setObjectName(QStringLiteral("giveOutputSource"));
    field->setAccessibleName(QObject::tr("Source"));
    field->setPlaceholderText(QObject::tr("0.5 · [1, 2] · @7 · out.npy · run.lstrace"));
    field->setMinimumWidth(360);
    column->addWidget(field);
    auto* const buttons = new QDialogButtonBox(QDialogButtonBox::Ok | QDialogButtonBox::Cancel, dialog);
    auto* const file = buttons->addButton(QObject::tr("File or recording…"), QDialogButtonBox::ActionRole);
    file->setAutoDefault(false);
    column->addWidget(buttons);
    QObject::connect(file, &QPushButton::clicked, dialog, [&document, dialog, field] {
        const QString path =
            QFileDialog::getOpenFileName(dialog, QObject::tr("What it gives"), QFileInfo(toText(document.backend().path())).absolutePath(),
                                         QObject::tr("Arrays and recordings (*.npy *.npz *.csv *.png *.jpg *.raw *.bin "
                                                     "*.lstrace);;All files (*)"));
        if (!path.isEmpty()) field->setText(path);
    });
    QObject::connect(buttons, &QDialogButtonBox::rejected, dialog, &QDialog::reject);
    QObject::connect(buttons, &QDialogButtonBox::accepted, dialog,
                     [&document, &asking, dialog, field, place, slot, count = results.size()] {
                         const std::string source = field->text().trimmed().toStdString();
                         if (source.empty()) return;
                         const std::string result = staticAddress(place.address) + ":" + std::to_string(slot);
                         document.perform(request::GiveOutput{result, source});
                         dialog->accept();
                         if (slot + 1 < count) return giveOutput(document, asking, place, slot + 1);
                         document.perform(request::Move(request::Resume()));
                     });
    dialog->open();
    field->setFocus();
}

} // namespace loopscope::viewer
