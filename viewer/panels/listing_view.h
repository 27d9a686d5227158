// The painted area of the listing: gutter, arrow, index, text, type, last value. Only lines in sight are looked at.
#pragma once

#include "viewer/panels/listing_lines.h"
#include "viewer/widgets/rows.h"

#include <QAbstractScrollArea>
#include <QJsonObject>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace loopscope::viewer {

/// What is known of an operator's results at this stop.
struct ListingValue {
    QString text;
    QString moment; ///< of another one than this stop: "@36", "≈ @12", "before:"; empty: of this one
    bool isAbnormal = false;
    bool isChanged = false; ///< since the last stop
    bool isError = false;
};

/// What the lines look like now. Addresses are static.
struct ListingState {
    std::string current; ///< of the next operator
    std::string last;    ///< of the operator that ran last
    std::string selected;
    std::map<std::string, BreakMark> marks;
    std::map<int, ListingValue> values; ///< by line
    std::map<int, bool> ran;            ///< by line: in this invocation
    std::map<int, QString> notes;       ///< by line: "@37 of 48"
    std::set<int> untaken;              ///< lines of branch heads
    bool quiet = false;                 ///< the frame runs: what did not run is greyed
};

class ListingView : public QAbstractScrollArea {
    Q_OBJECT
public:
    explicit ListingView(QWidget* parent = nullptr);

    void setListing(std::shared_ptr<const Listing> listing);
    const Listing& listing() const { return *m_listing; }
    /// Changes what is drawn and repaints.
    void setState(ListingState state);
    const ListingState& state() const { return m_state; }

    /// Lines in sight, folded ones left out.
    std::vector<int> linesInSight() const;
    int lineOf(const std::string& address) const; ///< −1: none
    /// What a screen reader says of a line: its text, its value and what it is to the run.
    QString spokenLine(int line) const;
    QRect lineRect(int inSight) const; ///< of linesInSight(), in the viewport
    void scrollTo(int line);
    int cursorLine() const { return m_cursor; }
    void setCursorLine(int line); ///< scrolls there; selects nothing

    void setFindText(const QString& text);
    /// The next line that contains the text, from the cursor; −1: none.
    int findNext(bool forward);
    int hitCount() const;

    /// What is drawn, for tests: rows with rectangles, marks and texts.
    Q_INVOKABLE QJsonObject describe() const;

signals:
    void sightChanged();          ///< other lines are in sight
    void lineActivated(int line); ///< click or cursor key
    void lineOpened(int line);    ///< Return or double click
    void gutterClicked(int line);
    void commandKey(const QString& command);

protected:
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void scrollContentsBy(int dx, int dy) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseDoubleClickEvent(QMouseEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void wheelEvent(QWheelEvent* event) override;
    void contextMenuEvent(QContextMenuEvent* event) override;
    bool viewportEvent(QEvent* event) override;

private:
    struct Columns {
        int gutter = 0, arrow = 0, index = 0, text = 0, row = 0;
    };
    class RowPainter;
    Columns columns() const;
    void fold();
    void restyle();
    void placeBars();
    int rowAt(int y) const; ///< index into m_rows; −1: below the last
    int rowOfLine(int line) const;
    void moveCursor(int rows);

    std::shared_ptr<const Listing> m_listing = std::make_shared<Listing>();
    ListingState m_state;
    std::vector<int> m_rows; ///< lines that are not folded away
    int m_cursor = -1;
    int m_zoom = 0; ///< of the text, by Ctrl and wheel, in pixels
    QString m_find;
    QFont m_font, m_bold, m_italic;
};

} // namespace loopscope::viewer
