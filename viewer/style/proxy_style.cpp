// Fusion, with the drawing of docs/desktop.md where Fusion has its own.
#include "viewer/style/proxy_style.h"

#include "viewer/style/theme.h"

#include <QPainter>
#include <QPainterPath>
#include <QStyleFactory>
#include <QStyleOption>

namespace loopscope::viewer {

namespace {

/// A filled triangle in the middle of `box`, its tip `right` or down.
void drawArrow(QPainter& painter, const QRectF& box, double angle, const QColor& color)
{
    painter.save();
    painter.setRenderHint(QPainter::Antialiasing);
    painter.translate(box.center());
    painter.rotate(angle);
    painter.setPen(Qt::NoPen);
    painter.setBrush(color);
    QPainterPath path;
    path.moveTo(-2, -3.5);
    path.lineTo(2.5, 0);
    path.lineTo(-2, 3.5);
    path.closeSubpath();
    painter.drawPath(path);
    painter.restore();
}

} // namespace

ProxyStyle::ProxyStyle() : QProxyStyle(QStyleFactory::create(QStringLiteral("Fusion"))) {}

int ProxyStyle::pixelMetric(PixelMetric metric, const QStyleOption* option, const QWidget* widget) const
{
    switch (metric) {
    case PM_SmallIconSize:
    case PM_ButtonIconSize:
    case PM_ToolBarIconSize:
    case PM_ListViewIconSize:
    case PM_TabBarIconSize: return 16;
    case PM_TreeViewIndentation: return 12;
    case PM_HeaderDefaultSectionSizeVertical: return Theme::instance().rowHeight();
    case PM_SplitterWidth: return 4;
    case PM_DefaultFrameWidth: return 1;
    case PM_FocusFrameHMargin: return 2;
    default: return QProxyStyle::pixelMetric(metric, option, widget);
    }
}

int ProxyStyle::styleHint(StyleHint hint, const QStyleOption* option, const QWidget* widget, QStyleHintReturn* data) const
{
    switch (hint) {
    case SH_UnderlineShortcut: return Theme::instance().mnemonicsShown() ? 1 : 0;
    case SH_EtchDisabledText:
    case SH_ScrollBar_Transient: return 0;
    case SH_ToolTip_WakeUpDelay: return 400;
    case SH_ScrollBar_LeftClickAbsolutePosition: return 0;
    case SH_ItemView_ShowDecorationSelected: return 1; // a row is selected from edge to edge
    case SH_DialogButtonBox_ButtonsHaveIcons: return 0;
    default: return QProxyStyle::styleHint(hint, option, widget, data);
    }
}

QSize ProxyStyle::sizeFromContents(ContentsType type, const QStyleOption* option, const QSize& size, const QWidget* widget) const
{
    QSize found = QProxyStyle::sizeFromContents(type, option, size, widget);
    if (type == CT_ItemViewItem) found.setHeight(std::max(size.height(), Theme::instance().rowHeight()));
    return found;
}

void ProxyStyle::drawPrimitive(PrimitiveElement element, const QStyleOption* option, QPainter* painter, const QWidget* widget) const
{
    switch (element) {
    case PE_IndicatorBranch:
        if (option->state & State_Children) drawArrow(*painter, option->rect, option->state & State_Open ? 90 : 0, themed(Token::text2));
        return;
    case PE_IndicatorArrowRight: drawArrow(*painter, option->rect, 0, themed(Token::text2)); return;
    case PE_IndicatorArrowDown: drawArrow(*painter, option->rect, 90, themed(Token::text2)); return;
    case PE_IndicatorArrowLeft: drawArrow(*painter, option->rect, 180, themed(Token::text2)); return;
    case PE_IndicatorArrowUp: drawArrow(*painter, option->rect, 270, themed(Token::text2)); return;
    case PE_FrameFocusRect: {
        painter->save();
        painter->setPen(QPen(themed(Token::text), 1, Qt::DotLine));
        painter->setBrush(Qt::NoBrush);
        painter->drawRect(option->rect.adjusted(0, 0, -1, -1));
        painter->restore();
        return;
    }
    default: QProxyStyle::drawPrimitive(element, option, painter, widget);
    }
}

} // namespace loopscope::viewer
