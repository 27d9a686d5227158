#include "viewer/window/welcome_page.h"

#include "viewer/style/icons.h"
#include "viewer/style/theme.h"
#include "viewer/window/settings.h"

#include <QDateTime>
#include <QFileInfo>
#include <QFrame>
#include <QHBoxLayout>
#include <QJsonArray>
#include <QJsonObject>
#include <QLabel>
#include <QPainter>
#include <QPushButton>
#include <QVBoxLayout>

namespace loopscope::viewer {

namespace {

constexpr int kStart = 284, kCard = 388, kGap = 32, kCardGap = 12, kMargin = 24;

int scaled(int pixels) { return Theme::instance().barHeight(pixels); }

QLabel* words(const QString& text, const char* type, const char* tone, QWidget* parent)
{
    auto* const label = new QLabel(text, parent);
    if (*type) label->setProperty("type", type);
    if (*tone) label->setProperty("tone", tone);
    return label;
}

QPushButton* link(const QString& text, QWidget* parent)
{
    auto* const button = new QPushButton(text, parent);
    button->setProperty("link", true);
    button->setCursor(Qt::PointingHandCursor);
    return button;
}

QLabel* keyCap(const QString& text, QWidget* parent)
{
    auto* const label = new QLabel(text, parent);
    const auto restyle = [label] {
        label->setFont(Theme::instance().font(FontUse::small));
        label->setStyleSheet(QStringLiteral("background: %1; border: 1px solid %2; border-radius: 3px; padding: 0 4px; color: %3;")
                                 .arg(themed(Token::surface).name(), themed(Token::line).name(), themed(Token::text2).name()));
    };
    restyle();
    QObject::connect(&Theme::instance(), &Theme::changed, label, restyle);
    return label;
}

/// What a sample shows, as a small drawing: a loop, a dead branch, errors by layer, values that grow.
class Thumbnail : public QWidget {
public:
    Thumbnail(int kind, QWidget* parent) : QWidget(parent), m_kind(kind)
    {
        setFixedSize(132, 84);
        connect(&Theme::instance(), &Theme::changed, this, qOverload<>(&QWidget::update));
    }

protected:
    void paintEvent(QPaintEvent*) override
    {
        QPainter painter(this);
        painter.setRenderHint(QPainter::Antialiasing);
        painter.fillRect(rect(), themed(Token::raised));
        switch (m_kind) {
        case 0: loop(painter); break;
        case 1: branch(painter); break;
        case 2: layers(painter); break;
        default: growth(painter);
        }
    }

private:
    static void node(QPainter& painter, QRectF box, Family family, bool isDead = false)
    {
        QPen pen(themed(isDead ? Token::dead : Token::line2), 1);
        if (isDead) pen.setDashPattern({3, 3});
        painter.setPen(pen);
        painter.setBrush(themed(isDead ? Token::deadWeak : Token::surface));
        painter.drawRoundedRect(box, 2, 2);
        if (!isDead) painter.fillRect(QRectF(box.x() + 1, box.y() + 1, 3, box.height() - 2), themed(family));
    }

    static void loop(QPainter& painter)
    {
        painter.setPen(QPen(themed(Family::controlFlow), 1.5));
        painter.setBrush(Qt::NoBrush);
        painter.drawRoundedRect(QRectF(30.5, 12.5, 72, 54), 2, 2);
        painter.drawPolyline(QPolygonF({QPointF(103, 50), QPointF(118, 50), QPointF(118, 22), QPointF(105, 22)}));
        painter.drawPolyline(QPolygonF({QPointF(108, 19), QPointF(104, 22), QPointF(108, 25)}));
        node(painter, QRectF(52.5, 1.5, 28, 8), Family::movement);
        node(painter, QRectF(44.5, 20.5, 44, 9), Family::matrix);
        node(painter, QRectF(44.5, 36.5, 44, 9), Family::arithmetic);
        node(painter, QRectF(44.5, 52.5, 44, 9), Family::activation);
        node(painter, QRectF(52.5, 71.5, 28, 8), Family::movement);
    }

    static void branch(QPainter& painter)
    {
        painter.setPen(QPen(themed(Token::line2), 1));
        painter.drawPolyline(QPolygonF({QPointF(60, 14), QPointF(36, 26), QPointF(36, 58), QPointF(60, 70)}));
        QPen dashed(themed(Token::dead), 1);
        dashed.setDashPattern({3, 3});
        painter.setPen(dashed);
        painter.drawPolyline(QPolygonF({QPointF(72, 14), QPointF(96, 26), QPointF(96, 58), QPointF(72, 70)}));
        node(painter, QRectF(52.5, 4.5, 28, 10), Family::controlFlow);
        node(painter, QRectF(20.5, 26.5, 32, 9), Family::arithmetic);
        node(painter, QRectF(20.5, 44.5, 32, 9), Family::arithmetic);
        node(painter, QRectF(80.5, 26.5, 32, 9), Family::arithmetic, true);
        node(painter, QRectF(80.5, 44.5, 32, 9), Family::arithmetic, true);
        node(painter, QRectF(52.5, 69.5, 28, 10), Family::controlFlow);
    }

    static void layers(QPainter& painter)
    {
        static constexpr int sizes[] = {4, 6, 8, 14, 22};
        for (int i = 0; i < 5; ++i) {
            const double y = 8.5 + 14 * i;
            node(painter, QRectF(14.5, y, 34, 9), Family::matrix);
            node(painter, QRectF(84.5, y, 34, 9), Family::matrix);
            painter.fillRect(QRectF(54, y + 2, sizes[i], 6), themed(i < 3 ? Token::ok : i == 3 ? Token::sideB : Token::err));
        }
    }

    static void growth(QPainter& painter)
    {
        static constexpr int heights[] = {5, 8, 14, 24, 38, 57};
        for (int i = 0; i < 6; ++i)
            painter.fillRect(QRectF(16 + 18 * i, 74 - heights[i], 12, heights[i]), themed(i < 5 ? Token::sideA : Token::err));
        painter.setPen(themed(Token::line2));
        painter.drawLine(QPointF(10, 74.5), QPointF(122, 74.5));
    }

    int m_kind;
};

QString agoText(qint64 seconds)
{
    const qint64 passed = QDateTime::currentSecsSinceEpoch() - seconds;
    if (passed < 90) return QObject::tr("just now");
    if (passed < 3600) return QObject::tr("%1 min ago").arg(passed / 60);
    if (passed < 86400) return QObject::tr("%1 h ago").arg(passed / 3600);
    if (passed < 2 * 86400) return QObject::tr("yesterday");
    return QDateTime::fromSecsSinceEpoch(seconds).toString("d MMM");
}

} // namespace

WelcomePage::WelcomePage(std::vector<Services::Sample> samples, Settings& settings, QWidget* parent)
    : QScrollArea(parent),
      m_samples(std::move(samples)),
      m_settings(settings)
{
    setObjectName("welcomePage");
    setFrameShape(QFrame::NoFrame);
    setWidgetResizable(true);
    auto* const page = new QWidget(this);
    page->setObjectName("welcomeBody");
    setWidget(page);
    auto* const centre = new QHBoxLayout(page);
    centre->setContentsMargins(kMargin, 44, kMargin, 24);
    auto* const body = new QWidget(page);
    centre->addStretch(1);
    centre->addWidget(body, 0, Qt::AlignTop);
    centre->addStretch(1);
    auto* const column = new QVBoxLayout(body);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(0);

    auto* const head = new QHBoxLayout;
    head->setSpacing(14);
    auto* const icon = new QLabel(body);
    icon->setPixmap(applicationIcon().pixmap(QSize(44, 44), devicePixelRatioF()));
    head->addWidget(icon);
    auto* const titles = new QVBoxLayout;
    titles->setSpacing(0);
    titles->addWidget(words(tr("Loopscope"), "title", "", body));
    titles->addWidget(words(tr("Step through model graphs, forwards and backwards"), "", "dim", body));
    head->addLayout(titles);
    head->addStretch(1);
    column->addLayout(head);
    column->addSpacing(32);

    m_columns = new QBoxLayout(QBoxLayout::LeftToRight);
    m_columns->setSpacing(kGap);
    m_start = startColumn();
    m_columns->addWidget(m_start, 0, Qt::AlignTop);
    auto* const right = new QVBoxLayout;
    right->setSpacing(0);
    right->addWidget(sampleGrid());
    right->addSpacing(20);
    m_lower = new QBoxLayout(QBoxLayout::LeftToRight);
    m_lower->setSpacing(kCardGap);
    for (QWidget* const part : {keyColumn(), programColumn()}) {
        m_lower->addWidget(part, 0, Qt::AlignTop);
        m_cardWide.append(part);
    }
    right->addLayout(m_lower);
    m_columns->addLayout(right);
    column->addLayout(m_columns);
    const auto restyle = [page, this] {
        page->setStyleSheet(
            QStringLiteral("#welcomeBody { background: %1; } #card { background: %2; border: 1px solid %3; border-radius: 4px; } "
                           "#cardFirst { background: %2; border: 1px solid %4; border-radius: 4px; }")
                .arg(themed(Token::window).name(), themed(Token::surface).name(), themed(Token::line).name(),
                     themed(Token::accent).name()));
        showTheme();
        arrange();
    };
    restyle();
    connect(&Theme::instance(), &Theme::changed, this, restyle);
}

/// Widths grow with the text; what does not fit beside goes below.
void WelcomePage::arrange()
{
    const int start = scaled(kStart), card = scaled(kCard), room = viewport()->width() - 2 * kMargin;
    const bool beside = start + kGap + card <= room;
    const bool two = (beside ? start + kGap : 0) + 2 * card + kCardGap <= room;
    m_start->setFixedWidth(beside ? start : card);
    m_columns->setDirection(beside ? QBoxLayout::LeftToRight : QBoxLayout::TopToBottom);
    m_lower->setDirection(two ? QBoxLayout::LeftToRight : QBoxLayout::TopToBottom);
    for (QWidget* const part : std::as_const(m_cardWide)) part->setFixedWidth(card);
    for (qsizetype i = 0; i < m_cards.size(); ++i) {
        m_grid->removeWidget(m_cards[i]);
        m_grid->addWidget(m_cards[i], static_cast<int>(two ? i / 2 : i) + 1, static_cast<int>(two ? i % 2 : 0));
    }
}

void WelcomePage::resizeEvent(QResizeEvent* event)
{
    QScrollArea::resizeEvent(event);
    arrange();
}

QWidget* WelcomePage::startColumn()
{
    auto* const part = new QWidget(this);
    auto* const column = new QVBoxLayout(part);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(6);
    column->addWidget(words(tr("Start"), "section", "", part));
    column->addSpacing(4);
    struct Entry {
        const char *icon, *command;
        QString text, key;
    };
    const Entry entries[] = {{"model-file", "open", tr("Open model …"), "Ctrl+O"},
                             {"recording", "openRecording", tr("Open recording …"), "Ctrl+Shift+O"},
                             {"compare", "compare", tr("Compare models or runs …"), "Ctrl+Shift+D"},
                             {"bookmark", "open", tr("Open session …"), {}}};
    for (const Entry& entry : entries) {
        auto* const row = new QHBoxLayout;
        row->setSpacing(6);
        auto* const icon = new QLabel(part);
        icon->setFixedSize(16, 16);
        const auto paint = [icon, name = entry.icon] {
            icon->setPixmap(iconPixmap(name, 16, themed(Token::accent), icon->devicePixelRatioF()));
        };
        paint();
        connect(&Theme::instance(), &Theme::changed, icon, paint);
        row->addWidget(icon);
        QPushButton* const button = link(entry.text, part);
        connect(button, &QPushButton::clicked, this, [this, command = QString(entry.command)] { emit commandRequested(command); });
        row->addWidget(button);
        row->addStretch(1);
        row->addWidget(words(entry.key, "small", "meta", part));
        column->addLayout(row);
    }
    QLabel* const drop =
        words(tr("or drop a .tflite, .circle, .pb, .pbtxt, SavedModel folder, recording or session on the window"), "", "meta", part);
    drop->setWordWrap(true);
    column->addWidget(drop);
    column->addSpacing(20);
    column->addWidget(words(tr("Recent"), "section", "", part));
    column->addSpacing(4);
    m_recent = new QVBoxLayout;
    m_recent->setSpacing(2);
    column->addLayout(m_recent);
    return part;
}

void WelcomePage::showRecent()
{
    while (QLayoutItem* const item = m_recent->takeAt(0)) {
        delete item->widget();
        delete item;
    }
    int shown = 0;
    for (const QJsonValue& value : m_settings.value("recent").toArray()) {
        const QJsonObject recent = value.toObject();
        const QString path = recent["path"].toString();
        if (!QFileInfo::exists(path) || ++shown > 6) continue;
        auto* const part = new QWidget(this);
        auto* const grid = new QGridLayout(part);
        grid->setContentsMargins(0, 0, 0, 4);
        grid->setSpacing(0);
        const QFontMetrics metrics(Theme::instance().font(FontUse::body));
        QPushButton* const button = link(metrics.elidedText(recent["name"].toString(), Qt::ElideMiddle, scaled(200)), part);
        button->setStyleSheet("padding: 0; text-align: left;");
        button->setToolTip(path);
        connect(button, &QPushButton::clicked, this, [this, path] { emit fileRequested(path); });
        grid->addWidget(button, 0, 0, Qt::AlignLeft);
        grid->addWidget(words(agoText(recent["time"].toInteger()), "small", "meta", part), 0, 1, Qt::AlignRight);
        const QString note = recent["note"].toString();
        const QFontMetrics small(Theme::instance().font(FontUse::small));
        const QString second = note.isEmpty() ? QFileInfo(path).absolutePath() : note;
        grid->addWidget(words(small.elidedText(second, Qt::ElideMiddle, scaled(kStart) - 4), "small", "meta", part), 1, 0, 1, 2);
        m_recent->addWidget(part);
    }
    if (shown > 0) return;
    QLabel* const nothing = words(tr("Nothing yet: open a sample."), "", "meta", this);
    nothing->setWordWrap(true);
    m_recent->addWidget(nothing);
}

QWidget* WelcomePage::sampleGrid()
{
    auto* const part = new QWidget(this);
    m_grid = new QGridLayout(part);
    m_grid->setContentsMargins(0, 0, 0, 0);
    m_grid->setSpacing(kCardGap);
    m_grid->setVerticalSpacing(kCardGap);
    QLabel* const heading =
        words(m_samples.empty() ? tr("The samples are not installed") : tr("Samples: each opens, stops inside and shows one thing"),
              "section", "", part);
    heading->setWordWrap(true);
    m_grid->addWidget(heading, 0, 0, 1, 2);
    for (size_t i = 0; i < m_samples.size() && i < 4; ++i) {
        const Services::Sample& sample = m_samples[i];
        auto* const card = new QFrame(part);
        card->setObjectName(i == 0 ? "cardFirst" : "card");
        card->setMinimumHeight(108);
        auto* const row = new QHBoxLayout(card);
        row->setContentsMargins(12, 10, 12, 10);
        row->setSpacing(14);
        row->addWidget(new Thumbnail(static_cast<int>(i), card));
        auto* const text = new QVBoxLayout;
        text->setSpacing(2);
        QLabel* const title = words(QString::fromStdString(sample.title), "section", "", card);
        title->setWordWrap(true);
        text->addWidget(title);
        QLabel* const about = words(QString::fromStdString(sample.text), "", "dim", card);
        about->setWordWrap(true);
        text->addWidget(about);
        text->addStretch(1);
        auto* const button = new QPushButton(QString::fromStdString(sample.button), card);
        button->setObjectName(QStringLiteral("sampleCard%1").arg(i));
        button->setProperty("primary", i == 0);
        connect(button, &QPushButton::clicked, this, [this, i] { emit sampleRequested(static_cast<int>(i)); });
        text->addWidget(button, 0, Qt::AlignLeft);
        row->addLayout(text, 1);
        m_cards.append(card);
        m_cardWide.append(card);
        if (i == 0) setFocusProxy(button);
    }
    return part;
}

QWidget* WelcomePage::keyColumn()
{
    auto* const part = new QWidget(this);
    auto* const column = new QVBoxLayout(part);
    column->setContentsMargins(0, 0, 28, 0);
    column->setSpacing(6);
    column->addWidget(words(tr("Keys"), "section", "", part));
    column->addSpacing(2);
    const std::pair<QString, QStringList> rows[] = {{tr("Continue, pause"), {"F5", "F6"}},
                                                    {tr("Over, into, out"), {"F10", "F11", "Shift+F11"}},
                                                    {tr("Backwards: Alt and the same"), {"Alt+F10", "Alt+F11"}},
                                                    {tr("Iteration back, forward"), {"Ctrl+PgUp", "Ctrl+PgDown"}},
                                                    {tr("Breakpoint here"), {"F9"}},
                                                    {tr("Everything"), {"Ctrl+Shift+P"}},
                                                    {tr("All keys"), {"F1"}}};
    for (const auto& [text, keys] : rows) {
        auto* const row = new QHBoxLayout;
        row->setSpacing(6);
        row->addWidget(words(text, "", "dim", part));
        row->addStretch(1);
        for (const QString& key : keys) row->addWidget(keyCap(key, part));
        column->addLayout(row);
    }
    return part;
}

QWidget* WelcomePage::programColumn()
{
    auto* const part = new QWidget(this);
    auto* const column = new QVBoxLayout(part);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(6);
    column->addWidget(words(tr("This program"), "section", "", part));
    column->addSpacing(2);
    for (const QString& text : {tr("Makes no network connections. Reads the file you open and nothing else."),
                                tr("Numbers come from its own interpreter: reference kernels, bit-equal to the reference."),
                                tr("Every click is also a command: see the console.")}) {
        QLabel* const label = words(text, "", "dim", part);
        label->setWordWrap(true);
        column->addWidget(label);
    }
    column->addSpacing(4);
    auto* const chips = new QHBoxLayout;
    chips->setSpacing(8);
    const std::pair<const char*, QString> themes[] = {
        {"light", tr("Light")}, {"dark", tr("Dark")}, {"contrast", tr("High contrast")}, {"system", tr("Follow the system")}};
    for (const auto& [name, label] : themes) {
        auto* const chip = new QPushButton(label, part);
        chip->setProperty("chip", true);
        chip->setProperty("theme", name);
        chip->setCheckable(true);
        connect(chip, &QPushButton::clicked, this, [this, theme = QString(name)] { emit themeRequested(theme); });
        chips->addWidget(chip);
        m_themes.append(chip);
    }
    chips->addStretch(1);
    column->addLayout(chips);
    return part;
}

void WelcomePage::showTheme()
{
    const Theme& theme = Theme::instance();
    const char* const now = theme.followsSystem()                     ? "system"
                            : theme.name() == ThemeName::dark         ? "dark"
                            : theme.name() == ThemeName::highContrast ? "contrast"
                                                                      : "light";
    for (QPushButton* const chip : m_themes) chip->setChecked(chip->property("theme").toString() == QLatin1String(now));
}

} // namespace loopscope::viewer
