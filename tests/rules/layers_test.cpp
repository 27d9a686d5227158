// The layer table of docs/layers.txt, checked against every #include of the tree.
#include "tests/rules/source_files.h"

#include <gtest/gtest.h>
#include <map>
#include <re2/re2.h>
#include <set>

namespace loopscope {
namespace {

struct Table {
    std::map<std::string, std::vector<std::string>> layers;    ///< folder → folders it may include
    std::map<std::string, std::vector<std::string>> libraries; ///< beginning of a header name → folders that may name it
};

Table readTable()
{
    Table table;
    for (std::string line : linesOf(readText("docs/layers.txt"))) {
        if (line.empty() || line[0] == '#') continue;
        const size_t colon = line.find(':');
        std::string name = line.substr(0, colon);
        std::vector<std::string> folders;
        std::istringstream rest(line.substr(colon + 1));
        for (std::string folder; rest >> folder;) folders.push_back(folder);
        if (name[0] == '<') table.libraries[name.substr(1, name.back() == '>' ? name.size() - 2 : std::string::npos)] = folders;
        else table.layers[name] = folders;
    }
    return table;
}

bool lies(const std::string& path, const std::string& folder) { return path.starts_with(folder + "/") || path == folder; }

/// The longest layer that a path belongs to; empty if none.
std::string layerOf(const Table& table, const std::string& path)
{
    std::string best;
    for (const auto& [folder, allowed] : table.layers)
        if (lies(path, folder) && folder.size() > best.size()) best = folder;
    return best;
}

std::vector<std::string> violations(const Table& table, const std::string& file, const std::string& text)
{
    static const RE2 ours("^\\s*#include \"([^\"]+)\"");
    static const RE2 theirs("^\\s*#include <([^>]+)>");
    std::vector<std::string> found;
    const std::string layer = layerOf(table, file);
    for (const std::string& line : linesOf(text)) {
        std::string target;
        if (!layer.empty() && RE2::PartialMatch(line, ours, &target)) {
            bool allowed = lies(target, layer) || target.find('/') == std::string::npos; // generated headers have no folder
            for (const std::string& folder : table.layers.at(layer)) allowed = allowed || lies(target, folder);
            if (!allowed) found.push_back(file + " includes " + target);
        } else if (RE2::PartialMatch(line, theirs, &target)) {
            for (const auto& [prefix, folders] : table.libraries) {
                if (!target.starts_with(prefix)) continue;
                bool allowed = false;
                for (const std::string& folder : folders) allowed = allowed || lies(file, folder);
                if (!allowed) found.push_back(file + " includes <" + target + ">");
            }
        }
    }
    return found;
}

TEST(Layers, everyIncludeIsAllowed)
{
    const Table table = readTable();
    const auto files = sourceFiles({"engine", "converters", "tracer", "viewer", "app"}, {".h", ".cpp", ".def"});
    ASSERT_GT(files.size(), 40U);
    for (const std::string& file : files) {
        EXPECT_FALSE(layerOf(table, file).empty()) << file << " belongs to no layer of docs/layers.txt";
        for (const std::string& violation : violations(table, file, readText(file))) ADD_FAILURE() << violation;
    }
}

TEST(Layers, theTestItselfFindsViolations)
{
    const Table table = readTable();
    EXPECT_EQ(violations(table, "engine/tensor/x.h", "#include \"engine/ir/model.h\"\n").size(), 1U);
    EXPECT_EQ(violations(table, "engine/kernels/cpu/x.cpp", "#include \"engine/exec/interpreter.h\"\n").size(), 1U);
    EXPECT_EQ(violations(table, "engine/exec/x.cpp", "#include <sqlite3.h>\n").size(), 1U);
    EXPECT_TRUE(violations(table, "engine/exec/x.cpp", "#include \"engine/plan/plan.h\"\n").empty());
}

// Faces are built on the session API. Beside it they know what is a value: descriptions, addresses, numbers; and single headers that hold
// nothing else, which the table names one by one.
TEST(Layers, facesKnowOfTheEngineItsApiAndValueTypes)
{
    const std::set<std::string> values = {"engine/api", "engine/base", "engine/tensor", "engine/ir", "engine/ops", "engine/observe"};
    int faces = 0;
    for (const auto& [face, allowed] : readTable().layers) {
        if (!face.starts_with("viewer/") && face != "app/terminal") continue;
        ++faces;
        for (const std::string& folder : allowed) {
            EXPECT_NE(folder, "engine") << face;
            if (!folder.starts_with("engine/") || values.count(folder) != 0) continue;
            EXPECT_TRUE(folder.ends_with(".h")) << face << " may include all of " << folder;
            const std::string header = readText(folder);
            EXPECT_FALSE(header.empty()) << folder;
            for (const char* runs : {"Executor", "Interpreter", "Timeline", "DebugTarget"})
                EXPECT_EQ(header.find(runs), std::string::npos) << face << " may include " << folder << ", which is about a " << runs;
        }
    }
    EXPECT_GE(faces, 12);
    EXPECT_TRUE(readTable().layers.at("viewer/layout").empty());
}

// A layer table with a cycle would allow everything along it.
TEST(Layers, theTableHasNoCycle)
{
    const Table table = readTable();
    for (const auto& [start, allowed] : table.layers) {
        std::set<std::string> seen;
        std::vector<std::string> open(allowed);
        while (!open.empty()) {
            const std::string layer = open.back();
            open.pop_back();
            EXPECT_NE(layer, start) << "cycle through " << start;
            if (!seen.insert(layer).second || !table.layers.count(layer)) continue;
            for (const std::string& next : table.layers.at(layer)) open.push_back(next);
        }
    }
}

} // namespace
} // namespace loopscope
