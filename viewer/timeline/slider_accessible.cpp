#include "viewer/timeline/slider_accessible.h"

#include "viewer/timeline/loop_slider.h"
#include "viewer/timeline/timeline_bar.h"

#include <QAccessibleWidget>

namespace loopscope::viewer {

namespace {

class AccessibleSlider : public QAccessibleWidget, public QAccessibleValueInterface {
public:
    explicit AccessibleSlider(QWidget* widget) : QAccessibleWidget(widget, QAccessible::Slider) {}

    void* interface_cast(QAccessible::InterfaceType type) override
    {
        return type == QAccessible::ValueInterface ? static_cast<QAccessibleValueInterface*>(this)
                                                   : QAccessibleWidget::interface_cast(type);
    }
    QString text(QAccessible::Text kind) const override
    {
        if (kind != QAccessible::Value) return QAccessibleWidget::text(kind);
        if (const auto* bar = qobject_cast<const TimelineBar*>(widget())) return bar->valueText();
        return qobject_cast<const LoopSlider*>(widget())->valueText();
    }
    QVariant currentValue() const override
    {
        if (const auto* bar = qobject_cast<const TimelineBar*>(widget())) return static_cast<qlonglong>(bar->cursorIteration());
        return static_cast<qlonglong>(qobject_cast<const LoopSlider*>(widget())->position());
    }
    void setCurrentValue(const QVariant& value) override
    {
        if (auto* bar = qobject_cast<TimelineBar*>(widget())) emit bar->iterationReleased(value.toLongLong());
        else emit qobject_cast<LoopSlider*>(widget())->released(value.toLongLong());
    }
    QVariant minimumValue() const override { return 0; }
    QVariant maximumValue() const override
    {
        if (const auto* bar = qobject_cast<const TimelineBar*>(widget())) {
            const TimelineContent& content = bar->content();
            if (content.course == nullptr || content.loop < 0) return 0;
            return static_cast<qlonglong>(content.course->loops()[static_cast<size_t>(content.loop)].iterations.size());
        }
        return static_cast<qlonglong>(qobject_cast<const LoopSlider*>(widget())->count());
    }
    QVariant minimumStepSize() const override { return 1; }
};

QAccessibleInterface* factory(const QString&, QObject* object)
{
    if (qobject_cast<TimelineBar*>(object) != nullptr || qobject_cast<LoopSlider*>(object) != nullptr)
        return new AccessibleSlider(static_cast<QWidget*>(object));
    return nullptr;
}

} // namespace

void installSliderAccessibility()
{
    static const bool installed = [] {
        QAccessible::installFactory(factory);
        return true;
    }();
    static_cast<void>(installed);
}

} // namespace loopscope::viewer
