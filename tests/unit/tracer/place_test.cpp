// Who may record where: a live recording keeps its place, several that append come one after the other, and what is over keeps nothing.
#include "fixture.h"
#include "tracer/api/trace_check.h"
#include "tracer/record/recording_lock.h"

#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

namespace loopscope::test {
namespace {

std::string refusal(const RecorderOptions& options)
{
    static const Model model = scriptModel();
    const auto recorder = TraceRecorder::create(model, options);
    return recorder.ok() ? "" : recorder.error().message();
}

/// What `question` gives in a process of its own.
int elsewhere(const std::function<int()>& question)
{
    const pid_t child = fork();
    if (child == 0) _exit(question());
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(RecordingPlace, ofALiveRecordingIsKept)
{
    const std::string path = tracePath();
    const Model model = scriptModel();
    auto recorder = TraceRecorder::create(model, optionsFor(path));
    ASSERT_TRUE(recorder.ok());
    Script script(model, **recorder);
    script.run({.outer = 50});
    EXPECT_EQ(refusal(optionsFor(path)), path + ": is being recorded into");
    EXPECT_EQ(elsewhere([&] { return refusal(optionsFor(path)) == path + ": is being recorded into" ? 0 : 1; }), 0);
    EXPECT_EQ(elsewhere([&] { return RecordingLock::isHeld(path) ? 0 : 1; }), 0);
    ASSERT_TRUE((*recorder)->finish().ok());
    EXPECT_FALSE(RecordingLock::isHeld(path));
    const auto reader = TraceReader::open(path);
    ASSERT_TRUE(reader.ok());
    EXPECT_EQ(rowsOf(**reader, "SELECT count(*) FROM event"), std::vector<std::string>{cell(script.steps())});
    EXPECT_EQ(refusal(optionsFor(path)), "");
}

TEST(RecordingPlace, manyThatAppendAtOnceComeOneAfterTheOther)
{
    constexpr int kMany = 12;
    const std::string path = tracePath();
    std::vector<pid_t> children;
    for (int i = 0; i < kMany; ++i) {
        children.push_back(fork());
        if (children.back() != 0) continue;
        RecorderOptions options = optionsFor(path);
        options.overwrite = false;
        options.append = true;
        options.model = {"/models/script.tflite", "tflite", 1234, "00112233445566778899aabbccddeeff", {}};
        const Model model = scriptModel();
        auto recorder = TraceRecorder::create(model, std::move(options));
        if (!recorder.ok()) _exit(1);
        Script script(model, **recorder);
        script.run({.outer = 4});
        _exit((*recorder)->finish().ok() ? 0 : 2);
    }
    for (const pid_t child : children) {
        int status = 0;
        waitpid(child, &status, 0);
        EXPECT_EQ(WEXITSTATUS(status), 0);
    }
    const auto reader = TraceReader::open(path);
    ASSERT_TRUE(reader.ok());
    EXPECT_EQ(rowsOf(**reader, "SELECT count(*), min(state), max(state), count(DISTINCT base), (SELECT count(*) FROM model) FROM run"),
              std::vector<std::string>{"12|complete|complete|12|1"});
    const Result<TraceCheck> check = checkTrace(**reader);
    ASSERT_TRUE(check.ok());
    for (const TraceViolation& violation : check->violations) ADD_FAILURE() << violation.rule << ": " << violation.text;
}

/// Bytes of memory that this process has in use.
int64_t resident()
{
    std::ifstream file("/proc/self/statm");
    int64_t all = 0, present = 0;
    file >> all >> present;
    return present * sysconf(_SC_PAGESIZE);
}

TEST(RecordingPlace, whatIsOverKeepsNothing)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "sanitizers keep what was freed";
#endif
    const Model model = scriptModel();
    std::vector<std::unique_ptr<TraceRecorder>> over; // as a session keeps them for their summaries
    const auto turn = [&] {
        auto recorder = TraceRecorder::create(model, optionsFor(tracePath()));
        ASSERT_TRUE(recorder.ok());
        Script script(model, **recorder);
        script.run({.outer = 3});
        ASSERT_TRUE((*recorder)->finish().ok());
        EXPECT_EQ((*recorder)->summary().events, script.steps());
        over.push_back(std::move(*recorder));
    };
    for (int i = 0; i < 20; ++i) turn();
    const int64_t before = resident();
    for (int i = 0; i < 200; ++i) turn();
    EXPECT_LT(resident() - before, 6 << 20) << "of 200 recordings";
}

} // namespace
} // namespace loopscope::test
