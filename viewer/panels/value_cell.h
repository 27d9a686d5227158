// A value as the tables of watches and variables show it.
#pragma once

#include "engine/api/inspector.h"

#include <QString>
#include <QVariant>

#include <vector>

namespace loopscope::viewer {

struct ValueCell {
    QString text;
    QString exact; ///< of one number, all digits, as it is typed: what an editor begins with
    bool failed = false, abnormal = false, changed = false, absent = false;
    bool elsewhere = false; ///< of another moment than the present stop
};

ValueCell cellOf(const Tensor& tensor);
ValueCell cellOf(const EvaluatedValue& value);
/// Of a list of expressions: joined by commas, or what is wrong with it.
ValueCell cellOf(const Result<std::vector<EvaluatedValue>>& values);
/// There is none; `why` is shown instead.
ValueCell absentCell(const QString& why);

/// By roles of viewer/widgets/rows.h.
QVariant cellData(const ValueCell& cell, int role);
/// Head of the column that has them: "Value", "Value @10", "Value ≈ @10".
QString valueHead(const QString& moment);

} // namespace loopscope::viewer
