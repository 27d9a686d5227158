#include "viewer/tensor/pinned_tensors.h"

#include "viewer/bridge/text.h"

#include <algorithm>

namespace loopscope::viewer {

PinnedTensors::PinnedTensors(Document& document, QWidget* parent) : QTabBar(parent), m_document(document)
{
    setObjectName("tensorPins");
    addTab("Tensor");
    setDrawBase(false);
    hide();
    connect(this, &QTabBar::currentChanged, this,
            [this](int index) { emit chosen(index > 0 ? m_pins[static_cast<size_t>(index) - 1] : m_document.selection()); });
    connect(this, &QTabBar::tabCloseRequested, this, &PinnedTensors::remove);
}

void PinnedTensors::add(const Selection& selection)
{
    const Model& model = m_document.model();
    if (!selection.value.valid() || !model.hasGraph(selection.graph)) return;
    m_pins.push_back(selection);
    addTab(toText(model.graph(selection.graph).value(selection.value).id) + " pinned");
    setTabsClosable(true);
    if (auto* const close = tabButton(0, QTabBar::RightSide)) close->hide();
    show();
    emit edited();
}

void PinnedTensors::remove(int index)
{
    if (index <= 0) return;
    m_pins.erase(m_pins.begin() + index - 1);
    removeTab(index);
    setVisible(!m_pins.empty());
    emit edited();
}

void PinnedTensors::clear()
{
    while (!m_pins.empty()) remove(1);
}

QJsonArray PinnedTensors::entries() const
{
    QJsonArray pins;
    for (const Selection& each : m_pins) pins.append(toText(staticAddress(m_document.valueAddress(each))));
    return pins;
}

void PinnedTensors::restore(const QJsonArray& entries)
{
    clear();
    for (const QJsonValue& each : entries)
        if (const std::optional<Selection> found = m_document.find(each.toString().toStdString())) add(*found);
}

void PinnedTensors::askRange()
{
    std::vector<ValueRequest> questions;
    const bool started = m_document.stop()->started;
    for (const Selection& each : m_pins) {
        if (m_document.model().graph(each.graph).value(each.value).role != ValueRole::constant && !started) continue;
        ValueRequest question;
        question.address = m_document.valueAddress(each);
        question.graph = each.graph;
        question.value = each.value;
        question.frame = m_document.frame();
        question.elsewhere = !m_document.lookedAt().empty();
        questions.push_back(std::move(question));
    }
    m_document.bridge().ask(
        this, "pinned range",
        [questions, &model = m_document.model()](Inspector& inspector) {
            std::optional<ValueRange> all;
            for (const ValueRequest& question : questions) {
                const bool isConstant = model.graph(question.graph).value(question.value).role == ValueRole::constant;
                const ValueAnswer answer = isConstant ? readConstant(model, question) : readValue(inspector, question);
                if (!answer.present && !answer.statisticsOnly) continue;
                const bool known = answer.hasStatistics && answer.statistics.finite > 0;
                const ValueRange one =
                    known ? ValueRange{answer.statistics.min, answer.statistics.max} : rangeOf(answer.grid, RangeMode::robust);
                all = all ? ValueRange{std::min(all->low, one.low), std::max(all->high, one.high)} : one;
            }
            return all;
        },
        [this](std::optional<ValueRange> range) {
            m_range = range;
            emit rangeChanged();
        });
}

} // namespace loopscope::viewer
