// The panels of a query's result, private to this folder.
#pragma once

#include "viewer/trace/trace_desk.h"
#include "viewer/trace/trace_panels.h"
#include "viewer/widgets/parts.h"

#include <QAbstractTableModel>
#include <QJsonObject>
#include <QLabel>
#include <QTableView>
#include <QTableWidget>
#include <QTreeWidget>

#include <algorithm>
#include <array>
#include <memory>
#include <vector>

namespace loopscope::viewer {

/// Rows of an answer in an order of their own; nothing is formatted that is not seen.
class ResultModel final : public QAbstractTableModel {
    Q_OBJECT
public:
    explicit ResultModel(TraceDesk& desk, QObject* parent);
    void setAnswer(std::shared_ptr<const TraceAnswer> answer);
    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role) const override;
    void sort(int column, Qt::SortOrder order) override; ///< many rows take their places a moment later
    const std::vector<int>& order() const { return m_order; }

private:
    TraceDesk& m_desk;
    std::shared_ptr<const TraceAnswer> m_answer;
    std::vector<int> m_order; ///< rows of the answer as shown
    Background m_sorter;      ///< of many rows
};

class ResultPanel final : public Panel {
    Q_OBJECT
public:
    explicit ResultPanel(Document& document);
    QList<QAction*> headActions() override { return {m_export}; }
    QWidget* headWidget() override { return m_summary; }
    QWidget* focusTarget() override { return m_table; }
    bool command(const QString& id) override; ///< "row N": selects it
    /// All rows as shown. Empty: written; else why not.
    Q_INVOKABLE QString exportTo(const QString& path);

private:
    void refresh();
    void fitColumns();
    void follow();
    ResultModel* m_model = nullptr;
    QTableView* m_table = nullptr;
    EmptyStack* m_stack = nullptr;
    QLabel* m_summary = nullptr;
    QAction* m_export = nullptr;
};

/// How SQLite finds the rows: EXPLAIN QUERY PLAN as a tree. Steps that look at every row of a table are marked.
class PlanPanel final : public Panel {
    Q_OBJECT
public:
    explicit PlanPanel(Document& document);
    QWidget* focusTarget() override { return m_tree; }

private:
    void refresh();
    QTreeWidget* m_tree = nullptr;
    QLabel* m_empty = nullptr;
};

/// Lines, points, bars or a band of up to four columns over one.
class ResultPlot final : public QWidget {
    Q_OBJECT
public:
    enum class Shape : uint8_t { line, points, bars, band };
    explicit ResultPlot(QWidget* parent);
    void setAnswer(std::shared_ptr<const TraceAnswer> answer);
    void setColumns(int x, const std::vector<int>& ys);
    void setShape(Shape shape);
    void setSelected(int row);
    int x() const { return m_x; } ///< −1: the row number
    const std::vector<int>& ys() const { return m_ys; }
    Shape shape() const { return m_shape; }
    std::vector<int> numericColumns() const;
    Q_INVOKABLE QJsonObject describe() const;

signals:
    void rowChosen(int row);

protected:
    void paintEvent(QPaintEvent*) override;
    void mousePressEvent(QMouseEvent*) override;

private:
    struct Range {
        double low = 0, high = 1;
        bool isWhole = true; ///< nothing in it has a fraction: nor have the numbers of its axis
        double step(int most) const;
        std::vector<double> ticks(int most) const;
    };
    struct Measured {
        std::vector<int> byX;
        Range x, y;
    };
    class Painting;
    static Measured measured(const TraceAnswer& answer, int x, const std::vector<int>& ys, Shape shape);
    void measure();
    double xOf(int row) const;
    int xTicks() const { return std::max(2, width() / 80); } ///< at most
    double yOf(int row, int column) const;
    QRectF area() const;
    std::shared_ptr<const TraceAnswer> m_answer;
    int m_x = -1, m_selected = -1;
    std::vector<int> m_ys;
    std::vector<int> m_byX; ///< rows in order of x
    Range m_xRange, m_yRange;
    Shape m_shape = Shape::line;
    Background m_background;
};

class PlotPanel final : public Panel {
    Q_OBJECT
public:
    explicit PlotPanel(Document& document);
    QWidget* headWidget() override { return m_columns; }
    QWidget* focusTarget() override { return m_plot; }
    QJsonObject state() const override { return m_choices.isEmpty() ? QJsonObject() : QJsonObject{{"plots", m_choices}}; }
    void setState(const QJsonObject& state) override;

private:
    void choose();
    void keep();
    void apply();
    void refresh();
    QString columnNames() const;
    QJsonObject m_choices; ///< what was chosen for answers with these columns: x, ys, shape
    ResultPlot* m_plot = nullptr;
    QWidget* m_columns = nullptr;
    QLabel* m_text = nullptr;
};

class RecordedValuePanel final : public Panel {
    Q_OBJECT
public:
    explicit RecordedValuePanel(Document& document);
    QWidget* headWidget() override { return m_stored; }

    struct Write;
    struct WritePair;

private:
    void refresh();
    void show(const WritePair& pair);
    QLabel *m_address = nullptr, *m_stored = nullptr;
    QTableWidget* m_table = nullptr;
    Background m_background;
};

} // namespace loopscope::viewer
