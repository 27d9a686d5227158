// Operators that only one of two models has, as a table: those of A, then those of B, in listing order.
#pragma once

#include "viewer/compare/compare_desk.h"

#include <QAbstractTableModel>

#include <string>
#include <utility>
#include <vector>

namespace loopscope::viewer {

class UnmatchedModel : public QAbstractTableModel {
    Q_OBJECT
public:
    explicit UnmatchedModel(CompareDesk& desk, QObject* parent = nullptr);
    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role) const override;
    CompareSide side(int row) const { return m_rows[static_cast<size_t>(row)].first; }
    const std::string& address(int row) const { return m_rows[static_cast<size_t>(row)].second; }

private:
    void collect();
    CompareDesk& m_desk;
    std::vector<std::pair<CompareSide, std::string>> m_rows;
};

} // namespace loopscope::viewer
