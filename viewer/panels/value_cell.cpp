#include "viewer/panels/value_cell.h"

#include "engine/tensor/value_text.h"
#include "viewer/panels/common.h"

namespace loopscope::viewer {

namespace {

ValueCell cellOfLine(const InlineValue& line)
{
    ValueCell cell;
    cell.text = onScreen(line.text);
    cell.abnormal = line.abnormal;
    return cell;
}

} // namespace

ValueCell cellOf(const Tensor& tensor)
{
    ValueCell cell = cellOfLine(firstElements(tensor));
    const DTypeClass kind = dtypeClass(tensor.dtype);
    if (tensor.shape.isStatic() && tensor.elementCount() == 1 && kind != DTypeClass::handle && kind != DTypeClass::block) {
        NumberFormat format;
        format.digits = NumberFormat::kExact;
        cell.exact = toText(elementText(tensor, 0, format));
    }
    return cell;
}

ValueCell cellOf(const EvaluatedValue& value)
{
    if (value.absence != Absence::present) return absentCell(onScreen(bareText(value, {})));
    Array storage;
    if (const std::optional<Tensor> elements = elementsOf(value, storage)) {
        ValueCell cell = cellOf(*elements);
        cell.text = onScreen(firstElements(*elements, 3).text);
        return cell;
    }
    ValueCell cell;
    cell.text = onScreen(bareText(value, {}));
    return cell;
}

ValueCell cellOf(const Result<std::vector<EvaluatedValue>>& values)
{
    ValueCell all;
    if (!values.ok()) {
        all.text = toText(values.error().message());
        all.failed = true;
        return all;
    }
    for (const EvaluatedValue& value : *values) {
        const ValueCell one = cellOf(value);
        all.text += (all.text.isEmpty() ? "" : ", ") + one.text;
        all.abnormal = all.abnormal || one.abnormal;
        all.absent = all.absent || one.absent;
    }
    return all;
}

ValueCell absentCell(const QString& why)
{
    ValueCell cell;
    cell.text = why;
    cell.absent = true;
    return cell;
}

QVariant cellData(const ValueCell& cell, int role)
{
    switch (role) {
    case Qt::DisplayRole:
    case Qt::ToolTipRole: return cell.text;
    case Qt::EditRole: return cell.exact;
    case Qt::TextAlignmentRole: return static_cast<int>((cell.failed ? Qt::AlignLeft : Qt::AlignRight) | Qt::AlignVCenter);
    case monoRole: return true;
    case boldRole: return cell.changed;
    case italicRole: return cell.elsewhere;
    case toneRole:
        return static_cast<int>(cell.failed || cell.abnormal ? Tone::err : cell.absent || cell.elsewhere ? Tone::text3 : Tone::text);
    default: return {};
    }
}

QString valueHead(const QString& moment) { return moment.isEmpty() ? QStringLiteral("Value") : "Value " + moment; }

} // namespace loopscope::viewer
