// Values of another moment than the present stop in the panels: what is looked at, and what the pointer scrubs over.
#include "tests/unit/viewer/panels/panel_views.h"
#include "viewer/panels/common.h"
#include "viewer/widgets/parts.h"

namespace loopscope::viewer {

class ElsewhereTest : public QObject {
    Q_OBJECT
private slots:
    void initTestCase() { Theme::instance().apply(); }

    void whatHasEndedIsLookedAtWithoutGoingThere()
    {
        const auto document = collatz();
        const auto tree = shown(makeInvocationsPanel(*document), {360, 700});
        const auto listing = shown(makeListingPanel(*document), {520, 300});
        const auto variables = shown(makeVariablesPanel(*document));
        const auto watches = shown(makeWatchesPanel(*document));
        watches->setState({{"watches", QJsonArray{"n * 2", "prev(n)", "nowhere", "next_n"}}});
        execute(*document, "start");
        execute(*document, "goto main/while#0@20:body/add#3");
        auto* view = tree->findChild<RowView*>("invocationTree");
        const auto find = [&](const QString& text) {
            const QModelIndexList found =
                view->model()->match(view->model()->index(0, 0), Qt::DisplayRole, text, 1, Qt::MatchRecursive | Qt::MatchExactly);
            return found.isEmpty() ? QModelIndex() : found.front();
        };
        const QModelIndex range = find("@0..18");
        QVERIFY(range.isValid());
        view->expand(range);
        const QModelIndex tenth = find("@10");
        const QModelIndex iteration = tenth.isValid() ? tenth : find("@10..18");
        QVERIFY(iteration.isValid());
        const int64_t step = document->stop()->position.step;
        view->setCurrentIndex(iteration);
        QCOMPARE(document->lookedAt(), std::string("main/while#0@10:body"));
        auto* lines = listing->findChild<ListingView*>();
        // n is 214 in iteration 10, so 107 follows; at the stop it is 274.
        QTRY_COMPARE(rowAt(*lines, "main/while#0:body/floor_mod#0")["value"].toString(), QString("@10 0"));
        QCOMPARE(rowAt(*lines, "main/while#0:body/if#2")["value"].toString(), QString("@10 107"));
        QVERIFY(rowAt(*lines, "main/while#0:body/if#2")["stale"].toBool());
        QAbstractItemModel* const held = modelOf(*variables, "variableTable");
        QTRY_COMPARE(held->headerData(1, Qt::Horizontal).toString(), QString("Value @10"));
        const QStringList rows = rowsOf(*variables->findChild<RowView*>("variableTable"));
        QVERIFY2(rows.contains("n  i32[]|214") && rows.contains("next_n  i32[]|107"), qPrintable(rows.join('\n')));
        QVERIFY(held->index(1, 1).data(italicRole).toBool());
        QVERIFY(!held->index(1, 1).data(boldRole).toBool());
        QAbstractItemModel* const watched = modelOf(*watches, "watchTable");
        QTRY_COMPARE(watched->headerData(1, Qt::Horizontal).toString(), QString("Value @10"));
        QCOMPARE(watched->index(0, 1).data().toString(), QString("428"));
        QCOMPARE(watched->index(1, 1).data().toString(), QString("71"));
        QVERIFY(watched->index(2, 1).data().toString().contains("no value 'nowhere'"));
        QCOMPARE(watched->index(3, 1).data().toString(), QString("107"));
        QVERIFY(watched->index(0, 1).data(italicRole).toBool());
        grab(*variables, "variables_looked_at");
        grab(*watches, "watches_looked_at");
        grab(*listing, "listing_looked_at");
        // A branch that was not taken there says so.
        document->lookAt("main/while#0@10:body/if#2:else");
        QTRY_COMPARE(watched->index(0, 1).data().toString(), QString("not run in @10"));
        QCOMPARE(variables->findChild<EmptyStack*>()->emptyText(), QString("not run in @10"));
        QCOMPARE(document->stop()->position.step, step); // the run stands where it stood
        execute(*document, "step");
        QVERIFY(document->lookedAt().empty());
        QTRY_VERIFY(rowAt(*lines, "main/while#0:body/if#2")["value"].toString() != "@10 107");
        QTRY_COMPARE(watched->headerData(1, Qt::Horizontal).toString(), QString("Value"));
        QVERIFY(!watched->index(0, 1).data(italicRole).toBool());
    }

    void scrubbingALoopShowsSampledValues()
    {
        const auto document = collatz();
        const auto listing = shown(makeListingPanel(*document), {520, 300});
        const auto structured = shown(makeStructuredPanel(*document), {620, 460});
        const auto variables = shown(makeVariablesPanel(*document));
        const auto watches = shown(makeWatchesPanel(*document));
        watches->setState({{"watches", QJsonArray{"n"}}});
        execute(*document, "start");
        execute(*document, "goto main/while#0@20:body/if#2");
        const int64_t tick = document->stop()->tick;
        auto* lines = listing->findChild<ListingView*>();
        auto* program = structured->findChild<ListingView*>();
        QAbstractItemModel* const watched = modelOf(*watches, "watchTable");
        QTRY_COMPARE(watched->index(0, 1).data().toString(), QString("274"));
        for (const int64_t iteration : {15, 12, 11}) document->setPreview(iteration, "main/while#0@20:body");
        QTRY_COMPARE(watched->headerData(1, Qt::Horizontal).toString(), QString("Value \u2248 @11"));
        QCOMPARE(watched->index(0, 1).data().toString(), QString("107"));
        QTRY_COMPARE(rowAt(*lines, "main/while#0:body/if#2")["value"].toString(), QString("\u2248 @11 322"));
        QTRY_COMPARE(rowAt(*program, "main/while#0:body/if#2")["value"].toString(), QString("\u2248 @11 322"));
        QTRY_COMPARE(modelOf(*variables, "variableTable")->headerData(1, Qt::Horizontal).toString(), QString("Value \u2248 @11"));
        // 107 is odd, 274 is not: the branches are folded as they were taken there.
        QTRY_VERIFY(!rowAt(*program, "main/while#0:body/if#2:else/mul#0").isEmpty());
        QVERIFY(rowAt(*program, "main/while#0:body/if#2:then/floor_div#0").isEmpty());
        // What lies ahead of the run is not run for the sake of the picture.
        document->setPreview(50, "main/while#0@20:body");
        QTRY_COMPARE(watched->index(0, 1).data().toString(), QString("not run in @50"));
        // Released where it was pressed: the present stop again, exact.
        document->setPreview(std::nullopt);
        QTRY_COMPARE(watched->index(0, 1).data().toString(), QString("274"));
        QTRY_VERIFY(rowAt(*lines, "main/while#0:body/if#2")["state"].toString() == "next");
        QTRY_COMPARE(rowAt(*lines, "main/while#0:body/floor_mod#0")["value"].toString(), QString("0"));
        QCOMPARE(document->stop()->tick, tick);
        // A loop that is not on the way to what is shown changes nothing.
        document->setPreview(3, "main/while#9:body");
        QTest::qWait(30);
        QCOMPARE(watched->headerData(1, Qt::Horizontal).toString(), QString("Value"));
    }
};

} // namespace loopscope::viewer

QTEST_MAIN(loopscope::viewer::ElsewhereTest)
#include "elsewhere_test.moc"
