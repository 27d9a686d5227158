// Dtypes in the tensor viewer's views, large values of which only a part is read, the cell cursor in all views, and what is remembered.
#include "engine/tensor/half.h"
#include "engine/tensor/strings.h"
#include "tests/unit/viewer/text_backend.h"
#include "viewer/style/theme.h"
#include "viewer/tensor/grid_views.h"
#include "viewer/tensor/mode_memory.h"
#include "viewer/tensor/tensor_panel.h"

#include <QClipboard>
#include <QGuiApplication>
#include <QJsonArray>
#include <QScrollBar>
#include <QTableView>
#include <QTableWidget>
#include <QTest>

#include <cmath>

namespace loopscope::viewer::testing {
namespace {

constexpr const char* kModel = R"(
graph main(x: f32[2,4]) {
  small   = const f32[2,3] [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
  large   = const f32[2,3] [-40.0, 0.0, 0.0, 0.0, 0.0, 8.0]
  flags   = const bool[4] [true, false, true, true]
  packed  = const i4[2,3] [1, -8, 7, 0, 1, 2]
  wide    = const i64[2] [9007199254740993, -9007199254740995]
  picture = const f32[2,4,4,1] [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0, 13.0, 14.0, 15.0,
                                0.5, 1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5, 8.5, 9.5, 10.5, 11.5, 12.5, 13.5, 14.5, 15.5]
  z = neg(x) : f32[2,4]
  return z
}
)";

struct Shown {
    Shown(std::string_view model = kModel, std::vector<Array> inputs = {arrayOf<float>(Shape{2, 4}, std::vector<float>(8, 1))})
        : document(std::make_unique<TextBackend>(textModel(std::string(model).c_str()), std::move(inputs))),
          panel(makeTensorPanel(document))
    {
        panel->resize(620, 300);
        panel->show();
    }
    void select(const char* value)
    {
        Selection selection;
        selection.address = "main";
        selection.graph = GraphId(0);
        selection.value = document.model().graph(GraphId(0)).findValue(value);
        document.select(selection);
        QTRY_VERIFY(describe()["value"].toString() == value && describe()["present"].toBool());
    }
    QJsonObject describe() const
    {
        QJsonObject out;
        QMetaObject::invokeMethod(panel.get(), "describe", Q_RETURN_ARG(QJsonObject, out));
        return out;
    }
    QTableView* table() const { return panel->findChild<QTableView*>("tensorTable"); }
    QWidget* heat() const { return panel->findChild<QWidget*>("tensorHeat"); }
    QJsonArray cursor() const { return describe()["cursor"].toArray(); }

    Document document;
    std::unique_ptr<Panel> panel;
};

/// 3,072 × 3,072: [r,c] is r · 3072 + c.
Array square()
{
    std::vector<float> values(size_t{3072} * 3072);
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
    return arrayOf<float>(Shape{3072, 3072}, values);
}

constexpr const char* kLargeModel = R"(
graph main(x: f32[3072,3072]) {
  z = neg(x) : f32[3072,3072]
  return z
}
)";

} // namespace

class TensorViewsTest : public QObject {
    Q_OBJECT
private slots:
    void initTestCase() { Theme::instance().apply(); }

    // --- dtypes ---------------------------------------------------------------------------------------------------------------------

    void eightBitFloatsHaveABarForEachByte()
    {
        Array array;
        array.dtype = DType::f8e5m2;
        array.shape = Shape{4};
        for (const float v : {-1.5F, 0.0F, 1.5F, 1.5F}) array.bytes.push_back(std::byte{floatToF8e5m2(v)});
        array.bytes.back() = std::byte{0x7f}; // NaN
        const Histogram h = histogramOf(array.view());
        QVERIFY(h.exact);
        QCOMPARE(h.bins.size(), size_t{256});
        QCOMPARE(h.nan, int64_t{1});
        QVERIFY(std::is_sorted(h.values.begin(), h.values.end(),
                               [](double a, double b) { return !std::isnan(a) && (std::isnan(b) || a < b); }));
        for (size_t i = 0; i < h.bins.size(); ++i) {
            if (h.bins[i] == 0) continue;
            QVERIFY(std::isnan(h.values[i]) || h.values[i] == -1.5 || h.values[i] == 0 || h.values[i] == 1.5);
        }
        QCOMPARE(h.low, -57344.0);
        QCOMPARE(h.high, 57344.0);
    }
    void quantizedValuesAreCountedAsStored()
    {
        const Quantization q = Quantization::perTensor(0.5F, 128);
        const Array array = arrayOf<uint8_t>(Shape{4}, {0, 255, 255, 128});
        Tensor tensor = array.view();
        tensor.quantization = &q;
        const Histogram h = histogramOf(tensor);
        QVERIFY(h.exact && h.clips);
        QCOMPARE(h.bins.size(), size_t{256});
        QCOMPARE(h.bins[0], int64_t{1});
        QCOMPARE(h.bins[255], int64_t{2});
        tensor.quantization = nullptr;
        QVERIFY(!histogramOf(tensor).clips);
    }
    void lengthsOfStringsAndStoredElementsAreCounted()
    {
        Array strings;
        strings.dtype = DType::string;
        strings.shape = Shape{3};
        strings.bytes = packStrings(std::vector<std::string>{"a", "bcd", "efg"});
        const Histogram lengths = histogramOf(strings.view());
        QCOMPARE(lengths.low, 1.0);
        QCOMPARE(lengths.bins, (std::vector<int64_t>{1, 0, 2}));
        const Array sparse = arrayOf<float>(Shape{6}, {0, 0, 7, 0, 8, 0});
        const std::vector<int64_t> places = {2, 4};
        const Tensor tensor = sparse.view();
        const Histogram stored = histogramOf(Counted{tensor, &places});
        QCOMPARE(stored.total, int64_t{2});
        QCOMPARE(stored.low, 7.0);
    }
    void denormalsOfNarrowFloatsAreCounted()
    {
        Array array;
        array.dtype = DType::f16;
        array.shape = Shape{2};
        array.bytes = {std::byte{1}, std::byte{0}, std::byte{0}, std::byte{0x3c}}; // 2^-24, 1
        QCOMPARE(histogramOf(array.view()).denormal, int64_t{1});
    }
    void differencesOfWholeNumbersAreExact()
    {
        const auto grid = [](int64_t value) {
            const Array array = arrayOf<int64_t>(Shape{1}, {value});
            return readGrid(array.view(), defaultAxes(array.shape));
        };
        const Grid d = difference(grid((int64_t{1} << 53) + 1), grid(0));
        QCOMPARE(cellText(d.cells[0], d.style), std::string("9007199254740993"));
        const Grid overflow = difference(grid(INT64_MAX), grid(-1)); // does not fit: near enough
        QCOMPARE(overflow.cells[0].real, 9223372036854775808.0);
    }
    void wideIntegersPackedOnesAndBooleansAreWrittenOut()
    {
        Shown f;
        f.select("wide");
        QVERIFY(f.panel->command("mode statistics"));
        auto* const statistics = f.panel->findChild<QTableWidget*>("tensorStats");
        QTRY_COMPARE(statistics->item(3, 1)->text(), QString("\u22129007199254740995"));
        QCOMPARE(statistics->item(4, 1)->text(), QString("9007199254740993"));
        f.select("packed");
        QVERIFY(f.panel->command("mode table"));
        bool isSaid = false;
        for (const QLabel* const label : f.panel->findChildren<QLabel*>()) isSaid = isSaid || label->text() == "packed, 2 per byte";
        QVERIFY(isSaid);
        f.panel->resize(320, 300); // the bar has no room for it
        QTRY_VERIFY2(f.describe()["note"].toString().contains("packed, 2 per byte"), qPrintable(f.describe()["note"].toString()));
        f.panel->resize(620, 300);
        f.select("flags");
        QTRY_COMPARE(f.table()->model()->index(0, 0).data().toString(), QString("1 \u25cf"));
        QCOMPARE(f.table()->model()->index(1, 0).data().toString(), QString("0 \u25cb"));
        QVERIFY(f.panel->command("copyCells"));
        QCOMPARE(QGuiApplication::clipboard()->text(), QString("1"));
        QVERIFY(f.panel->command("mode histogram"));
        QTRY_COMPARE(f.describe()["histogram"].toObject()["bins"].toArray(), (QJsonArray{1, 3}));
        QCOMPARE(f.panel->findChild<HistogramView*>()->barText(1), QString("true: 3 of 4, 75 %"));
    }

    void aScalarIsLarge()
    {
        Shown f("graph main(x: f32[]) {\n  s = const f32[] 0.25\n  z = neg(x) : f32[]\n  return z\n}\n", {arrayOf<float>(Shape{}, {1})});
        f.select("s");
        auto* const number = f.panel->findChild<QLabel*>("tensorScalar");
        QTRY_COMPARE(number->text(), QString("0.25"));
        QVERIFY(number->isVisible() && !f.table()->isVisible());
        QCOMPARE(number->font().pixelSize(), 15);
    }

    // --- large values ---------------------------------------------------------------------------------------------------------------

    void aWindowIsAsSquareAsThePlane()
    {
        const Array array = square();
        const Grid grid = readGrid(array.view(), defaultAxes(array.shape), {3000, 100});
        QCOMPARE(grid.rows, int64_t{256});
        QCOMPARE(grid.cols, int64_t{256});
        QCOMPARE(grid.rowBegin, int64_t{3072 - 256}); // not beyond the end
        QVERIFY(grid.covers(3000, 100) && !grid.covers(0, 100));
        QCOMPARE(flatOf(array.shape, defaultAxes(array.shape), 2, 3), int64_t{2 * 3072 + 3});
        const Grid exact = readGrid(array.view(), defaultAxes(array.shape), {5, 6, 2, 3});
        QCOMPARE(exact.cells.size(), size_t{6});
        const Array line = arrayOf<float>(Shape{1, 70000}, std::vector<float>(70000, 1));
        QCOMPARE(readGrid(line.view(), defaultAxes(line.shape)).cols, kMostCells);
    }
    void ofALargeValueOnlyWhatIsSeenIsRead()
    {
        Shown f(kLargeModel, {square()});
        executeAndSettle(f.document, "start");
        f.select("x");
        QCOMPARE(f.table()->model()->rowCount(), 3072);
        QCOMPARE(f.table()->model()->columnCount(), 3072);
        QCOMPARE(f.describe()["window"].toArray(), (QJsonArray{0, 0, 256, 256}));
        const auto cell = [&](int row, int col) { return f.table()->model()->index(row, col).data().toString(); };
        QTRY_COMPARE(cell(1, 2), QString("3074"));
        QCOMPARE(cell(2000, 2000), QString());
        f.table()->verticalScrollBar()->setValue(f.table()->verticalScrollBar()->maximum());
        QTRY_COMPARE(cell(3071, 1), QString("9.434113e6")); // scrolled into sight
        QTest::keyClick(f.table(), Qt::Key_End, Qt::ControlModifier);
        QCOMPARE(f.cursor(), (QJsonArray{3071, 3071}));
        QTRY_COMPARE(cell(3071, 3071), QString("9.437183e6"));
        const QJsonArray window = f.describe()["window"].toArray();
        QVERIFY(window[2].toInt() * window[3].toInt() <= kMostCells);
        // Scrolling away from the cursor stays where it is.
        f.table()->verticalScrollBar()->setValue(0);
        QTRY_COMPARE(cell(0, 3071), QString("3071"));
        QCOMPARE(f.table()->verticalScrollBar()->value(), 0);
        QCOMPARE(f.cursor(), (QJsonArray{3071, 3071}));
        // What is selected may be larger than what is read.
        f.panel->command("mode table");
        QTest::keyClick(f.table(), Qt::Key_Home, Qt::ControlModifier);
        QTRY_COMPARE(cell(0, 0), QString("0"));
        QTest::keyClick(f.table(), Qt::Key_End, Qt::ShiftModifier);
        QCOMPARE(f.describe()["anchor"].toArray(), (QJsonArray{0, 0}));
        QGuiApplication::clipboard()->clear();
        QVERIFY(f.panel->command("copyCells"));
        QTRY_COMPARE(QGuiApplication::clipboard()->text().count('\t'), 3071);
        QVERIFY(QGuiApplication::clipboard()->text().endsWith("\t3071"));
        QTest::keyClick(f.table(), Qt::Key_End, Qt::ShiftModifier | Qt::ControlModifier);
        QVERIFY(f.panel->command("copyCells"));
        QVERIFY2(f.describe()["note"].toString().contains("at most 65,536 are copied"), qPrintable(f.describe()["note"].toString()));
        // The heat map is of the whole plane.
        f.panel->command("mode heat");
        QTRY_VERIFY(f.describe()["heat"].toObject()["range"].toArray().last().toDouble() > 9.43e6);
        QVERIFY(f.describe()["note"].toString().contains("blocks of"));
    }

    // --- the cell cursor ------------------------------------------------------------------------------------------------------------

    void keysOfTheTableAreThoseOfThePanel()
    {
        Shown f;
        f.select("small");
        QTest::keyClick(f.table(), Qt::Key_Down);
        QTest::keyClick(f.table(), Qt::Key_Right);
        QCOMPARE(f.cursor(), (QJsonArray{1, 1}));
        QCOMPARE(f.table()->currentIndex(), f.table()->model()->index(1, 1));
        QTest::keyClick(f.table(), Qt::Key_Home);
        QCOMPARE(f.cursor(), (QJsonArray{1, 0}));
        QTest::keyClick(f.table(), Qt::Key_Up, Qt::ShiftModifier);
        QTest::keyClick(f.table(), Qt::Key_Right, Qt::ShiftModifier);
        QCOMPARE(f.table()->selectionModel()->selectedIndexes().size(), 4);
        QVERIFY(f.panel->command("copyCells"));
        QCOMPARE(QGuiApplication::clipboard()->text(), QString("1\t2\n4\t5"));
        QTest::keyClick(f.table(), Qt::Key_Escape);
        QCOMPARE(f.table()->selectionModel()->selectedIndexes().size(), 1);
        QTest::keyClick(f.table(), Qt::Key_2);
        QTRY_COMPARE(f.describe()["modes"].toArray(), QJsonArray{"heat"});
        QTRY_COMPARE(f.describe()["heat"].toObject()["cursor"].toArray(), (QJsonArray{0, 1}));
        QTest::keyClick(f.heat(), Qt::Key_Down, Qt::ShiftModifier);
        QVERIFY(f.panel->command("copyCells"));
        QCOMPARE(QGuiApplication::clipboard()->text(), QString("2\n5"));
    }
    void choosingInTheTableMovesTheCursorEverywhere()
    {
        Shown f;
        f.select("small");
        f.table()->selectionModel()->setCurrentIndex(f.table()->model()->index(1, 2), QItemSelectionModel::ClearAndSelect);
        QCOMPARE(f.cursor(), (QJsonArray{1, 2}));
        QMetaObject::invokeMethod(f.panel.get(), "showMode", Q_ARG(int, 4), Q_ARG(bool, true));
        QTRY_COMPARE(f.describe()["plot"].toObject()["column"].toInt(), 2);
    }
    void theCursorIsAPixelOfAPicture()
    {
        Shown f;
        f.select("picture");
        QVERIFY(f.panel->command("mode image"));
        QTRY_COMPARE(f.describe()["image"].toObject()["cursor"].toArray(), (QJsonArray{0, 0}));
        bool ok = false;
        QMetaObject::invokeMethod(f.panel.get(), "goToElement", Q_RETURN_ARG(bool, ok), Q_ARG(QString, "1,2,3,0"));
        QVERIFY(ok);
        QTRY_COMPARE(f.describe()["image"].toObject()["picture"].toInt(), 1);
        QTRY_COMPARE(f.describe()["image"].toObject()["cursor"].toArray(), (QJsonArray{2, 3}));
        QTest::keyClick(f.panel.get(), Qt::Key_PageUp);
        QTRY_COMPARE(f.describe()["image"].toObject()["picture"].toInt(), 0);
    }
    void aVectorIsPlottedWhereverTheCursorIs()
    {
        Shown f;
        f.select("wide");
        QVERIFY(f.panel->command("mode plot"));
        QTest::keyClick(f.panel.get(), Qt::Key_Down);
        QCOMPARE(f.cursor(), (QJsonArray{1, 0}));
        QCOMPARE(f.describe()["plot"].toObject()["row"].toInt(), 0);
        QCOMPARE(f.describe()["plot"].toObject()["column"].toInt(), 1);
        QVERIFY(!f.panel->grab().isNull());
    }

    void aPlotHasRoundLevelsAndDots()
    {
        GridContent content;
        content.grid.rows = 1;
        content.grid.cols = content.grid.allCols = 9;
        content.grid.allRows = 1;
        content.grid.cells.resize(9);
        const auto is = [&](size_t col, double value) {
            content.grid.cells[col].known = true;
            content.grid.cells[col].real = value;
        };
        is(1, 3.7);
        is(4, 11.2);
        is(5, 12.9);
        is(8, 4.4);
        GridPlot plot;
        plot.resize(400, 160);
        plot.setContent(&content, {}, nullptr);
        const QJsonObject told = plot.describe();
        QCOMPARE(told["dots"].toInt(), 2); // columns 1 and 8 have nothing beside them
        QCOMPARE(told["levels"].toArray(), (QJsonArray{2, 4, 6, 8, 10, 12, 14}));
        QVERIFY(!plot.grab().isNull());
    }
    void numbersBelowAPlotDoNotTouch()
    {
        GridContent content;
        content.grid.rows = content.grid.allRows = 1;
        content.grid.cols = 40;
        content.grid.colBegin = 123456700;
        content.grid.allCols = content.grid.colBegin + 40;
        content.grid.cells.resize(40);
        for (Cell& cell : content.grid.cells) cell.known = true;
        GridPlot plot;
        plot.resize(420, 160);
        plot.setContent(&content, {}, nullptr);
        const QJsonArray numbers = plot.describe()["numbers"].toArray();
        QVERIFY(numbers.size() >= 2);
        const double pitch = plot.describe()["rect"].toArray()[2].toDouble() / 40;
        const int wide = QFontMetrics(Theme::instance().font(FontUse::tiny)).horizontalAdvance("123456700");
        for (int i = 1; i < numbers.size(); ++i) QVERIFY((numbers[i].toDouble() - numbers[i - 1].toDouble()) * pitch > wide);
    }
    void allIterationsStandBelowTheWindowOfAPlot()
    {
        ValueSeries series;
        series.isScalar = true;
        series.iterations = 4096;
        for (int i = 0; i < 4096; ++i) {
            series.numbers.push_back(i == 3000 ? 50 : 1); // one in thousands
            series.written.push_back(i != 0);
        }
        const std::vector<CoursePart> parts = overviewOf(series, 4096);
        QCOMPARE(parts.size(), size_t(1024));
        QCOMPARE(parts[750].high, 50.0);
        QCOMPARE(parts[750].low, 1.0);
        QCOMPARE(parts[0].low, 1.0); // the part has written ones, too
        GridContent content;
        content.grid.rows = content.grid.allRows = 1;
        content.grid.cols = 64;
        content.grid.colBegin = 1000;
        content.grid.allCols = 4096;
        content.grid.overIterations = true;
        content.grid.current = 1010;
        content.grid.cells.resize(64);
        content.overview = parts;
        GridPlot plot;
        plot.resize(500, 200);
        plot.setContent(&content, {}, nullptr);
        const QJsonArray all = plot.describe()["overviewRect"].toArray(), drawn = plot.describe()["rect"].toArray();
        QCOMPARE(plot.describe()["overview"].toInt(), 1024);
        QVERIFY(drawn[1].toInt() + drawn[3].toInt() < all[1].toInt());
        QVERIFY(!plot.grab().isNull());
        // A press there goes to that iteration, outside of the window, too.
        qint64 column = -1;
        QObject::connect(&plot, &GridPlot::columnChosen, &plot, [&](qint64 chosen) { column = chosen; });
        QTest::mouseClick(&plot, Qt::LeftButton, {}, QPoint(all[0].toInt() + all[2].toInt() * 3000 / 4096, all[1].toInt() + 4));
        QVERIFY2(std::abs(column + 1000 - 3000) <= 4096 / all[2].toInt() + 1, qPrintable(QString::number(column)));
        content.overview.clear(); // all of it is drawn above
        plot.setContent(&content, {}, nullptr);
        QVERIFY(!plot.describe().contains("overview"));
    }
    void channelsOfAPictureAreStepped()
    {
        Shown f(R"(
graph main(x: f32[1,8,6,5]) {
  z = neg(x) : f32[1,8,6,5]
  return z
}
)",
                {arrayOf<float>(Shape{1, 8, 6, 5}, [] {
                    std::vector<float> values(8 * 6 * 5);
                    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
                    return values;
                }())});
        executeAndSettle(f.document, "start");
        f.select("x");
        // Height × width, of one channel.
        QVERIFY(f.panel->command("mode table"));
        QTRY_COMPARE(f.table()->model()->rowCount(), 8);
        QCOMPARE(f.table()->model()->columnCount(), 6);
        QCOMPARE(f.table()->model()->index(1, 2).data().toString(), QString("40")); // (1 · 6 + 2) · 5
        QTest::keyClick(f.panel.get(), Qt::Key_PageDown);
        QTRY_COMPARE(f.table()->model()->index(1, 2).data().toString(), QString("41"));
        // All channels side by side, then one by one.
        QVERIFY(f.panel->command("mode image"));
        QTRY_COMPARE(f.describe()["image"].toObject()["tilesAcross"].toInt(), 3);
        QCOMPARE(f.describe()["image"].toObject()["width"].toInt(), 18);
        QCOMPARE(f.describe()["image"].toObject()["height"].toInt(), 16);
        QTest::keyClick(f.panel.get(), Qt::Key_PageDown);
        QTRY_COMPARE(f.describe()["image"].toObject()["channel"].toInt(), 0);
        QCOMPARE(f.describe()["image"].toObject()["width"].toInt(), 6);
        bool ok = false;
        QMetaObject::invokeMethod(f.panel.get(), "goToElement", Q_RETURN_ARG(bool, ok), Q_ARG(QString, "0,3,4,0"));
        QVERIFY(ok);
        QTRY_COMPARE(f.describe()["image"].toObject()["cursor"].toArray(), (QJsonArray{3, 4}));
        QVERIFY(!f.panel->grab().isNull());
    }

    // --- ranges and modes -----------------------------------------------------------------------------------------------------------

    void aRangeIsSharedWithWhatIsPinned()
    {
        Shown f;
        f.select("large");
        QVERIFY(f.panel->command("pin"));
        f.select("small");
        QVERIFY(f.panel->command("mode heat"));
        QTRY_COMPARE(f.describe()["range"].toString(), QString("range 1 \u2026 6"));
        QMetaObject::invokeMethod(f.panel.get(), "shareRange");
        QTRY_COMPARE(f.describe()["range"].toString(), QString("range \u00b140, shared"));
        QVERIFY(f.panel->command("fitRange"));
        QTRY_COMPARE(f.describe()["range"].toString(), QString("range 1 \u2026 6"));
    }
    void modesAreRememberedByDtypeAndRank()
    {
        ModeMemory memory;
        memory.setEntries({{"f99 3", QJsonObject{{"modes", QJsonArray{"hologram"}}}}});
        QVERIFY(!memory.find(DType::f32, 2, false));
        QVERIFY(memory.remember(DType::f32, 2, true, {{"heat", "plot"}, true}));
        QVERIFY(!memory.remember(DType::f32, 2, true, {{"heat", "plot"}, true}));
        QVERIFY(!memory.find(DType::f32, 2, false));
        QVERIFY(memory.find(DType::f32, 2, true)->overIterations);
        QVERIFY(memory.entries().contains("f99 3"));

        Shown f;
        QJsonObject kept;
        keepTensorModes(
            *f.panel,
            {{"f32 2", QJsonObject{{"modes", QJsonArray{"heat", "hologram"}}}}, {"bool 1", QJsonObject{{"modes", QJsonArray{"image"}}}}},
            [&](const QJsonObject& modes) { kept = modes; });
        f.select("small");
        QTRY_COMPARE(f.describe()["modes"].toArray(), QJsonArray{"heat"});
        f.select("flags"); // a vector is no picture
        QCOMPARE(f.describe()["modes"].toArray(), QJsonArray{"table"});
        QVERIFY(f.panel->command("mode histogram"));
        QCOMPARE(kept["bool 1"].toObject()["modes"].toArray(), QJsonArray{"histogram"});
        f.select("large");
        QTRY_COMPARE(f.describe()["modes"].toArray(), QJsonArray{"heat"});
    }
};

} // namespace loopscope::viewer::testing

QTEST_MAIN(loopscope::viewer::testing::TensorViewsTest)
#include "tensor_views_test.moc"
