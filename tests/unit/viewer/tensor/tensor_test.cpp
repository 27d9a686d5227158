// The tensor viewer: how elements are written, which part is read, and the panel over a loop.
#include "engine/base/swapped_bytes.h"
#include "engine/kernels/cpu/tf_variant.h"
#include "engine/tensor/compare.h"
#include "engine/tensor/half.h"
#include "engine/tensor/strings.h"
#include "engine/tensor/value_text.h"
#include "tests/unit/viewer/text_backend.h"
#include "viewer/style/theme.h"
#include "viewer/tensor/grid_views.h"
#include "viewer/tensor/held_values.h"
#include "viewer/tensor/tensor_panel.h"

#include <QAbstractButton>
#include <QAbstractItemModelTester>
#include <QClipboard>
#include <QGuiApplication>
#include <QJsonArray>
#include <QSignalSpy>
#include <QTableView>
#include <QTableWidget>
#include <QTemporaryDir>
#include <QTest>

#include <cmath>
#include <limits>

namespace loopscope::viewer::testing {
namespace {

/// 48 iterations; x is halved and turned each time: exact in f32.
constexpr const char* kLoop = R"(
graph main(x: f32[2,4]) {
  zero = const i32[] 0
  table = const f32[2,3] [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
  n, y = while(zero, x) cond=@cond body=@body : (i32[], f32[2,4])
  z = neg(y) : f32[2,4]
  return z
}
graph cond(i: i32[], x: f32[2,4]) {
  limit = const i32[] 48
  go = less(i, limit) : bool[]
  return go
}
graph body(i: i32[], x: f32[2,4]) {
  one = const i32[] 1
  half = const f32[] 0.5
  next = add(i, one) : i32[]
  scaled = mul(x, half) : f32[2,4]
  turned = neg(scaled) : f32[2,4]
  return next, turned
}
)";

template <typename T> std::string textOf(const std::vector<T>& values, int64_t index, CellStyle style = {}, const Quantization* q = nullptr)
{
    Array array = arrayOf<T>(Shape{static_cast<int64_t>(values.size())}, values);
    Tensor tensor = array.view();
    tensor.quantization = q;
    style.dtype = tensor.dtype;
    style.quantized = q != nullptr;
    return cellText(cellOf(tensor, index), style);
}

struct Fixture {
    Fixture()
        : backend(new TextBackend(textModel(kLoop), {arrayOf<float>(Shape{2, 4}, {1, 2, 3, 4, 5, 6, 7, 8})})),
          document(std::unique_ptr<Backend>(backend)),
          panel(makeTensorPanel(document))
    {
        panel->resize(484, 212);
        panel->show();
    }
    QJsonObject describe() const
    {
        QJsonObject out;
        QMetaObject::invokeMethod(panel.get(), "describe", Q_RETURN_ARG(QJsonObject, out));
        return out;
    }
    void showMode(int mode) { QMetaObject::invokeMethod(panel.get(), "showMode", Q_ARG(int, mode), Q_ARG(bool, false)); }

    TextBackend* backend;
    Document document;
    std::unique_ptr<Panel> panel;
};

} // namespace

class TensorTest : public QObject {
    Q_OBJECT
private slots:
    void numbersAreShortAndExact()
    {
        QCOMPARE(shortNumber(0.23314159), std::string("0.2331"));
        QCOMPARE(shortNumber(-1.1e-4, false), std::string("-1.1e-4"));
        QCOMPARE(shortNumber(-1.1e-4), std::string("\u22121.1e\u22124"));
        QCOMPARE(shortNumber(1234567), std::string("1.235e6"));
        QCOMPARE(shortNumber(999999), std::string("1e6"));
        QCOMPARE(shortNumber(NAN), std::string("NaN"));
        QCOMPARE(exactNumber(static_cast<double>(0.1F), DType::f32), std::string("0.1"));
        QCOMPARE(exactNumber(0.1, DType::f64), std::string("0.1"));
        QCOMPARE(exactNumber(1.0 / 3, DType::f64), std::string("0.3333333333333333"));
        QCOMPARE(exactNumber(-0.0, DType::f32, false), std::string("-0"));
    }
    void integersNeverGoThroughDoubles()
    {
        QCOMPARE(textOf<int64_t>({(int64_t{1} << 53) + 1}, 0), std::string("9007199254740993"));
        QCOMPARE(textOf<uint64_t>({UINT64_MAX}, 0), std::string("18446744073709551615"));
        CellStyle hex;
        hex.hex = true;
        QCOMPARE(textOf<int32_t>({141}, 0, hex), std::string("0x8d"));
        hex.screen = false;
        QCOMPARE(textOf<int32_t>({-1}, 0, hex), std::string("-0x1"));
    }
    void quantizedValuesHaveTwoFaces()
    {
        const Quantization q = Quantization::perTensor(0.5F, 128);
        QCOMPARE(textOf<uint8_t>({141, 255}, 0, {}, &q), std::string("6.5"));
        CellStyle raw;
        raw.raw = true;
        QCOMPARE(textOf<uint8_t>({141, 255}, 0, raw, &q), std::string("141"));
        Array array = arrayOf<uint8_t>(Shape{3}, {0, 141, 255});
        Tensor tensor = array.view();
        tensor.quantization = &q;
        QVERIFY(cellOf(tensor, 0).saturated);
        QVERIFY(!cellOf(tensor, 1).saturated);
        QVERIFY(cellOf(tensor, 2).saturated);
    }
    void narrowTypesAreUnpacked()
    {
        Array packed;
        packed.dtype = DType::i4;
        packed.shape = Shape{3};
        packed.bytes = {std::byte{0x8f}, std::byte{0x07}}; // −1, −8, 7
        CellStyle style;
        style.dtype = DType::i4;
        style.screen = false;
        QCOMPARE(cellText(cellOf(packed.view(), 0), style), std::string("-1"));
        QCOMPARE(cellText(cellOf(packed.view(), 1), style), std::string("-8"));
        QCOMPARE(cellText(cellOf(packed.view(), 2), style), std::string("7"));
        const Histogram h = histogramOf(packed.view());
        QVERIFY(h.exact);
        QCOMPARE(h.bins.size(), size_t{16});
        QCOMPARE(h.bins[0], 1);  // −8
        QCOMPARE(h.bins[15], 1); // 7
        Array eight;
        eight.dtype = DType::f8e5m2;
        eight.shape = Shape{1};
        eight.bytes = {std::byte{floatToF8e5m2(1.5F)}};
        style.dtype = DType::f8e5m2;
        QCOMPARE(cellText(cellOf(eight.view(), 0), style), std::string("1.5 3e"));
    }
    void complexNumbersShowBothParts()
    {
        Array array;
        array.dtype = DType::c64;
        array.shape = Shape{1};
        const float parts[2] = {3, -4};
        array.bytes.resize(8);
        std::memcpy(array.bytes.data(), parts, 8);
        CellStyle style;
        style.dtype = DType::c64;
        style.screen = false;
        QCOMPARE(cellText(cellOf(array.view(), 0), style), std::string("3-4i"));
        style.complex = CellStyle::Complex::magnitude;
        QCOMPARE(cellText(cellOf(array.view(), 0), style), std::string("5"));
        QCOMPARE(cellOf(array.view(), 0).real, 5.0);
    }
    void stringsAreQuotedAndCutBetweenCharacters()
    {
        QCOMPARE(quotedText("a\"\n\x01", 0), std::string("\"a\\\"\\n\\x01\""));
        QCOMPARE(quotedText("\xff\xc3\xa9", 0), std::string("\"\\xff\xc3\xa9\""));
        QCOMPARE(quotedText("ab\xc3\xa9", 3), std::string("\"ab\"…4"));
        QCOMPARE(quotedText("\xf0\x9f", 0), std::string("\"\\xf0\\x9f\""));
    }
    void indicesAreTypedInTwoWays()
    {
        const Shape shape{2, 3, 4};
        QCOMPARE(parseIndex("1,2,3", shape), 23);
        QCOMPARE(parseIndex("[1, 0, 2]", shape), 14);
        QCOMPARE(parseIndex("23", shape), 23);
        QCOMPARE(parseIndex("24", shape), -1);
        QCOMPARE(parseIndex("2,0,0", shape), -1);
        QCOMPARE(parseIndex("1,2", shape), -1);
        QCOMPARE(parseIndex("a", shape), -1);
        QCOMPARE(parseIndex("99999999999999999999", shape), -1);
        QCOMPARE(elementIndexText(shape, 23), std::string("[1,2,3]"));
    }
    void readsOnlyTheWindow()
    {
        std::vector<int32_t> values(300 * 400);
        for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<int32_t>(i);
        const Array array = arrayOf<int32_t>(Shape{300, 400}, values);
        const Grid grid = readGrid(array.view(), defaultAxes(array.shape), {10, 5});
        QVERIFY(static_cast<int64_t>(grid.cells.size()) <= kMostCells);
        QCOMPARE(grid.flat(0, 0), 10 * 400 + 5);
        QCOMPARE(grid.at(2, 3).bits, uint64_t{12 * 400 + 8});
        QCOMPARE(shownText(grid, defaultAxes(array.shape)), std::string("showing 65,536 of 120,000 elements"));
        const Grid blocks = readBlocks(array.view(), defaultAxes(array.shape));
        QVERIFY(blocks.rows * blocks.cols <= kMostCells);
        QCOMPARE(blocks.rows * blocks.blockRows >= 300, true);
        QCOMPARE(blocks.low.front(), 0.0F);
        QVERIFY(blocks.high.back() >= 119'999.0F - 1);
    }
    void fixedAxesChooseThePlane()
    {
        std::vector<float> values(2 * 3 * 4);
        for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
        const Array array = arrayOf<float>(Shape{2, 3, 4}, values);
        AxisChoice axes = defaultAxes(array.shape);
        axes.fixed[0] = 1;
        QCOMPARE(readGrid(array.view(), axes).at(0, 0).real, 12.0);
        axes.rows = {0, 1};
        const Grid all = readGrid(array.view(), axes);
        QCOMPARE(all.rows, 6);
        QCOMPARE(all.at(5, 3).real, 23.0);
        QCOMPARE(shownText(readGrid(array.view(), defaultAxes(array.shape)), defaultAxes(array.shape)),
                 std::string("showing 12 of 24 elements · axis 0 fixed at 0"));
    }
    void rangesFollowTheirMode()
    {
        std::vector<float> values(200, 1);
        values[0] = -2;
        values[1] = 1000;
        values[2] = std::numeric_limits<float>::quiet_NaN();
        const Array array = arrayOf<float>(Shape{200}, values);
        const Grid grid = readGrid(array.view(), defaultAxes(array.shape));
        QCOMPARE(rangeOf(grid, RangeMode::automatic).low, -1000.0); // signs differ
        QCOMPARE(rangeText(rangeOf(grid, RangeMode::automatic)), std::string("range \u00b11000"));
        QCOMPARE(rangeOf(grid, RangeMode::robust).high, 1.0);
        QCOMPARE(mapFor(grid, {-1, 1}), MapKind::diverging);
        QCOMPARE(mapFor(grid, {0, 1}), MapKind::sequential);
    }
    void sequentialColorsRiseInLightness()
    {
        for (int i = 0; i < 100; ++i)
            QVERIFY(luminance(mapColor(MapKind::sequential, i / 100.0, 0xffffffff)) <=
                    luminance(mapColor(MapKind::sequential, (i + 1) / 100.0, 0xffffffff)));
        for (const uint32_t surface : {0xffffffffU, 0xff16181cU, 0xff000000U}) {
            const double middle = luminance(mapColor(MapKind::diverging, 0.5, surface));
            QVERIFY(std::abs(luminance(mapColor(MapKind::diverging, 0, surface)) - middle) > 0.1);
            QVERIFY(std::abs(luminance(mapColor(MapKind::diverging, 1, surface)) - middle) > 0.1);
        }
    }
    void channelScalesThatDoNotFitAreSaid()
    {
        Quantization q;
        q.kind = Quantization::Kind::affine;
        q.scales = {0.5F, 0.25F, 1};
        q.zeroPoints = {0, 0, 0};
        q.axis = 0;
        Array array = arrayOf<int8_t>(Shape{2, 2}, {1, 127, -128, 4});
        Tensor tensor = array.view();
        tensor.quantization = &q;
        const QuantizationRows rows = quantizationOf(tensor);
        QCOMPARE(rows.warning, std::string("channel scales: 3 of 2 expected; the first one counts for all in \"real\", shown in \"raw\""));
        QCOMPARE(rows.channels[0].elements, 4);
        q.scales = {0.5F, 0.25F};
        const QuantizationRows fitting = quantizationOf(tensor);
        QVERIFY(fitting.warning.empty());
        QCOMPARE(fitting.channels[0].saturated, 1);
        QCOMPARE(fitting.channels[1].min, -32.0);
    }

    void modelKeepsTheRulesOfItemModels()
    {
        GridModel model;
        QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::QtTest);
        GridContent content;
        const Array array = arrayOf<float>(Shape{2, 3}, {1, 2, 3, 4, 5, 6});
        content.grid = readGrid(array.view(), defaultAxes(array.shape));
        model.setContent(&content, {});
        QCOMPARE(model.rowCount(), 2);
        QCOMPARE(model.data(model.index(1, 2), Qt::DisplayRole).toString(), QString("6"));
        GridContent none;
        model.setContent(&none, {});
        QCOMPARE(model.rowCount(), 0);
    }
    void nothingSelectedSaysSo()
    {
        const Fixture f;
        QCOMPARE(f.describe()["text"].toString(), QString("Select a tensor in the graph, the listing or a table."));
    }
    void aValueOfALoopOpensOverIterations()
    {
        Fixture f;
        executeAndSettle(f.document, "start");
        QVERIFY(f.document.select("main/while#0:body/mul#1"));
        executeAndSettle(f.document, "goto main/while#0@37:body/neg#2");
        QTRY_VERIFY(f.describe()["overIterations"].toBool());
        QTRY_COMPARE(f.describe()["heat"].toObject()["known"].toInt(), 38);
        const QJsonObject told = f.describe();
        QCOMPARE(told["modes"].toArray(), (QJsonArray{"heat", "plot"}));
        QCOMPARE(told["heat"].toObject()["rows"].toInt(), 8);
        QCOMPARE(told["heat"].toObject()["current"].toInt(), 37);
        QCOMPARE(told["heat"].toObject()["map"].toString(), QString("diverging"));
        QCOMPARE(told["range"].toString(), QString("range \u00b14")); // [1,3] of the first: 8 · 0.5
        QCOMPARE(f.panel->title(), QString("scaled"));
    }
    void theTableShowsThisMomentAndScrubbingShowsOthers()
    {
        Fixture f;
        executeAndSettle(f.document, "start");
        QVERIFY(f.document.select("main/while#0:body/mul#1"));
        executeAndSettle(f.document, "goto main/while#0@3:body/neg#2");
        QTRY_VERIFY(f.describe()["overIterations"].toBool());
        f.showMode(0);
        auto* table = f.panel->findChild<QTableView*>("tensorTable");
        const auto cell = [table](int row, int column) { return table->model()->index(row, column).data().toString(); };
        QTRY_COMPARE(cell(0, 0), QString("\u22120.0625")); // 1 / 2⁴, turned three times
        QCOMPARE(cell(1, 3), QString("\u22120.5"));
        f.document.setPreview(1);
        QCOMPARE(cell(0, 0), QString("\u22120.25"));
        QVERIFY(f.describe()["approximate"].toBool());
        QVERIFY(f.describe()["note"].toString().contains("\u2248 @1"));
        f.document.setPreview(std::nullopt);
        QCOMPARE(cell(0, 0), QString("\u22120.0625"));
    }
    void constantsNeedNoRun()
    {
        Fixture f;
        Selection selection;
        selection.address = "main";
        selection.graph = GraphId(0);
        selection.value = f.document.model().graph(GraphId(0)).findValue("table");
        f.document.select(selection);
        QTRY_VERIFY(f.describe()["present"].toBool());
        QCOMPARE(f.panel->findChild<QTableView*>("tensorTable")->model()->index(1, 2).data().toString(), QString("6"));
    }
    void cellsAreCopiedWithExactDigits()
    {
        Fixture f;
        Selection selection;
        selection.address = "main";
        selection.graph = GraphId(0);
        selection.value = f.document.model().graph(GraphId(0)).findValue("table");
        f.document.select(selection);
        QTRY_VERIFY(f.describe()["present"].toBool());
        f.panel->findChild<QTableView*>("tensorTable")->selectAll();
        QVERIFY(f.panel->command("copyCells"));
        QCOMPARE(QGuiApplication::clipboard()->text(), QString("1\t2\t3\n4\t5\t6"));
    }
    void sparseConstantsShowWhatIsStored()
    {
        Model model = textModel(kLoop);
        const ValueId table = model.graph(GraphId(0)).findValue("table");
        Value& value = model.graphs.front().values[static_cast<size_t>(table.index)];
        const std::array<float, 2> stored = {7, 8};
        auto bytes = std::make_shared<std::vector<std::byte>>(sizeof stored);
        std::memcpy(bytes->data(), stored.data(), sizeof stored);
        auto constant = std::make_shared<Constant>(Bytes(std::span<const std::byte>(*bytes), bytes));
        Sparsity sparsity; // rows dense, columns by index
        sparsity.traversalOrder = {0, 1};
        sparsity.dimensions.resize(2);
        sparsity.dimensions[0].denseSize = 2;
        sparsity.dimensions[1].compressed = true;
        sparsity.dimensions[1].segments = {0, 1, 2};
        sparsity.dimensions[1].indices = {2, 0};
        constant->sparsity = sparsity;
        value.constant = constant;
        ValueRequest request;
        request.graph = GraphId(0);
        request.value = table;
        ValueAnswer answer = readConstant(model, request);
        QVERIFY(answer.isSparse);
        QCOMPARE(answer.grid.rows, int64_t{2});
        QCOMPARE(answer.grid.rowFlat, (std::vector<int64_t>{2, 3})); // [0,2] and [1,0]
        QCOMPARE(answer.grid.cells[1].real, 8.0);
        QCOMPARE(shownText(answer.grid, answer.axes), std::string("2 stored of 6"));
        GridContent content;
        content.grid = answer.grid;
        QCOMPARE(content.rowName(0), QString("[0,2]"));
        request.dense = true;
        answer = readConstant(model, request);
        QCOMPARE(answer.grid.cells.size(), size_t{6});
    }
    void listsAreTablesOfTensors()
    {
        const Array two = arrayOf<float>(Shape{2}, {1, 2}), three = arrayOf<float>(Shape{3}, {3, 4, 5});
        VariantValue list;
        list.kind = VariantKind::list;
        list.elementType = DType::f32;
        list.elementShape = Shape{-1};
        list.tensors = {variantTensor(two.view()), VariantTensor(), variantTensor(three.view())};
        Array holder;
        holder.dtype = DType::variant;
        holder.shape = Shape{};
        holder.bytes = packStrings(std::vector<std::string>{encodeVariant(list)});
        Fixture f; // lists need nothing of its executor
        const HeldValues held = *f.backend->session().ask([&](Inspector& inspector) { return heldBy(inspector, holder.view(), 2); });
        QCOMPARE(held.summary, std::string("tensor list of f32[?]: 3 tensors"));
        QCOMPARE(held.grid.texts, (std::vector<std::string>{"f32[2]", "1 2", "", "not set", "f32[3]", "3 4 5"}));
        QCOMPARE(held.grid.rowNames, (std::vector<std::string>{"[0]", "[1]", "[2]"}));
        QVERIFY(held.opened.has_value());
        QCOMPARE(held.opened->view().as<float>()[2], 5.0F);
    }
    void whatLiesOnDiskIsSaidAndNotRead()
    {
        std::string text = "model tf\ngraph main {\n  any = Const() dtype=i32 value=i32[] -1 : i32[]\n"
                           "  dims = Const() dtype=i32 value=i32[1] 2097152 : i32[1]\n  half = Const() dtype=f32 value=f32[] 0.5 : f32[]\n"
                           "  stack = StackV2(any) elem_type=f32 stack_name=\"s\" : resource\n"
                           "  p0 = Fill(dims, half) T=f32 index_type=i32 : f32[2097152]\n"; // 8 MiB
        for (int k = 1; k <= 7; ++k)
            text +=
                "  p" + std::to_string(k) + " = StackPushV2(stack, p" + std::to_string(k - 1) + ") T=f32 swap_memory=true : f32[2097152]\n";
        text += "  return p7=p7\n}\n";
        setSwapping(1, "/var/tmp"); // 32 MiB stay in memory
        {
            auto* const backend = new TextBackend(textModel(text.c_str()), {}, false);
            Document document{std::unique_ptr<Backend>(backend)};
            executeAndSettle(document, "run");
            const Array handle = arrayOf<int32_t>(Shape{}, {1 << 30});
            const auto held = [&](int64_t item) {
                return *backend->session().ask([&](Inspector& inspector) { return heldBy(inspector, handle.view(), item); });
            };
            const HeldValues all = held(-1);
            QVERIFY2(QString::fromStdString(all.summary).contains(": 7 tensors, "), all.summary.c_str());
            QVERIFY2(all.summary.ends_with(" of them on disk"), all.summary.c_str());
            QCOMPARE(all.grid.texts[0], std::string("f32[2097152]"));
            QCOMPARE(all.grid.texts[1], std::string("on disk"));
            const HeldValues opened = held(0);
            QVERIFY(opened.opened.has_value());
            QCOMPARE(opened.opened->view().as<float>()[2097151], 0.5F);
            QVERIFY(opened.grid.texts[1].starts_with("0.5 0.5"));
        }
        setSwapping(0, "");
    }
    void allElementsAreCountedInParts()
    {
        std::vector<float> values;
        for (int i = 0; i < 1000; ++i) values.push_back(i == 500 ? NAN : static_cast<float>(i % 64));
        const Array array = arrayOf<float>(Shape{1000}, values);
        const Histogram whole = histogramOf(array.view(), INT64_MAX);
        HistogramScan scan;
        int parts = 0;
        for (; !scan.done; ++parts) {
            const double before = scan.share();
            scan = continueScan(std::move(scan), Counted{array.view()}, 300);
            QVERIFY(scan.share() > before);
        }
        QCOMPARE(parts, 8); // four for the range, four for the bins
        QCOMPARE(scan.histogram.bins, whole.bins);
        QCOMPARE(scan.histogram.nan, int64_t{1});
        QCOMPARE(scan.histogram.looked, int64_t{1000});
        QCOMPARE(histogramOf(array.view(), 10).looked, int64_t{10});
    }
    void theCountOfAllIsOfTheValueThatIsShown()
    {
        constexpr int64_t count = 2 * kMostSampled; // every other one is looked at
        const QString text = QString(kLoop).replace("2,4", QString::number(count));
        Document document(std::make_unique<TextBackend>(textModel(text.toUtf8().constData()),
                                                        std::vector<Array>{arrayOf<float>(Shape{count}, std::vector<float>(count, 4))}));
        const std::unique_ptr<Panel> panel(makeTensorPanel(document));
        panel->resize(484, 212);
        panel->show();
        const auto histogram = [&panel] {
            QJsonObject out;
            QMetaObject::invokeMethod(panel.get(), "describe", Q_RETURN_ARG(QJsonObject, out));
            return out["histogram"].toObject();
        };
        executeAndSettle(document, "start");
        QVERIFY(document.select("main/while#0:body/mul#1"));
        executeAndSettle(document, "goto main/while#0@0:body/neg#2");
        QMetaObject::invokeMethod(panel.get(), "showMode", Q_ARG(int, 3), Q_ARG(bool, false));
        QTRY_COMPARE(histogram()["looked"].toInteger(), kMostSampled);
        for (QAbstractButton* const chip : panel->findChild<QWidget*>("tensorOptions")->findChildren<QAbstractButton*>())
            if (chip->text().startsWith("All ")) QTest::mouseClick(chip, Qt::LeftButton);
        QTRY_COMPARE(histogram()["looked"].toInteger(), count);
        QCOMPARE(histogram()["low"].toDouble(), 2.0);
        executeAndSettle(document, "goto main/while#0@1:body/neg#2");
        QTRY_COMPARE(histogram()["low"].toDouble(), -1.0); // what was counted is of the iteration before
        QCOMPARE(histogram()["looked"].toInteger(), kMostSampled);
    }
    void complexNumbersHaveFourParts()
    {
        Cell cell;
        cell.bits = std::bit_cast<uint64_t>(3.0);
        cell.imaginary = 4;
        QCOMPARE(complexPart(cell, CellStyle::Complex::magnitude), 5.0);
        QCOMPARE(complexPart(cell, CellStyle::Complex::real), 3.0);
        QCOMPARE(complexPart(cell, CellStyle::Complex::imaginary), 4.0);
        QCOMPARE(complexPart(cell, CellStyle::Complex::phase), std::atan2(4.0, 3.0));
    }
    void stringsHaveBytes()
    {
        Array strings;
        strings.dtype = DType::string;
        strings.shape = Shape{2};
        strings.bytes = packStrings(std::vector<std::string>{"a\n", ""});
        Grid grid = readGrid(strings.view(), defaultAxes(strings.shape));
        QCOMPARE(grid.texts[0], std::string("\"a\\n\""));
        showBytes(grid, strings.view());
        QCOMPARE(grid.texts, (std::vector<std::string>{"61 0a", ""}));
    }
    void whereNothingRanTheLastWriteIsOffered()
    {
        Fixture f;
        executeAndSettle(f.document, "start");
        QVERIFY(f.document.select("main/while#0:body/neg#2"));
        executeAndSettle(f.document, "goto main/while#0@3:body/mul#1");
        f.showMode(0);
        QTRY_COMPARE(f.describe()["text"].toString(), QString("no value: not run in @3"));
        QTRY_COMPARE(f.describe()["options"].toArray(), (QJsonArray{"Show @2", "Go to its last write"}));
        auto* options = f.panel->findChild<QWidget*>("tensorOptions");
        QTest::mouseClick(options->findChildren<QAbstractButton*>().front(), Qt::LeftButton);
        QTRY_COMPARE(f.document.stop()->address, std::string("main/while#0@2:body/neg#2"));
    }
    void whatHasNotRunSaysSo()
    {
        Fixture f;
        QVERIFY(f.document.select("main/neg#1"));
        QCOMPARE(f.describe()["text"].toString(), QString("no value: nothing has run"));
        executeAndSettle(f.document, "start");
        QTRY_COMPARE(f.describe()["text"].toString(), QString("no value: not run yet"));
    }
    void elementHistoryListsChanges()
    {
        Fixture f;
        executeAndSettle(f.document, "start");
        QVERIFY(f.document.select("main/while#0:body/mul#1"));
        executeAndSettle(f.document, "goto main/while#0@5:body/neg#2");
        QTRY_COMPARE(f.describe()["heat"].toObject()["known"].toInt(), 6);
        QVERIFY(f.panel->command("elementHistory"));
        auto* history = f.panel->findChild<QTableWidget*>("tensorHistory");
        QCOMPARE(history->rowCount(), 6);
        QCOMPARE(history->item(0, 4)->text(), QString("0.5"));
        QCOMPARE(history->item(1, 3)->text(), QString("0.5"));
        QCOMPARE(history->item(1, 2)->text(), QString("mul#1"));
        emit history->itemActivated(history->item(2, 0));
        QTRY_COMPARE(f.document.stop()->position.step, 2 * 4 + 2);
    }
    void exportsWhatIsShown()
    {
        Fixture f;
        executeAndSettle(f.document, "start");
        QVERIFY(f.document.select("main/while#0:body/mul#1"));
        executeAndSettle(f.document, "goto main/while#0@0:body/neg#2");
        f.showMode(0);
        QTRY_COMPARE(f.panel->findChild<QTableView*>("tensorTable")->model()->rowCount(), 2);
        const QTemporaryDir folder;
        QSignalSpy written(f.panel.get(), SIGNAL(exported(QString, QString)));
        for (const QString name : {"a.csv", "a.npy"})
            QMetaObject::invokeMethod(f.panel.get(), "exportTo", Q_ARG(QString, folder.filePath(name)));
        QTRY_COMPARE(written.count(), 2);
        QFile csv(folder.filePath("a.csv"));
        QVERIFY(csv.open(QIODevice::ReadOnly));
        QCOMPARE(csv.readAll(), QByteArray(",0,1,2,3\n0,0.5,1,1.5,2\n1,2.5,3,3.5,4\n"));
        QFile npy(folder.filePath("a.npy"));
        QVERIFY(npy.open(QIODevice::ReadOnly));
        const QByteArray bytes = npy.readAll();
        const Result<Array> array = readNpy({reinterpret_cast<const std::byte*>(bytes.data()), static_cast<size_t>(bytes.size())});
        QVERIFY(array.ok());
        QCOMPARE(array->view().as<float>()[7], 4.0F);
    }
    void goesToElementsByKeyAndIndex()
    {
        Fixture f;
        executeAndSettle(f.document, "start");
        QVERIFY(f.document.select("main/while#0:body/mul#1"));
        executeAndSettle(f.document, "goto main/while#0@0:body/neg#2");
        f.showMode(0);
        QTRY_COMPARE(f.panel->findChild<QTableView*>("tensorTable")->model()->rowCount(), 2);
        bool ok = false;
        QMetaObject::invokeMethod(f.panel.get(), "goToElement", Q_RETURN_ARG(bool, ok), Q_ARG(QString, "1,2"));
        QVERIFY(ok);
        QCOMPARE(f.describe()["cursor"].toArray(), (QJsonArray{1, 2}));
        QTest::keyClick(f.panel.get(), Qt::Key_Left);
        QCOMPARE(f.describe()["cursor"].toArray(), (QJsonArray{1, 1}));
        QMetaObject::invokeMethod(f.panel.get(), "goToElement", Q_RETURN_ARG(bool, ok), Q_ARG(QString, "9,9"));
        QVERIFY(!ok);
    }
};

} // namespace loopscope::viewer::testing

QTEST_MAIN(loopscope::viewer::testing::TensorTest)
#include "tensor_test.moc"
