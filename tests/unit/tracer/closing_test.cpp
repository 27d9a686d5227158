// Recordings that do not end as they should: killed, disk full, quota reached, nowhere to write.
#include "fixture.h"
#include "tracer/api/trace_check.h"

#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace loopscope::test {
namespace {

using Lines = std::vector<std::string>;

std::string problem(const Result<std::unique_ptr<TraceRecorder>>& result) { return result.ok() ? "" : result.error().message(); }

void expectNoViolations(const TraceReader& reader)
{
    const Result<TraceCheck> check = checkTrace(reader);
    ASSERT_TRUE(check.ok()) << check.error().message();
    for (const TraceViolation& violation : check->violations) ADD_FAILURE() << violation.rule << ": " << violation.text;
}

/// Waits until the trace at `path` holds a committed event, at most 20 s.
bool waitForEvents(const std::string& path)
{
    for (int i = 0; i < 2000; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
        if (!std::filesystem::exists(path)) continue;
        auto reader = TraceReader::open(path);
        if (!reader.ok() || (*reader)->runs().empty()) continue;
        const Result<QueryResult> count = (*reader)->query("SELECT count(*) > 100 FROM event", {});
        if (count.ok() && std::get<int64_t>(count->rows[0][0]) == 1) return true;
    }
    return false;
}

/// A process that records the script's endless version until it is killed.
pid_t startRecorder(const std::string& path)
{
    const pid_t child = fork();
    if (child != 0) return child;
    const Model model = scriptModel();
    auto recorder = TraceRecorder::create(model, optionsFor(path));
    if (!recorder.ok()) _exit(1);
    Script script(model, **recorder);
    script.run({.outer = 2'000'000'000});
    _exit(2);
}

TEST(KilledRecorder, leavesAValidFileThatSaysSo)
{
    const std::string path = tracePath();
    const pid_t child = startRecorder(path);
    ASSERT_TRUE(waitForEvents(path));
    {
        // Alive: a live file is readable and not called broken.
        auto live = TraceReader::open(path);
        ASSERT_TRUE(live.ok());
        EXPECT_THAT((*live)->note(), testing::HasSubstr("still being recorded"));
        EXPECT_EQ((*live)->runs().at(0).state, "recording");
    }
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    auto reader = TraceReader::open(path);
    ASSERT_TRUE(reader.ok()) << reader.error().message();
    EXPECT_THAT((*reader)->note(), testing::MatchesRegex(".*: incomplete, ends at step [0-9,]+: its recorder was killed"));
    const TraceRun& run = (*reader)->runs().at(0);
    EXPECT_EQ(run.state, "incomplete");
    ASSERT_TRUE(run.last.has_value());
    EXPECT_EQ(rowsOf(**reader, "SELECT state, last = (SELECT max(id) FROM event) FROM run"), Lines{"incomplete|1"});
    EXPECT_EQ(rowsOf(**reader, "SELECT count(*) FROM invocation WHERE steps IS NULL"), Lines{"0"});
    EXPECT_EQ(rowsOf(**reader, "SELECT count(*) > 0 FROM writes WHERE run = 1 AND value = 'i_next'"), Lines{"1"});
    EXPECT_EQ(rowsOf(**reader, findRecipe("incomplete")->sql), Lines{"1|incomplete|NULL"});
    EXPECT_TRUE(std::filesystem::exists(path + "-wal")) << "reading changes nothing";
    expectNoViolations(**reader);
}

TEST(KilledRecorder, isReadableWhereNothingCanBeWritten)
{
    const std::string path = tracePath();
    const pid_t child = startRecorder(path);
    ASSERT_TRUE(waitForEvents(path));
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    const std::string folder = std::filesystem::path(path).parent_path();
    for (const char* suffix : {"", "-wal", "-shm"}) chmod((path + suffix).c_str(), 0444);
    chmod(folder.c_str(), 0555);
    const pid_t guest = fork();
    if (guest == 0) {
        // Root may write everywhere, so somebody else reads.
        if (geteuid() == 0 && seteuid(65534) != 0) _exit(9);
        auto reader = TraceReader::open(path);
        if (!reader.ok()) {
            std::fprintf(stderr, "%s\n", reader.error().message().c_str());
            _exit(1);
        }
        if ((*reader)->runs().at(0).state != "incomplete") _exit(2);
        const Result<QueryResult> states =
            (*reader)->query("SELECT state, (SELECT count(*) FROM invocation WHERE steps IS NULL) FROM run", {});
        if (!states.ok() || sqlText(states->rows[0][0]) != "incomplete" || sqlText(states->rows[0][1]) != "0") _exit(3);
        _exit(std::filesystem::exists(path + "-wal") ? 0 : 4); // nothing was changed
    }
    int status = 0;
    waitpid(guest, &status, 0);
    EXPECT_EQ(WEXITSTATUS(status), 0);
    chmod(folder.c_str(), 0755);
}

TEST(FullDisk, endsTheRecordingNotTheRun)
{
    const std::string path = tracePath();
    int result[2];
    ASSERT_EQ(pipe(result), 0);
    const pid_t child = fork();
    if (child == 0) {
        // A limit on the size of files stands for a full disk.
        std::signal(SIGXFSZ, SIG_IGN);
        const rlimit limit{1'500'000, 1'500'000};
        setrlimit(RLIMIT_FSIZE, &limit);
        const Model model = scriptModel();
        auto recorder = TraceRecorder::create(model, optionsFor(path));
        if (!recorder.ok()) _exit(3);
        Script script(model, **recorder);
        script.run({.outer = 20000});
        const Status status = (*recorder)->finish();
        const std::string text =
            std::to_string(script.steps()) + "\n" + (status.ok() ? "ok" : std::move(const_cast<Status&>(status)).takeError().message());
        if (write(result[1], text.data(), text.size()) < 0) _exit(4);
        _exit(0);
    }
    close(result[1]);
    std::string text;
    char buffer[512];
    for (ssize_t n = 0; (n = read(result[0], buffer, sizeof(buffer))) > 0;) text.append(buffer, static_cast<size_t>(n));
    close(result[0]);
    int status = 0;
    waitpid(child, &status, 0);
    ASSERT_TRUE(WIFEXITED(status));
    ASSERT_EQ(WEXITSTATUS(status), 0);
    EXPECT_GT(std::stoll(text), 300'000) << "the run went on to its end";
    EXPECT_THAT(text, testing::HasSubstr(path + ": disk full after "));
    EXPECT_THAT(text, testing::HasSubstr("; the trace is valid up to step "));
    auto reader = TraceReader::open(path);
    ASSERT_TRUE(reader.ok()) << reader.error().message();
    EXPECT_GT(std::stoll(rowsOf(**reader, "SELECT count(*) FROM event").at(0)), 100);
    const TraceRun& run = (*reader)->runs().at(0);
    EXPECT_EQ(run.state, "incomplete");
    EXPECT_THAT(run.error.value_or(""), testing::MatchesRegex("full disk at step [0-9]+"));
    EXPECT_EQ(rowsOf(**reader, "SELECT reason, last FROM gap"), Lines{"full disk|" + std::to_string(std::stoll(text) - 1)});
    EXPECT_EQ(rowsOf(**reader, "SELECT kind FROM alert WHERE kind = 'full disk'"), Lines{"full disk"});
}

TEST(Quota, stopsEventsAndThenControlButNotTheRun)
{
    RecorderOptions options = optionsFor(tracePath(), TraceLevel::all);
    options.iterations = *parseIterations("all");
    options.quotaBytes = 2'000'000;
    const Recording r = record(std::move(options), {{.outer = 20000}});
    EXPECT_EQ(r.summary.state, "quota");
    EXPECT_LT(r.summary.bytes, 2'000'000U);
    EXPECT_EQ(r.rows("SELECT state, last - first + 1 FROM run"), Lines{"quota|" + cell(r.steps)});
    EXPECT_EQ(r.number("SELECT count(*) FROM event") + r.number("SELECT sum(last - first + 1) FROM gap"), r.steps);
    EXPECT_EQ(r.rows("SELECT DISTINCT reason FROM gap"), Lines{"quota"});
    EXPECT_EQ(r.rows("SELECT DISTINCT kind FROM alert WHERE kind = 'quota'"), Lines{"quota"});
    EXPECT_EQ(r.rows("SELECT text FROM alert WHERE kind = 'quota' ORDER BY id").at(0).substr(0, 4), "80 %");
}

TEST(Quota, countsTheLogToo)
{
    const std::string path = tracePath();
    RecorderOptions options = optionsFor(path);
    options.quotaBytes = 3'000'000;
    const Model model = scriptModel();
    auto recorder = TraceRecorder::create(model, std::move(options));
    ASSERT_TRUE(recorder.ok());
    uint64_t most = 0;
    Script script(model, **recorder);
    for (int i = 0; i < 40; ++i) {
        script.run({.outer = 1000});
        std::error_code none;
        most = std::max<uint64_t>(most, std::filesystem::file_size(path) +
                                            (std::filesystem::exists(path + "-wal") ? std::filesystem::file_size(path + "-wal", none) : 0));
    }
    ASSERT_TRUE((*recorder)->finish().ok());
    EXPECT_EQ((*recorder)->summary().state, "quota");
    EXPECT_LE(most, 3'000'000U);
}

TEST(Target, existingFilesAreRefusedWithoutOverwrite)
{
    const std::string path = tracePath();
    std::ofstream(path) << "precious";
    const Model model = scriptModel();
    RecorderOptions options = optionsFor(path);
    options.overwrite = false;
    EXPECT_EQ(problem(TraceRecorder::create(model, options)), path + ": exists; --force overwrites");
    std::string content;
    std::getline(std::ifstream(path), content);
    EXPECT_EQ(content, "precious");
    options.overwrite = true;
    EXPECT_EQ(problem(TraceRecorder::create(model, options)), "");
}

TEST(Target, thatCannotBeWrittenGivesOneLine)
{
    const Model model = scriptModel();
    EXPECT_EQ(problem(TraceRecorder::create(model, optionsFor("/nowhere/t.lstrace"))), "/nowhere/t.lstrace: No such file or directory");
    EXPECT_EQ(problem(TraceRecorder::create(model, optionsFor("/proc/t.lstrace"))).substr(0, 17), "/proc/t.lstrace: ");
    const std::string folder = std::filesystem::path(tracePath()).parent_path();
    EXPECT_EQ(problem(TraceRecorder::create(model, optionsFor(folder))), folder + ": is a folder");
    EXPECT_EQ(problem(TraceRecorder::create(model, optionsFor(""))), "a recording needs a file name");
}

TEST(Target, leavesNothingBehindWhenThereIsNoRoom)
{
    const std::string path = tracePath();
    const pid_t child = fork();
    if (child == 0) {
        std::signal(SIGXFSZ, SIG_IGN);
        const rlimit limit{20'000, 20'000};
        setrlimit(RLIMIT_FSIZE, &limit);
        const Model model = scriptModel();
        const auto recorder = TraceRecorder::create(model, optionsFor(path));
        _exit(recorder.ok() ? 1 : recorder.error().message() == path + ": disk full" ? 0 : 2);
    }
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(WEXITSTATUS(status), 0);
    EXPECT_FALSE(std::filesystem::exists(path));
    EXPECT_FALSE(std::filesystem::exists(path + "-wal"));
}

TEST(Indexes, areThereUnlessLeftOut)
{
    RecorderOptions options = optionsFor(tracePath());
    options.noIndex = true;
    const Recording without = record(options);
    EXPECT_FALSE(without.reader->isIndexed());
    EXPECT_EQ(without.number("SELECT count(*) FROM sqlite_schema WHERE type = 'index' AND name LIKE '%\\_at' ESCAPE '\\'"), 0);
    // A run that the user stopped is indexed like any other: only a request that comes while they are made is about the indexes.
    CancelFlag cancel;
    cancel.request();
    options.noIndex = false;
    options.cancel = &cancel;
    const Recording stopped = record(options);
    EXPECT_TRUE(stopped.reader->isIndexed());
    EXPECT_EQ(stopped.rows("SELECT count(*) FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL"), Lines{"1"});
}

} // namespace
} // namespace loopscope::test
