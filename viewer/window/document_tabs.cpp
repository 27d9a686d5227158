#include "viewer/window/document_tabs.h"

#include "viewer/style/icons.h"
#include "viewer/style/theme.h"
#include "viewer/widgets/closing_tabs.h"

#include <QClipboard>
#include <QDir>
#include <QFileInfo>
#include <QGuiApplication>
#include <QMenu>
#include <QSignalBlocker>
#include <QStackedWidget>
#include <QTabBar>
#include <QTimer>
#include <QToolButton>
#include <QVBoxLayout>

#include <algorithm>
#include <utility>

namespace loopscope::viewer {

namespace {

constexpr int kNameWidth = 240;    ///< of a tab's text; more of it is elided in the middle
constexpr int kAfterDrawing = 100; ///< ms; what has come in the place of a document is drawn by then

} // namespace

DocumentTabs::DocumentTabs(QWidget* parent) : QWidget(parent)
{
    auto* const column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(0);
    auto* const bar = new ClosingTabs(this);
    bar->closing = [this](int tab) { closeAt(tab); };
    m_bar = bar;
    m_bar->setObjectName("documentTabs");
    m_bar->setAccessibleName(tr("Open files"));
    m_bar->setDrawBase(false);
    m_bar->setExpanding(false);
    m_bar->setElideMode(Qt::ElideNone);
    m_bar->setUsesScrollButtons(true);
    m_bar->setMovable(true);
    m_bar->setFocusPolicy(Qt::TabFocus);
    m_bar->setContextMenuPolicy(Qt::CustomContextMenu);
    const auto restyle = [this] { m_bar->setFixedHeight(Theme::instance().barHeight(24)); };
    restyle();
    connect(&Theme::instance(), &Theme::changed, m_bar, restyle);
    connect(&Theme::instance(), &Theme::changed, this, &DocumentTabs::showNames);
    column->addWidget(m_bar);
    m_stack = new QStackedWidget(this);
    column->addWidget(m_stack, 1);
    connect(m_bar, &QTabBar::currentChanged, this, &DocumentTabs::go);
    connect(m_bar, &QTabBar::tabMoved, this, [this](int from, int to) {
        const int last = count() - 1; // a page stays at the end
        if (from > last || to > last) return showTabs();
        const auto at = [this](int tab) { return m_sheets.begin() + tab; };
        if (from < to) std::rotate(at(from), at(from) + 1, at(to) + 1);
        else std::rotate(at(to), at(from), at(from) + 1);
    });
    connect(m_bar, &QWidget::customContextMenuRequested, this, [this](const QPoint& at) {
        const int tab = m_bar->tabAt(at) >= 0 ? m_bar->tabAt(at) : m_bar->currentIndex();
        if (tab >= 0) showMenu(tab, m_bar->mapToGlobal(at));
    });
    showTabs();
}

DocumentTabs::~DocumentTabs()
{
    m_front = nullptr;
    m_sheets.clear();
    m_discarded.clear();
    DebugBridge::awaitEnded();
}

DocumentSheet* DocumentTabs::find(const QString& path) const
{
    const QString wanted = QFileInfo(path).absoluteFilePath();
    for (const auto& sheet : m_sheets)
        if (sheet->path() == wanted && sheet->document().stop()->compared.path.empty()) return sheet.get();
    return nullptr;
}

bool DocumentTabs::has(const DocumentSheet* sheet) const
{
    return std::ranges::any_of(m_sheets, [sheet](const auto& each) { return each.get() == sheet; });
}

void DocumentTabs::add(std::unique_ptr<DocumentSheet> sheet, int position)
{
    DocumentSheet* const added = sheet.get();
    const int at = position < 0 || position > count() ? count() : position;
    m_sheets.insert(m_sheets.begin() + at, std::move(sheet));
    bring(added);
}

void DocumentTabs::bring(DocumentSheet* sheet)
{
    if (sheet != m_front) {
        leave();
        m_front = sheet;
        if (!m_pageKept) m_page = nullptr;
        m_stack->addWidget(sheet);
        m_stack->setCurrentWidget(sheet);
    }
    showTabs();
    emit frontChanged();
    sheet->enter();
}

void DocumentTabs::showPage(QWidget* page, const QString& name, bool kept)
{
    leave();
    if (m_stack->indexOf(page) < 0) m_stack->addWidget(page);
    m_page = page;
    m_pageName = name;
    m_pageKept = kept;
    m_stack->setCurrentWidget(page);
    showTabs();
    emit frontChanged();
}

/// A document that is not in front is no part of the window.
void DocumentTabs::leave()
{
    if (DocumentSheet* const left = takeFront()) left->setParent(nullptr);
}

/// Its sheet stays among the widgets until who called has done with it: another parent would style anew all that it holds.
DocumentSheet* DocumentTabs::takeFront()
{
    if (!m_front) return nullptr;
    emit leaving();
    DocumentSheet* const left = std::exchange(m_front, nullptr);
    left->leave();
    left->hide();
    m_stack->removeWidget(left);
    return left;
}

std::unique_ptr<DocumentSheet> DocumentTabs::take(DocumentSheet* sheet, int& position)
{
    position = -1;
    const auto at = std::ranges::find_if(m_sheets, [sheet](const auto& each) { return each.get() == sheet; });
    if (at == m_sheets.end()) return nullptr;
    position = static_cast<int>(at - m_sheets.begin());
    if (sheet == m_front) takeFront();
    std::unique_ptr<DocumentSheet> taken = std::move(*at);
    m_sheets.erase(at);
    return taken;
}

int DocumentTabs::remove(DocumentSheet* sheet)
{
    int position = -1;
    take(sheet, position);
    return position;
}

int DocumentTabs::discard(DocumentSheet* sheet)
{
    int position = -1;
    std::unique_ptr<DocumentSheet> gone = take(sheet, position);
    if (!gone) return position;
    gone->sessions().close(); // whoever opens the same file again finds it
    m_discarded.push_back(std::move(gone));
    QTimer::singleShot(kAfterDrawing, this, [this] {
        for (const auto& old : m_discarded) old->document().bridge().endBehind();
        m_discarded.clear();
    });
    return position;
}

void DocumentTabs::clear()
{
    while (!m_sheets.empty()) remove(m_sheets.back().get());
    m_discarded.clear();
}

void DocumentTabs::closeFront()
{
    int tab = frontTab();
    if (m_front) {
        remove(m_front);
    } else {
        m_page = nullptr;
        m_pageKept = false;
    }
    tab = std::min(tab < 0 ? count() : tab, tabCount() - 1);
    if (tab >= 0) return go(tab);
    m_page = nullptr;
    showTabs();
    emit frontChanged();
}

void DocumentTabs::step(int offset)
{
    const int all = tabCount();
    if (all > 1 || (all == 1 && frontTab() < 0)) go(((frontTab() < 0 ? 0 : frontTab() + offset) % all + all) % all);
}

int DocumentTabs::frontTab() const
{
    if (!m_front) return m_page && m_pageKept ? count() : -1;
    for (int i = 0; i < count(); ++i)
        if (m_sheets[static_cast<size_t>(i)].get() == m_front) return i;
    return -1;
}

void DocumentTabs::go(int tab)
{
    if (tab >= 0 && tab < count()) bring(m_sheets[static_cast<size_t>(tab)].get());
    else if (tab == count() && m_page && m_pageKept) showPage(m_page, m_pageName, true);
}

void DocumentTabs::closeAt(int tab)
{
    if (tab != frontTab()) go(tab);
    emit closeRequested();
}

void DocumentTabs::showMenu(int tab, const QPoint& global)
{
    auto* const menu = new QMenu(this);
    menu->setAttribute(Qt::WA_DeleteOnClose);
    menu->addAction(tr("Close"), this, [this, tab] { closeAt(tab); });
    QAction* const others = menu->addAction(tr("Close the others"), this, [this, tab] {
        go(tab);
        const DocumentSheet* const kept = m_front;
        for (int at = count(); at-- > 0;)
            if (DocumentSheet* const each = m_sheets[static_cast<size_t>(at)].get(); each != kept) remove(each);
        if (kept) m_page = nullptr, m_pageKept = false;
        showTabs();
    });
    others->setEnabled(tabCount() > 1);
    if (tab < count())
        menu->addAction(tr("Copy path"), this,
                        [path = m_sheets[static_cast<size_t>(tab)]->path()] { QGuiApplication::clipboard()->setText(path); });
    menu->popup(global);
}

/// The folder, too, where two files have one name.
void DocumentTabs::showNames()
{
    const QFontMetrics metrics(m_bar->font());
    for (int tab = 0; tab < std::min(count(), m_bar->count()); ++tab) {
        const DocumentSheet& sheet = *m_sheets[static_cast<size_t>(tab)];
        QString name = sheet.label();
        const auto same = std::ranges::count_if(m_sheets, [&](const auto& each) { return each->label() == name; });
        if (same > 1) name = QFileInfo(sheet.path()).absoluteDir().dirName() + '/' + name;
        m_bar->setTabText(tab,
                          metrics.elidedText(name, Qt::ElideMiddle, kNameWidth * Theme::instance().textPercent() / 100).replace('&', "&&"));
        m_bar->setTabToolTip(tab, sheet.path());
    }
}

/// A welcome page that is in front has a tab only in so far as there are others to go back to.
void DocumentTabs::showTabs()
{
    const QSignalBlocker quiet(m_bar);
    const bool page = m_page && (m_pageKept || !m_front);
    const int wanted = count() + (page ? 1 : 0);
    while (m_bar->count() > wanted) m_bar->removeTab(m_bar->count() - 1);
    while (m_bar->count() < wanted) {
        auto* const close = new QToolButton(m_bar);
        close->setAutoRaise(true);
        close->setFocusPolicy(Qt::NoFocus);
        close->setIcon(themedIcon("close"));
        close->setIconSize(QSize(12, 12));
        close->setToolTip(tr("Close"));
        close->setAccessibleName(tr("Close this file"));
        m_bar->setTabButton(m_bar->addTab(QString()), QTabBar::RightSide, close);
        connect(close, &QToolButton::clicked, this, [this, close] {
            for (int tab = 0; tab < m_bar->count(); ++tab)
                if (m_bar->tabButton(tab, QTabBar::RightSide) == close) return closeAt(tab);
        });
    }
    showNames();
    if (page) {
        m_bar->setTabText(count(), m_pageName);
        m_bar->setTabToolTip(count(), QString());
    }
    m_bar->setCurrentIndex(m_front ? frontTab() : page ? count() : -1);
    m_bar->setVisible(wanted > 1);
}

} // namespace loopscope::viewer
