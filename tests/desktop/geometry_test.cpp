// The tree of widgets: the names that tests and scripts find them by, and that nothing overlaps and no text is cut, whatever the size of
// the window and of the text.
#include "driven_window.h"
#include "viewer/tensor/grid_views.h"
#include "viewer/widgets/parts.h"
#include "viewer/widgets/rows.h"

#include <QAbstractItemView>
#include <QAbstractScrollArea>
#include <QHeaderView>
#include <QJsonArray>
#include <QJsonObject>
#include <QPlainTextEdit>
#include <QScrollArea>
#include <QScrollBar>
#include <QTabBar>
#include <QToolButton>

using namespace loopscope;
using namespace loopscope::viewer;

namespace {

QString nameOf(const QWidget* widget)
{
    QString path;
    for (; widget && !widget->isWindow(); widget = widget->parentWidget())
        path.prepend('/' +
                     (widget->objectName().isEmpty() ? QString(widget->metaObject()->className()).section(':', -1) : widget->objectName()));
    return path;
}

bool isShown(const QWidget* widget) { return widget->isVisible() && !widget->visibleRegion().isEmpty(); }

/// Drawn over a neighbour on purpose.
bool isOverlay(const QWidget* widget)
{
    return widget->objectName() == "minimap" || qobject_cast<const QScrollBar*>(widget) || widget->inherits("QRubberBand") ||
           qobject_cast<const QTabBar*>(widget->parentWidget()); // Qt's own arrows share an edge
}

QStringList overlapsIn(const QWidget* window)
{
    QStringList found;
    for (const QWidget* const parent : window->findChildren<QWidget*>()) {
        if (!isShown(parent)) continue;
        QList<const QWidget*> children;
        for (const QWidget* const child : parent->findChildren<QWidget*>(QString(), Qt::FindDirectChildrenOnly))
            if (isShown(child) && !child->isWindow() && !isOverlay(child)) children.append(child);
        for (qsizetype i = 0; i < children.size(); ++i)
            for (qsizetype j = i + 1; j < children.size(); ++j)
                if (children[i]->geometry().intersects(children[j]->geometry()))
                    found.append(nameOf(children[i]) + " over " + nameOf(children[j]));
    }
    return found;
}

/// What of a widget's text has no room; empty: all is there.
QString cutOf(const QWidget* widget)
{
    const QFontMetrics metrics(widget->font());
    const auto tooSmall = [&](int needed, int present, const QString& text) {
        return needed <= present ? QString()
                                 : QStringLiteral("%1 “%2” needs %3, has %4").arg(nameOf(widget), text).arg(needed).arg(present);
    };
    if (qobject_cast<const ElidedLabel*>(widget) || qobject_cast<const OfferButton*>(widget)) return {}; // they elide what has no room
    if (const auto* const label = qobject_cast<const QLabel*>(widget)) {
        if (label->text().isEmpty() || label->textFormat() == Qt::RichText) return {};
        const QString text = label->text().left(40);
        if (label->wordWrap()) return tooSmall(label->heightForWidth(label->width()), label->height(), text);
        const QString wide = tooSmall(label->minimumSizeHint().width(), label->width(), text);
        return wide.isEmpty() ? tooSmall(metrics.ascent() + metrics.descent(), label->height(), text) : wide;
    }
    if (const auto* const button = qobject_cast<const QAbstractButton*>(widget)) {
        if (button->text().isEmpty()) return {};
        if (const auto* const tool = qobject_cast<const QToolButton*>(button);
            tool && !tool->icon().isNull() && tool->toolButtonStyle() == Qt::ToolButtonIconOnly)
            return {};
        const QString wide = tooSmall(metrics.horizontalAdvance(button->text().remove('&')), button->width(), button->text());
        return wide.isEmpty() ? tooSmall(metrics.ascent() + metrics.descent(), button->height(), button->text()) : wide;
    }
    if (const auto* const tabs = qobject_cast<const QTabBar*>(widget))
        return tabs->count() == 0 ? QString() : tooSmall(metrics.ascent() + metrics.descent(), tabs->height(), tabs->tabText(0));
    if (const auto* const field = qobject_cast<const QLineEdit*>(widget))
        return tooSmall(metrics.ascent() + metrics.descent(), field->height(), field->objectName());
    return {};
}

QStringList cutsIn(const QWidget* window)
{
    QStringList found;
    for (const QWidget* const widget : window->findChildren<QWidget*>()) {
        if (!isShown(widget)) continue;
        const QString cut = cutOf(widget);
        if (!cut.isEmpty()) found.append(cut);
    }
    return found;
}

} // namespace

class GeometryTest : public QObject, public viewer::testing::DrivenWindow {
    Q_OBJECT
private slots:
    void init() { begin(); }
    void cleanup() { end(); }

    void namesBesideAHeatMapAreWhole()
    {
        GridContent content;
        content.grid.shape = Shape{200, 1};
        content.grid.allRows = content.grid.rows = 200;
        content.grid.allCols = content.grid.cols = 1;
        content.grid.cells.resize(200);
        content.grid.rowNames.assign(200, "");
        content.grid.rowNames[0] = "[0,0]"; // a bracket goes as far down as letters do
        HeatMap map;
        map.resize(300, 400); // two pixels a row
        map.setContent(&content, {});
        const QImage picture = map.grab().toImage();
        int first = -1, last = -1;
        for (int y = 0; y < picture.height(); ++y)
            for (int x = 0; x < HeatMap::labelWidth() - 6; ++x)
                if (picture.pixel(x, y) != picture.pixel(0, 0)) first = first < 0 ? y : first, last = y;
        const int high = QFontMetrics(Theme::instance().font(FontUse::tiny)).tightBoundingRect("[0,0]").height();
        QVERIFY2(last - first + 1 >= high, qPrintable(QString("%1 of %2").arg(last - first + 1).arg(high)));
    }

    void widgetsHaveTheirNames()
    {
        names({"menuBar", "toolbarRun", "addressBar", "findField", "taskBrowse", "taskDebug", "taskCompare", "taskTrace", "statusState",
               "statusReason", "statusProgress", "statusCancel", "welcomePage", "sampleCard0", "sampleCard1", "sampleCard2", "sampleCard3",
               "filePage"});
        open("collatz.lsir", {{"x", "27"}});
        names({"errorBanner", "panelGraph", "graphCanvas", "minimap", "panelStructure", "panelSearch", "searchResults", "panelProperties",
               "panelInputs"});
        execute("run");
        names({"panelListing",    "listingView",  "panelInvocations", "invocationTree", "panelCallStack", "panelBreakpoints",
               "breakpointTable", "panelWatches", "panelVariables",   "panelTensor",    "tensorBar",      "tensorTable",
               "tensorHeat",      "tensorImage",  "tensorHistogram",  "tensorPlot",     "tensorStats",    "tensorQuant",
               "panelConsole",    "consoleLog",   "consoleInput",     "panelTimeline",  "timelineBar",    "loopSlider",
               "panelProblems",   "problemTable"});
        m_window->setTask(Task::compare);
        names({"compareA", "compareStrip", "compareB", "differenceTable", "tensorDifference"});
        open("v1_collatz.lsir", {{"n", "6"}});
        execute("run");
        names({"panelFrames", "frameTree", "tokenTable"});
        open(recording());
        names({"recipeList", "sqlEditor", "sqlRun", "resultTable", "resultPlot"});
        m_window->run("palette");
        names({"palette"});
        m_window->run("keySheet");
        names({"keySheet"});
    }

    void everyPanelHasAName()
    {
        open("collatz.lsir", {{"x", "27"}});
        for (int task = 0; task < kTaskCount; ++task) {
            m_window->setTask(static_cast<Task>(task));
            for (const Panel* const panel : m_window->area()->panels()) {
                QVERIFY(panel->objectName().startsWith("panel"));
                QVERIFY2(!panel->accessibleName().isEmpty(), qPrintable(panel->objectName()));
            }
        }
    }

    void everyFieldAndListHasAName()
    {
        open("collatz.lsir", {{"x", "27"}});
        execute("run");
        for (int task = 0; task < kTaskCount; ++task) m_window->setTask(static_cast<Task>(task));
        m_window->run("palette");
        int count = 0;
        for (const QWidget* const widget : m_window->findChildren<QWidget*>()) {
            const bool isList = qobject_cast<const QAbstractItemView*>(widget) && !qobject_cast<const QHeaderView*>(widget);
            if (!isList && !qobject_cast<const QLineEdit*>(widget) && !qobject_cast<const QPlainTextEdit*>(widget)) continue;
            if (widget->inherits("QComboBoxListView")) continue; // the list that drops down is read as its box
            QVERIFY2(!widget->accessibleName().isEmpty(), qPrintable(nameOf(widget)));
            ++count;
        }
        QVERIFY(count > 20);
    }

    void iconsStandInTheMiddleOfTheirFields()
    {
        open("collatz.lsir", {{"x", "27"}});
        int count = 0;
        for (const QLineEdit* const field : m_window->findChildren<QLineEdit*>())
            for (const QToolButton* const icon : field->findChildren<QToolButton*>()) {
                if (!icon->isVisible()) continue;
                const int off = icon->geometry().center().y() - field->rect().center().y();
                QVERIFY2(std::abs(off) <= 1, qPrintable(QString("%1: %2 px off").arg(nameOf(field)).arg(off)));
                ++count;
            }
        QVERIFY(count >= 2);
    }

    /// In the narrow column of a v1 graph, too.
    void buttonsOfTheInputsAreWhole()
    {
        m_window->resize(1440, 900);
        open("v1_gradient.lsir");
        execute("run"); // it asks for what is missing
        for (const char* const name : {"inputsRun", "inputsFill"}) {
            const auto* const button = find<QAbstractButton>(name);
            QVERIFY2(button && button->isVisible(), name);
            QVERIFY2(button->width() >= button->sizeHint().width(), name);
        }
        QVERIFY(find<QLabel>("inputsReason")->width() > 100);
    }

    /// What is dead and next is read on the ground of what is next.
    void deadTokensAreReadOnTheirGround()
    {
        open("v1_collatz.lsir", {{"n", "6"}});
        execute("tbreak dead half");
        execute("run");
        auto* const table = find<QTreeView>("tokenTable");
        QVERIFY(table && table->isVisible());
        QModelIndex next;
        for (int row = 0; row < table->model()->rowCount() && !next.isValid(); ++row)
            if (table->model()->index(row, 0).data(currentRole).toBool()) next = table->model()->index(row, 0);
        QVERIFY(next.isValid());
        QVERIFY(next.data(struckRole).toBool());
        const QImage drawn = table->viewport()->grab(table->visualRect(next)).toImage();
        const auto has = [&](Token token) {
            for (int y = 0; y < drawn.height(); ++y)
                for (int x = 0; x < drawn.width(); ++x)
                    if (drawn.pixelColor(x, y) == themed(token)) return true;
            return false;
        };
        QVERIFY(!has(Token::dead));
        QVERIFY(has(Token::curText));
    }

    void whatIsPaintedDescribesItself()
    {
        open("collatz.lsir", {{"x", "27"}});
        execute("run");
        for (const char* const name : {"graphCanvas", "timelineBar", "tensorHeat"}) {
            QJsonObject description;
            QVERIFY2(QMetaObject::invokeMethod(find<QWidget>(name), "describe", Q_RETURN_ARG(QJsonObject, description)), name);
            if (QLatin1String(name) != QLatin1String("tensorHeat")) QVERIFY2(!description.isEmpty(), name);
        }
    }

    void nothingOverlapsOrIsCut_data()
    {
        QTest::addColumn<QSize>("size");
        QTest::addColumn<int>("percent");
        QTest::newRow("1280x800") << QSize(1280, 800) << 100;
        QTest::newRow("smallest") << QSize(960, 600) << 100;
        QTest::newRow("two columns") << QSize(1600, 900) << 100;
        QTest::newRow("three columns") << QSize(2400, 1300) << 100;
        QTest::newRow("text 80 %") << QSize(1280, 800) << 80;
        QTest::newRow("text 150 %") << QSize(1280, 800) << 150;
        QTest::newRow("text 200 %") << QSize(1280, 800) << 200;
    }
    void nothingOverlapsOrIsCut()
    {
        QFETCH(QSize, size);
        QFETCH(int, percent);
        Theme::instance().setTextPercent(percent);
        m_window->resize(size);
        QTest::qWait(20);
        check("welcome");
        open("collatz.lsir", {{"x", "27"}});
        check("Browse");
        execute("break main/while#0:body/if#2 if n > 100");
        execute("display n * 2");
        execute("run");
        m_window->document()->select("main/while#0:body/add#3");
        for (int task = 0; task < kTaskCount; ++task) {
            m_window->setTask(static_cast<Task>(task));
            settle();
            QCOMPARE(m_window->size(), size);
            checkTabs(taskName(static_cast<Task>(task)));
        }
        m_window->openSample(2);
        settle();
        QCOMPARE(m_window->task(), Task::compare);
        checkTabs("two files");
        open("v1_collatz.lsir", {{"n", "6"}});
        execute("tbreak dead half");
        execute("run");
        checkTabs("dataflow");
        open(recording());
        checkTabs("recording");
        open("collatz.lsir", {{"x", "27"}});
        m_window->run("nextFinding");
        emit m_window->document()->bridge().failed(
            "a kernel with a name that is long enough to need a second line where there is little room for it");
        QVERIFY(find<QWidget>("errorBanner")->isVisible());
        check("banner");
        for (const QString& path : {m_folder->path() + "/missing.tflite", truncated()}) {
            m_window->open(path);
            settle();
            QVERIFY(find<QWidget>("filePage")->isVisible());
            check("file page of " + path);
        }
    }

    void everythingGrowsWithTheText()
    {
        Theme::instance().setTextPercent(200);
        m_window->resize(1440, 900);
        open("collatz.lsir", {{"x", "27"}});
        execute("start");
        execute("goto while#0@37:body/if#2");
        m_window->setTask(Task::debug);
        settle();
        QVERIFY(find<QToolButton>("tool.stepOver")->iconSize().width() > 16);
        const QJsonArray lanes = described("timelineBar")["lanes"].toArray();
        QVERIFY(lanes.size() >= 3);
        const auto middle = [&](qsizetype lane) {
            const QJsonArray rect = lanes[lane].toObject()["rect"].toArray();
            return rect[1].toDouble() + rect[3].toDouble() / 2;
        };
        const int high = QFontMetrics(Theme::instance().font(FontUse::small)).height();
        for (qsizetype lane = 1; lane < lanes.size(); ++lane) QVERIFY(middle(lane) - middle(lane - 1) >= high * 0.9);
        // The graph has words of the same size, where it has the room.
        m_window->setTask(Task::browse);
        m_window->document()->setView({});
        settle();
        QVERIFY(m_window->panelCommand("panelGraph", "fit"));
        settle();
        QVERIFY2(described("graphCanvas")["zoom"].toDouble() > 1.2,
                 qPrintable(QString::number(described("graphCanvas")["zoom"].toDouble())));
        // Values beside a heat map are not cut.
        const QFontMetrics values(Theme::instance().font(FontUse::value));
        QVERIFY(values.horizontalAdvance(QString::fromUtf8("−0.03011")) <= HeatMap::valueWidth() - 12);
        // The panels at the left have room for longer words.
        m_window->setTask(Task::debug);
        settle();
        QVERIFY(find<QWidget>("panelInvocations")->parentWidget()->width() > 260);
    }
    /// The size of text is changed while the window is open, in each task.
    void allTextFollowsItsSize()
    {
        m_window->resize(1440, 900);
        open(recording());
        m_window->openSample(2);
        settle();
        open("v1_collatz.lsir", {{"n", "6"}});
        execute("run");
        open(recording());
        for (int task = 0; task < kTaskCount; ++task) {
            m_window->setTask(static_cast<Task>(task));
            settle();
        }
        QHash<QWidget*, int> before;
        const auto size = [](const QWidget* widget) { return QFontInfo(widget->font()).pixelSize(); };
        const auto isText = [](QWidget* widget) {
            return qobject_cast<QLabel*>(widget) || qobject_cast<QLineEdit*>(widget) || qobject_cast<QAbstractButton*>(widget) ||
                   qobject_cast<QPlainTextEdit*>(widget) || qobject_cast<QTextEdit*>(widget) || qobject_cast<QAbstractItemView*>(widget);
        };
        for (QWidget* const widget : m_window->findChildren<QWidget*>())
            if (isText(widget)) before[widget] = size(widget);
        QVERIFY(before.size() > 100);
        Theme::instance().setTextPercent(200);
        settle();
        QStringList small;
        for (QWidget* const widget : m_window->findChildren<QWidget*>()) {
            if (before.contains(widget) && size(widget) < 1.8 * before[widget])
                small << QString("%1 %2 in %3").arg(widget->metaObject()->className(), widget->objectName(), panelOf(widget));
            const auto* const table = qobject_cast<QTableView*>(widget);
            if (table && table->verticalHeader()->defaultSectionSize() < QFontMetrics(table->font()).height())
                small << "rows of " + table->objectName();
        }
        QVERIFY2(small.isEmpty(), qPrintable(small.join("; ")));
    }
    void namesComeBeforeValuesInTheListing()
    {
        m_window->resize(1440, 900);
        QFile file(m_folder->path() + "/wide.lsir");
        QVERIFY(file.open(QIODevice::WriteOnly));
        file.write("graph main(first_operand: f32[2,4], second_operand: f32[2,4]) {\n"
                   "  the_sum_of_both = add(first_operand, second_operand) : f32[2,4]\n"
                   "  return the_sum_of_both\n}\n");
        file.close();
        open(file.fileName(), {{"first_operand", "@7"}, {"second_operand", "@8"}});
        execute("run");
        m_window->setTask(Task::debug);
        settle();
        m_window->area()->show("panelListing", false);
        settle();
        QJsonObject listing;
        const auto row = [&] {
            QMetaObject::invokeMethod(find<QWidget>("listingView"), "describe", Q_RETURN_ARG(QJsonObject, listing));
            return listing["rows"].toArray()[0].toObject();
        };
        QTRY_VERIFY(!row()["value"].toString().isEmpty());
        QVERIFY2(!row()["cut"].toBool(), qPrintable(row()["text"].toString() + " " + row()["value"].toString()));
    }
    /// A name, a type and where it comes from do not fit into one line of a narrow column: the name has the line then.
    void propertiesCutNoNames()
    {
        open("conv_classifier.lsir");
        m_window->resize(1280, 800);
        QVERIFY(m_window->document()->select("main/conv_2d#0"));
        enter("panelProperties");
        auto* const table = find<QTreeView>("propertyTable");
        const auto typedRow = [&](int role, int column) {
            for (int row = 0; row < table->model()->rowCount(); ++row)
                if (const QString text = table->model()->index(row, column).data(role).toString(); text.contains("f32[")) return row;
            return -1;
        };
        const auto roomOf = [&](int column) { return table->columnWidth(column) - 16; };
        const auto widthOf = [](const QString& text) {
            return QFontMetrics(Theme::instance().font(FontUse::value)).horizontalAdvance(text);
        };
        const int below = typedRow(noteRole, 1), beside = typedRow(Qt::DisplayRole, 2);
        QVERIFY2((below >= 0) != (beside >= 0), qPrintable(QString("%1 %2").arg(below).arg(beside)));
        if (beside >= 0) { // all of it fits
            for (const int column : {1, 2}) QVERIFY(widthOf(table->model()->index(beside, column).data().toString()) <= roomOf(column));
        } else {
            QVERIFY(table->model()->index(below, 2).data().toString().isEmpty());
        }
        // In a wide table all of it stands in one line.
        auto* const alone = m_window->area()->panel("panelProperties");
        table->setFixedWidth(900);
        QTest::qWait(20);
        QVERIFY(alone && typedRow(Qt::DisplayRole, 2) >= 0 && typedRow(noteRole, 1) < 0);
        table->setMinimumWidth(0);
        table->setMaximumWidth(QWIDGETSIZE_MAX);
        QTest::qWait(20);
    }
    void aNarrowWindowDoesNotScrollSideways()
    {
        m_window->resize(960, 600);
        open("collatz.lsir", {{"x", "27"}});
        execute("start");
        execute("goto while#0@37:body/if#2");
        m_window->document()->select("main/while#0:body/add#3");
        m_window->setTask(Task::debug);
        settle();
        Panel* const tensor = m_window->area()->show("panelTensor", true);
        settle();
        const auto* const room = qobject_cast<QScrollArea*>(tensor->parentWidget()->parentWidget());
        QVERIFY(room);
        QTRY_COMPARE(room->horizontalScrollBar()->maximum(), 0);
        QStringList said;
        for (const QLabel* const label : find<QWidget>("tensorBar")->findChildren<QLabel*>())
            if (label->isVisible()) said.append(label->text());
        QVERIFY2(said.contains("next_count") && said.contains("i32[]"), qPrintable(said.join('|')));
        // The column is shared out, rather than that its middle gets what the others leave.
        QVERIFY2(tensor->parentWidget()->height() >= 100, qPrintable(QString::number(tensor->parentWidget()->height())));
    }

private:
    QJsonObject described(const char* name)
    {
        QJsonObject all;
        QMetaObject::invokeMethod(find<QWidget>(name), "describe", Q_RETURN_ARG(QJsonObject, all));
        return all;
    }
    void names(const QStringList& wanted)
    {
        for (const QString& name : wanted) QVERIFY2(m_window->findChild<QWidget*>(name), qPrintable(name));
    }
    void check(const QString& where)
    {
        QStringList wrong;
        const auto isRight = [&] { // once layouts that are still due are done
            wrong = overlapsIn(m_window.get()) + cutsIn(m_window.get());
            return wrong.isEmpty();
        };
        const bool right = QTest::qWaitFor(isRight, 2000);
        QVERIFY2(right, qPrintable(where + ":\n" + wrong.join('\n')));
        const QRect inside = m_window->rect();
        for (const QWidget* const child :
             m_window->findChild<QWidget*>("toolbarRun")->findChildren<QWidget*>(QString(), Qt::FindDirectChildrenOnly))
            if (child->isVisible())
                QVERIFY2(inside.contains(QRect(child->mapTo(m_window.get(), QPoint(0, 0)), child->size())), qPrintable(nameOf(child)));
    }
    /// As it is, and with every tab in front in turn.
    void checkTabs(const QString& where)
    {
        check(where);
        int most = 1;
        for (const PanelStrip* const strip : m_window->area()->strips()) most = std::max(most, strip->count());
        for (int tab = 1; tab < most; ++tab) {
            for (PanelStrip* const strip : m_window->area()->strips())
                if (tab < strip->count()) m_window->area()->show(strip->panel(tab)->objectName(), false);
            settle();
            check(where + QStringLiteral(", tab %1").arg(tab + 1));
        }
    }
    static QString panelOf(const QWidget* widget)
    {
        while (widget && !qobject_cast<const Panel*>(widget)) widget = widget->parentWidget();
        return widget ? widget->objectName() : QString("the window");
    }
    /// A TFLite file without its end.
    QString truncated()
    {
        QString path = m_folder->path() + "/collatz_cut.tflite";
        if (QFile::exists(path)) return path;
        if (!m_services->runCommand({"convert", "samples/text/collatz.lsir", "-o", path.toStdString()}).ok()) return {};
        QFile file(path);
        file.resize(file.size() - 100);
        return path;
    }
    QString recording()
    {
        QString path = m_folder->path() + "/run.lstrace";
        if (QFile::exists(path)) return path;
        open("collatz.lsir", {{"x", "27"}});
        execute("record on " + path);
        execute("run");
        execute("record off");
        return path;
    }
};

QTEST_MAIN(GeometryTest)
#include "geometry_test.moc"
