#include "viewer/window/run_bar.h"

#include "viewer/style/icons.h"
#include "viewer/style/theme.h"
#include "viewer/window/address_bar.h"
#include "viewer/window/main_window.h"
#include "viewer/window/window_actions.h"

#include <QAction>
#include <QHBoxLayout>
#include <QLineEdit>
#include <QRegularExpression>
#include <QToolButton>

#include <algorithm>

namespace loopscope::viewer {

namespace {

/// As wide as in the drawing where there is room, narrower in small windows and with large text.
class FindField : public QLineEdit {
public:
    using QLineEdit::QLineEdit;
    QSize sizeHint() const override { return {214, 26}; }
    QSize minimumSizeHint() const override { return {90, 26}; }
};

/// "": a line.
constexpr const char* kButtons[] = {
    "run",        "pause",    "stop",     "restart", "", "stepOver",          "stepInto",      "stepOut", "",
    "reverseRun", "backOver", "backInto", "backOut", "", "previousIteration", "nextIteration", "",        "record"};

/// What goes into the menu together where there is no room, the first first.
const QList<QStringList> kFolds = {
    {"restart"},   {"backOut"}, {"stepOut"}, {"stop"}, {"record"}, {"previousIteration", "nextIteration"}, {"backOver", "backInto"},
    {"reverseRun"}};

} // namespace

RunBar::RunBar(const WindowActions& actions, std::function<void(const QString&)> run, QWidget* parent)
    : ToolRow(parent),
      m_run(std::move(run))
{
    setObjectName("toolbarRun");
    setAttribute(Qt::WA_StyledBackground);
    row()->setContentsMargins(8, 3, 8, 4);
    row()->setSpacing(2);
    addButtons(actions);
    row()->addSpacing(10);
    m_address = new AddressBar(this);
    row()->addWidget(m_address, 1);
    row()->addSpacing(8);
    addFindField();
    addLine();
    addTasks();
    restyle();
    connect(&Theme::instance(), &Theme::changed, this, &RunBar::restyle);
}

void RunBar::addLine()
{
    auto* const separator = new QFrame(this);
    separator->setObjectName("toolSeparator");
    separator->setFixedSize(9, 20); // its middle is drawn
    row()->addWidget(separator);
}

void RunBar::addButtons(const WindowActions& actions)
{
    QMap<QString, QWidget*> buttons;
    for (const char* const command : kButtons) {
        if (!*command) {
            addLine();
            continue;
        }
        auto* const made = new QToolButton(this);
        made->setDefaultAction(actions.of(command));
        made->setObjectName(QStringLiteral("tool.") + command);
        made->setIconSize(QSize(16, 16));
        made->setFixedSize(28, 28);
        made->setFocusPolicy(Qt::TabFocus);
        row()->addWidget(made);
        buttons[command] = made;
    }
    addMenuButton();
    for (const QStringList& together : kFolds) {
        QList<QWidget*> widgets;
        for (const QString& command : together) widgets.append(buttons[command]);
        fold(widgets);
    }
}

void RunBar::addFindField()
{
    m_find = new FindField(this);
    m_find->setObjectName("findField");
    m_find->setAccessibleName(MainWindow::tr("Find in all subgraphs"));
    m_find->setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Fixed);
    QAction* const lens = m_find->addAction(themedIcon("find"), QLineEdit::LeadingPosition);
    connect(&Theme::instance(), &Theme::changed, lens, [lens] { lens->setIcon(themedIcon("find")); });
    row()->addWidget(m_find);
    connect(m_find, &QLineEdit::returnPressed, this, [this] { m_run("findTyped"); });
    connect(m_find, &QLineEdit::textEdited, this, [this] { m_run("findTyping"); });
}

void RunBar::addTasks()
{
    for (int i = 0; i < kTaskCount; ++i) {
        auto* const task = new QToolButton(this);
        const QString name = taskName(static_cast<Task>(i));
        task->setObjectName("task" + name);
        task->setText(name);
        task->setCheckable(true);
        task->setFocusPolicy(Qt::TabFocus);
        connect(task, &QToolButton::clicked, this, [this, i] { m_run(QStringLiteral("task.%1").arg(i + 1)); });
        row()->addWidget(task);
        m_tasks.append(task);
    }
}

void RunBar::restyle()
{
    const Theme& theme = Theme::instance();
    setFixedHeight(theme.barHeight(36));
    m_find->setStyleSheet(QStringLiteral("QLineEdit { min-height: %1px; max-height: %1px; }").arg(theme.barHeight(26) - 2));
    setStyleSheet(
        QStringLiteral("#toolbarRun { background: %1; border-bottom: 1px solid %2; } #toolSeparator { background: %2; margin: 0 4px; } "
                       "#toolMore::menu-indicator { image: none; }")
            .arg(themed(Token::window).name(), themed(Token::line).name()));
    const int grown = (100 + std::max(100, theme.textPercent())) / 2; // by half of what the text grows: there are many
    for (QToolButton* const tool : findChildren<QToolButton*>(QRegularExpression(QStringLiteral("^tool\\.")))) {
        tool->setIconSize(QSize(16, 16) * grown / 100);
        tool->setFixedSize(QSize(28, 28) * grown / 100);
    }
    for (QToolButton* const task : m_tasks) {
        const QFont font = theme.font(FontUse::small);
        task->setFont(font);
        task->setStyleSheet(QStringLiteral("QToolButton { font-size: %1px; padding: 0 8px; min-height: %2px; min-width: %3px; }")
                                .arg(font.pixelSize())
                                .arg(theme.barHeight(28) - 2)
                                .arg(QFontMetrics(font).horizontalAdvance(task->text()) + 2));
        task->ensurePolished(); // refold() asks how wide it must be
    }
    refold();
}

void RunBar::showTask(Task task)
{
    for (int i = 0; i < m_tasks.size(); ++i) m_tasks[i]->setChecked(i == static_cast<int>(task));
}

void RunBar::showKeys(const WindowActions& actions)
{
    for (int i = 0; i < m_tasks.size(); ++i)
        m_tasks[i]->setToolTip(
            tipWithKey(MainWindow::tr("Task %1").arg(taskName(static_cast<Task>(i))), actions.keyOf(QStringLiteral("task.%1").arg(i + 1))));
    m_address->setKey(actions.keyOf("gotoAddress"));
}

void RunBar::setDocumentOpen(bool open)
{
    m_find->setEnabled(open);
    for (QToolButton* const task : std::as_const(m_tasks)) task->setEnabled(open);
}

} // namespace loopscope::viewer
