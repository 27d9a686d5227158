// What the panels of the Trace task share for one document: the query and its result. Queries run on a thread of their own with a reader of
// their own; a newer one cancels the one before. GUI thread; it never waits for a query.
#pragma once

#include "tracer/api/trace_reader.h"
#include "viewer/bridge/document.h"
#include "viewer/widgets/parts.h"

#include <QObject>

#include <memory>
#include <optional>
#include <vector>

namespace loopscope::viewer {

/// One answer; immutable.
struct TraceAnswer {
    QString sql;
    QueryParameters parameters;
    QueryResult result;
    QueryResult plan; ///< EXPLAIN QUERY PLAN: id, parent, notused, detail; empty: there is none
    QString problem;  ///< one line; empty: it worked
    bool timedOut = false;
    double seconds = 5; ///< the limit that held; 0: none
};

/// A link of a result cell.
struct TraceLink {
    std::optional<request::Move> move{}; ///< none: no link
    QString command;                     ///< what a person would type for it, "goto step:17"
    QString address;                     ///< where it leads, if that is an address
};

/// A query that a person has kept for this recording.
struct OwnRecipe {
    QString name, sql, parameters; ///< parameters: "run=1 op=main/while#1/add#14"
    bool operator==(const OwnRecipe&) const = default;
};

class TraceDesk : public QObject {
    Q_OBJECT
public:
    static constexpr int64_t kMostRows = 1'000'000;
    static constexpr double kSeconds = 5;

    /// The desk of a document; made when first asked for, owned by the document.
    static TraceDesk& of(Document& document);
    ~TraceDesk() override;

    QString path() const { return m_path; } ///< of the recording; empty: the document is none
    bool busy() const { return m_busy; }
    std::shared_ptr<const TraceAnswer> answer() const { return m_answer; } ///< never null
    void run(const QString& sql, const QueryParameters& parameters, double seconds = kSeconds);
    void cancel();
    int selectedRow() const { return m_row; } ///< of the answer; −1: none
    void selectRow(int row);
    /// Where a cell leads: columns of steps, events, iterations and addresses do.
    TraceLink linkOf(int row, int column) const;
    /// Follows a link; begins the replay where nobody has.
    void goTo(const request::Move& move);
    /// The value that a row is about: its address in the row's iteration; empty: it is about none.
    QString valueOf(int row) const;
    /// Shows SQL in the editor, as a recipe of that name.
    void edit(const QString& name, const QString& sql, const QString& parameters) { emit editRequested(name, sql, parameters); }
    const std::vector<OwnRecipe>& ownRecipes() const { return m_own; }
    /// Keeps a query; one of the same name is replaced.
    void keep(OwnRecipe recipe);
    void forget(const QString& name);
    void setOwnRecipes(std::vector<OwnRecipe> recipes);

signals:
    void answered();
    void busyChanged();
    void rowSelected();
    void recipesChanged();
    void editRequested(const QString& name, const QString& sql, const QString& parameters);
    void shown(const QString& name); ///< the editor has taken up a recipe

private:
    explicit TraceDesk(Document& document);
    QString addressFor(int row, const QString& iteration) const;

    Document& m_document;
    QString m_path;
    std::shared_ptr<const TraceAnswer> m_answer = std::make_shared<TraceAnswer>();
    std::shared_ptr<CancelFlag> m_cancel;
    bool m_busy = false;
    int m_row = -1;
    std::vector<OwnRecipe> m_own;
    Background m_queries;
};

/// True for columns whose cells are numbers to be drawn.
bool isNumber(const SqlValue& value);
double numberOf(const SqlValue& value);
/// Parameter names of `:name` in SQL, in order, outside of strings and comments.
QStringList parametersOf(const QString& sql);
/// The whole answer as RFC 4180 text, rows in the given order.
QByteArray csvOf(const QueryResult& result, const std::vector<int>& order);

} // namespace loopscope::viewer
