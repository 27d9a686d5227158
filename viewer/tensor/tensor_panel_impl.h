// The tensor viewer's panel, private to this folder.
#pragma once

#include "viewer/style/theme.h"
#include "viewer/tensor/grid_views.h"
#include "viewer/tensor/mode_memory.h"
#include "viewer/tensor/option_bar.h"
#include "viewer/tensor/tensor_panel.h"
#include "viewer/widgets/parts.h"

#include <QLabel>
#include <QPushButton>
#include <QTabBar>
#include <QTableView>
#include <QTableWidget>
#include <QTimer>
#include <QToolButton>

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace loopscope::viewer {

enum class TensorMode : uint8_t { table, heat, image, histogram, plot, statistics, quantization };
inline constexpr size_t kTensorModes = 7;

class TensorPanel final : public Panel {
    Q_OBJECT
public:
    explicit TensorPanel(Document& document);
    TensorPanel(Document& document, const QString& objectName, const QString& title, TensorFeed* feed);

    QList<QAction*> headActions() override { return m_feed ? QList{m_exportAction} : QList{m_pinAction, m_exportAction}; }
    QWidget* focusTarget() override;
    bool settled() const override { return !m_reading && (!m_scan || m_scan->done); }
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
    /// Counts all elements of a huge value for the histogram; Esc or stopScan() ends that.
    Q_INVOKABLE void beginScan();
    void pin() { addPin(m_selection); }
    /// Colours mean the same as in the pinned values.
    Q_INVOKABLE void shareRange() { setRange(RangeMode::shared); }

signals:
    void exported(const QString& path, const QString& problem);

protected:
    void keyPressEvent(QKeyEvent*) override;
    void resizeEvent(QResizeEvent*) override;

private:
    void buildBar();
    void buildViews();
    void followSelection();
    void followFeed();
    void show(const Selection& selection);
    void addPin(const Selection& selection);
    void request();
    void requestSeries(bool anew);
    void take(ValueAnswer answer);
    void refresh();
    void refreshBar();
    void refreshStatistics();
    void refreshHistory();
    void refreshBlockScales();
    void refreshOptions();
    void stopScan();
    std::tuple<std::string, int, int64_t, bool, int64_t> scanSource() const;
    void continueScanning();
    void openItem();
    bool canEdit() const;
    void setElement(qint64 row, qint64 col, const QString& text);
    void copyCells();
    int64_t lastKnownIteration() const;
    void chooseDefaultModes();
    bool recallModes(bool hasSeries);
    void rememberModes();
    ValueRange shownRange() const;
    void requestPinnedRange();
    void setRange(RangeMode mode);
    bool hasSeries() const;
    bool eventFilter(QObject* watched, QEvent* event) override;
    bool cursorKey(const QKeyEvent& event);
    void placeCursor(CellCursor cell, bool extend = false);
    void moveCursor(int64_t rows, int64_t cols, bool extend = false) { placeCursor({m_cursor.row + rows, m_cursor.col + cols}, extend); }
    void showCursor();
    void followTable();
    void readWhereScrolled();
    CellCursor planeEnd() const;
    bool isRead(CellCursor cell) const;
    int64_t flatAtCursor() const;
    std::pair<CellCursor, CellCursor> selectedCells() const;
    void slice(int by);
    void chooseAxes();
    void chooseDifference();
    void chooseRange();
    void toggleHistory();
    void askExport();
    void askElement();
    void say(const QString& text, Token color);
    bool shows(TensorMode mode) const { return m_shown[static_cast<size_t>(mode)]; }
    ValueRequest currentRequest() const;
    int64_t iterationNow() const;
    const Value* declared() const;
    QString baseName() const;

    TensorFeed* m_feed = nullptr; ///< null: the selection is followed
    FedTensor m_fed;
    Selection m_selection; ///< what is shown: of the document, or pinned
    std::vector<Selection> m_pins;
    ValueAnswer m_answer;
    bool m_hasAnswer = false;
    std::shared_ptr<const ValueSeries> m_series;
    bool m_seriesBusy = false;
    int64_t m_seriesRun = -1; ///< run and timeline that it is of
    TimelineId m_seriesLine;
    bool m_useSeries = false;  ///< elements × iterations
    bool m_modeChosen = false; ///< by the user, for this value
    std::optional<AxisChoice> m_axes;
    Window m_window; ///< of planes that are not read whole
    CompareWith m_compare = CompareWith::nothing;
    int64_t m_compareIteration = -1;
    RangeMode m_rangeMode = RangeMode::automatic;
    ValueRange m_typedRange;
    std::optional<ValueRange> m_pinnedRange; ///< of the pinned values together
    bool m_raw = false, m_hex = false, m_dense = false, m_log = false;
    CellStyle::Complex m_complex = CellStyle::Complex::both;
    int m_channel = -1; ///< of pictures; −1: all
    double m_gamma = 1;
    int64_t m_picture = 0;                                          ///< of a batch
    int64_t m_item = -1;                                            ///< of a list: the tensor in it that is shown; −1: the list
    std::optional<HistogramScan> m_scan;                            ///< of all elements
    std::tuple<std::string, int, int64_t, bool, int64_t> m_scanned; ///< scanSource() of m_scan
    uint64_t m_scanTicket = 0;
    bool m_reading = false;             ///< a constant, on another thread
    CellCursor m_cursor;                ///< in the plane; over iterations: element and iteration
    bool m_isPlaced = false;            ///< the cursor, by the user; else it follows the iteration
    std::optional<CellCursor> m_anchor; ///< other corner of what is selected; none: nothing but the cursor is
    bool m_placing = false;             ///< the table follows the cursor, not the other way round
    QTimer m_scrolled;
    GridContent m_content, m_heatContent, m_plotContent;
    std::array<bool, kTensorModes> m_shown{};

    QTabBar* m_tabs = nullptr;
    QWidget* m_bar = nullptr;
    std::array<QToolButton*, kTensorModes> m_modeButtons{};
    QLabel *m_name = nullptr, *m_type = nullptr, *m_note = nullptr, *m_scalar = nullptr;
    QPushButton *m_axesChip = nullptr, *m_differenceChip = nullptr;
    QToolButton* m_rangeButton = nullptr;
    GridModel* m_model = nullptr;
    QTableView* m_table = nullptr;
    HeatMap* m_heat = nullptr;
    ImageView* m_image = nullptr;
    HistogramView* m_histogram = nullptr;
    GridPlot* m_plot = nullptr;
    QTableWidget *m_stats = nullptr, *m_quant = nullptr, *m_history = nullptr;
    QLabel* m_packed = nullptr;
    OptionBar* m_options = nullptr;
    ProgressLine* m_progress = nullptr;
    Background m_reader, m_scanner;
    ModeMemory m_modes;
    std::function<void(const QJsonObject&)> m_modesChanged;
    QAction *m_pinAction = nullptr, *m_exportAction = nullptr;
};

} // namespace loopscope::viewer
