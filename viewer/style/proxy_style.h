// What a style sheet cannot say: arrows of trees and combo boxes in our colours, row heights, focus rings.
#pragma once

#include <QProxyStyle>

namespace loopscope::viewer {

class ProxyStyle : public QProxyStyle {
    Q_OBJECT
public:
    ProxyStyle();
    int pixelMetric(PixelMetric metric, const QStyleOption* option, const QWidget* widget) const override;
    int styleHint(StyleHint hint, const QStyleOption* option, const QWidget* widget, QStyleHintReturn* data) const override;
    QSize sizeFromContents(ContentsType type, const QStyleOption* option, const QSize& size, const QWidget* widget) const override;
    void drawPrimitive(PrimitiveElement element, const QStyleOption* option, QPainter* painter, const QWidget* widget) const override;
};

} // namespace loopscope::viewer
