#include "viewer/canvas/callee_pane.h"

#include "viewer/style/icons.h"
#include "viewer/style/theme.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QToolButton>
#include <QVBoxLayout>

namespace loopscope::viewer {

namespace {

constexpr int kHeadHeight = 24;

} // namespace

CalleePane::CalleePane(Document& document, QWidget* parent)
    : QWidget(parent),
      m_document(document),
      m_pane(new GraphPane(document, this)),
      m_name(new QLabel(this)),
      m_close(new QToolButton(this))
{
    setObjectName(QStringLiteral("calleePane"));
    m_pane->canvas().setObjectName(QStringLiteral("calleeCanvas"));
    m_pane->canvas().setAccessibleName(tr("Callee"));
    m_name->setObjectName(QStringLiteral("calleeName"));
    m_name->setProperty("type", "value");
    m_name->setProperty("tone", "dim");
    m_name->setMinimumWidth(1);
    m_close->setObjectName(QStringLiteral("calleeClose"));
    m_close->setProperty("place", "head");
    m_close->setIcon(themedIcon(QStringLiteral("close")));
    m_close->setIconSize(QSize(16, 16));
    m_close->setAutoRaise(true);
    m_close->setFocusPolicy(Qt::TabFocus);
    m_close->setAccessibleName(tr("Close the callee"));
    m_close->setToolTip(tr("Close the callee (Ctrl+Shift+Return)"));
    connect(m_close, &QToolButton::clicked, this, &CalleePane::closeRequested);

    auto* head = new QHBoxLayout;
    head->setContentsMargins(8, 0, 4, 0);
    head->addWidget(m_name, 1);
    head->addWidget(m_close);
    auto* top = new QWidget(this);
    top->setFixedHeight(kHeadHeight);
    top->setLayout(head);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(0);
    column->addWidget(top);
    column->addWidget(m_pane, 1);
    setFocusProxy(m_pane);
    connect(&document, &Document::stopChanged, this, &CalleePane::showName);
    connect(&Theme::instance(), &Theme::changed, this, &CalleePane::showName);
}

void CalleePane::setRoot(const std::string& root)
{
    m_root = root;
    showName();
}

/// "while#1@37:body": the call, with its iteration while that runs.
void CalleePane::showName()
{
    const QString address = QString::fromStdString(m_document.atStop(m_root));
    m_name->setToolTip(address);
    const QFontMetrics metrics(m_name->font());
    m_name->setText(metrics.elidedText(address, Qt::ElideMiddle, std::max(40, width() - 48)));
}

void CalleePane::resizeEvent(QResizeEvent* event)
{
    QWidget::resizeEvent(event);
    showName();
}

} // namespace loopscope::viewer
