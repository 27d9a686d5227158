// The tabs above the query editor: each keeps a query with its parameters. Private to this folder.
#pragma once

#include <QJsonArray>
#include <QJsonObject>
#include <QString>
#include <QWidget>

#include <vector>

class QTabBar;

namespace loopscope::viewer {

class QueryTabs final : public QWidget {
    Q_OBJECT
public:
    explicit QueryTabs(QWidget* parent);
    int count() const;
    int current() const;
    /// Of the present tab.
    void setName(const QString& name);
    /// What the present tab holds, before another one comes in its place or all are kept.
    void keep(const QJsonObject& query);
    QJsonObject kept() const; ///< by the present tab; empty: nothing
    QJsonArray all() const;
    void setAll(const QJsonArray& queries, int current);
    /// Opens one more, which holds `query`, and goes there.
    void add(const QString& name, const QJsonObject& query);

signals:
    void aboutToLeave(); ///< the present one: keep() it
    void entered();      ///< kept() is to be shown

private:
    void close(int tab);
    void follow(int tab);

    QTabBar* m_bar;
    std::vector<QJsonObject> m_queries;
    int m_current = 0;
    bool m_isFilling = false;
};

} // namespace loopscope::viewer
