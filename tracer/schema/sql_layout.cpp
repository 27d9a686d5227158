#include "tracer/api/sql_layout.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

namespace loopscope {

namespace {

constexpr size_t kShortSubquery = 40; ///< stays in its line
constexpr size_t kSlack = 24;         ///< columns by which a line may be too long before it is broken anywhere
constexpr std::array<std::string_view, 12> kClauses = {"FROM",  "GROUP",  "HAVING", "JOIN",   "LEFT",  "LIMIT",
                                                       "ORDER", "SELECT", "UNION",  "VALUES", "WHERE", "WITH"};

/// What is not torn apart: a clause, or a part of one up to a comma or a condition.
struct Piece {
    std::string text;
    size_t depth = 0;         ///< of subqueries
    bool isContinued = false; ///< begins within a clause
    bool beginsSubquery = false;
};

bool isWord(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == ':'; }

class Pieces {
public:
    explicit Pieces(std::string_view sql) : m_sql(sql) {}

    std::vector<Piece> read()
    {
        std::string_view before; // the word before
        for (size_t at = 0; at < m_sql.size();) {
            const size_t begin = at;
            if (m_sql[at] == '\'') {
                at = std::min(m_sql.find('\'', at + 1), m_sql.size() - 1) + 1;
            } else if (isWord(m_sql[at])) {
                while (at < m_sql.size() && isWord(m_sql[at])) ++at;
                const std::string_view word = m_sql.substr(begin, at - begin);
                beginPiece(word, before);
                before = word;
            } else {
                ++at;
            }
            const std::string_view token = m_sql.substr(begin, at - begin);
            if (token == ")") close();
            if (token != " " || !m_pieces.back().text.empty()) m_pieces.back().text += token;
            if (token == "(") open(begin);
            if (token == "," && m_plain.back() == 0) m_pieces.push_back({"", depth(), true, false});
        }
        for (Piece& piece : m_pieces) piece.text.erase(piece.text.find_last_not_of(' ') + 1);
        std::erase_if(m_pieces, [](const Piece& piece) { return piece.text.empty(); });
        return std::move(m_pieces);
    }

private:
    size_t depth() const { return m_plain.size() - 1; }

    void beginPiece(std::string_view word, std::string_view before)
    {
        if (m_plain.back() > 0 || m_pieces.back().text.empty()) return;
        const bool isClause = std::ranges::find(kClauses, word) != kClauses.end() && !(word == "JOIN" && before == "LEFT");
        if (isClause || word == "AND") m_pieces.push_back({"", depth(), word == "AND", false});
    }

    /// The bracket at `at` has been read.
    void open(size_t at)
    {
        const std::string_view inside = m_sql.substr(at + 1);
        const bool isSubquery = m_plain.back() == 0 && (inside.starts_with("SELECT ") || inside.starts_with("WITH "));
        if (!isSubquery || lengthInside(at) <= kShortSubquery) {
            ++m_plain.back();
            return;
        }
        m_plain.push_back(0);
        m_pieces.push_back({"", depth(), false, true});
    }

    void close()
    {
        if (m_plain.back() > 0) --m_plain.back();
        else if (depth() > 0) m_plain.pop_back();
    }

    size_t lengthInside(size_t open) const
    {
        int level = 0;
        for (size_t i = open; i < m_sql.size(); ++i) {
            level += m_sql[i] == '(' ? 1 : m_sql[i] == ')' ? -1 : 0;
            if (level == 0) return i - open - 1;
        }
        return m_sql.size();
    }

    std::string_view m_sql;
    std::vector<Piece> m_pieces = {Piece()};
    std::vector<int> m_plain = {0}; ///< by depth of subqueries: open brackets that are none
};

/// Columns of the piece and of those that continue it: a clause that fits into a line of its own is not torn apart.
size_t clauseWidth(const std::vector<Piece>& pieces, size_t first)
{
    size_t columns = pieces[first].text.size();
    for (size_t i = first + 1; i < pieces.size() && pieces[i].isContinued && !pieces[first].isContinued; ++i)
        columns += 1 + pieces[i].text.size();
    return columns;
}

/// A line that is too long in spite of all goes on in further ones, broken at blanks, best in front of AND and OR.
std::string wrapped(std::string line, size_t width)
{
    const size_t indent = line.find_first_not_of(' ') + 4;
    std::string text;
    while (line.size() > width + kSlack) {
        size_t blank = 0, condition = 0;
        bool isQuoted = false;
        for (size_t i = 0; i < line.size() && (i <= width || blank == 0); ++i) {
            isQuoted ^= line[i] == '\'';
            if (line[i] != ' ' || isQuoted || i <= indent) continue;
            blank = i;
            const std::string_view rest = std::string_view(line).substr(i + 1);
            if (rest.starts_with("AND ") || rest.starts_with("OR ")) condition = i;
        }
        const size_t at = condition > width / 2 ? condition : blank;
        if (at == 0) break;
        text += line.substr(0, at) + "\n";
        line = std::string(indent, ' ') + line.substr(at + 1);
    }
    return text + line;
}

} // namespace

std::string laidOutSql(std::string_view sql, size_t width)
{
    if (sql.size() <= width) return std::string(sql);
    const std::vector<Piece> pieces = Pieces(sql).read();
    std::string text, line;
    size_t lineDepth = 0;
    bool isInClause = false; ///< the line begins in the middle of one
    for (size_t i = 0; i < pieces.size(); ++i) {
        const Piece& piece = pieces[i];
        const bool isNext = !piece.beginsSubquery && piece.depth == lineDepth && (piece.isContinued || !isInClause);
        const bool fits = isNext && line.size() + 1 + clauseWidth(pieces, i) <= width;
        if (!line.empty() && fits) {
            line += " " + piece.text;
            continue;
        }
        if (!line.empty()) text += wrapped(std::move(line), width) + "\n";
        lineDepth = piece.depth;
        isInClause = piece.isContinued;
        line = std::string(2 * (piece.depth + (piece.isContinued ? 1 : 0)), ' ') + piece.text;
    }
    return text + wrapped(std::move(line), width);
}

} // namespace loopscope
