// The tensor viewer's panel, private to this folder.
#pragma once

#include "viewer/style/theme.h"
#include "viewer/tensor/element_scan.h"
#include "viewer/tensor/option_bar.h"
#include "viewer/tensor/panel_content.h"
#include "viewer/tensor/pinned_tensors.h"
#include "viewer/tensor/tensor_bar.h"
#include "viewer/tensor/tensor_figures.h"
#include "viewer/tensor/tensor_mode.h"
#include "viewer/tensor/tensor_panel.h"
#include "viewer/tensor/value_course.h"
#include "viewer/widgets/parts.h"

#include <QLabel>
#include <QTableView>
#include <QTimer>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace loopscope::viewer {

class TensorPanel final : public Panel {
    Q_OBJECT
public:
    /// `feed`: chooses what is shown, in place of the selection; null: the selection is followed.
    TensorPanel(Document& document, const QString& objectName, const QString& title, TensorFeed* feed);

    QList<QAction*> headActions() override { return m_feed ? QList{m_exportAction} : QList{m_pinAction, m_exportAction}; }
    QWidget* focusTarget() override;
    bool settled() const override { return !m_reading && !m_scan.isRunning(); }
    bool command(const QString& id) override;
    QJsonObject state() const override;
    void setState(const QJsonObject& state) override;

    /// Modes, value, axes, cursor, what is said below the bar.
    Q_INVOKABLE QJsonObject describe() const;
    /// Shows a mode; `beside` keeps what is shown (at most two at a time).
    Q_INVOKABLE void showMode(int mode, bool beside = false);
    /// Moves the cell cursor to `3,7,0` or a flat index. False: there is no such element.
    Q_INVOKABLE bool goToElement(const QString& text);
    /// Writes the value as shown: .npy whole, .csv in visible order. Empty: written; else why not.
    Q_INVOKABLE void exportTo(const QString& path);
    void compareWith(CompareWith with, int64_t iteration);
    void keepModes(const QJsonObject& modes, std::function<void(const QJsonObject&)> changed);
    /// Counts all elements of a huge value for the histogram; Esc ends that.
    Q_INVOKABLE void beginScan();
    /// Colours mean the same as in the pinned values.
    Q_INVOKABLE void shareRange() { setRange(RangeMode::shared); }

signals:
    void exported(const QString& path, const QString& problem);

protected:
    void keyPressEvent(QKeyEvent*) override;
    void resizeEvent(QResizeEvent*) override;

private:
    void buildViews();
    void connectViews();
    void followSelection();
    void followFeed();
    void show(const Selection& selection);
    void request();
    void take(ValueAnswer answer);
    void refresh();
    void showViews(bool overIterations);
    void refreshBar();
    void refreshNote();
    void refreshHistory();
    void refreshOptions();
    ElementScan::Source scanSource() const;
    void countNext(const HistogramScan& scan, const ElementScan::Taken& taken);
    void openItem();
    bool canEdit() const;
    void setElement(qint64 row, qint64 col, const QString& text);
    void copyCells();
    std::optional<ValueRequest> courseRequest() const;
    Grid courseGrid() const;
    void chooseDefaultModes();
    void rememberModes();
    void setRange(RangeMode mode);
    bool eventFilter(QObject* watched, QEvent* event) override;
    bool cursorKey(const QKeyEvent& event);
    void placeCursor(CellCursor cell, bool extend = false);
    void showCursor();
    void followTable();
    void readWhereScrolled();
    int64_t flatAtCursor() const;
    void slice(int by);
    void chooseAxes();
    void chooseDifference();
    void chooseRange();
    void toggleHistory();
    void askExport();
    void say(const QString& text, Token color);
    ValueRequest currentRequest() const;
    int64_t iterationNow() const;
    const Value* declared() const;

    TensorFeed* m_feed = nullptr; ///< null: the selection is followed
    FedTensor m_fed;
    Selection m_selection; ///< what is shown: of the document, or pinned
    ValueAnswer m_answer;
    ShownModes m_modes;
    ValueCourse m_course;
    ElementScan m_scan;
    bool m_hasAnswer = false;
    std::optional<AxisChoice> m_axes;
    Window m_window; ///< of planes that are not read whole
    CompareWith m_compare = CompareWith::nothing;
    int64_t m_compareIteration = -1;
    RangeMode m_rangeMode = RangeMode::automatic;
    ValueRange m_typedRange;
    bool m_raw = false, m_hex = false, m_dense = false, m_log = false;
    CellStyle::Complex m_complex = CellStyle::Complex::both;
    int m_channel = -1; ///< of pictures; −1: all
    double m_gamma = 1;
    int64_t m_picture = 0;              ///< of a batch
    int64_t m_item = -1;                ///< of a list: the tensor in it that is shown; −1: the list
    bool m_reading = false;             ///< a constant, on another thread
    CellCursor m_cursor;                ///< in the plane; over iterations: element and iteration
    bool m_isPlaced = false;            ///< the cursor, by the user; else it follows the iteration
    std::optional<CellCursor> m_anchor; ///< other corner of what is selected; none: nothing but the cursor is
    bool m_placing = false;             ///< the table follows the cursor, not the other way round
    QTimer m_scrolled;
    PanelContent m_content;

    PinnedTensors* m_pins = nullptr;
    TensorBar* m_bar = nullptr;
    QLabel *m_note = nullptr, *m_words = nullptr; ///< below the views, and in their place
    GridModel* m_model = nullptr;
    QTableView* m_table = nullptr;
    HeatMap* m_heat = nullptr;
    ImageView* m_image = nullptr;
    HistogramView* m_histogram = nullptr;
    GridPlot* m_plot = nullptr;
    StatisticsTable* m_stats = nullptr;
    QuantizationTable* m_quant = nullptr;
    ElementHistory* m_history = nullptr;
    OptionBar* m_options = nullptr;
    ProgressLine* m_progress = nullptr;
    Background m_reader, m_scanner;
    std::function<void(const QJsonObject&)> m_modesChanged;
    QAction *m_pinAction = nullptr, *m_exportAction = nullptr;
};

} // namespace loopscope::viewer
