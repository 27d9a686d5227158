// What tests of panels share: making one over a debugger, and reading what it shows.
#pragma once

#include "tests/unit/viewer/panels/panel_backend.h"
#include "viewer/panels/listing_view.h"
#include "viewer/panels/panels.h"
#include "viewer/widgets/rows.h"

#include <QJsonArray>
#include <QTest>

namespace loopscope::viewer {

inline std::unique_ptr<Document> collatz() { return openFile("samples/text/collatz.lsir", {"x=27"}); }

/// Runs a line and lets questions and repaints come in.
inline void execute(Document& document, const QString& line)
{
    document.execute(line);
    QTRY_VERIFY_WITH_TIMEOUT(!document.bridge().busy(), 30000);
    QTest::qWait(30);
}

template <typename P> std::unique_ptr<Panel> shown(P* panel, QSize size = {360, 300})
{
    panel->resize(size);
    panel->show();
    return std::unique_ptr<Panel>(panel);
}

inline QAbstractItemModel* modelOf(Panel& panel, const char* name) { return panel.findChild<RowView*>(name)->model(); }

/// Visible rows of a tree or table, cells joined by '|', children indented.
inline QStringList rowsOf(const RowView& view, const QModelIndex& parent = {}, int depth = 0)
{
    QStringList rows;
    const QAbstractItemModel& model = *view.model();
    for (int row = 0; row < model.rowCount(parent); ++row) {
        QStringList cells;
        for (int column = 0; column < model.columnCount(parent); ++column) {
            const QModelIndex index = model.index(row, column, parent);
            QString cell = index.data().toString();
            if (const QString chip = index.data(chipRole).toString(); !chip.isEmpty()) cell += " (" + chip + ")";
            cells << cell;
        }
        const QModelIndex index = model.index(row, 0, parent);
        rows << QString(depth * 2, ' ') + cells.join("|") + (index.data(currentRole).toBool() ? " <=" : "");
        if (view.isExpanded(index)) rows << rowsOf(view, index, depth + 1);
    }
    return rows;
}

inline QJsonObject rowAt(const ListingView& view, const QString& address)
{
    for (const QJsonValue& row : view.describe()["rows"].toArray())
        if (row.toObject()["address"].toString() == address && row.toObject().contains("index")) return row.toObject();
    return {};
}

/// Pictures of all panels for people, where PANELS_PICTURES names a folder.
inline void grab(Panel& panel, const QString& name)
{
    const QString folder = qEnvironmentVariable("PANELS_PICTURES");
    if (!folder.isEmpty()) panel.grab().save(folder + "/" + name + ".png");
}

} // namespace loopscope::viewer
