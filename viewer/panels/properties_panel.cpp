// Properties of what is selected: everything the file says about it, with links to its neighbours.
#include "engine/tensor/value_text.h"
#include "viewer/panels/common.h"
#include "viewer/panels/panels.h"
#include "viewer/panels/property_rows.h"
#include "viewer/panels/question_foot.h"

#include <QApplication>
#include <QClipboard>
#include <QMenu>
#include <QPainter>
#include <QVBoxLayout>

namespace loopscope::viewer {

namespace {

constexpr int kBins = 40;
constexpr int kHistogramRows = 4;
constexpr int kAround = 16; ///< both margins of a cell, and a bit

class PropertyModel : public QAbstractTableModel {
    Q_OBJECT
public:
    explicit PropertyModel(QObject* parent) : QAbstractTableModel(parent) {}
    void setRows(std::vector<PropertyRow> rows)
    {
        beginResetModel();
        m_rows = std::move(rows);
        endResetModel();
    }
    const PropertyRow& row(int index) const { return m_rows[static_cast<size_t>(index)]; }
    /// Types and notes below the values that they belong to: a line is too short for all three.
    void setTwoLines(bool on)
    {
        if (on == m_hasTwoLines) return;
        m_hasTwoLines = on;
        emit layoutChanged();
    }
    bool hasTwoLines(int index) const { return m_hasTwoLines && !row(index).type.isEmpty(); }
    int rowCount(const QModelIndex& parent = {}) const override { return parent.isValid() ? 0 : static_cast<int>(m_rows.size()); }
    int columnCount(const QModelIndex& parent = {}) const override { return parent.isValid() ? 0 : 4; }
    QVariant data(const QModelIndex& index, int role) const override
    {
        if (!index.isValid()) return {};
        const PropertyRow& at = row(index.row());
        const int column = index.column();
        if (role == Qt::ToolTipRole)
            return at.section.isEmpty()
                       ? at.name + "  " + at.value + (at.type.isEmpty() ? "" : "  " + at.type) + (at.note.isEmpty() ? "" : "  " + at.note)
                       : QVariant();
        if (!at.section.isEmpty()) {
            if (role == sectionRole) return true;
            if (role == Qt::DisplayRole) return column == 0 ? at.section : column == 3 ? at.note : QString();
            if (role == boldRole) return column == 0;
            if (role == toneRole) return static_cast<int>(column == 3 ? Tone::text3 : Tone::text);
            if (role == Qt::TextAlignmentRole && column == 3) return static_cast<int>(Qt::AlignRight | Qt::AlignVCenter);
            return {};
        }
        switch (column) {
        case 0:
            if (role == Qt::DisplayRole) return at.name;
            return role == toneRole ? QVariant(static_cast<int>(Tone::text2)) : QVariant();
        case 1:
            if (role == Qt::DisplayRole) return at.value;
            if (role == noteRole && hasTwoLines(index.row())) return at.type + (at.note.isEmpty() ? QString() : " · " + at.note);
            if (role == addressRole && !at.address.isEmpty()) return at.address;
            if (role == toneRole) return static_cast<int>(at.isCode ? Tone::text : Tone::text2);
            return role == monoRole ? QVariant(at.isCode) : QVariant();
        case 2:
            if (role == Qt::DisplayRole) return hasTwoLines(index.row()) ? QString() : at.type;
            return role == monoRole ? QVariant(true) : QVariant();
        default:
            if (role == Qt::DisplayRole) return hasTwoLines(index.row()) ? QString() : at.note;
            if (role == Qt::TextAlignmentRole) return static_cast<int>(Qt::AlignRight | Qt::AlignVCenter);
            return role == toneRole ? QVariant(static_cast<int>(Tone::text3)) : QVariant();
        }
    }

private:
    std::vector<PropertyRow> m_rows;
    bool m_hasTwoLines = false;
};

/// Scales of channels on a logarithmic axis.
class ScaleHistogram : public QWidget {
public:
    ScaleHistogram(const std::vector<float>& scales, QWidget* parent) : QWidget(parent)
    {
        m_counts = logHistogram(scales, kBins, m_low, m_high);
        setAccessibleName(QString("histogram of %1 channel scales").arg(scales.size()));
    }

protected:
    void paintEvent(QPaintEvent*) override
    {
        QPainter painter(this);
        const QFont font = Theme::instance().font(FontUse::tiny);
        const QFontMetrics metrics(font);
        const QRectF plot = QRectF(rect()).adjusted(8, 4, -8, -metrics.height() - 4);
        const int most = std::max(1, *std::ranges::max_element(m_counts));
        const double width = plot.width() / kBins;
        for (int i = 0; i < kBins; ++i) {
            const double height = plot.height() * m_counts[static_cast<size_t>(i)] / most;
            if (height > 0)
                painter.fillRect(
                    QRectF(plot.left() + i * width, plot.bottom() - std::max(1.0, height), std::max(1.0, width - 1), std::max(1.0, height)),
                    themed(Token::accent));
        }
        painter.setPen(themed(Token::line2));
        painter.drawLine(plot.bottomLeft(), plot.bottomRight());
        painter.setFont(font);
        painter.setPen(themed(Token::text3));
        const QRectF axis(plot.left(), plot.bottom() + 2, plot.width(), metrics.height());
        const QString low = toText(realText(static_cast<double>(m_low), 3)), high = toText(realText(static_cast<double>(m_high), 3));
        const QString about = "scales, log axis";
        const double ends = 2.0 * std::max(metrics.horizontalAdvance(low), metrics.horizontalAdvance(high));
        if (ends + metrics.horizontalAdvance(about) + 12 <= axis.width()) painter.drawText(axis, Qt::AlignCenter, about);
        painter.setPen(themed(Token::text));
        painter.drawText(axis, Qt::AlignLeft, low);
        painter.drawText(axis, Qt::AlignRight, high);
    }

private:
    std::vector<int> m_counts;
    float m_low = 0, m_high = 0;
};

class PropertyDelegate : public RowDelegate {
public:
    using RowDelegate::RowDelegate;
    /// Names and words take the room of the columns behind them that are empty, notes as much as they have words.
    void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override
    {
        QStyleOptionViewItem wide = option;
        const auto* const view = qobject_cast<const QTreeView*>(option.widget);
        const auto textAt = [&](int column) { return index.siblingAtColumn(column).data().toString(); };
        if (view != nullptr && index.column() > 0 && textAt(2).isEmpty()) {
            const int left = view->columnViewportPosition(1), right = view->viewport()->width() - 1;
            const QString note = textAt(3);
            const auto widthOf = [](const QString& text, const QFont& font) {
                return text.isEmpty() ? 0 : QFontMetrics(font).horizontalAdvance(text) + kAround;
            };
            // The value wins; the note gets what is left of the line.
            const int value = widthOf(textAt(1), Theme::instance().font(FontUse::value));
            int noted = std::min(widthOf(note, Theme::instance().font(FontUse::body)), std::max(0, right - left - value));
            if (noted < 2 * kAround) noted = 0; // not even its beginning
            if (index.column() == 1) wide.rect.setRight(right - noted);
            if (index.column() == 3) wide.rect.setLeft(right - noted);
            if (index.column() == 3 && noted == 0) return;
            if (index.column() == 2) return;
        }
        RowDelegate::paint(painter, wide, index);
    }
    QSize sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const override
    {
        const auto* model = static_cast<const PropertyModel*>(index.model());
        QSize size = RowDelegate::sizeHint(option, index);
        if (!model->row(index.row()).scales.empty()) size.setHeight(Theme::instance().rowHeight() * kHistogramRows);
        return size;
    }
    void updateEditorGeometry(QWidget* editor, const QStyleOptionViewItem& option, const QModelIndex&) const override
    {
        QRect rect = option.rect;
        rect.setRight(editor->parentWidget()->width() - 1); // over the columns that a histogram does not need
        editor->setGeometry(rect);
    }
};

class PropertyView : public RowView {
    static constexpr int kLooked = 200; ///< rows

public:
    PropertyView() : RowView("propertyTable", "Properties")
    {
        setUniformRowHeights(false);
        header()->setMinimumSectionSize(1);
    }
    void place()
    {
        const int width = viewport()->width();
        // Names win: their column is as wide as they are, up to nearly half of the table.
        const QFontMetrics metrics(Theme::instance().font(FontUse::body));
        const QFontMetrics mono(Theme::instance().font(FontUse::value));
        int widest = 0, value = 0, type = 0, note = 0; // of rows that have all three
        auto* const rows = static_cast<PropertyModel*>(model());
        for (int row = 0; rows != nullptr && row < std::min(kLooked, rows->rowCount()); ++row) {
            const PropertyRow& at = rows->row(row);
            widest = std::max(widest, metrics.horizontalAdvance(at.name));
            if (at.type.isEmpty()) continue;
            value = std::max(value, mono.horizontalAdvance(at.value) + kAround);
            type = std::max(type, mono.horizontalAdvance(at.type) + kAround);
            note = std::max(note, metrics.horizontalAdvance(at.note) + kAround);
        }
        const int least = std::min(width * 26 / 100, 120 * Theme::instance().textPercent() / 100);
        const int name = std::clamp(widest + 20, least, std::max(least, width * (type > 0 ? 45 : 60) / 100));
        const int rest = width - name;
        const bool isOneLine = value + type + note <= rest;
        if (rows != nullptr) rows->setTwoLines(!isOneLine);
        const int behind = isOneLine && type > 0 ? type + note : rest / 4;
        header()->resizeSection(0, name);
        header()->resizeSection(1, rest - behind);
        header()->resizeSection(2, isOneLine ? type : 0);
        header()->resizeSection(3, behind - (isOneLine ? type : 0));
    }

protected:
    void resizeEvent(QResizeEvent* event) override
    {
        RowView::resizeEvent(event);
        place();
    }
};

/// Stripe, name, index, and where.
class PropertyHead : public QWidget {
public:
    explicit PropertyHead(QWidget* parent) : QWidget(parent) {}
    void set(const PropertySheet& sheet)
    {
        m_title = sheet.title;
        m_index = sheet.titleIndex;
        m_note = sheet.titleNote;
        m_family = sheet.family;
        setAccessibleName(m_title + m_index + " " + m_note);
        setToolTip(accessibleName());
        update();
    }
    QSize sizeHint() const override { return {100, Theme::instance().rowHeight() * 3 / 2}; }

protected:
    void paintEvent(QPaintEvent*) override
    {
        QPainter painter(this);
        painter.fillRect(rect(), themed(Token::surface));
        int x = 10;
        if (m_family >= 0) {
            painter.fillRect(QRect(x, 6, 4, height() - 12), themed(static_cast<Family>(m_family)));
            x += 12;
        }
        const QFont title = Theme::instance().font(FontUse::section, true);
        const auto put = [&](const QString& text, const QFont& font, Token color, Qt::TextElideMode elide) {
            const QFontMetrics metrics(font);
            const QString fit = metrics.elidedText(text, elide, width() - x - 8);
            painter.setFont(font);
            painter.setPen(themed(color));
            painter.drawText(QRect(x, 0, width() - x, height()), Qt::AlignVCenter | Qt::AlignLeft, fit);
            x += metrics.horizontalAdvance(fit);
        };
        put(m_title, title, Token::text, Qt::ElideMiddle);
        put(m_index, Theme::instance().font(FontUse::section), Token::text2, Qt::ElideRight);
        x += 8;
        put(m_note, Theme::instance().font(FontUse::body), Token::text3, Qt::ElideRight);
    }

private:
    QString m_title, m_index, m_note;
    int m_family = -1;
};

class PropertiesPanel : public Panel {
    Q_OBJECT
public:
    explicit PropertiesPanel(Document& document) : Panel(document, "panelProperties", "Properties"), m_model(this)
    {
        auto* column = new QVBoxLayout(this);
        column->setContentsMargins(0, 0, 0, 0);
        column->setSpacing(0);
        m_head = new PropertyHead(this);
        m_view = new PropertyView;
        m_view->setItemDelegate(new PropertyDelegate(m_view));
        m_view->setModel(&m_model);
        m_view->setHeaderVisible(false);
        m_view->setSelectionMode(QAbstractItemView::ExtendedSelection);
        m_view->setContextMenuPolicy(Qt::CustomContextMenu);
        column->addWidget(m_head);
        column->addWidget(m_view, 1);
        column->addWidget(new QuestionFoot(document, this));
        connect(m_view, &RowView::linkClicked, this, &PropertiesPanel::follow);
        connect(m_view, &RowView::chosen, this, [this](const QModelIndex& index) {
            if (const QString address = m_model.row(index.row()).address; !address.isEmpty()) follow(address);
        });
        connect(m_view, &QWidget::customContextMenuRequested, this, [this](QPoint at) {
            const QModelIndex index = m_view->indexAt(at);
            auto* const menu = new QMenu(this);
            menu->setAttribute(Qt::WA_DeleteOnClose);
            if (index.isValid())
                menu->addAction("Copy value", this,
                                [value = m_model.row(index.row()).value] { QApplication::clipboard()->setText(value); });
            menu->addAction("Copy rows", this, [this] { QApplication::clipboard()->setText(m_view->selectedText()); });
            menu->addAction("Copy all", this, [this] {
                m_view->selectAll();
                QApplication::clipboard()->setText(m_view->selectedText());
            });
            menu->popup(m_view->viewport()->mapToGlobal(at));
        });
        connect(&document, &Document::selectionChanged, this, &PropertiesPanel::show);
        connect(&document, &Document::stopChanged, this, &PropertiesPanel::show);
        connect(&Theme::instance(), &Theme::changed, this, [this] {
            m_head->updateGeometry();
            m_head->update();
            show();
        });
        show();
    }
    QWidget* focusTarget() override { return m_view; }

protected:
    void showEvent(QShowEvent* event) override
    {
        Panel::showEvent(event);
        show();
    }

private:
    void follow(const QString& address)
    {
        const std::string at = document().atStop(address.toStdString());
        if (document().select(at)) document().reveal(at);
    }

    void show()
    {
        PropertySheet sheet = propertiesOf(document());
        m_head->set(sheet);
        m_model.setRows(std::move(sheet.rows));
        m_view->place(); // which decides how high rows are
        for (int row = 0; row < m_model.rowCount(); ++row)
            if (!m_model.row(row).scales.empty()) {
                m_view->setIndexWidget(m_model.index(row, 1), new ScaleHistogram(m_model.row(row).scales, m_view));
            }
    }

    PropertyModel m_model;
    PropertyHead* m_head = nullptr;
    PropertyView* m_view = nullptr;
};

} // namespace

Panel* makePropertiesPanel(Document& document) { return new PropertiesPanel(document); }

} // namespace loopscope::viewer

#include "properties_panel.moc"
