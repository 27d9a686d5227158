// Keys: the table holds no clash, every key does what the table says, and any of them can be changed in every context.
#include "driven_window.h"
#include "viewer/canvas/graph_panel.h"
#include "viewer/window/key_bindings.h"

#include <QJsonArray>
#include <QKeySequenceEdit>
#include <QMenu>
#include <QScrollBar>
#include <QTableWidget>
#include <QToolButton>

#include <map>
#include <set>

using namespace loopscope;
using namespace loopscope::viewer;

class KeysTest : public QObject, public viewer::testing::DrivenWindow {
    Q_OBJECT
private slots:
    void init() { begin(); }
    void cleanup() { end(); }

    void noKeyTwiceInAContext()
    {
        std::map<QString, std::set<QString>> used;
        std::set<QString> global;
        for (const KeyRow& row : keyTable()) {
            const QString context(row.context);
            QStringList keys = keysOf(row.key);
            // Single letters work in graph and listing, the rest everywhere.
            const QString second(row.second);
            if (context == "global" && !second.isEmpty() && !isLetterKey(second)) keys.append(second);
            for (const QString& key : keys) {
                QVERIFY2(used[context].insert(key).second, qPrintable(context + " " + key));
                QVERIFY2(!QKeySequence(key).isEmpty(), qPrintable(key));
                if (context == "global") global.insert(key);
            }
        }
        for (const auto& [context, keys] : used)
            if (context != "global")
                for (const QString& key : keys) QVERIFY2(!global.contains(key), qPrintable(context + " " + key));
        for (const char* const context : {"graph", "listing"})
            for (const KeyRow& row : keyTable())
                if (QLatin1String(row.context) == QLatin1String("global") && *row.second)
                    QVERIFY2(!used[context].contains(row.second), row.second);
        QCOMPARE(keyTable().size(), size_t(114));
    }

    void everyGlobalCommandDoesSomething()
    {
        open("collatz.lsir");
        for (const KeyRow& row : keyTable()) {
            if (QLatin1String(row.context) != QLatin1String("global")) continue;
            QVERIFY2(m_window->action(row.command), row.command);
            QCOMPARE(m_window->action(row.command)->objectName(), QString("action.") + row.command);
        }
        for (const char* const command :
             {"stepOver", "runToCursor", "bookmark", "find", "gotoAddress", "gotoIteration", "copyAddress", "task.2"})
            QVERIFY2(m_window->run(command), command);
        QVERIFY(!m_window->run("noSuchCommand"));
    }

    void lettersOfGdbStepInTheGraph()
    {
        open("collatz.lsir", {{"x", "27"}});
        enter("panelGraph");
        press("n");
        QVERIFY(stop().started);
        press("s");
        QVERIFY(address().contains("while#0@0:cond"));
        const int64_t tick = stop().tick;
        press("n");
        press("Shift+N");
        QCOMPARE(stop().tick, tick);
        enter("panelConsole");
        press("n"); // here it is a letter
        QCOMPARE(stop().tick, tick);
        QCOMPARE(find<QLineEdit>("consoleInput")->text(), QString("n"));
    }

    void globalKeysAreRebound()
    {
        const KeyPlace& over = *KeyBindings::find("global", "stepOver");
        QString clash;
        QVERIFY(!m_window->rebind(over, "F11", &clash));
        QCOMPARE(clash, QString("Step into"));
        QVERIFY(!m_window->rebind(over, "Space", &clash)); // of the graph, where it would be taken
        QVERIFY(m_window->rebind(over, "F12", &clash));
        QCOMPARE(m_window->keyOf("stepOver"), QString("F12"));
        QVERIFY(m_window->action("stepOver")->toolTip().endsWith("F12"));
        restart();
        QCOMPARE(m_window->action("stepOver")->shortcut(), QKeySequence("F12"));
        QVERIFY(m_window->rebind(over, "F10"));
        QVERIFY(m_window->settings().value("keys").toObject().isEmpty());
    }

    void numberedKeysAreReboundOneByOne()
    {
        open("collatz.lsir", {{"x", "27"}});
        QVERIFY(m_window->rebind(*KeyBindings::find("global", "task.2"), "Ctrl+Alt+2"));
        press("Ctrl+Alt+2");
        QCOMPARE(m_window->task(), Task::debug);
        QCOMPARE(m_window->action("task.1")->shortcut(), QKeySequence("Ctrl+Shift+1"));
    }

    void keysThatAreShownAreThoseThatWork()
    {
        QCOMPARE(find<QLabel>("addressKey")->text(), QString("Ctrl+G"));
        QVERIFY(m_window->rebind(*KeyBindings::find("global", "gotoAddress"), "Ctrl+Alt+G"));
        QCOMPARE(find<QLabel>("addressKey")->text(), QString("Ctrl+Alt+G"));
        QVERIFY(m_window->rebind(*KeyBindings::find("global", "task.2"), "Ctrl+Alt+2"));
        QVERIFY(find<QToolButton>("taskDebug")->toolTip().endsWith("Ctrl+Alt+2"));
        const auto inMenus = [this](const QString& text) {
            for (const QMenu* const menu : m_window->findChildren<QMenu*>())
                for (const QAction* const action : menu->actions())
                    if (action->text() == text) return true;
            return false;
        };
        QVERIFY(inMenus("Minimap\tm"));
        QVERIFY(m_window->rebind(*KeyBindings::find("graph", "minimap"), "z"));
        QVERIFY(inMenus("Minimap\tz"));
        m_window->resetKeys();
        QVERIFY(inMenus("Minimap\tm"));
        QCOMPARE(find<QLabel>("addressKey")->text(), QString("Ctrl+G"));
    }

    void lettersDoNothingThatIsDisabled()
    {
        open("count.lsir", {{"n", "1000000000"}});
        enter("panelGraph");
        QStringList echoed;
        connect(&m_window->document()->bridge(), &DebugBridge::console, this, [&](const ConsoleEvent& event) {
            if (event.kind == ConsoleEvent::Kind::echo) echoed.append(QString::fromStdString(event.text).trimmed());
        });
        QTest::keyClick(QApplication::focusWidget(), Qt::Key_C);
        QTRY_COMPARE(echoed, QStringList{"run"});
        QVERIFY(m_window->document()->bridge().busy());
        QTest::keyClick(QApplication::focusWidget(), Qt::Key_C); // it runs already
        QVERIFY(!m_window->runIfEnabled("run"));
        m_window->action("cancel")->trigger();
        settle();
        QCOMPARE(echoed, QStringList{"run"});
    }

    void keysOfPanelsAreRebound()
    {
        open("collatz.lsir", {{"x", "27"}});
        GraphCanvas& canvas = static_cast<GraphPanel*>(enter("panelGraph"))->canvas();
        const double fitted = canvas.camera().zoom();
        const KeyPlace& fit = *KeyBindings::find("graph", "fit");
        QString clash;
        QVERIFY(!m_window->rebind(fit, "F5", &clash)); // global keys come first
        QCOMPARE(clash, QString("Continue"));
        QVERIFY(!m_window->rebind(fit, "m", &clash));
        QCOMPARE(clash, QString("Minimap"));
        QVERIFY(m_window->rebind(fit, "z"));
        canvas.camera().zoomAt(QPointF(50, 50), 1.5);
        QVERIFY(canvas.camera().zoom() > fitted * 1.4);
        press("Space"); // means nothing any more
        QVERIFY(canvas.camera().zoom() > fitted * 1.4);
        press("z");
        QCOMPARE(canvas.camera().zoom(), fitted);
    }

    void arrowsAndDigitsOfPanelsAreReboundOneByOne()
    {
        open("collatz.lsir", {{"x", "27"}});
        m_window->document()->select("main");
        Selection zero;
        zero.address = "main";
        zero.graph = GraphId(0);
        zero.value = m_window->document()->model().graph(GraphId(0)).findValue("zero");
        m_window->document()->select(zero);
        const KeyPlace& heat = *KeyBindings::find("tensor", "mode.2");
        QCOMPARE(heat.label, QString("heat map"));
        QString clash;
        QVERIFY(!m_window->rebind(heat, "Up", &clash));
        QCOMPARE(clash, QString("Move the cell cursor: Up"));
        QVERIFY(m_window->rebind(heat, "v"));
        QVERIFY(m_window->rebind(*KeyBindings::find("graph", "walk.2"), "j"));
        QVERIFY(KeyBindings::find("timeline", "typeIteration")->isFixed);
        Panel* const tensor = enter("panelTensor");
        const auto modes = [&] {
            QJsonObject shown;
            QMetaObject::invokeMethod(tensor, "describe", Q_RETURN_ARG(QJsonObject, shown));
            return shown["modes"].toArray();
        };
        QCOMPARE(modes(), QJsonArray{"table"});
        press("2"); // means nothing any more
        QCOMPARE(modes(), QJsonArray{"table"});
        press("v");
        QCOMPARE(modes(), QJsonArray{"heat"});
        m_window->document()->select("main/while#0");
        GraphCanvas& canvas = static_cast<GraphPanel*>(enter("panelGraph"))->canvas();
        const std::vector<std::string> before = canvas.selection().addresses();
        press("Down");
        QCOMPARE(canvas.selection().addresses(), before);
        press("j");
        QVERIFY(canvas.selection().addresses() != before);
    }

    void gdbLettersAreRebound()
    {
        open("collatz.lsir", {{"x", "27"}});
        QVERIFY(m_window->rebind(*KeyBindings::find("global", "stepInto", true), "j"));
        enter("panelGraph");
        press("s");
        QVERIFY(!stop().started);
        press("j");
        QVERIFY(stop().started);
    }

    void settingsNameAClashWhileItIsTypedAndResetRows()
    {
        QVERIFY(m_window->rebind(*KeyBindings::find("global", "stepInto"), "F12"));
        m_window->run("settings");
        auto* const table = find<QTableWidget>("keyTable");
        QVERIFY(table);
        find<QLineEdit>("keyFilter")->setText("Step over");
        int row = -1, shown = 0;
        for (int i = 0; i < table->rowCount(); ++i)
            if (!table->isRowHidden(i)) ++shown, row = i;
        QCOMPARE(shown, 1);
        const auto edit = [&](const QString& key) {
            table->setCurrentCell(row, 2);
            table->editItem(table->item(row, 2));
            auto* const editor = table->findChild<QKeySequenceEdit*>("keyEdit");
            QVERIFY(editor);
            editor->setKeySequence(QKeySequence(key));
        };
        auto* const clash = find<QLabel>("keyClash");
        edit("F12");
        QVERIFY(clash->text().contains("Step into"));
        edit("Ctrl+Alt+O");
        QVERIFY(clash->text().isEmpty());
        emit table->findChild<QKeySequenceEdit*>("keyEdit")->editingFinished();
        QTest::qWait(10);
        QCOMPARE(m_window->keyOf("stepOver"), QString("Ctrl+Alt+O"));
        QTest::mouseClick(find<QToolButton>("keyReset.stepOver"), Qt::LeftButton);
        QTest::qWait(10);
        QCOMPARE(m_window->keyOf("stepOver"), QString("F10"));
        QVERIFY(!find<QToolButton>("keyReset.stepOver"));
        QTest::mouseClick(find<QPushButton>("keyResetAll"), Qt::LeftButton);
        QCOMPARE(m_window->keyOf("stepInto"), QString("F11"));
        m_window->setTheme("dark");
        QCOMPARE(table->item(row, 1)->foreground().color(), themed(Token::text3));
    }

    void mnemonicsShowOnlyWithAlt()
    {
        Theme& theme = Theme::instance();
        QVERIFY(!theme.mnemonicsShown());
        QTest::keyPress(m_window.get(), Qt::Key_Alt, Qt::AltModifier);
        QVERIFY(theme.mnemonicsShown());
        QTest::mouseClick(m_window.get(), Qt::LeftButton, {}, QPoint(600, 500));
        QVERIFY(!theme.mnemonicsShown());
        QTest::keyRelease(m_window.get(), Qt::Key_Alt);
    }

    void thePaletteRunsCommands()
    {
        open("collatz.lsir", {{"x", "27"}});
        m_window->run("palette");
        auto* const field = find<QLineEdit>("paletteField");
        QVERIFY(field);
        field->setText("step into");
        QTest::keyClick(field, Qt::Key_Return);
        settle();
        QVERIFY(stop().started);
        m_window->run("quickOpen");
        QTRY_VERIFY(find<QTreeView>("paletteList"));
        find<QLineEdit>("paletteField")->setText("floor_div");
        QTest::keyClick(find<QLineEdit>("paletteField"), Qt::Key_Return);
        settle();
        QVERIFY(selected().endsWith("then/floor_div#0"));
    }

    void thePaletteHoldsWhatOnlyMenusOffer()
    {
        open("collatz.lsir", {{"x", "27"}});
        m_window->run("palette");
        auto* field = find<QLineEdit>("paletteField");
        field->setText("text size 125");
        QTest::keyClick(field, Qt::Key_Return);
        settle();
        QCOMPARE(Theme::instance().textPercent(), 125);
        // Panels' commands, too, and files that were opened before.
        m_window->run("palette");
        field = find<QLineEdit>("paletteField");
        field->setText("minimap");
        QCOMPARE(viewer::testing::rowsOf(find<QTreeView>("paletteList")).size(), 1);
        field->setText("recent collatz.lsir");
        QCOMPARE(viewer::testing::rowsOf(find<QTreeView>("paletteList")).size(), 1);
    }

    void anEmptyPaletteSaysWhatIsNear()
    {
        open("collatz.lsir", {{"x", "27"}});
        m_window->run("palette");
        auto* const field = find<QLineEdit>("paletteField");
        field->setText("stepover");
        auto* const empty = find<QLabel>("paletteEmpty");
        QVERIFY(empty && empty->isVisible() && !find("paletteList")->isVisible());
        QCOMPARE(empty->text(), QString("Nothing matches \"stepover\". Nearest: Step over."));
        field->setText("step over");
        QVERIFY(!empty->isVisible() && find("paletteList")->isVisible());
    }

    void theKeySheetListsWhatIsBound()
    {
        QVERIFY(m_window->rebind(*KeyBindings::find("graph", "minimap"), "Ctrl+M"));
        m_window->run("keySheet");
        auto* const tree = find<QTreeView>("keyTree");
        QVERIFY(tree);
        const QStringList rows = viewer::testing::rowsOf(tree);
        QVERIFY(rows.contains("Step over | F10 | n | next"));
        QVERIFY(rows.contains("Minimap | Ctrl+M |  | "));
        QTRY_COMPARE(tree->horizontalScrollBar()->maximum(), 0); // no column is cut
    }
};

QTEST_MAIN(KeysTest)
#include "keys_test.moc"
