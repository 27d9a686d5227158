// What a tab of the window holds. Panels are made once per document and know only it. A key that a panel's widgets ignore comes back to it
// as command().
#pragma once

#include "viewer/bridge/document.h"

#include <QAction>
#include <QJsonObject>
#include <QLayout>
#include <QList>
#include <QString>
#include <QWidget>

namespace loopscope::viewer {

class Panel : public QWidget {
    Q_OBJECT
public:
    /// `objectName` as docs/desktop.md lists it ("panelListing"); `title` is the tab's text.
    Panel(Document& document, const QString& objectName, const QString& title, QWidget* parent = nullptr)
        : QWidget(parent),
          m_document(document),
          m_title(title)
    {
        setObjectName(objectName);
        setAccessibleName(title);
    }
    Document& document() { return m_document; }
    QString title() const { return m_title; }
    /// Shown at the right of the tab strip while this tab is in front: 16-px icon actions and widgets.
    virtual QList<QAction*> headActions() { return {}; }
    virtual QWidget* headWidget() { return nullptr; }
    /// The least that its layout needs at that width, not what it would like: lists and editors in it give way before the panel is
    /// scrolled.
    int heightForWidth(int width) const override { return layout() != nullptr ? layout()->totalMinimumHeightForWidth(width) : -1; }
    /// Where the focus goes when the panel is chosen by key.
    virtual QWidget* focusTarget() { return this; }
    /// What a session remembers of it (expressions, a query); empty: nothing. Read and set on the GUI thread.
    virtual QJsonObject state() const { return {}; }
    virtual void setState(const QJsonObject&) {}
    /// False while its picture is being made on another thread: screenshots wait for it.
    virtual bool settled() const { return true; }
    /// A command of the key table (viewer/window/key_table.h) while this panel has the focus. False: not mine.
    virtual bool command(const QString&) { return false; }

signals:
    void titleChanged(const QString& title);
    void stateChanged(); ///< what state() returns is another

protected:
    void setTitle(const QString& title);

private:
    Document& m_document;
    QString m_title;
};

} // namespace loopscope::viewer
