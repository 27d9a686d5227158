// Rows of trees and tables as all panels draw them: one delegate, one header, one view. Models say through roles how a cell looks; colours
// and sizes come from the theme and follow it.
#pragma once

#include "viewer/style/theme.h"

#include <QHeaderView>
#include <QStyledItemDelegate>
#include <QTableView>
#include <QTreeView>

#include <vector>

namespace loopscope::viewer {

/// What colour a text has.
enum class Tone : uint8_t { text, text2, text3, accent, err, warn, ok, dead, bp };
QColor toneColor(Tone tone);

/// Drawn at the left of a row that breakpoints sit on (docs/desktop.md, "States").
enum class BreakMark : uint8_t { none, stop, conditional, log, disabled, unbound };
/// `center` in logical pixels; 9 px across.
void paintBreakMark(QPainter& painter, QPointF center, BreakMark mark);
QString breakMarkText(BreakMark mark); ///< for tooltips and screen readers

enum RowRole : int {
    toneRole = Qt::UserRole + 100, ///< Tone as int
    monoRole,                      ///< bool: the fixed-width face
    boldRole,                      ///< bool
    italicRole,                    ///< bool
    struckRole,                    ///< bool: dead tokens
    currentRole,                   ///< bool, of column 0, for the whole row: the next operator
    stripeRole,                    ///< int Family
    iconRole,                      ///< QString: id of an icon
    iconToneRole,                  ///< Tone as int, or −1 − Family
    markRole,                      ///< BreakMark as int
    chipRole,                      ///< QString: a chip behind the text, given room first
    noteRole,                      ///< QString: a second line, fixed width; rows are then twice as high
    fillRole,                      ///< Token as int, of column 0: ground of the whole row
    addressRole,                   ///< QString: the cell is a link to it
    sectionRole,                   ///< bool: a heading between rows
};

/// The rows of a table are as high as text wants, also when its size changes.
void followRowHeight(QTableView& table);

/// Whether somebody is typing there: what comes meanwhile does not replace it.
bool holdsTypedText(const QWidget* editor);

class RowDelegate : public QStyledItemDelegate {
    Q_OBJECT
public:
    using QStyledItemDelegate::QStyledItemDelegate;
    void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override;
    QSize sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const override;
    QWidget* createEditor(QWidget* parent, const QStyleOptionViewItem& option, const QModelIndex& index) const override;
    void setEditorData(QWidget* editor, const QModelIndex& index) const override;
    void updateEditorGeometry(QWidget* editor, const QStyleOptionViewItem& option, const QModelIndex& index) const override;
};

class RowHeader : public QHeaderView {
    Q_OBJECT
public:
    explicit RowHeader(QWidget* parent = nullptr);
    QSize sizeHint() const override;

protected:
    void paintSection(QPainter* painter, const QRect& rect, int logicalIndex) const override;
    void paintEvent(QPaintEvent* event) override;
};

class RowView : public QTreeView {
    Q_OBJECT
public:
    explicit RowView(const QString& objectName, const QString& accessibleName, QWidget* parent = nullptr);
    /// Without it rows begin at the left and nothing expands.
    void setTree(bool isTree);
    void setHeaderVisible(bool visible) { header()->setVisible(visible); }
    /// Column 0 takes what is left; the others get these widths in logical pixels at 100 % text.
    /// `mostShare`: of the view, for all columns behind the first, where these only say something about its names.
    void setColumnWidths(std::vector<int> widths, double mostShare = kUsualShare);
    static constexpr double kUsualShare = 0.6, kOfNames = 0.4;
    /// The column shares with column 0 what the others leave; in a narrow view these give way first.
    void setSharedColumn(int column);
    /// In a view that is narrower, measured in text, the names have all of it.
    void hideFiguresBelow(int width);
    void setModel(QAbstractItemModel* model) override;
    /// The selected rows, cells joined by tabs.
    QString selectedText() const;

signals:
    /// Return or a double click: go there.
    void chosen(const QModelIndex& index);
    /// A click on a cell with addressRole.
    void linkClicked(const QString& address);
    /// A digit or another printable key on a row.
    void typed(const QString& text, const QModelIndex& index);

protected:
    void drawRow(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override;
    void drawBranches(QPainter* painter, const QRect& rect, const QModelIndex& index) const override;
    void keyPressEvent(QKeyEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mouseDoubleClickEvent(QMouseEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;

private:
    void restyle();
    void placeColumns();
    void shareColumns(int others);
    bool isLinkAt(QPoint position) const;

    std::vector<int> m_widths;
    int m_leastWidth = 0; ///< with which the columns beside the names are shown
    double m_mostShare = kUsualShare;
    int m_shared = -1; ///< the column that grows with the first
    bool m_tree = false;
};

} // namespace loopscope::viewer
