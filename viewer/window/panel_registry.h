// Who makes which panel: object name → function of a document. Folders of panels are added in panel_registry.cpp.
#pragma once

#include "viewer/widgets/panel.h"

#include <QString>
#include <QStringList>

namespace loopscope::viewer {

/// A panel of that object name, which the caller owns; null if there is none for this document.
Panel* makePanel(const QString& name, Document& document);
/// The names that makePanel() knows, those for recordings included.
QStringList panelNames();
/// Whether the wheel zooms the panel's picture without Ctrl.
void setWheelHabit(Panel* panel, bool zooms);
/// Shows the hits of a query in a search panel that makePanel() made.
void searchIn(Panel* searchPanel, const QString& query);

} // namespace loopscope::viewer
