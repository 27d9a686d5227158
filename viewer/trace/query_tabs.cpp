#include "viewer/trace/query_tabs.h"

#include "viewer/trace/query_panels.h"

#include <QAction>
#include <QHBoxLayout>
#include <QTabBar>

#include <algorithm>

namespace loopscope::viewer {

QueryTabs::QueryTabs(QWidget* parent) : QWidget(parent), m_bar(new QTabBar(this)), m_queries(1)
{
    m_bar->setObjectName("queryTabs");
    m_bar->setAccessibleName(tr("Queries"));
    m_bar->setExpanding(false);
    m_bar->setDrawBase(false);
    m_bar->setElideMode(Qt::ElideNone);
    m_bar->setUsesScrollButtons(true);
    m_bar->addTab("SQL");
    auto* const row = new QHBoxLayout(this);
    row->setContentsMargins(4, 0, 4, 0);
    row->setSpacing(2);
    row->addWidget(m_bar);
    row->addStretch(1);
    connect(m_bar, &QTabBar::currentChanged, this, &QueryTabs::follow);
    connect(m_bar, &QTabBar::tabCloseRequested, this, &QueryTabs::close);
    hide(); // one query needs no tabs
}

int QueryTabs::count() const { return m_bar->count(); }
int QueryTabs::current() const { return m_current; }

void QueryTabs::setName(const QString& name)
{
    m_bar->setTabText(m_current, name);
    m_bar->setTabToolTip(m_current, name);
}

void QueryTabs::keep(const QJsonObject& query) { m_queries[static_cast<size_t>(m_current)] = query; }
QJsonObject QueryTabs::kept() const { return m_queries[static_cast<size_t>(m_current)]; }

QJsonArray QueryTabs::all() const
{
    QJsonArray queries;
    for (const QJsonObject& query : m_queries) queries.append(query);
    return queries;
}

void QueryTabs::setAll(const QJsonArray& queries, int current)
{
    if (queries.isEmpty()) return;
    m_isFilling = true;
    while (m_bar->count() > 0) m_bar->removeTab(0);
    m_queries.clear();
    for (const QJsonValue& query : queries) {
        const QString name = query["name"].toString();
        m_queries.push_back(query.toObject());
        m_bar->addTab(name.isEmpty() ? QStringLiteral("SQL") : name);
    }
    m_current = std::clamp(current, 0, m_bar->count() - 1);
    m_bar->setCurrentIndex(m_current);
    m_bar->setTabsClosable(m_bar->count() > 1);
    setVisible(m_bar->count() > 1);
    m_isFilling = false;
}

void QueryTabs::add(const QString& name, const QJsonObject& query)
{
    m_queries.push_back(query);
    m_isFilling = true; // the new tab is not there for follow() before it has its query
    const int tab = m_bar->addTab(name);
    m_isFilling = false;
    m_bar->setTabsClosable(true);
    show();
    m_bar->setCurrentIndex(tab);
}

void QueryTabs::close(int tab)
{
    if (m_bar->count() < 2) return;
    const bool wasCurrent = tab == m_current;
    m_isFilling = true;
    m_queries.erase(m_queries.begin() + tab);
    m_bar->removeTab(tab);
    m_current = m_bar->currentIndex();
    m_bar->setTabsClosable(m_bar->count() > 1);
    setVisible(m_bar->count() > 1);
    m_isFilling = false;
    if (wasCurrent) emit entered();
}

void QueryTabs::follow(int tab)
{
    if (m_isFilling || tab < 0 || tab == m_current) return;
    emit aboutToLeave();
    m_current = tab;
    emit entered();
}

void SqlPanel::makeTabs()
{
    m_tabs = new QueryTabs(this);
    connect(m_tabs, &QueryTabs::aboutToLeave, this, [this] { m_tabs->keep(query()); });
    connect(m_tabs, &QueryTabs::entered, this, [this] {
        setQuery(m_tabs->kept());
        touch();
    });
    m_add = new QAction("+", this);
    m_add->setObjectName("queryTabAdd");
    m_add->setToolTip("Another query, in a tab beside this one");
    connect(m_add, &QAction::triggered, this, [this] {
        m_tabs->add(m_name.isEmpty() ? QString("SQL") : m_name, query()); // it begins as a copy
        m_editor->setFocus();
    });
}

QJsonObject SqlPanel::query() const
{
    QJsonObject parameters;
    for (const auto& [name, field] : m_fields) parameters[name] = field->text();
    return {{"name", m_name}, {"sql", m_editor->toPlainText()}, {"parameters", parameters}};
}

/// The panel's tab and the query's.
void SqlPanel::name(const QString& title)
{
    setTitle(title);
    m_tabs->setName(title);
}

} // namespace loopscope::viewer
