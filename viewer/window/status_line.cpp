#include "viewer/window/status_line.h"

#include "engine/observe/address.h"
#include "engine/observe/address_names.h"
#include "viewer/bridge/document.h"
#include "viewer/style/icons.h"
#include "viewer/style/theme.h"
#include "viewer/widgets/parts.h"
#include "viewer/window/accessibility.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QLocale>
#include <QPushButton>
#include <QRegularExpression>
#include <QTimer>

namespace loopscope::viewer {

namespace {

constexpr int kSayMs = 8000;

QString grouped(qint64 number) { return QLocale(QLocale::English).toString(number); }

QString megabytes(uint64_t bytes)
{
    if (bytes < (100U << 10)) return QString::number((bytes + 1023) >> 10) + QStringLiteral(" KiB");
    return QString::number(static_cast<double>(bytes) / (1 << 20), 'f', 1) + QStringLiteral(" MiB");
}

/// Where values lie that are kept for long; empty, where nothing but memory is used.
QString keptText(const StopSnapshot& stop)
{
    QStringList parts;
    if (stop.kept.onDisk > 0 || stop.kept.inMemory > 0)
        parts += StatusLine::tr("kept %1, on disk %2").arg(megabytes(stop.kept.inMemory), megabytes(stop.kept.onDisk));
    if (stop.deviceBytes > 0) parts += StatusLine::tr("on devices %1").arg(megabytes(static_cast<uint64_t>(stop.deviceBytes)));
    return parts.join(QStringLiteral(", "));
}

QString browsedText(const Document& document)
{
    size_t operators = 0, values = 0;
    for (const Graph& graph : document.model().graphs) {
        operators += graph.operators.size();
        values += graph.values.size();
    }
    const size_t graphs = document.model().graphs.size();
    return grouped(static_cast<qint64>(operators)) + (operators == 1 ? " operator, " : " operators, ") +
           grouped(static_cast<qint64>(values)) + (values == 1 ? " tensor, " : " tensors, ") + grouped(static_cast<qint64>(graphs)) +
           (graphs == 1 ? " subgraph" : " subgraphs");
}

} // namespace

QString failureText(const QString& error)
{
    const qsizetype colon = error.indexOf(QLatin1String(": "));
    const QString place = error.left(colon);
    if (colon < 0 || !parseAddress(place.toStdString()).ok()) return error;
    // The constraint's number is for who looks it up; the console has it.
    static const QRegularExpression number("^C[0-9]+: ");
    QString what = error.mid(colon + 2);
    what.remove(number);
    return QStringLiteral("%1 failed: %2").arg(QString::fromStdString(lastPart(place.toStdString())), what);
}

QString stopReasonText(const Document& document)
{
    const StopSnapshot& stop = *document.stop();
    QStringList parts;
    for (const StopReason& reason : stop.report.reasons) {
        if (reason.cause == StopCause::finished) continue; // the state says it
        if (reason.cause == StopCause::error) {
            parts.append(QStringLiteral("%1, step %2").arg(QString::fromStdString(lastPart(stop.address)), grouped(stop.position.step)));
            continue;
        }
        QString text = QString::fromStdString(toString(reason));
        if (reason.cause == StopCause::breakpoint && reason.number > 0)
            for (const BreakpointRow& row : stop.breakpoints)
                if (row.number == reason.number) {
                    text = QStringLiteral("breakpoint %1 on %2")
                               .arg(reason.number)
                               .arg(QString::fromStdString(row.where).section(" in ", 0, 0));
                    if (!row.condition.empty()) text += ", " + QString::fromStdString(row.condition);
                }
        parts.append(text);
    }
    if (parts.isEmpty() || (parts.size() == 1 && parts[0] == "step done"))
        return QStringLiteral("step %1").arg(grouped(stop.position.step));
    return parts.join(QStringLiteral(" · also "));
}

StatusLine::StatusLine(QWidget* parent) : QWidget(parent)
{
    setObjectName("statusLine");
    m_row = new QHBoxLayout(this);
    m_row->setContentsMargins(10, 1, 10, 0);
    m_row->setSpacing(0);
    m_icon = new QLabel(this);
    m_icon->setContentsMargins(0, 0, 5, 0);
    m_row->addWidget(m_icon);
    m_state = label("statusState", false);
    m_reason = label("statusReason", true);
    m_profile = label("statusProfile", true);
    m_memory = label("statusMemory", true);
    m_kept = label("statusKept", true);
    m_kept->setToolTip(tr("Elements of stacks, lists and arrays: how much of them lies in memory, and how much on disk"));
    m_progress = label("statusProgress", true);
    m_cancel = new QPushButton(tr("Cancel (Esc)"), this);
    m_cancel->setObjectName("statusCancel");
    m_cancel->setProperty("link", true);
    m_row->addWidget(m_cancel);
    m_row->addStretch(1);
    m_seed = label("statusSeed", false);
    m_recording = label("statusRecording", true);
    auto* const last = new QFrame(this);
    last->setProperty("line", true);
    last->setFixedSize(1, 14);
    m_row->addSpacing(10);
    m_row->addWidget(last);
    m_row->addSpacing(8);
    m_density = new QPushButton(this);
    m_density->setObjectName("statusDensity");
    m_density->setFlat(true);
    m_density->setFocusPolicy(Qt::TabFocus);
    m_density->setToolTip(tr("Dense or comfortable rows"));
    m_row->addWidget(m_density);
    m_saying = new QTimer(this);
    m_saying->setSingleShot(true);
    connect(m_saying, &QTimer::timeout, this, [this] {
        m_said.clear();
        show(m_document);
    });
    connect(m_cancel, &QPushButton::clicked, this, &StatusLine::cancelRequested);
    connect(m_density, &QPushButton::clicked, this, &StatusLine::densityClicked);
    const auto restyle = [this] {
        setFixedHeight(Theme::instance().barHeight(22));
        setStyleSheet(
            QStringLiteral(
                "#statusLine { border-top: 1px solid %1; background: %2; } QFrame[line=\"true\"] { background: %1; } QLabel { color: %3; "
                "font-size: %4px; } "
                "QPushButton { border: 0; background: transparent; padding: 0 2px; min-height: 18px; color: %3; font-size: %4px; } "
                "QPushButton#statusCancel { color: %5; } QPushButton:focus { border: 1px dotted %3; padding: 0 1px; }")
                .arg(themed(Token::line).name(), themed(Token::window).name(), themed(Token::text2).name())
                .arg(Theme::instance().font(FontUse::small).pixelSize())
                .arg(themed(Token::accent).name()));
        show(m_document);
    };
    setAttribute(Qt::WA_StyledBackground);
    installStatusReader();
    restyle();
    connect(&Theme::instance(), &Theme::changed, this, restyle);
    clearWork();
}

QLabel* StatusLine::label(const QString& name, bool separated)
{
    auto* const made = new ElidedLabel(this);
    made->setObjectName(name);
    if (separated) {
        auto* const line = new QFrame(this);
        line->setProperty("line", true);
        line->setFixedSize(1, 14);
        line->setObjectName(name + "Line");
        m_row->addSpacing(10);
        m_row->addWidget(line);
        m_row->addSpacing(10);
    }
    m_row->addWidget(made);
    return made;
}

void StatusLine::setState(const char* icon, const QString& word, int token)
{
    const QColor color = themed(static_cast<Token>(token));
    m_icon->setVisible(icon != nullptr);
    if (icon) m_icon->setPixmap(iconPixmap(icon, Theme::instance().barHeight(12), color, devicePixelRatioF()));
    m_state->setText(word);
    m_state->setStyleSheet(icon ? QStringLiteral("color: %1; font-weight: 600;").arg(color.name()) : QString());
}

QString StatusLine::stateText() const { return m_state->text(); }

void StatusLine::show(Document* document)
{
    m_document = document;
    m_density->setText(Theme::instance().dense() ? tr("dense") : tr("comfortable"));
    const auto set = [this](QLabel* label, const QString& text) {
        label->setText(text);
        label->setVisible(!text.isEmpty());
        if (auto* const line = findChild<QFrame*>(label->objectName() + "Line")) line->setVisible(!text.isEmpty());
    };
    if (!document) {
        setState(nullptr, tr("Ready"), static_cast<int>(Token::text2));
        for (QLabel* const each : {m_profile, m_memory, m_kept, m_seed, m_recording}) set(each, {});
        set(m_reason, m_said);
        setAccessibleName(spokenStatus(m_state->text(), m_said, nullptr));
        return;
    }
    const StopSnapshot& stop = *document->stop();
    const bool replay = document->backend().isReplay();
    if (document->bridge().busy()) setState("continue", tr("Running"), static_cast<int>(Token::ok));
    else if (!stop.started) setState(nullptr, browsedText(*document), static_cast<int>(Token::text2));
    else if (stop.failed) setState("error", tr("Stopped on an error"), static_cast<int>(Token::err));
    else if (stop.finished) setState("stop", tr("Finished"), static_cast<int>(Token::text));
    else setState("pause", replay ? tr("Replaying") : tr("Stopped"), static_cast<int>(Token::curLine));
    const bool busy = document->bridge().busy();
    if (stop.tick != m_saidAt) m_said.clear(); // the run has moved on: why it stopped counts more
    set(m_reason, !m_said.isEmpty() ? m_said : stop.started && !busy ? stopReasonText(*document) : QString());
    if (!busy) setAccessibleName(spokenStatus(m_state->text(), m_reason->text(), document)); // read out; "running" would be noise
    // The backend belongs to its thread while a command runs.
    if (!busy) {
        set(m_profile, replay ? tr("a recording") : QString::fromStdString(document->backend().profile()) + tr(" kernels"));
        set(m_seed, replay ? QString() : tr("seed %1").arg(document->backend().seed()));
        set(m_recording, replay ? QString() : document->backend().isRecording() ? tr("recording") : tr("not recording"));
    }
    set(m_memory, stop.started ? tr("undo %1, %2, %3")
                                     .arg(stop.position.step == 1 ? tr("1 step") : tr("%1 steps").arg(grouped(stop.position.step)))
                                     .arg(stop.checkpoints == 1 ? tr("1 checkpoint") : tr("%1 checkpoints").arg(stop.checkpoints))
                                     .arg(megabytes(stop.savedBytes))
                               : QString());
    set(m_kept, stop.started ? keptText(stop) : QString());
}

void StatusLine::showWork(const QString& text)
{
    m_progress->setText(text);
    m_progress->show();
    findChild<QFrame*>("statusProgressLine")->show();
    m_cancel->show();
}

void StatusLine::clearWork()
{
    m_progress->hide();
    findChild<QFrame*>("statusProgressLine")->hide();
    m_cancel->hide();
}

void StatusLine::showProgress(const QString& what, qint64 tick, qint64 target, qint64 from)
{
    QString text = what;
    if (target > from) text += QStringLiteral(" · %1 %").arg(std::clamp<qint64>(100 * (tick - from) / (target - from), 0, 100));
    else if (target >= 0 && target < from)
        text += QStringLiteral(" · %1 %").arg(std::clamp<qint64>(100 * (from - tick) / (from - target), 0, 100));
    else text += QStringLiteral(" · step %1").arg(grouped(tick));
    showWork(text);
}

void StatusLine::say(const QString& text)
{
    m_said = text;
    m_saidAt = m_document ? m_document->stop()->tick : Tick(-1);
    m_saying->start(kSayMs);
    show(m_document);
}

} // namespace loopscope::viewer
