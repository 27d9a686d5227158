#include "viewer/trace/trace_desk.h"

#include "engine/base/text.h"
#include "engine/observe/address.h"

#include <QRegularExpression>

#include <algorithm>
#include <array>
#include <cmath>

namespace loopscope::viewer {

namespace {

constexpr std::array<std::string_view, 18> kNotReading = {"INSERT",  "UPDATE", "DELETE", "REPLACE",  "CREATE",    "DROP",
                                                          "ALTER",   "ATTACH", "DETACH", "PRAGMA",   "VACUUM",    "REINDEX",
                                                          "ANALYZE", "BEGIN",  "COMMIT", "ROLLBACK", "SAVEPOINT", "RELEASE"};

/// Behind comments and blanks; empty: the text begins otherwise.
QString firstWord(const QString& sql)
{
    static const QRegularExpression word(R"(^(?:\s|--[^\n]*(?:\n|$)|/\*.*?\*/)*([A-Za-z]+))",
                                         QRegularExpression::DotMatchesEverythingOption);
    return word.match(sql).captured(1);
}

/// On a thread of its own, with a reader of its own.
std::shared_ptr<const TraceAnswer> answerOf(const std::string& path, const QString& sql, const QueryParameters& parameters, double seconds,
                                            const CancelFlag& cancel)
{
    auto answer = std::make_shared<TraceAnswer>();
    answer->sql = sql;
    answer->parameters = parameters;
    answer->seconds = seconds;
    const auto fail = [&](const Error& error) {
        answer->timedOut = error.code() == ErrorCode::execution;
        answer->problem = answer->timedOut
                              ? QString("stopped after %1 s, %2 rows read")
                                    .arg(seconds)
                                    .arg(QString::fromStdString(groupThousands(static_cast<int64_t>(answer->result.rows.size()))))
                              : QString::fromStdString(error.message());
    };
    if (const QString verb = firstWord(sql); std::ranges::find(kNotReading, verb.toUpper().toStdString()) != kNotReading.end()) {
        answer->problem = QString("this pane reads only: \"%1\" is not allowed").arg(verb);
        return answer;
    }
    const Result<std::unique_ptr<TraceReader>> reader = TraceReader::open(path);
    if (!reader.ok()) {
        fail(reader.error());
        return answer;
    }
    QueryLimits limits;
    limits.seconds = seconds;
    limits.rows = TraceDesk::kMostRows;
    limits.cancel = &cancel;
    // Row by row, so that what a query that took too long has found is there.
    QueryResult& result = answer->result;
    Status status = (*reader)->query(
        sql.toStdString(), parameters, limits,
        [&](std::span<const std::string> columns) { result.columns.assign(columns.begin(), columns.end()); },
        [&](std::span<const SqlValue> row) {
            if (static_cast<int64_t>(result.rows.size()) >= limits.rows) {
                result.more = true;
                return false;
            }
            result.rows.emplace_back(row.begin(), row.end());
            return true;
        });
    if (!status.ok()) fail(std::move(status).takeError());
    if (cancel.requested()) return answer;
    if (Result<QueryResult> plan = (*reader)->query("EXPLAIN QUERY PLAN " + sql.toStdString(), parameters, limits);
        plan.ok()) // a slow query most of all has one
        answer->plan = std::move(plan).value();
    return answer;
}

} // namespace

TraceDesk& TraceDesk::of(Document& document)
{
    if (auto* const desk = document.findChild<TraceDesk*>({}, Qt::FindDirectChildrenOnly)) return *desk;
    return *new TraceDesk(document);
}

TraceDesk::TraceDesk(Document& document) : QObject(&document), m_document(document)
{
    if (const TraceReader* const trace = document.backend().trace()) m_path = QString::fromStdString(trace->path());
}

TraceDesk::~TraceDesk() { cancel(); }

void TraceDesk::cancel()
{
    if (m_cancel) m_cancel->request();
}

void TraceDesk::run(const QString& sql, const QueryParameters& parameters, double seconds)
{
    cancel();
    m_cancel = std::make_shared<CancelFlag>();
    m_busy = true;
    emit busyChanged();
    m_queries.run(
        [=, cancel = m_cancel, path = m_path.toStdString()](std::stop_token) { return answerOf(path, sql, parameters, seconds, *cancel); },
        [this](std::shared_ptr<const TraceAnswer> answer) {
            m_busy = false;
            m_answer = std::move(answer);
            m_row = -1;
            emit busyChanged();
            emit answered();
        });
}

void TraceDesk::keep(OwnRecipe recipe)
{
    const auto at = std::ranges::find(m_own, recipe.name, &OwnRecipe::name);
    if (at == m_own.end()) m_own.push_back(std::move(recipe));
    else *at = std::move(recipe);
    emit recipesChanged();
}

void TraceDesk::forget(const QString& name)
{
    if (std::erase_if(m_own, [&](const OwnRecipe& recipe) { return recipe.name == name; }) > 0) emit recipesChanged();
}

void TraceDesk::setOwnRecipes(std::vector<OwnRecipe> recipes)
{
    if (recipes == m_own) return;
    m_own = std::move(recipes);
    emit recipesChanged();
}

void TraceDesk::selectRow(int row)
{
    if (row == m_row) return;
    m_row = row;
    emit rowSelected();
}

/// The operator that the query is about, in an iteration: `:op` with the row's `iteration`.
QString TraceDesk::addressFor(int row, const QString& iteration) const
{
    const auto op = m_answer->parameters.find("op");
    std::string text = op != m_answer->parameters.end() ? op->second : std::string();
    const auto& columns = m_answer->result.columns;
    for (size_t c = 0; c < columns.size() && text.empty(); ++c)
        if (columns[c] == "path" || columns[c] == "address") text = sqlText(m_answer->result.rows[static_cast<size_t>(row)][c]);
    // Recipes leave the roles of loops out: main/while#1/add#14 is in its body.
    QStringList parts = QString::fromStdString(text).split('/', Qt::SkipEmptyParts);
    for (qsizetype i = 1; i + 1 < parts.size(); ++i)
        if (!parts[i].contains(':')) parts[i] += ":body";
    Result<Address> address = parseAddress(parts.join('/').toStdString());
    if (!address.ok() || parts.isEmpty()) return {};
    if (!iteration.isEmpty())
        for (auto step = address->steps.rbegin(); step != address->steps.rend(); ++step)
            if (step->role == StepRole::body || step->role == StepRole::cond || step->iteration >= 0) {
                step->iteration = iteration.toLongLong();
                break;
            }
    return QString::fromStdString(toString(*address));
}

TraceLink TraceDesk::linkOf(int row, int column) const
{
    TraceLink link;
    const QueryResult& result = m_answer->result;
    if (row < 0 || static_cast<size_t>(row) >= result.rows.size() || column < 0 || static_cast<size_t>(column) >= result.columns.size())
        return link;
    const std::string& name = result.columns[static_cast<size_t>(column)];
    const SqlValue& value = result.rows[static_cast<size_t>(row)][static_cast<size_t>(column)];
    if (const auto* const number = std::get_if<int64_t>(&value)) {
        if (name == "step" || name == "at_step" || name.ends_with("_step")) link.move = request::GoToStep{*number};
        if (name == "iteration") {
            link.address = addressFor(row, QString::number(*number));
            if (!link.address.isEmpty()) link.move = request::GoToPlace{link.address.toStdString()};
        }
    } else if (const auto* const text = std::get_if<std::string>(&value); text != nullptr && text->find('/') != std::string::npos) {
        if (parseAddress(*text).ok()) {
            link.address = QString::fromStdString(*text);
            link.move = request::GoToPlace{*text};
        }
    }
    if (link.move) link.command = QString::fromStdString(commandText(*link.move));
    return link;
}

void TraceDesk::goTo(const request::Move& move)
{
    if (!m_document.stop()->started) m_document.perform(request::Begin{{}, false});
    m_document.perform(move);
}

QString TraceDesk::valueOf(int row) const
{
    const QueryResult& result = m_answer->result;
    if (row < 0 || static_cast<size_t>(row) >= result.rows.size()) return {};
    QString iteration;
    for (size_t c = 0; c < result.columns.size(); ++c)
        if (result.columns[c] == "iteration" && std::holds_alternative<int64_t>(result.rows[static_cast<size_t>(row)][c]))
            iteration = QString::number(std::get<int64_t>(result.rows[static_cast<size_t>(row)][c]));
    return addressFor(row, iteration);
}

bool isNumber(const SqlValue& value) { return std::holds_alternative<int64_t>(value) || std::holds_alternative<double>(value); }

double numberOf(const SqlValue& value)
{
    if (const auto* const integer = std::get_if<int64_t>(&value)) return static_cast<double>(*integer);
    if (const auto* const real = std::get_if<double>(&value)) return *real;
    return std::nan("");
}

QStringList parametersOf(const QString& sql)
{
    QStringList names;
    for (qsizetype i = 0; i < sql.size(); ++i) {
        const QChar c = sql[i];
        if (c == '\'' || c == '"') {
            const qsizetype end = sql.indexOf(c, i + 1);
            i = end < 0 ? sql.size() : end;
        } else if (c == '-' && i + 1 < sql.size() && sql[i + 1] == '-') {
            const qsizetype end = sql.indexOf('\n', i);
            i = end < 0 ? sql.size() : end;
        } else if (c == ':') {
            qsizetype end = i + 1;
            while (end < sql.size() && (sql[end].isLetterOrNumber() || sql[end] == '_')) ++end;
            const QString name = sql.mid(i + 1, end - i - 1);
            if (!name.isEmpty() && !names.contains(name)) names << name;
            i = end - 1;
        }
    }
    return names;
}

QByteArray csvOf(const QueryResult& result, const std::vector<int>& order)
{
    QByteArray out;
    const auto field = [](std::string text) {
        if (text.find_first_of(",\"\r\n") == std::string::npos) return QByteArray::fromStdString(text);
        QByteArray quoted = QByteArray::fromStdString(text);
        return "\"" + quoted.replace("\"", "\"\"") + "\"";
    };
    for (size_t c = 0; c < result.columns.size(); ++c) out += (c > 0 ? "," : "") + field(result.columns[c]);
    out += "\n";
    for (const int row : order) {
        const auto& values = result.rows[static_cast<size_t>(row)];
        for (size_t c = 0; c < values.size(); ++c)
            out += (c > 0 ? "," : "") + (std::holds_alternative<std::monostate>(values[c]) ? QByteArray() : field(sqlText(values[c])));
        out += "\n";
    }
    return out;
}

} // namespace loopscope::viewer
