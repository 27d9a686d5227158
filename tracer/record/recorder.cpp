// Creating and finishing a recording, runs and invocations.
#include "tracer/record/recorder.h"

#include "engine/base/clock.h"
#include "engine/base/hash.h"
#include "tracer/record/appending.h"
#include "tracer/record/recorder_impl.h"
#include "tracer/record/recording_lock.h"
#include "tracer/schema/schema.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

namespace loopscope {

namespace {

constexpr uint64_t kMostByDefault = uint64_t{8} * 1024 * 1024 * 1024;

uint64_t mix(uint64_t hash, uint64_t value) { return ((hash << 5 | hash >> 59) ^ value) * 0x9e3779b97f4a7c15U; }

std::string utcNow()
{
    const time_t now = time(nullptr);
    tm parts = {};
    gmtime_r(&now, &parts);
    std::array<char, 32> text = {};
    strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
    return text.data();
}

/// The folder that a path lies in.
std::string folderOf(const std::string& path)
{
    const size_t slash = path.find_last_of('/');
    if (slash == std::string::npos) return ".";
    return slash == 0 ? "/" : path.substr(0, slash);
}

uint64_t defaultQuota(const std::string& path)
{
    struct statvfs info = {};
    if (statvfs(folderOf(path).c_str(), &info) != 0) return kMostByDefault;
    const uint64_t half = static_cast<uint64_t>(info.f_bavail) * info.f_frsize / 2;
    return std::min(half, kMostByDefault);
}

/// How long `append` waits for another recorder: many that append at once come one after the other.
constexpr int64_t kMostWaiting = 5'000'000'000;

/// The place of a recording: a new file, or with `append` one that is there.
struct RecordingPlace {
    RecordingLock lock;
    bool isNew = true;
};

Result<RecordingPlace> takePlace(const RecorderOptions& options)
{
    if (!options.append) {
        LS_TRY(RecordingLock lock, options.overwrite ? RecordingLock::replace(options.path) : RecordingLock::create(options.path));
        return RecordingPlace{std::move(lock), true};
    }
    for (const int64_t start = nowNs();;) {
        struct stat info = {};
        const bool isThere = stat(options.path.c_str(), &info) == 0;
        Result<RecordingLock> lock = isThere ? RecordingLock::take(options.path) : RecordingLock::create(options.path);
        if (lock.ok()) return RecordingPlace{std::move(lock).value(), stat(options.path.c_str(), &info) != 0 || info.st_size == 0};
        const bool isOver = nowNs() - start > kMostWaiting || (options.cancel != nullptr && options.cancel->requested());
        if (!RecordingLock::isInUse(lock.error()) || isOver) return std::move(lock).takeError();
        usleep(5000);
    }
}

Status writeMeta(Database& database, const RecorderOptions& options)
{
    LS_TRY(Statement s, database.prepare("INSERT INTO meta VALUES (?, ?)"));
    const std::pair<const char*, std::string> rows[] = {
        {"schema", std::to_string(kTraceSchema)},
        {"minimum_reader", std::string(kMinimumReader)},
        {"tool", "loopscope " + std::string(kToolVersion)},
        {"indexed", "0"},
        {"complete", "0"},
        {"inputs_note", options.inputsNote},
    };
    for (const auto& [key, value] : rows) {
        s.bind(1, key);
        s.bind(2, value);
        LS_CHECK_OK(s.run());
    }
    LS_TRY(Statement r, database.prepare("INSERT INTO recipe VALUES (?, ?, ?, ?)"));
    for (const Recipe& recipe : traceRecipes()) {
        r.bind(1, recipe.name);
        r.bind(2, recipe.question);
        r.bind(3, recipe.parameters);
        r.bind(4, recipe.sql);
        LS_CHECK_OK(r.run());
    }
    return {};
}

} // namespace

Result<std::unique_ptr<TraceRecorder>> TraceRecorder::create(const Model& model, RecorderOptions options)
{
    LS_TRY(RecordingPlace place, takePlace(options));
    const bool appends = !place.isNew;
    AppendedTrace appended;
    std::unique_ptr<Database> database;
    if (appends) {
        LS_TRY(appended, openForAppending(model, options));
        database = std::move(appended.database);
    } else {
        Result<std::unique_ptr<Database>> created = Database::open(options.path, OpenMode::readWrite);
        if (!created.ok()) {
            place.lock.removeFile();
            return std::move(created).takeError();
        }
        database = std::move(created).value();
    }
    const auto setUp = [&]() -> Result<ModelRows> {
        if (appends) return std::move(appended.rows);
        LS_CHECK_OK(database->execute("PRAGMA page_size = 16384; PRAGMA application_id = " + std::to_string(kTraceApplicationId) +
                                      "; PRAGMA user_version = " + std::to_string(kTraceSchema) + "; PRAGMA journal_mode = WAL; " +
                                      writingPragmas(options)));
        LS_CHECK_OK(database->execute("BEGIN IMMEDIATE;" + createStatements()));
        LS_CHECK_OK(writeMeta(*database, options));
        LS_TRY(ModelRows rows, writeModel(*database, model, options));
        LS_CHECK_OK(database->execute("COMMIT"));
        return rows;
    };
    Result<ModelRows> rows = setUp();
    WriterOptions w;
    w.path = options.path;
    // By default the ends of every loop are whole and the middle is thinned, so that a million iterations stay small.
    if (options.level >= TraceLevel::values && !options.iterations) {
        LS_TRY(options.iterations, parseIterations("0..63,pow2,last-63..last"));
    }
    w.policy = options.iterations ? toString(*options.iterations) : "all";
    w.backend = options.backend;
    w.profile = options.profile;
    w.reason = options.reason;
    if (options.seed) w.seed = static_cast<int64_t>(*options.seed);
    w.level = static_cast<int>(options.level);
    w.quotaBytes = options.quotaBytes != 0 ? options.quotaBytes : defaultQuota(options.path);
    w.noIndex = options.noIndex;
    w.cancel = options.cancel;
    Status status;
    std::unique_ptr<TraceWriter> writer;
    if (rows.ok()) {
        w.model = rows->model;
        writer = std::make_unique<TraceWriter>(std::move(database), std::move(w));
        status = writer->start();
    } else {
        status = std::move(rows).takeError();
    }
    if (!status.ok()) {
        // Nothing half-written: a file that never held a recording goes again.
        writer.reset();
        database.reset();
        if (!appends) place.lock.removeFile();
        return std::move(status).takeError();
    }
    auto impl = std::make_unique<Impl>(model, std::move(options), *rows, std::move(writer), std::move(place.lock));
    if (appends) impl->goOnBehind(appended.lastRun, appended.nextEvent, appended.nextInvocation);
    return std::unique_ptr<TraceRecorder>(new TraceRecorder(std::move(impl)));
}

TraceRecorder::TraceRecorder(std::unique_ptr<Impl> impl) : m_impl(std::move(impl)) {}

TraceRecorder::~TraceRecorder() { static_cast<void>(finish()); }

bool TraceRecorder::wantsTimes() const { return m_impl && m_impl->m_options.times; }

bool TraceRecorder::wantsElements() const { return m_impl && m_impl->wantsElements(); }

void TraceRecorder::runStarted(const RunStart& e)
{
    if (m_impl) m_impl->runStarted(e);
}

void TraceRecorder::invocationStarted(const InvocationStart& e)
{
    if (m_impl) m_impl->invocationStarted(e);
}

void TraceRecorder::operatorExecuted(const OperatorEvent& e)
{
    if (m_impl) m_impl->operatorExecuted(e);
}

void TraceRecorder::variableAccessed(const VariableAccess& e)
{
    if (m_impl) m_impl->variableAccessed(e);
}

void TraceRecorder::printed(const PrintedText& e)
{
    if (m_impl) m_impl->printed(e);
}

void TraceRecorder::invocationEnded(const InvocationEnd& e)
{
    if (m_impl) m_impl->invocationEnded(e);
}

void TraceRecorder::runEnded(const RunEnd& e)
{
    if (m_impl) m_impl->runEnded(e);
}

void TraceRecorder::setFeeds(std::vector<TraceFeed> feeds)
{
    if (m_impl) m_impl->m_options.feeds = std::move(feeds);
}

Status TraceRecorder::finish()
{
    if (!m_impl) return {};
    Status status = m_impl->finish();
    m_summary = m_impl->summary();
    m_impl.reset();
    return status;
}

RecordingSummary TraceRecorder::summary() const { return m_impl ? m_impl->summary() : m_summary; }

TraceRecorder::Impl::Impl(const Model& model, RecorderOptions options, const ModelRows& rows, std::unique_ptr<TraceWriter> writer,
                          RecordingLock lock)
    : m_options(std::move(options)),
      m_index(model, rows),
      m_rows(rows),
      m_lock(std::move(lock)),
      m_writer(std::move(writer)),
      m_madeCalls(rows.made),
      m_nextCall(rows.nextCall)
{
    m_level = static_cast<int>(m_options.level);
    m_hasFilter = !m_options.only.empty() || !m_options.except.empty();
    const auto noteIterations = [this](const std::vector<AddressPattern>& patterns) {
        for (const AddressPattern& pattern : patterns) {
            for (const AddressStep& step : pattern.pattern().steps)
                m_patternsUseIterations |= step.iterations.has_value() || step.iteration >= 0;
        }
    };
    noteIterations(m_options.only);
    noteIterations(m_options.except);
    noteIterations(m_options.keep);
    m_samples = m_level >= 1 && (m_options.onAlert > 0 || (m_options.iterations && (m_level >= 3 || m_options.sparse)));
    m_hashesAll = m_level >= 2 || m_options.onAlert > 0;
    m_gap.first = 0;
    m_gap.last = -1;
}

void TraceRecorder::Impl::runStarted(const RunStart& e)
{
    if (m_isRunning) runEnded({RunEnd::Reason::cancelled, m_lastStep, nowNs() - m_runStart, {}, {}});
    m_isRunning = true;
    m_seenInvocation = false;
    m_index.startRun();
    ++m_run;
    ++m_runs;
    m_runStart = nowNs();
    // Bases are aligned, so that step and event id agree modulo the digest's block and runs compare block by block.
    const int64_t wanted = std::max<int64_t>(0, m_nextEvent - e.firstStep);
    m_base = (wanted + kDigestBlock - 1) / kDigestBlock * kDigestBlock;
    m_firstStep = m_lastStep = e.firstStep;
    m_digest = 0;
    m_alertCounts.clear();

    RunItem run;
    run.id = m_run;
    run.base = m_base;
    run.first = m_base + e.firstStep;
    run.startNs = m_runStart;
    run.signature = e.signature;
    run.started = utcNow();
    const Graph* root = m_index.model().hasGraph(e.root) ? &m_index.model().graph(e.root) : nullptr;
    for (size_t i = 0; i < e.inputs.size(); ++i) {
        if (e.inputs[i] == nullptr) continue;
        const Tensor& input = *e.inputs[i];
        FeedItem feed;
        feed.position = static_cast<int32_t>(i);
        if (root != nullptr && i < root->inputs.size() && root->inputs[i].valid()) feed.name = root->value(root->inputs[i]).displayName();
        for (const TraceFeed& source : m_options.feeds) {
            if (source.position == feed.position) feed.source = source.source;
        }
        feed.dtype = dtypeName(input.dtype);
        feed.shape = toString(input.shape);
        const bool isSingle = m_level >= 1 && bitWidth(input.dtype) > 0 && input.elementCount() == 1; // there is no row that would have it
        if (m_level >= 2 || isSingle) {
            const ContentKey key = contentKey(input.dtype, input.shape, input.view());
            feed.hasContent = true;
            feed.content = key.key;
            if (m_level >= 3 || isSingle) storeBytes(input, key, nullptr, -1);
        }
        run.feeds.push_back(std::move(feed));
    }
    for (const TracePlace& place : m_options.places)
        run.places.push_back({m_index.op(place.graph, place.op).row, place.device, place.rank});
    pushItem({std::move(run)});
}

int64_t TraceRecorder::Impl::callOf(const InvocationStart& e)
{
    const bool hasSite = m_index.has(e.callerGraph, e.site);
    if (hasSite && e.role != CallRole::frame) {
        for (const CallInfo& call : m_index.callsOf(m_index.op(e.callerGraph, e.site))) {
            if (call.role == e.role && (call.branch == e.branch || call.branch < 0)) return call.id;
        }
    }
    // Roots and frames are not named by an operator of the model: their row is made when they are first entered.
    CallItem item;
    item.role = callRoleText(e.role, e.branch);
    item.graph = m_index.model().hasGraph(e.graph) ? m_rows.graphs[static_cast<size_t>(e.graph.index)] : 0;
    if (m_index.model().hasGraph(e.cond)) item.cond = m_rows.graphs[static_cast<size_t>(e.cond.index)];
    if (hasSite) {
        const OperatorInfo& op = m_index.op(e.callerGraph, e.site);
        if (e.role == CallRole::frame) {
            item.frame = attributeString(m_index.model().graph(e.callerGraph).op(e.site).attributes, "frame_name", "frame");
        } else {
            item.op = op.row;
        }
    }
    const auto [place, isNew] = m_madeCalls.try_emplace(madeCallKey(item.role, item.graph, item.op, item.frame), m_nextCall);
    if (isNew) {
        item.id = m_nextCall++;
        pushItem({std::move(item)});
    }
    return place->second;
}

void TraceRecorder::Impl::invocationStarted(const InvocationStart& e)
{
    if (!m_isRunning) return;
    if (!m_seenInvocation) {
        m_seenInvocation = true;
        m_invocationOffset = m_nextInvocation - e.id;
    }
    const Open* parent = e.parent != 0 ? find(e.parent) : nullptr;
    Open open;
    open.id = e.id;
    open.parent = e.parent;
    open.row = e.id + m_invocationOffset;
    m_nextInvocation = open.row + 1;
    open.firstStep = e.step;
    open.iteration = e.iteration;
    open.role = e.role;
    open.branch = e.branch;
    open.callerGraph = e.callerGraph;
    open.graph = e.graph;
    open.cond = e.cond;
    open.site = e.site;

    StartedRecord record;
    record.call = static_cast<int32_t>(callOf(e));
    record.id = open.row;
    record.parent = e.parent != 0 ? e.parent + m_invocationOffset : 0;
    record.iteration = e.iteration;
    record.first = m_base + e.step;
    record.run = m_run;
    m_writer->ring.push(record);
    m_writer->ring.publish();

    const uint64_t site = m_index.has(e.callerGraph, e.site) ? m_index.op(e.callerGraph, e.site).hash : 0;
    const auto role = static_cast<uint64_t>(e.role) << 32 | static_cast<uint32_t>(e.branch);
    open.staticHash = mix(mix(parent != nullptr ? parent->staticHash : 0, site), role);
    open.pathHash = mix(mix(mix(parent != nullptr ? parent->pathHash : 0, site), role), static_cast<uint64_t>(e.iteration));
    if (m_samples) sampleLoop(open, parent);
    m_open.push_back(open);
}

void TraceRecorder::Impl::closeInvocation(size_t place, int64_t step, int64_t ns)
{
    EndedRecord record;
    record.id = m_open[place].row;
    record.steps = step - m_open[place].firstStep;
    record.ns = ns;
    m_writer->ring.push(record);
    m_writer->ring.publish();
    m_open.erase(m_open.begin() + static_cast<std::ptrdiff_t>(place));
}

void TraceRecorder::Impl::invocationEnded(const InvocationEnd& e)
{
    for (size_t i = m_open.size(); i-- > 0;) {
        if (m_open[i].id != e.id) continue;
        closeInvocation(i, e.step, e.ns);
        return;
    }
}

void TraceRecorder::Impl::runEnded(const RunEnd& e)
{
    if (!m_isRunning) return;
    m_isRunning = false;
    // Loops that an error or the user left keep what they have.
    while (!m_rings.empty()) closeRing(m_rings.back()->parent, m_rings.back()->site);
    while (!m_open.empty()) closeInvocation(m_open.size() - 1, m_lastStep, -1);
    flushGap();
    RunEndItem end;
    end.id = m_run;
    end.base = m_base;
    end.first = m_base + m_firstStep;
    end.steps = m_lastStep;
    end.ns = e.ns;
    switch (e.reason) {
    case RunEnd::Reason::finished: end.state = "complete"; break;
    case RunEnd::Reason::failed:
    case RunEnd::Reason::budget: end.state = "failed"; break;
    case RunEnd::Reason::cancelled: end.state = "cancelled"; break;
    }
    end.error = e.message;
    m_nextEvent = m_base + m_lastStep;
    m_stepsOfAllRuns += m_lastStep - m_firstStep;
    pushItem({std::move(end)});
}

Status TraceRecorder::Impl::finish()
{
    if (m_finished) return {};
    m_finished = true;
    if (m_isRunning) runEnded({RunEnd::Reason::cancelled, m_lastStep, nowNs() - m_runStart, {}, {}});
    Status status = m_writer->finish();
    m_lock.synchronize();
    m_lock = RecordingLock();
    return status;
}

RecordingSummary TraceRecorder::Impl::summary() const
{
    RecordingSummary s;
    s.path = m_options.path;
    s.events = m_writer->events.load();
    s.invocations = m_writer->invocations.load();
    s.gaps = m_writer->gaps.load();
    s.alerts = m_writer->alerts.load();
    s.steps = m_stepsOfAllRuns + (m_isRunning ? m_lastStep - m_firstStep : 0);
    s.runs = m_runs;
    s.bytes = m_writer->fileBytes();
    if (m_finished) s.state = m_writer->state();
    else s.state = "recording";
    return s;
}

} // namespace loopscope
