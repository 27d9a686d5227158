#include "viewer/panels/value_table.h"

#include "engine/tensor/compare.h"
#include "engine/tensor/value_text.h"
#include "viewer/panels/common.h"

namespace loopscope::viewer {

namespace {

constexpr int kMostRows = 1 << 20; ///< a view of more is of no use

/// Stored integers, all digits.
QString exactElement(const Tensor& tensor, int64_t element)
{
    NumberFormat format;
    format.digits = NumberFormat::kExact;
    format.stored = true;
    return toText(elementText(tensor, element, format));
}

} // namespace

void ValueTableModel::setArray(Array array)
{
    beginResetModel();
    m_array = std::move(array);
    const int rank = m_array.shape.rank();
    const int64_t count = m_array.shape.isStatic() ? m_array.shape.elementCount() : 0;
    m_columns = rank == 0 ? 1 : m_array.shape[rank - 1];
    m_rows = m_columns > 0 ? std::min<int64_t>(count / m_columns, kMostRows) : 0;
    endResetModel();
}

int ValueTableModel::rowCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : static_cast<int>(m_rows); }

int ValueTableModel::columnCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : static_cast<int>(m_columns); }

QVariant ValueTableModel::data(const QModelIndex& index, int role) const
{
    if (!index.isValid()) return {};
    switch (role) {
    case Qt::DisplayRole: return onScreen(exactElement(m_array.view(), elementAt(index)).toStdString());
    case Qt::EditRole: return exactElement(m_array.view(), elementAt(index));
    case Qt::TextAlignmentRole:
        return static_cast<int>((m_array.dtype == DType::string ? Qt::AlignLeft : Qt::AlignRight) | Qt::AlignVCenter);
    case Qt::FontRole: return Theme::instance().font(FontUse::value);
    case Qt::ToolTipRole: return toText(elementIndexText(m_array.shape, elementAt(index)));
    default: return {};
    }
}

QVariant ValueTableModel::headerData(int section, Qt::Orientation orientation, int role) const
{
    if (role == Qt::FontRole) return Theme::instance().font(FontUse::tiny);
    if (role != Qt::DisplayRole) return {};
    const int rank = m_array.shape.rank();
    if (orientation == Qt::Horizontal) return rank == 0 ? QString("value") : QString::number(section);
    if (rank < 3) return rank == 2 ? QString::number(section) : QString();
    std::string index = elementIndexText(m_array.shape, section * m_columns);
    return toText(index.substr(0, index.rfind(',')) + ",:]");
}

Qt::ItemFlags ValueTableModel::flags(const QModelIndex& index) const
{
    return index.isValid() ? Qt::ItemIsEnabled | Qt::ItemIsSelectable | Qt::ItemIsEditable : Qt::NoItemFlags;
}

bool ValueTableModel::setData(const QModelIndex& index, const QVariant& value, int role)
{
    const QString text = value.toString().trimmed().replace(QChar(0x2212), '-');
    if (!index.isValid() || role != Qt::EditRole || text.isEmpty() || text == data(index, Qt::EditRole).toString()) return false;
    emit typed(elementAt(index), text);
    return true;
}

QString literalOf(const Array& array, const Shape& shape, int64_t changed, const QString& text)
{
    const Tensor view = array.view();
    const QString zero = array.dtype == DType::string ? "\"\"" : array.dtype == DType::boolean ? "false" : "0";
    QString out;
    int64_t count = 0;
    const auto write = [&](const auto& self, int axis, int64_t element, bool inside) -> void {
        if (axis == shape.rank()) {
            out += count++ == changed ? text : inside ? exactElement(view, element) : zero;
            return;
        }
        out += '[';
        for (int64_t i = 0; i < shape[axis]; ++i) {
            if (i > 0) out += ',';
            self(self, axis + 1, element * array.shape[axis] + i, inside && i < array.shape[axis]);
        }
        out += ']';
    };
    write(write, 0, 0, true);
    return out;
}

} // namespace loopscope::viewer
