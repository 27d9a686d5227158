// Recordings that were made to do harm: whoever opens them writes nothing, runs nothing that they say, and gets an answer or an error.
#include "engine/base/memory_budget.h"
#include "fixture.h"
#include "tracer/api/trace_check.h"
#include "tracer/api/trace_replay.h"
#include "tracer/record/recording_lock.h"

#include <array>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <map>
#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <zstd.h>

namespace loopscope::test {
namespace {

namespace fs = std::filesystem;

std::string contentOf(const fs::path& path)
{
    std::ifstream file(path, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
}

/// Every file of a folder, by name.
std::map<std::string, std::string> folderOf(const std::string& path)
{
    std::map<std::string, std::string> files;
    for (const auto& entry : fs::directory_iterator(fs::path(path).parent_path())) files[entry.path().filename()] = contentOf(entry.path());
    return files;
}

/// Everything that a program does with a recording when it opens it; the message if that fails.
std::string openAndLook(const std::string& path)
{
    const auto reader = TraceReader::open(path);
    if (!reader.ok()) return reader.error().message();
    for (const Recipe& recipe : traceRecipes())
        static_cast<void>((*reader)->recipe(recipe.name, {{"op", "if#3"}, {"step", "5"}}, {.seconds = 1}));
    static_cast<void>((*reader)->query("SELECT count(*) FROM event", {}));
    if (auto run = RecordedRun::open(**reader); run.ok()) {
        static_cast<void>((*run)->event(3));
        static_cast<void>((*run)->value(3, 0));
    }
    static_cast<void>(checkTrace(**reader));
    return "";
}

/// A recording of which its recorder was killed: state `recording`, and the rest of it in a log beside it.
std::string killedRecording(const std::string& name = "t.lstrace")
{
    const std::string path = tracePath(name);
    const pid_t child = fork();
    if (child == 0) {
        const Model model = scriptModel();
        auto recorder = TraceRecorder::create(model, optionsFor(path));
        if (!recorder.ok()) _exit(1);
        Script script(model, **recorder);
        script.run({.outer = 2'000'000'000});
        _exit(2);
    }
    for (int i = 0; i < 2000; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
        if (!fs::exists(path)) continue;
        const auto reader = TraceReader::open(path);
        if (!reader.ok() || (*reader)->runs().empty() || (*reader)->runs()[0].steps() < 1000) continue;
        break;
    }
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    return path;
}

/// SQL with the schema writable, as no recorder does it.
void forge(const std::string& path, const std::string& sql) { change(path, "PRAGMA writable_schema = ON; " + sql); }

TEST(HostileRecording, ofAKilledRecorderIsReadAsItLies)
{
    const std::string path = killedRecording();
    const auto before = folderOf(path);
    ASSERT_TRUE(before.contains("t.lstrace-wal"));
    const auto reader = TraceReader::open(path);
    ASSERT_TRUE(reader.ok()) << reader.error().message();
    EXPECT_THAT((*reader)->note(), testing::MatchesRegex(".*t.lstrace: incomplete, ends at step [0-9,]+: its recorder was killed"));
    EXPECT_EQ((*reader)->runs()[0].state, "incomplete");
    EXPECT_GE((*reader)->runs()[0].steps(), 1000) << "what is only in the log counts";
    EXPECT_EQ(rowsOf(**reader, "SELECT state, last - first + 1 > 1000, last = (SELECT max(id) FROM event) FROM run"),
              std::vector<std::string>{"incomplete|1|1"});
    EXPECT_EQ(openAndLook(path), "");
    EXPECT_EQ(folderOf(path), before);
}

TEST(HostileRecording, triggersDoNotRun)
{
    const std::string path = killedRecording();
    const std::string forged = tracePath("forged.lstrace");
    for (const char* suffix : {"", "-wal"}) fs::copy_file(path + suffix, forged + suffix);
    change(forged, "PRAGMA journal_mode = DELETE; CREATE TRIGGER harm AFTER UPDATE ON run BEGIN UPDATE event SET lo = 0; END");
    const auto before = folderOf(forged);
    EXPECT_EQ(openAndLook(forged), "");
    EXPECT_EQ(folderOf(forged), before);
    // Who would write into it refuses.
    const Result<TraceRepair> repaired = repairTrace(forged);
    ASSERT_FALSE(repaired.ok());
    EXPECT_THAT(repaired.error().message(), testing::HasSubstr("not a recording: it has a trigger 'harm'"));
    const Model model = scriptModel();
    RecorderOptions options = optionsFor(forged);
    options.overwrite = false;
    options.append = true;
    EXPECT_FALSE(TraceRecorder::create(model, options).ok());
    EXPECT_EQ(folderOf(forged), before);
}

TEST(HostileRecording, viewsInThePlaceOfTablesAreRefused)
{
    for (const char* table : {"meta", "run", "event", "op", "invocation"}) {
        const Recording r = record(optionsFor(tracePath(std::string(table) + ".lstrace")));
        const std::string endless =
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT 'schema' AS key, i AS value FROM n";
        change(r.path, std::string("ALTER TABLE ") + table + " RENAME TO real_" + table + "; CREATE VIEW " + table + " AS " + endless);
        const auto before = folderOf(r.path);
        EXPECT_THAT(openAndLook(r.path), testing::HasSubstr(std::string("not a recording: '") + table + "' is a view"));
        EXPECT_EQ(folderOf(r.path), before);
    }
}

TEST(HostileRecording, viewsOfTheFileAreNotAsked)
{
    const Recording r = record(optionsFor(tracePath()), {{.outer = 3}});
    change(
        r.path,
        "DROP VIEW writes; CREATE VIEW writes AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i AS step FROM n;"
        "CREATE VIEW other AS SELECT 1 AS one");
    const auto reader = TraceReader::open(r.path);
    ASSERT_TRUE(reader.ok());
    EXPECT_EQ(rowsOf(**reader, "SELECT count(DISTINCT step) FROM writes"), std::vector<std::string>{cell(r.steps)});
    EXPECT_FALSE((*reader)->query("SELECT * FROM other", {}).ok());
}

TEST(HostileRecording, generatedColumnsAndVirtualTablesAreRefused)
{
    const Recording r = record(optionsFor(tracePath()), {{.outer = 3}});
    forge(r.path,
          "UPDATE sqlite_schema SET sql = 'CREATE TABLE meta (key TEXT NOT NULL, value TEXT AS (printf(''%.*c'', 100000000, ''x'')), "
          "PRIMARY KEY (key)) WITHOUT ROWID' WHERE name = 'meta'");
    EXPECT_THAT(openAndLook(r.path), testing::HasSubstr("not a recording: table 'meta' has no column 'value'"));
    const Recording v = record(optionsFor(tracePath("v.lstrace")), {{.outer = 3}});
    forge(
        v.path,
        "UPDATE sqlite_schema SET sql = 'CREATE VIRTUAL TABLE gap USING fts3(run, first, last, reason)', rootpage = 0 WHERE name = 'gap'");
    EXPECT_NE(openAndLook(v.path), "");
}

/// A rollback journal with pages of zeros for the whole file, which names another file as its super-journal.
void placeJournal(const std::string& path, const std::string& superJournal)
{
    const auto put = [](std::string& to, uint32_t value) {
        for (int shift = 24; shift >= 0; shift -= 8) to += static_cast<char>(value >> shift);
    };
    std::string journal("\xd9\xd5\x05\xf9\x20\xa1\x63\xd7", 8);
    put(journal, 1);     // records
    put(journal, 7);     // nonce of their checksums
    put(journal, 2);     // pages of the database
    put(journal, 512);   // sector
    put(journal, 16384); // page
    journal.resize(512, '\0');
    put(journal, 2);
    journal += std::string(16384, '\0');
    put(journal, 7);
    // At the end: a page number that is none, the name, its length, its checksum, the magic again.
    put(journal, 65536);
    journal += superJournal;
    put(journal, static_cast<uint32_t>(superJournal.size()));
    uint32_t sum = 0;
    for (const char c : superJournal) sum += static_cast<uint32_t>(static_cast<signed char>(c));
    put(journal, sum);
    journal += std::string("\xd9\xd5\x05\xf9\x20\xa1\x63\xd7", 8);
    std::ofstream(path + "-journal", std::ios::binary) << journal;
}

TEST(HostileRecording, aJournalBesideItIsNeitherPlayedNorDeletedNorIsWhatItNames)
{
    for (const bool wasKilled : {false, true}) {
        const std::string path = wasKilled ? killedRecording("killed.lstrace") : record(optionsFor(tracePath("closed.lstrace"))).path;
        const std::string precious = tracePath(wasKilled ? "precious1" : "precious0");
        std::ofstream(precious) << "a file of the user";
        placeJournal(path, precious);
        const auto before = folderOf(path);
        EXPECT_EQ(openAndLook(path), "");
        const Result<TraceRepair> repaired = repairTrace(path);
        ASSERT_FALSE(repaired.ok());
        EXPECT_THAT(repaired.error().message(), testing::HasSubstr("a journal lies beside the recording"));
        const Model model = scriptModel();
        RecorderOptions options = optionsFor(path);
        options.overwrite = false;
        options.append = true;
        EXPECT_FALSE(TraceRecorder::create(model, options).ok());
        EXPECT_EQ(folderOf(path), before);
    }
}

TEST(HostileRecording, treesOfPagesWithoutAnEndCanBeCancelled)
{
    const Recording r = record(optionsFor(tracePath()), {{.outer = 3}});
    CancelFlag cancel;
    const auto reader = TraceReader::open(r.path, &cancel);
    ASSERT_TRUE(reader.ok());
    cancel.request();
    const auto endless =
        (*reader)->query("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n", {}, {.seconds = 0});
    ASSERT_FALSE(endless.ok());
    EXPECT_EQ(endless.error().code(), ErrorCode::cancelled);
    EXPECT_FALSE(checkTrace(**reader, &cancel).ok());
}

TEST(HostileRecording, whatIsNoRegularFileIsRefused)
{
    const std::string path = tracePath("pipe.lstrace");
    ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
    EXPECT_FALSE(isTraceFile(path));
    EXPECT_EQ(openAndLook(path), path + ": is no regular file");
}

/// A frame of Zstandard that unpacks to so many zeros.
std::string packedZeros(size_t bytes)
{
    const std::string zeros(bytes, '\0');
    std::string packed(ZSTD_compressBound(bytes), '\0');
    packed.resize(ZSTD_compress(packed.data(), packed.size(), zeros.data(), bytes, 1));
    return packed;
}

std::string hexOf(const std::string& bytes)
{
    std::string hex;
    for (const char c : bytes)
        for (const int shift : {4, 0}) hex += "0123456789abcdef"[static_cast<unsigned char>(c) >> shift & 15];
    return hex;
}

TEST(HostileRecording, storedValuesThatUnpackToMoreThanTheLimitAreRefused)
{
    constexpr size_t kZeros = 512U << 20U;
    const Recording r = record(optionsFor(tracePath(), TraceLevel::all), {{.outer = 3}});
    const std::string packed = packedZeros(kZeros);
    ASSERT_LT(packed.size(), 100'000U) << "a few bytes that become many";
    const std::string size = std::to_string(kZeros), stored = std::to_string(packed.size());
    change(r.path, "UPDATE blob SET dtype = 'u8', shape = '[" + size + "]', codec = 1, bytes = " + size + ", stored = " + stored +
                       ", chunks = 1; UPDATE chunk SET data = x'" + hexOf(packed) + "'");
    const auto reader = TraceReader::open(r.path);
    ASSERT_TRUE(reader.ok()) << reader.error().message();
    setMemoryLimit(memoryInUse() + (64U << 20U));
    auto run = RecordedRun::open(**reader);
    ASSERT_TRUE(run.ok()) << run.error().message();
    std::string message;
    for (int64_t event = 0; event < 20 && message.empty(); ++event)
        if (const auto value = (*run)->value(event, 0); !value.ok()) message = value.error().message();
    setMemoryLimit(0);
    EXPECT_THAT(message, testing::HasSubstr("needs more memory than the limit of"));
}

TEST(HostileRecording, ofManyGigabytesIsOpenedAtOnce)
{
    const Recording r = record(optionsFor(tracePath()), {{.outer = 3}});
    const std::vector<std::string> events = r.rows("SELECT count(*) FROM event");
    // The file says that it has pages for 8.5 GB; all but the first are a hole. What opening reads does not grow with it.
    std::fstream file(r.path, std::ios::in | std::ios::out | std::ios::binary);
    std::array<unsigned char, 100> header = {};
    file.read(reinterpret_cast<char*>(header.data()), header.size());
    const int64_t page = header[16] * 256 + header[17] == 1 ? 65536 : header[16] * 256 + header[17];
    const int64_t pages = int64_t{8'500'000'000} / page;
    for (size_t i = 0; i < 4; ++i) header[28 + i] = static_cast<unsigned char>(pages >> (24 - 8 * i));
    file.seekp(0);
    file.write(reinterpret_cast<const char*>(header.data()), header.size());
    file.close();
    fs::resize_file(r.path, static_cast<uintmax_t>(pages * page));
    const uint64_t before = memoryInUse();
    const auto reader = TraceReader::open(r.path);
    ASSERT_TRUE(reader.ok()) << reader.error().message();
    EXPECT_EQ(rowsOf(**reader, "SELECT count(*) FROM event"), events);
    EXPECT_TRUE(RecordedRun::open(**reader).ok());
    EXPECT_LT(memoryInUse(), before + (64U << 20U));
}

TEST(ChangedRecording, isTold)
{
    const Recording r = record(optionsFor(tracePath()), {{.outer = 400}});
    const auto reader = TraceReader::open(r.path);
    ASSERT_TRUE(reader.ok());
    for (const bool isCut : {false, true}) {
        if (isCut) fs::resize_file(r.path, 20'000);
        else change(r.path, "UPDATE event SET lo = 7");
        const auto answer = (*reader)->query("SELECT sum(lo), count(*) FROM event", {});
        ASSERT_FALSE(answer.ok());
        EXPECT_THAT(answer.error().message(), testing::HasSubstr("t.lstrace: has changed since it was opened"));
    }
}

TEST(Repair, endsInTheFileWhatAKilledRecorderLeft)
{
    const std::string path = killedRecording();
    const int64_t steps = (*TraceReader::open(path))->runs()[0].steps();
    const Result<TraceRepair> repaired = repairTrace(path);
    ASSERT_TRUE(repaired.ok()) << repaired.error().message();
    EXPECT_EQ(repaired->runs, 1);
    EXPECT_FALSE(repaired->hadIndexes);
    EXPECT_FALSE(fs::exists(path + "-wal"));
    const auto reader = TraceReader::open(path);
    ASSERT_TRUE(reader.ok());
    EXPECT_TRUE((*reader)->isIndexed());
    EXPECT_EQ((*reader)->runs()[0].steps(), steps);
    EXPECT_THAT((*reader)->note(), testing::HasSubstr("incomplete, ends at step "));
    EXPECT_EQ(rowsOf(**reader, "SELECT state FROM main.run"), std::vector<std::string>{"incomplete"});
    EXPECT_EQ(rowsOf(**reader, "SELECT count(*) FROM main.invocation WHERE steps IS NULL"), std::vector<std::string>{"0"});
    const Result<TraceCheck> check = checkTrace(**reader);
    ASSERT_TRUE(check.ok());
    for (const TraceViolation& violation : check->violations) ADD_FAILURE() << violation.rule << ": " << violation.text;
    // Once more there is nothing to do; and who records is not disturbed.
    EXPECT_EQ(repairTrace(path)->runs, 0);
    const Result<RecordingLock> lock = RecordingLock::take(path);
    ASSERT_TRUE(lock.ok());
    EXPECT_EQ(repairTrace(path).error().message(), path + ": is being recorded into");
}

} // namespace
} // namespace loopscope::test
