#include "app/output/run_report.h"

#include "app/output/graph_picture.h"
#include "app/output/iteration_table.h"
#include "app/output/plot_svg.h"
#include "app/replay/recorded_model.h"
#include "app/wiring/model_summary.h"
#include "engine/base/text.h"
#include "engine/ir/verifier.h"
#include "engine/tensor/value_text.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

namespace loopscope::app {

namespace {

constexpr int64_t kLoops = 4;                                        ///< whose iterations are shown, those with most of them
constexpr int64_t kIterations = 50'000;                              ///< of a loop that are plotted
constexpr size_t kShownRows = 10;                                    ///< of its iterations, at the beginning and at the end
constexpr int64_t kListed = 20;                                      ///< rows of any other table
constexpr double kLost = std::numeric_limits<double>::quiet_NaN();   ///< of a plot: not finite
constexpr double kMissing = std::numeric_limits<double>::infinity(); ///< of a plot: not computed

int64_t integerOf(const SqlValue& value)
{
    const auto* number = std::get_if<int64_t>(&value);
    return number != nullptr ? *number : 0;
}

double realOf(const SqlValue& value)
{
    const auto* real = std::get_if<double>(&value);
    return real != nullptr ? *real : static_cast<double>(integerOf(value));
}

std::string timeText(double ns)
{
    if (ns < 1e3) return realText(ns, 4) + " ns";
    if (ns < 1e6) return realText(ns / 1e3, 4) + " us";
    return ns < 1e9 ? realText(ns / 1e6, 4) + " ms" : realText(ns / 1e9, 4) + " s";
}

std::string cellText(const std::string& column, const SqlValue& value)
{
    if (std::holds_alternative<std::monostate>(value)) return "-";
    if (column == "ns" || column == "ns_with_callees") return timeText(realOf(value));
    if (column == "bytes" || column == "stored") return formatBytes(static_cast<uint64_t>(std::max<int64_t>(integerOf(value), 0)));
    if (const auto* real = std::get_if<double>(&value)) return realText(*real, column == "percent" ? 3 : 7);
    return sqlText(value);
}

/// A column of the table of iterations as a curve. Words are numbered in the order in which they come.
Plot curveOf(const QueryResult& result, size_t column)
{
    Plot plot;
    plot.heading = result.columns[column];
    for (const auto& row : result.rows) {
        const auto* text = std::get_if<std::string>(&row[column]);
        if (text == nullptr) {
            plot.points.push_back(std::holds_alternative<std::monostate>(row[column]) ? kMissing : realOf(row[column]));
        } else if (*text == "nan" || *text == "inf") {
            plot.points.push_back(kLost);
        } else {
            if (plot.words.empty() && (*text == "true" || *text == "false")) plot.words = {"false", "true"}; // true is above
            const auto word = std::ranges::find(plot.words, *text);
            plot.points.push_back(static_cast<double>(word - plot.words.begin()));
            if (word == plot.words.end()) plot.words.push_back(*text);
        }
    }
    return plot;
}

class RunPage {
public:
    RunPage(const TraceReader& trace, const TraceRun& run, const RunReportOptions& options) : m_trace(trace), m_run(run), m_options(options)
    {
        m_parameters = {{"run", std::to_string(run.id)}};
    }

    Result<ReportPage> write()
    {
        LS_CHECK_OK(head());
        LS_CHECK_OK(drawModel());
        LS_CHECK_OK(abnormal());
        LS_CHECK_OK(loops());
        LS_CHECK_OK(time());
        LS_CHECK_OK(memory());
        LS_CHECK_OK(values());
        LS_CHECK_OK(recording());
        return std::move(m_page);
    }

private:
    using Answer = std::pair<QueryResult, std::string>;

    /// What is asked, or why there is no answer. Errors: cancelled.
    Result<Answer> told(Result<QueryResult> result) const
    {
        if (result.ok()) return Answer{std::move(*result), result->more ? "There are more." : ""};
        Error error = std::move(result).takeError();
        if (error.code() == ErrorCode::cancelled) return error;
        return Answer{QueryResult(), "Not answered: " + error.message()};
    }
    QueryLimits limits(int64_t rows) const { return {m_options.seconds, rows, m_options.cancel}; }
    Result<Answer> ask(const std::string& sql, int64_t rows = kListed) const
    {
        return told(m_trace.query(sql, m_parameters, limits(rows)));
    }
    Result<Answer> askRecipe(const char* recipe, int64_t rows = kListed) const
    {
        return told(m_trace.recipe(recipe, m_parameters, limits(rows)));
    }

    /// Rows of an answer as they are; those that begin with a graph and an operator find it in the picture.
    ReportTable tableOf(const std::string& heading, const Answer& answer, const std::string& empty) const
    {
        const auto& [result, note] = answer;
        ReportTable table{heading, result.columns, {}, result.columns.empty() ? note : empty, result.columns.empty() ? "" : note};
        const bool names = result.columns.size() > 1 && result.columns[0] == "graph" && result.columns[1] == "op";
        for (const auto& row : result.rows) {
            ReportRow cells;
            for (size_t c = 0; c < row.size(); ++c) cells.cells.push_back(cellText(result.columns[c], row[c]));
            if (names) cells.partners = numberOf(row);
            table.rows.push_back(std::move(cells));
        }
        return table;
    }
    Status add(const std::string& heading, const char* recipe, const std::string& empty)
    {
        LS_TRY(const Answer answer, askRecipe(recipe));
        m_page.tables.push_back(tableOf(heading, answer, empty));
        return {};
    }
    int numberOf(const std::vector<SqlValue>& row) const
    {
        const auto found = m_numbers.find({sqlText(row[0]), sqlText(row[1])});
        return found == m_numbers.end() ? -1 : found->second;
    }

    Status head()
    {
        LS_TRY(const Answer model, ask("SELECT name FROM model WHERE id = " + std::to_string(m_run.model)));
        const std::string name = model.first.rows.empty() ? m_trace.path() : sqlText(model.first.rows[0][0]);
        m_page.title = "A run of " + name;
        m_page.figures = {{"steps", groupThousands(m_run.steps())},
                          {"state", m_run.state},
                          {"kernels", m_run.profile + " on " + m_run.backend},
                          {"recorded", m_run.started}};
        if (m_run.ns) m_page.figures.insert(m_page.figures.begin() + 1, {"time", timeText(static_cast<double>(*m_run.ns))});
        if (m_run.signature) m_page.figures.emplace_back("signature", *m_run.signature);
        if (m_run.seed) m_page.figures.emplace_back("seed", std::to_string(*m_run.seed));
        if (m_run.error) m_page.figures.emplace_back("error", *m_run.error);
        if (!m_trace.note().empty()) m_page.figures.emplace_back("note", m_trace.note());
        return {};
    }

    /// The picture and the numbers by which rows find their operators in it.
    Status drawModel()
    {
        m_page.before.heading = "Graph";
        const auto recorded = RecordedRun::open(m_trace, &m_run);
        Result<Model> model = recorded.ok() ? recordedModel(**recorded) : Result<Model>(recorded.error().copy());
        if (Status valid = model.ok() ? verifyModel(*model) : Status(); !valid.ok()) model = std::move(valid).takeError();
        if (!model.ok()) {
            if (model.error().code() == ErrorCode::cancelled) return std::move(model).takeError();
            m_page.before.note = "Not drawn: " + model.error().message();
            return {};
        }
        m_peak = summarize(*model).activationPeak;
        Partners::Side side;
        std::vector<size_t> firsts;
        int next = 0;
        for (const Graph& graph : model->graphs) {
            firsts.push_back(static_cast<size_t>(next));
            std::vector<int>& numbers = side.operators.emplace_back(graph.operators.size());
            for (int& number : numbers) number = next++;
            side.values.emplace_back(graph.values.size(), -1);
        }
        LS_TRY(const Answer labels,
               ask("SELECT g.name, o.label, g.ordinal, o.ordinal FROM op o JOIN graph g ON g.id = o.graph WHERE g.model = " +
                       std::to_string(m_run.model),
                   0));
        for (const auto& row : labels.first.rows) {
            const auto graph = static_cast<size_t>(integerOf(row[2])), op = static_cast<size_t>(integerOf(row[3]));
            if (graph < side.operators.size() && op < side.operators[graph].size())
                m_numbers[{sqlText(row[0]), sqlText(row[1])}] = side.operators[graph][op];
        }
        Partners partners;
        partners.isAlone.assign(static_cast<size_t>(next), 0);
        LS_CHECK_OK(shade(partners));
        m_page.partners = next;
        if (!m_options.isDrawn) return {};
        LS_TRY(const Answer root,
               ask("SELECT g.name FROM invocation i JOIN call c ON c.id = i.call JOIN graph g ON g.id = c.graph WHERE i.run = "
                   ":run AND i.parent IS NULL",
                   1));
        Result<ReportPicture> picture =
            drawGraph(*model, root.first.rows.empty() ? "" : sqlText(root.first.rows[0][0]), "Graph", partners, side);
        if (!picture.ok()) {
            if (picture.error().code() == ErrorCode::cancelled) return std::move(picture).takeError();
            m_page.before.note = "Not drawn: " + picture.error().message();
            return {};
        }
        m_page.before = std::move(*picture);
        m_page.before.note = "The darker, the more time; grey: never ran; red: gave NaN or infinities. A click holds an operator." +
                             (m_page.before.note.empty() ? "" : " " + m_page.before.note + ".");
        return {};
    }

    /// Operators by their share of the time, those that never ran, and those that gave what is not finite.
    Status shade(Partners& partners)
    {
        m_page.shares.assign(partners.isAlone.size(), 0);
        m_page.marked.assign(partners.isAlone.size(), 0);
        QueryParameters all = m_parameters;
        all["limit"] = "-1";
        LS_TRY(const Answer slowest, told(m_trace.recipe("slowest-ops", all, limits(0))));
        double most = 0;
        for (const auto& row : slowest.first.rows) most = std::max(most, realOf(row[3]));
        for (const auto& row : slowest.first.rows)
            if (const int number = numberOf(row); number >= 0 && most > 0)
                m_page.shares[static_cast<size_t>(number)] = realOf(row[3]) / most;
        if (m_run.level > 0) {
            LS_TRY(const Answer never, askRecipe("never-executed", 0));
            for (const auto& row : never.first.rows)
                if (const int number = numberOf(row); number >= 0) partners.isAlone[static_cast<size_t>(number)] = 1;
        }
        LS_TRY(const Answer lost, askRecipe("abnormal-by-op", 0));
        for (const auto& row : lost.first.rows)
            if (const int number = numberOf(row); number >= 0) m_page.marked[static_cast<size_t>(number)] = 1;
        return {};
    }

    Status abnormal()
    {
        LS_CHECK_OK(add("The first NaN", "first-nan", "No result holds a NaN."));
        LS_CHECK_OK(add("The first infinity", "first-inf", "No result holds an infinity."));
        return add("Operators that gave NaN or infinities", "abnormal-by-op", "None did.");
    }

    Status loops()
    {
        LS_CHECK_OK(add("Loops", "loop-trips-summary", "The model ran no loop."));
        LS_TRY(
            const Answer most,
            ask("SELECT i.call, g.name, o.label, c.frame FROM invocation i JOIN call c ON c.id = i.call LEFT JOIN op o ON o.id = c.op LEFT "
                "JOIN graph g ON g.id = o.graph WHERE c.role IN ('loop', 'frame') AND i.run = :run GROUP BY i.call ORDER BY count(*) DESC, "
                "i.call",
                kLoops));
        for (const auto& row : most.first.rows) {
            const bool isFrame = std::holds_alternative<std::monostate>(row[2]);
            LS_CHECK_OK(iterations(integerOf(row[0]), isFrame ? "frame " + sqlText(row[3]) : sqlText(row[1]) + "/" + sqlText(row[2])));
        }
        return add("Branches", "branch-counts", "No operator chose one.");
    }

    Status iterations(int64_t call, const std::string& name)
    {
        const Result<std::string> sql = iterationTableSql(m_trace, m_run.id, call);
        LS_TRY(const Answer answer, sql.ok() ? ask(*sql, kIterations) : told(sql.error().copy()));
        const QueryResult& result = answer.first;
        ReportTable all = tableOf("Iterations of " + name, answer, "None was recorded.");
        const size_t first = !result.columns.empty() && result.columns[0] == "outer" ? 2 : 1;
        for (size_t c = first; m_options.isDrawn && c < result.columns.size() && result.rows.size() > 1; ++c) {
            Plot plot = curveOf(result, c);
            plot.from = all.rows.front().cells[first - 1];
            plot.to = all.rows.back().cells[first - 1];
            all.plots.push_back(plotSvg(plot));
        }
        if (result.more) all.note = "The first " + groupThousands(kIterations) + " iterations.";
        if (all.rows.size() > 2 * kShownRows + 1) {
            const auto begin = all.rows.begin() + kShownRows, end = all.rows.end() - kShownRows;
            const auto left = end - begin;
            all.rows.erase(begin + 1, end);
            *begin = ReportRow{{"\u2026 " + groupThousands(left) + " more"}, -1};
        }
        m_page.tables.push_back(std::move(all));
        return {};
    }

    Status time()
    {
        LS_CHECK_OK(add("The slowest operators", "slowest-ops", "Nothing was timed."));
        return add("The slowest kinds of operator", "slowest-kinds", "Nothing was timed.");
    }

    /// Shapes are declared or as they became while running; a dimension that nobody knows makes a value one without a size.
    Status memory()
    {
        LS_TRY(const Answer answer,
               ask("SELECT g.name, v.name, v.role, v.dtype, coalesce((SELECT s.shape FROM reshape s WHERE s.value = v.id "
                   "ORDER BY s.event DESC LIMIT 1), v.shape) FROM value v JOIN graph g ON g.id = v.graph WHERE g.model = " +
                       std::to_string(m_run.model),
                   0));
        std::vector<std::pair<uint64_t, const std::vector<SqlValue>*>> sized;
        uint64_t constants = 0;
        for (const auto& row : answer.first.rows) {
            const uint64_t bytes = bytesOf(sqlText(row[3]), sqlText(row[4]));
            if (sqlText(row[2]) == "constant") constants += bytes;
            if (bytes > 0) sized.emplace_back(bytes, &row);
        }
        std::ranges::stable_sort(sized, std::greater(), [](const auto& entry) { return entry.first; });
        ReportTable table{
            "Memory: the largest values", {"graph", "value", "role", "type", "bytes"}, {}, "No size is known.", answer.second};
        if (sized.size() > static_cast<size_t>(kListed)) sized.resize(static_cast<size_t>(kListed));
        for (const auto& [bytes, row] : sized)
            table.rows.push_back(
                {{sqlText((*row)[0]), sqlText((*row)[1]), sqlText((*row)[2]), sqlText((*row)[3]) + sqlText((*row)[4]), formatBytes(bytes)},
                 -1});
        table.note = "Constants are " + formatBytes(constants) +
                     (m_peak ? ", activations at most " + formatBytes(*m_peak) + " in one arena." : " in all.");
        m_page.tables.push_back(std::move(table));
        return {};
    }

    /// 0: not known.
    static uint64_t bytesOf(const std::string& dtype, const std::string& shape)
    {
        const std::optional<DType> type = dtypeFromName(dtype);
        if (!type || !shape.starts_with('[')) return 0;
        double count = 1;
        for (size_t at = 1; at < shape.size() && shape[at] != ']';) {
            const size_t end = std::min(shape.find_first_of(",]", at), shape.size());
            const std::string dim = shape.substr(at, end - at);
            if (dim.empty() || dim.size() > 18 || dim.find_first_not_of("0123456789") != dim.npos) return 0;
            count *= static_cast<double>(std::stoll(dim));
            at = end + (end < shape.size() && shape[end] == ',' ? 1 : 0);
        }
        const double bytes = count * static_cast<double>(bitWidth(*type)) / 8;
        return bytes < 9e15 ? static_cast<uint64_t>(std::ceil(bytes)) : 0;
    }

    Status values()
    {
        LS_TRY(const Answer fed, ask("SELECT name AS input, dtype || shape AS type, source FROM feed WHERE run = :run ORDER BY position"));
        m_page.tables.push_back(tableOf("Inputs", fed, "The run had none."));
        LS_TRY(
            const Answer made,
            ask("SELECT g.name AS graph, w.op, v.name AS output, v.dtype || coalesce(v.shape, '') AS type, w.min, w.max, w.mean, w.nan, "
                "max(w.step) AS step FROM invocation i CROSS JOIN call c ON c.id = i.call CROSS JOIN graph g ON g.id = c.graph CROSS JOIN "
                "value v ON "
                "v.graph = g.id AND v.role = 'output' CROSS JOIN result x ON x.value = v.id CROSS JOIN writes_of w ON w.op_id = x.op AND "
                "w.slot = x.slot AND w.run = i.run WHERE i.run = :run AND i.parent IS NULL GROUP BY v.id ORDER BY "
                "v.position"));
        m_page.tables.push_back(tableOf("Outputs", made, "No output was recorded."));
        return {};
    }

    Status recording()
    {
        LS_CHECK_OK(add("What the recorder warned about", "alerts", "Nothing."));
        LS_CHECK_OK(add("Steps that were not recorded", "gaps", "None."));
        return add("What fills the recording", "stored-bytes", "It holds no values, only what is known of them.");
    }

    const TraceReader& m_trace;
    const TraceRun& m_run;
    const RunReportOptions& m_options;
    QueryParameters m_parameters;
    ReportPage m_page;
    std::optional<uint64_t> m_peak;                               ///< bytes of activations
    std::map<std::pair<std::string, std::string>, int> m_numbers; ///< operators by graph and label
};

} // namespace

Result<ReportPage> runReport(const TraceReader& trace, const TraceRun& run, const RunReportOptions& options)
{
    return RunPage(trace, run, options).write();
}

} // namespace loopscope::app
