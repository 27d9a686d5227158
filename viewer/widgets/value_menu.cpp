#include "viewer/widgets/value_menu.h"

#include "viewer/bridge/text.h"

#include <QAction>
#include <QClipboard>
#include <QGuiApplication>
#include <QInputDialog>
#include <QMenu>

namespace loopscope::viewer {

void askDebugger(Document& document, QWidget& asking, const QString& line)
{
    document.execute(line);
    if (auto* const console = asking.window()->findChild<QAction*>(QStringLiteral("action.console"))) console->trigger();
}

void fillValueMenu(QMenu& menu, Document& document, QWidget& asking, const AskedValue& value)
{
    const auto add = [&](const QString& text, const char* name, std::function<void()> work) {
        QAction* const action = menu.addAction(text, &asking, std::move(work));
        action->setObjectName(QStringLiteral("value.") + QLatin1String(name));
        return action;
    };
    const QString expression = value.expression;
    const bool isRun = document.stop()->started;
    add(
        QObject::tr("Set…"), "set", value.set ? value.set : [] {})
        ->setEnabled(static_cast<bool>(value.set));
    add(QObject::tr("Watch"), "watch", [&document, expression] { document.perform(request::Display{expression.toStdString()}); });
    add(QObject::tr("Break when…"), "breakWhen", [&document, &asking, expression] {
        bool ok = false;
        const QString condition =
            QInputDialog::getText(&asking, QObject::tr("Break when"), QObject::tr("An expression; the run stops where it is true"),
                                  QLineEdit::Normal, QStringLiteral("max(%1) > 0").arg(expression), &ok);
        if (ok && !condition.trimmed().isEmpty()) document.execute(QStringLiteral("break when ") + condition.trimmed());
    });
    if (value.isPlace)
        add(QObject::tr("Break when it is written"), "breakWrite",
            [&document, expression] { document.execute(QStringLiteral("watch ") + expression); });
    menu.addSeparator();
    if (value.isPlace)
        add(QObject::tr("Who wrote this"), "whoWrote", [&document, &asking, expression] {
            askDebugger(document, asking, QStringLiteral("lastwrite ") + expression);
        })->setEnabled(isRun);
    const QString why = value.isAbnormal ? QStringLiteral("why nan ") : QStringLiteral("why ");
    if (value.isPlace)
        add(value.isAbnormal ? QObject::tr("Why NaN") : QObject::tr("Why is it so"), "why", [&document, &asking, line = why + expression] {
            askDebugger(document, asking, line);
        })->setEnabled(isRun);
    menu.addSeparator();
    add(QObject::tr("Copy name"), "copyName", [expression] { QGuiApplication::clipboard()->setText(expression); });
    if (!value.text.isEmpty())
        add(QObject::tr("Copy value"), "copyValue", [text = value.text] { QGuiApplication::clipboard()->setText(text); });
}

void fillPlaceMenu(QMenu& menu, Document& document, QWidget& asking, const Selection& place, bool isAbnormal)
{
    if (!place.value.valid() || !place.graph.valid()) return;
    AskedValue value;
    value.expression = toText(document.expressionOf(place));
    value.isAbnormal = isAbnormal;
    if (document.canSetValues())
        value.set = [&document, &asking, place, name = value.expression] {
            bool ok = false;
            const QString to = QInputDialog::getText(&asking, QObject::tr("Set %1").arg(name), QObject::tr("An expression, or [1, 2, 3]"),
                                                     QLineEdit::Normal, QString(), &ok);
            if (ok) document.setValue(place, {}, to);
        };
    fillValueMenu(menu, document, asking, value);
}

} // namespace loopscope::viewer
