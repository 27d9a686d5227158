// The documents that are open, a tab each, and the pages that stand in their place: welcome, a file that cannot be read. With one of them
// alone no tabs are drawn. Documents that are not in front stay as they are, and what runs in them goes on.
#pragma once

#include "viewer/window/document_sheet.h"

#include <QString>
#include <QWidget>

#include <memory>
#include <vector>

class QStackedWidget;
class QTabBar;

namespace loopscope::viewer {

class DocumentTabs : public QWidget {
    Q_OBJECT
public:
    explicit DocumentTabs(QWidget* parent = nullptr);
    ~DocumentTabs() override;

    /// Null: a page is in front.
    DocumentSheet* front() const { return m_front; }
    /// Null: a document is in front.
    QWidget* page() const { return m_front ? nullptr : m_page; }
    int count() const { return static_cast<int>(m_sheets.size()); }
    const std::vector<std::unique_ptr<DocumentSheet>>& sheets() const { return m_sheets; }
    /// Which of them is open under that name and held against nothing; null: none.
    DocumentSheet* find(const QString& path) const;
    bool has(const DocumentSheet* sheet) const;

    /// Puts a document in front; its tab stands where `position` says, −1: at the end.
    void add(std::unique_ptr<DocumentSheet> sheet, int position = -1);
    void bring(DocumentSheet* sheet);
    /// Puts a page in front. It has a tab under `name` until it is closed, or left if it is not `kept`.
    void showPage(QWidget* page, const QString& name, bool kept);
    /// The tab beside it comes to the front; without any, neither a document nor a page is.
    void closeFront();
    /// Its page has no tab any more; something else comes to the front.
    void dropPage() { m_page = nullptr, m_pageKept = false; }
    /// Closes a document, and puts nothing into its place. Returns where its tab stood, −1: it is not open.
    int remove(DocumentSheet* sheet);
    /// The same, but what it consists of goes in a later turn of the event loop: that takes a while, too.
    int discard(DocumentSheet* sheet);
    bool isDiscarding() const { return !m_discarded.empty(); }
    /// Closes all, and what is still there of those that were closed before.
    void clear();
    /// The next tab, or the one before, and from the last one the first.
    void step(int offset);
    /// The documents' names have changed.
    void showNames();

signals:
    /// A document is about to leave the front, perhaps for ever.
    void leaving();
    void frontChanged();
    /// The tab that is in front is to be closed, perhaps with others.
    void closeRequested();

private:
    void leave();
    DocumentSheet* takeFront();
    std::unique_ptr<DocumentSheet> take(DocumentSheet* sheet, int& position);
    void showTabs();
    void closeAt(int tab);
    void showMenu(int tab, const QPoint& global);
    int frontTab() const;
    int tabCount() const { return count() + (m_page && m_pageKept ? 1 : 0); }
    void go(int tab);

    QTabBar* m_bar;
    QStackedWidget* m_stack;
    std::vector<std::unique_ptr<DocumentSheet>> m_sheets, m_discarded;
    DocumentSheet* m_front = nullptr;
    QWidget* m_page = nullptr; ///< in front, or behind with a tab; its tab is the last one
    QString m_pageName;
    bool m_pageKept = false;
};

} // namespace loopscope::viewer
