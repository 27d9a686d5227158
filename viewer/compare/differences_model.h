// The differences of two runs as a table: one row for each result that was compared and is not the same.
#pragma once

#include "viewer/compare/compare_desk.h"

#include <QAbstractTableModel>

#include <vector>

namespace loopscope::viewer {

class DifferencesModel : public QAbstractTableModel {
    Q_OBJECT
public:
    explicit DifferencesModel(CompareDesk& desk, QObject* parent = nullptr);

    static constexpr int kTensor = 0;                                      ///< column; then the metrics in the order of kMetrics
    static constexpr int kClipped = 1 + static_cast<int>(kMetrics.size()); ///< quantized elements at an end of their dtype
    static constexpr int kNumber = kClipped + 1;                           ///< the operator's index in its graph
    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role) const override;
    /// By a metric, the worst first; by the tensor: in order of execution.
    void sort(int column, Qt::SortOrder order) override;

    int driftRow(int row) const { return m_rows[static_cast<size_t>(row)]; }
    int rowOf(int driftRow) const; ///< −1: it does not differ
    /// Something that was compared is quantized.
    bool hasClipped() const { return m_hasClipped; }
    /// Also those that are equal.
    void setAllShown(bool all);

private:
    void collect();
    void nameClipped();
    void order();

    CompareDesk& m_desk;
    std::vector<int> m_rows; ///< of the drift, as they are shown
    int m_sortColumn = kTensor;
    Qt::SortOrder m_sortOrder = Qt::AscendingOrder;
    bool m_all = false, m_hasClipped = false;
    QString m_clippedName;
};

} // namespace loopscope::viewer
