// The elements of an input as a table that can be typed into: the last axis goes to the right, the others go down.
#pragma once

#include "engine/tensor/npy.h"

#include <QAbstractTableModel>
#include <QTableView>

namespace loopscope::viewer {

/// All elements, none of them kept as text.
class ValueTableModel final : public QAbstractTableModel {
    Q_OBJECT
public:
    using QAbstractTableModel::QAbstractTableModel;
    void setArray(Array array);
    const Array& array() const { return m_array; }
    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role) const override;
    Qt::ItemFlags flags(const QModelIndex& index) const override;
    bool setData(const QModelIndex& index, const QVariant& value, int role) override;

signals:
    /// A person typed another text for an element; the model keeps what it has until a new array comes.
    void typed(qint64 element, const QString& text);

private:
    int64_t elementAt(const QModelIndex& index) const { return index.row() * m_columns + index.column(); }
    Array m_array;
    int64_t m_rows = 0, m_columns = 0;
};

/// As `--input` reads it back: "[[1,2],[3,4]]", of `shape`, which has the array's rank: what the array lacks is 0, false or "". Element
/// `changed` of the shape becomes `text`.
QString literalOf(const Array& array, const Shape& shape, int64_t changed = -1, const QString& text = {});

} // namespace loopscope::viewer
