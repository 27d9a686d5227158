#include "app/check/verdict.h"

#include "app/output/json_writer.h"
#include "engine/base/clock.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <map>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace loopscope::app {

namespace {

constexpr int kLookMs = 100, kAnswerMs = 2;
constexpr char kSeparator = '\x1f';

struct Worker {
    size_t job = 0;
    int pipe = -1;
    int64_t started = 0;
    std::string received;
};

class Pool {
public:
    Pool(const std::vector<CaseJob>& jobs, const PoolOptions& options, JobSource* source)
        : m_jobs(jobs),
          m_options(options),
          m_source(source),
          m_results(jobs.size()),
          m_done(jobs.size(), false)
    {
        for (size_t job = 0; !source && job < jobs.size(); ++job) m_queue.push_back(job);
    }

    Result<std::vector<CaseResult>> run()
    {
        Status status;
        while (isBusy()) {
            if (m_options.cancel != nullptr && m_options.cancel->requested()) {
                stop();
                break;
            }
            if (m_source) status = m_source->look(m_queue, [this](size_t job, CaseResult result) { arrive(job, std::move(result)); });
            while (status.ok() && !m_queue.empty() && m_workers.size() < static_cast<size_t>(std::max(m_options.jobs, 1))) {
                const size_t job = m_queue.front();
                m_queue.pop_front();
                start(job);
            }
            wait();
            if (status.ok()) status = std::move(m_failed);
            if (status.ok()) continue;
            stop();
            return std::move(status).takeError();
        }
        if (m_source) LS_CHECK_OK(m_source->end());
        m_results.resize(m_reported);
        return std::move(m_results);
    }

private:
    bool isBusy() const { return m_source ? !m_source->isOver() : !m_queue.empty() || !m_workers.empty(); }

    void stop()
    {
        for (const auto& [pid, worker] : m_workers) kill(pid, SIGKILL);
        for (const auto& [pid, worker] : m_workers) waitpid(pid, nullptr, 0);
        m_workers.clear();
    }

    /// A result from elsewhere.
    void arrive(size_t job, CaseResult result)
    {
        m_results[job] = std::move(result);
        report(job);
    }

    void start(size_t job)
    {
        std::array<int, 2> ends = {};
        m_results[job].id = m_jobs[job].id;
        std::fflush(nullptr);
        const pid_t pid = pipe(ends.data()) == 0 ? fork() : -1;
        if (pid < 0) {
            m_results[job].message = std::string("cannot start a process: ") + std::strerror(errno);
            finish(job);
            return;
        }
        if (pid == 0) {
            close(ends[0]);
            prctl(PR_SET_PDEATHSIG, SIGKILL); // nobody would hear of it
            std::signal(SIGINT, SIG_IGN);     // the parent decides
            const int64_t started = nowNs();
            CaseResult result = m_jobs[job].run();
            result.seconds = static_cast<double>(nowNs() - started) / 1e9;
            const std::string text = encode(result);
            for (size_t at = 0; at < text.size();) {
                const ssize_t n = write(ends[1], text.data() + at, text.size() - at);
                if (n <= 0) break;
                at += static_cast<size_t>(n);
            }
            _exit(0);
        }
        close(ends[1]);
        m_workers[pid] = Worker{job, ends[0], nowNs(), {}};
    }

    void wait()
    {
        if (m_workers.empty() && !m_source) return;
        std::vector<pollfd> files;
        std::vector<pid_t> pids;
        for (const auto& [pid, worker] : m_workers) {
            files.push_back({worker.pipe, POLLIN, 0});
            pids.push_back(pid);
        }
        // Others elsewhere are not to wait long for an answer.
        poll(files.data(), files.size(), m_source ? kAnswerMs : kLookMs);
        const int64_t now = nowNs();
        for (size_t i = 0; i < files.size(); ++i) {
            Worker& worker = m_workers[pids[i]];
            bool ended = false;
            if (files[i].revents != 0) {
                std::array<char, 4096> buffer = {};
                const ssize_t n = read(worker.pipe, buffer.data(), buffer.size());
                if (n > 0) worker.received.append(buffer.data(), static_cast<size_t>(n));
                else ended = true;
            }
            const double seconds = static_cast<double>(now - worker.started) / 1e9;
            const bool hung = !ended && m_options.caseTimeout > 0 && seconds > m_options.caseTimeout;
            if (!ended && !hung) continue;
            if (hung) kill(pids[i], SIGKILL);
            collect(pids[i], worker, hung, seconds);
        }
        if (m_options.tick) m_options.tick(m_finished);
    }

    void collect(pid_t pid, Worker& worker, bool hung, double seconds)
    {
        close(worker.pipe);
        int status = 0;
        waitpid(pid, &status, 0);
        CaseResult& result = m_results[worker.job];
        if (hung) {
            std::array<char, 64> text = {};
            std::snprintf(text.data(), text.size(), "hangs: no end after %g s", m_options.caseTimeout);
            result.message = text.data();
            result.seconds = seconds;
        } else if (!decode(worker.received, result)) {
            result.message = WIFSIGNALED(status)
                                 ? "crashed: signal " + std::to_string(WTERMSIG(status)) + " (" + strsignal(WTERMSIG(status)) + ")"
                                 : "ended without a result, exit code " + std::to_string(WEXITSTATUS(status));
            result.seconds = seconds;
            result.verdict = Verdict::error;
        }
        const size_t job = worker.job;
        m_workers.erase(pid);
        finish(job);
    }

    void finish(size_t job)
    {
        if (m_source && m_failed.ok()) m_failed = m_source->ended(job, m_results[job]);
        report(job);
    }

    void report(size_t job)
    {
        m_done[job] = true;
        ++m_finished;
        const bool cancelled = m_options.cancel != nullptr && m_options.cancel->requested();
        while (!cancelled && m_reported < m_jobs.size() && m_done[m_reported]) {
            if (m_options.finished) m_options.finished(m_results[m_reported]);
            ++m_reported;
        }
    }

    const std::vector<CaseJob>& m_jobs;
    const PoolOptions& m_options;
    JobSource* const m_source; ///< null: all jobs are run here
    std::vector<CaseResult> m_results;
    std::vector<bool> m_done;
    std::map<pid_t, Worker> m_workers;
    std::deque<size_t> m_queue; ///< jobs that begin here next
    Status m_failed;            ///< of the source
    size_t m_reported = 0;
    int64_t m_finished = 0;
};

} // namespace

std::string encode(const CaseResult& r)
{
    std::string out =
        std::to_string(static_cast<int>(r.verdict)) + kSeparator + std::to_string(r.seconds) + kSeparator + r.message + kSeparator;
    for (const int64_t count :
         {r.compared.elements, r.compared.floats, r.compared.differentFloats, r.compared.kernels.own, r.compared.kernels.fellBack})
        out += std::to_string(count) + kSeparator;
    out += r.compared.kernels.fallback + kSeparator;
    if (r.worst) {
        std::array<char, 80> numbers = {};
        std::snprintf(numbers.data(), numbers.size(), "%.17g%c%.17g", r.worst->gotValue, kSeparator, r.worst->wantValue);
        out += std::to_string(r.worst->output) + kSeparator + r.worst->index + kSeparator + r.worst->got + kSeparator + r.worst->want +
               kSeparator + (r.worst->isNumber ? "1" : "0") + kSeparator + numbers.data() + kSeparator;
    }
    return out;
}

bool decode(const std::string& text, CaseResult& r)
{
    std::vector<std::string> fields;
    for (size_t at = 0; at < text.size();) {
        const size_t end = text.find(kSeparator, at);
        if (end == std::string::npos) return false;
        fields.push_back(text.substr(at, end - at));
        at = end + 1;
    }
    if (fields.size() != 9 && fields.size() != 16) return false;
    r.verdict = static_cast<Verdict>(std::atoi(fields[0].c_str()));
    r.seconds = std::strtod(fields[1].c_str(), nullptr);
    r.message = fields[2];
    const auto number = [&](size_t field) { return static_cast<int64_t>(std::atoll(fields[field].c_str())); };
    r.compared = {number(3), number(4), number(5), {number(6), number(7), fields[8]}};
    if (fields.size() == 16)
        r.worst = WorstElement{number(9),
                               fields[10],
                               fields[11],
                               fields[12],
                               std::strtod(fields[14].c_str(), nullptr),
                               std::strtod(fields[15].c_str(), nullptr),
                               fields[13] == "1"};
    return true;
}

std::string verdictName(Verdict verdict)
{
    switch (verdict) {
    case Verdict::pass: return "pass";
    case Verdict::fail: return "fail";
    case Verdict::unsupported: return "unsupported";
    case Verdict::error: return "error";
    }
    return "error";
}

std::string caseJson(const CaseResult& result)
{
    JsonWriter json;
    json.beginObject().key("schema").value(1).key("id").value(result.id).key("verdict").value(verdictName(result.verdict));
    json.key("seconds").value(result.seconds).key("message").value(result.message);
    json.key("elements").value(result.compared.elements).key("floats").value(result.compared.floats);
    json.key("different_floats").value(result.compared.differentFloats).key("worst");
    if (!result.worst) return json.null().endObject().text();
    json.beginObject().key("output").value(result.worst->output).key("index").value(result.worst->index);
    if (result.worst->isNumber) json.key("got").value(result.worst->gotValue).key("want").value(result.worst->wantValue);
    else json.key("got").value(result.worst->got).key("want").value(result.worst->want);
    return json.endObject().endObject().text();
}

std::vector<CaseResult> runJobs(const std::vector<CaseJob>& jobs, const PoolOptions& options)
{
    Result<std::vector<CaseResult>> results = Pool(jobs, options, nullptr).run(); // without a source nothing fails
    return results.ok() ? std::move(results).value() : std::vector<CaseResult>();
}

Result<std::vector<CaseResult>> runSharedJobs(const std::vector<CaseJob>& jobs, const PoolOptions& options, JobSource& source)
{
    return Pool(jobs, options, &source).run();
}

} // namespace loopscope::app
