#include "viewer/window/accessibility.h"

#include "engine/observe/address_names.h"
#include "viewer/bridge/document.h"
#include "viewer/widgets/panel_area.h"
#include "viewer/widgets/panel_strip.h"
#include "viewer/window/status_line.h"

#include <QAccessible>
#include <QAccessibleWidget>

#include <algorithm>

namespace loopscope::viewer {

namespace {

QAccessibleInterface* statusReader(const QString&, QObject* object)
{
    auto* const status = qobject_cast<StatusLine*>(object);
    return status ? new QAccessibleWidget(status, QAccessible::StatusBar) : nullptr;
}

/// What Tab reaches in a strip, as the chain has it now.
QList<QWidget*> reachableIn(QWidget* strip)
{
    QList<QWidget*> found;
    QWidget* const first = strip->window();
    for (QWidget* each = first->nextInFocusChain(); each != first; each = each->nextInFocusChain())
        if (strip->isAncestorOf(each) && (each->focusPolicy() & Qt::TabFocus) && !each->focusProxy()) found.append(each);
    return found;
}

} // namespace

void orderFocus(PanelArea& area, const QStringList& panels)
{
    QList<PanelStrip*> strips = area.strips();
    const auto rank = [&](const PanelStrip* strip) {
        qsizetype best = panels.size();
        for (int i = 0; i < strip->count(); ++i)
            if (const qsizetype at = panels.indexOf(strip->panel(i)->objectName()); at >= 0) best = std::min(best, at);
        return best;
    };
    std::stable_sort(strips.begin(), strips.end(), [&](const PanelStrip* a, const PanelStrip* b) { return rank(a) < rank(b); });
    QWidget* before = nullptr;
    for (PanelStrip* const strip : std::as_const(strips)) {
        if (strip->window() != area.window()) continue;
        for (QWidget* const each : reachableIn(strip)) {
            if (before) QWidget::setTabOrder(before, each);
            before = each;
        }
    }
}

QString spokenStatus(const QString& state, const QString& reason, const Document* document)
{
    QStringList sentences = {state};
    if (!reason.isEmpty()) sentences.append(reason.left(1).toUpper() + reason.mid(1));
    if (document && document->stop()->started && !document->stop()->finished) {
        const QString address = QString::fromStdString(document->stop()->address);
        QString place = QString::fromStdString(lastPart(document->stop()->address)).replace('#', ' ');
        const qsizetype at = address.lastIndexOf('@');
        if (at >= 0) place += QStringLiteral(", iteration %1").arg(address.mid(at + 1).section(':', 0, 0));
        sentences.append(place);
    }
    return sentences.join(QStringLiteral(". ")) + '.';
}

void installStatusReader()
{
    static const bool installed = [] {
        QAccessible::installFactory(statusReader);
        return true;
    }();
    static_cast<void>(installed);
}

} // namespace loopscope::viewer
