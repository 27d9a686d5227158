// Names of nodes that an address must escape: panels show them as the file spells them, and find them by the address.
#include "tests/scratch.h"
#include "tests/unit/viewer/panels/panel_views.h"
#include "viewer/panels/common.h"
#include "viewer/widgets/parts.h"

#include <cstdio>

namespace loopscope::viewer {

class NodeNamesTest : public QObject {
    Q_OBJECT
private slots:
    void initTestCase() { Theme::instance().apply(); }

    void areShownWithoutEscapes()
    {
        const ScratchFolder folder;
        const std::string path = folder.path("names.lsir");
        {
            FILE* file = std::fopen(path.c_str(), "w");
            std::fputs("model tf\ngraph main(x: f32[]) {\n  \"w:read\" = Identity(x) T=f32 : f32[]\n  y = Neg(\"w:read\") T=f32 : f32[]\n"
                       "  return y=y\n}\n",
                       file);
            std::fclose(file);
        }
        const auto document = openFile(path, {"x=1"});
        const auto structure = shown(makeStructurePanel(*document), {240, 260});
        const auto properties = shown(makePropertiesPanel(*document), {300, 400});
        auto* tree = structure->findChild<RowView*>("structureTree");
        QCOMPARE(rowsOf(*tree), QStringList({"main|2 ops", "  w:read|", "  y|"}));
        document->select("main/w%3Aread");
        QCOMPARE(tree->currentIndex().data().toString(), QString("w:read"));
        document->select("main/y");
        const auto seen = [&] {
            QString all;
            for (const RowView* view : properties->findChildren<RowView*>()) all += rowsOf(*view).join('\n');
            return all;
        };
        QTRY_VERIFY2(seen().contains("w:read"), qPrintable(seen()));
        QVERIFY2(!seen().contains("%3A"), qPrintable(seen()));
    }
};

} // namespace loopscope::viewer

QTEST_MAIN(loopscope::viewer::NodeNamesTest)
#include "node_names_test.moc"
