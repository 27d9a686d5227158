// The views of a grid of cells: table, heat map, plot, histogram, image. They share one cell cursor through the panel.
#pragma once

#include "viewer/tensor/value_source.h"

#include <QAbstractTableModel>
#include <QJsonObject>
#include <QStyledItemDelegate>
#include <QTableView>
#include <QWidget>

#include <array>
#include <optional>
#include <vector>

namespace loopscope::viewer {

struct CellCursor {
    int64_t row = 0, col = 0;
    bool operator==(const CellCursor&) const = default;
};

/// What all views of one value show.
struct GridContent {
    Grid grid;
    ValueRange range;
    bool approximate = false; ///< while scrubbing: not of the present stop
    int64_t known = 0;        ///< over iterations: columns that have values
    /// Of all iterations, where the grid holds a window of them; else empty.
    std::vector<CoursePart> overview = {};
    QString rowName(int64_t row) const;
    QString columnName(int64_t col) const;
};

/// All cells of the plane; those that are not read are empty. Of a plane with very many rows or columns a part around the cursor.
class GridModel : public QAbstractTableModel {
    Q_OBJECT
public:
    using QAbstractTableModel::QAbstractTableModel;
    /// `cursor`: of the plane, to be among the rows and columns.
    void setContent(const GridContent* content, CellCursor cursor);
    /// Of the plane, what the first row and column of the model are.
    CellCursor begin() const { return m_begin; }
    QModelIndex indexOf(CellCursor cell) const
    {
        return index(static_cast<int>(cell.row - m_begin.row), static_cast<int>(cell.col - m_begin.col));
    }
    CellCursor cellOf(const QModelIndex& index) const { return {m_begin.row + index.row(), m_begin.col + index.column()}; }
    void setStyle(const CellStyle& style);
    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role) const override;
    Qt::ItemFlags flags(const QModelIndex& index) const override;
    bool setData(const QModelIndex& index, const QVariant& value, int role) override;
    /// Whether cells can be typed into.
    void setEditable(bool on) { m_isEditable = on; }
    /// Of a cell of the plane; empty where it is not read.
    QString text(int64_t row, int64_t col, bool screen) const;

signals:
    /// A person typed another text for a cell of the plane; the model keeps what it has.
    void typed(qint64 row, qint64 col, const QString& text);

private:
    const GridContent* m_content = nullptr;
    bool m_isEditable = false;
    CellStyle m_style;
    CellCursor m_begin;
    int m_rows = 0, m_cols = 0;
};

/// Selected cells on the selection's ground, the cursor outlined.
class CellDelegate : public QStyledItemDelegate {
    Q_OBJECT
public:
    explicit CellDelegate(QTableView* table) : QStyledItemDelegate(table), m_table(table) {}
    void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override;
    void setEditorData(QWidget* editor, const QModelIndex& index) const override;

private:
    QTableView* m_table;
};

/// One pixel of a picture a cell, scaled without smoothing; grid lines from 8 pixels a cell.
class HeatMap : public QWidget {
    Q_OBJECT
public:
    explicit HeatMap(QWidget* parent = nullptr);
    void setContent(const GridContent* content, CellStyle style);
    /// Of the grid. `from`: other corner of what is selected.
    void setCursorCell(CellCursor cell, std::optional<CellCursor> from = {});
    /// Cells in view with colours, range, cursor.
    Q_INVOKABLE QJsonObject describe() const;
    QRect cellsRect() const;
    /// Left and right of the cells of any heat map, for what they are called and what they hold: what plots below align with.
    static int labelWidth();
    static int valueWidth();

signals:
    void cellChosen(qint64 row, qint64 col);

protected:
    void paintEvent(QPaintEvent*) override;
    void mousePressEvent(QMouseEvent*) override;
    void mouseMoveEvent(QMouseEvent*) override;
    bool event(QEvent*) override;

private:
    std::optional<CellCursor> cellAt(const QPoint& at) const;
    QColor colorOf(const Cell& cell) const;
    void paintLegend(QPainter& painter, const QRect& cells) const;

    const GridContent* m_content = nullptr;
    CellStyle m_style;
    CellCursor m_cursor;
    std::optional<CellCursor> m_from;
};

/// Lines over columns (iterations or an axis): the cursor's element, a second one, and the band of all.
class GridPlot : public QWidget {
    Q_OBJECT
public:
    explicit GridPlot(QWidget* parent = nullptr);
    void setContent(const GridContent* content, CellCursor cursor, const TensorStatistics* statistics);
    Q_INVOKABLE QJsonObject describe() const;

signals:
    void columnChosen(qint64 col);

protected:
    void paintEvent(QPaintEvent*) override;
    void mousePressEvent(QMouseEvent*) override;

private:
    QRect plotRect() const;
    QRect overviewRect() const; ///< empty: all iterations are drawn
    void paintOverview(QPainter& painter) const;
    const GridContent* m_content = nullptr;
    CellCursor m_cursor;
    const TensorStatistics* m_statistics = nullptr;
};

class HistogramView : public QWidget {
    Q_OBJECT
public:
    explicit HistogramView(QWidget* parent = nullptr);
    void setHistogram(std::optional<Histogram> histogram);
    void setLogarithmic(bool on);
    /// Of what is counted: its bar is outlined. NaN: nothing.
    void setCursorValue(double value, DType dtype);
    /// "−3: 12 of 400, 3 %": what is counted in a bar.
    QString barText(size_t bar) const;
    Q_INVOKABLE QJsonObject describe() const;

signals:
    void allWanted();

protected:
    void paintEvent(QPaintEvent*) override;
    void mouseDoubleClickEvent(QMouseEvent*) override;
    bool event(QEvent*) override;

private:
    QRect barsRect() const;
    QString barName(size_t bar) const;
    std::optional<Histogram> m_histogram;
    bool m_log = false;
    double m_cursor = 0;
    DType m_dtype = DType::unknown;
};

class ImageView : public QWidget {
    Q_OBJECT
public:
    explicit ImageView(QWidget* parent = nullptr);
    void setImage(std::optional<ImagePixels> image);
    /// `channel`: −1: all, as colours.
    void setLook(int channel, double gamma, RangeMode mode, ValueRange typed);
    /// Of the shown pixels, where the cell cursor is; none: in another picture or channel.
    void setCursorPixel(std::optional<CellCursor> pixel);
    Q_INVOKABLE QJsonObject describe() const;

signals:
    void pixelChosen(qint64 row, qint64 col); ///< of the shown pixels

protected:
    void paintEvent(QPaintEvent*) override;
    void mousePressEvent(QMouseEvent*) override;

private:
    QRectF pixelsRect() const;
    QString channelText() const;
    ValueRange range() const;
    std::optional<ImagePixels> m_image;
    int m_channel = -1;
    double m_gamma = 1;
    RangeMode m_mode = RangeMode::automatic;
    ValueRange m_typed;
    std::optional<CellCursor> m_cursor;
};

} // namespace loopscope::viewer
