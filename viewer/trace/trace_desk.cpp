#include "viewer/trace/trace_desk.h"

#include "engine/observe/address.h"

#include <cmath>

namespace loopscope::viewer {

TraceDesk& TraceDesk::of(Document& document)
{
    if (auto* const desk = document.findChild<TraceDesk*>({}, Qt::FindDirectChildrenOnly)) return *desk;
    return *new TraceDesk(document);
}

TraceDesk::TraceDesk(Document& document) : QObject(&document)
{
    if (const TraceReader* const trace = document.backend().trace()) m_path = QString::fromStdString(trace->path());
}

TraceDesk::~TraceDesk()
{
    cancel();
    if (m_thread.joinable()) m_thread.join();
}

void TraceDesk::cancel()
{
    if (m_cancel) m_cancel->request();
}

void TraceDesk::run(const QString& sql, const QueryParameters& parameters, double seconds)
{
    cancel();
    if (m_thread.joinable()) m_thread.join(); // a cancelled query ends at once
    m_cancel = std::make_shared<CancelFlag>();
    m_busy = true;
    emit busyChanged();
    const uint64_t ticket = ++m_ticket;
    m_thread = std::thread([this, sql, parameters, seconds, ticket, cancel = m_cancel, path = m_path.toStdString()] {
        auto answer = std::make_shared<TraceAnswer>();
        answer->sql = sql;
        answer->parameters = parameters;
        answer->seconds = seconds;
        const auto fail = [&](const Error& error) {
            QString text = QString::fromStdString(error.message());
            answer->timedOut = text.contains("--limit-time");
            answer->problem = answer->timedOut ? QString("stopped after %1 s").arg(seconds) : text;
        };
        if (auto reader = TraceReader::open(path); reader.ok()) {
            QueryLimits limits;
            limits.seconds = seconds;
            limits.rows = kMostRows;
            limits.cancel = cancel.get();
            Result<QueryResult> result = (*reader)->query(sql.toStdString(), parameters, limits);
            if (result.ok()) answer->result = std::move(result).value();
            else fail(result.error());
        } else {
            fail(reader.error());
        }
        QMetaObject::invokeMethod(this, [this, answer, ticket] {
            if (ticket != m_ticket) return;
            m_busy = false;
            m_answer = answer;
            m_row = -1;
            emit busyChanged();
            emit answered();
        }, Qt::QueuedConnection);
    });
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
    if (row < 0 || static_cast<size_t>(row) >= result.rows.size() || column < 0 || static_cast<size_t>(column) >= result.columns.size()) return link;
    const std::string& name = result.columns[static_cast<size_t>(column)];
    const SqlValue& value = result.rows[static_cast<size_t>(row)][static_cast<size_t>(column)];
    if (const auto* const number = std::get_if<int64_t>(&value)) {
        if (name == "step" || name == "at_step" || name.ends_with("_step")) link.command = "goto step:" + QString::number(*number);
        if (name == "iteration") {
            link.address = addressFor(row, QString::number(*number));
            if (!link.address.isEmpty()) link.command = "goto " + link.address;
        }
    } else if (const auto* const text = std::get_if<std::string>(&value); text != nullptr && text->find('/') != std::string::npos) {
        if (parseAddress(*text).ok()) {
            link.address = QString::fromStdString(*text);
            link.command = "goto " + link.address;
        }
    }
    return link;
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

bool isNumber(const SqlValue& value)
{
    return std::holds_alternative<int64_t>(value) || std::holds_alternative<double>(value);
}

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
