// Tables beside the values of a tensor: its statistics, its scales by channel or block, and who changed one element when.
#pragma once

#include "viewer/tensor/tensor_mode.h"
#include "viewer/tensor/value_source.h"

#include <QTableView>
#include <QTableWidget>

namespace loopscope::viewer {

/// The looks that all tables of the viewer share.
void dressTensorTable(QTableView* table);

class StatisticsTable : public QTableWidget {
    Q_OBJECT
public:
    explicit StatisticsTable(QWidget* parent);
    void fill(const ValueAnswer& answer);
};

class QuantizationTable : public QTableWidget {
    Q_OBJECT
public:
    explicit QuantizationTable(QWidget* parent);
    void fill(const ValueAnswer& answer);

private:
    void showBlocks(const ValueAnswer& answer);
};

/// Who wrote an element, iteration by iteration, where it changed.
class ElementHistory : public QTableWidget {
    Q_OBJECT
public:
    explicit ElementHistory(QWidget* parent);
    /// `all`: elements × iterations.
    void fill(const Grid& all, const ValueSeries& series, int64_t element, const QString& writer);

signals:
    void stepChosen(qint64 step);
};

} // namespace loopscope::viewer
