#include "viewer/window/result_strip.h"

#include "engine/ir/ids.h"
#include "engine/tensor/value_text.h"
#include "viewer/bridge/text.h"
#include "viewer/compare/class_scores.h"
#include "viewer/style/theme.h"
#include "viewer/tensor/value_source.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QToolButton>

#include <algorithm>
#include <cmath>

namespace loopscope::viewer {

namespace {

constexpr size_t kMostResults = 12;
constexpr int64_t kMostPixels = int64_t{1} << 22;
constexpr int kPictureSide = 40;

/// What an output means: the class with the highest score, else its first elements.
QString valueOf(const Graph& root, ValueId output, const Tensor& tensor, const std::vector<std::string>* labels)
{
    if (isOfScores(root, output))
        if (const std::optional<TopClasses> top = topClassesOf(tensor, tensor)) {
            const QString label = labels != nullptr ? toText(labelOf(*labels, *top, top->here)) : QString();
            return QObject::tr("class %1 %2%3")
                .arg(top->here)
                .arg(label.isEmpty() ? QString() : label + QLatin1Char(' '))
                .arg(QString::number(elementAsReal(tensor, top->here), 'g', 4));
        }
    return toText(firstElements(tensor, 4).text).replace(QLatin1Char('-'), QChar(0x2212));
}

QImage pictureOf(const ImagePixels& pixels)
{
    QImage image(pixels.width, pixels.height, QImage::Format_RGB32);
    const double span = pixels.range.high > pixels.range.low ? pixels.range.high - pixels.range.low : 1;
    for (int y = 0; y < pixels.height; ++y)
        for (int x = 0; x < pixels.width; ++x) {
            const auto sample = [&](int channel) {
                const int c = pixels.channels < 3 ? 0 : channel;
                const double v = pixels.values[static_cast<size_t>((y * pixels.width + x) * pixels.channels + c)];
                return std::isfinite(v) ? static_cast<int>(std::clamp((v - pixels.range.low) / span * 255, 0.0, 255.0)) : 0;
            };
            image.setPixel(x, y, qRgb(sample(0), sample(1), sample(2)));
        }
    return image.scaled(kPictureSide, kPictureSide, Qt::KeepAspectRatio, Qt::SmoothTransformation);
}

std::vector<ResultStrip::Output> resultsOf(Inspector& inspector, const std::vector<std::string>& names,
                                           const std::vector<std::string>* labels)
{
    std::vector<ResultStrip::Output> results;
    if (!inspector.isStarted() || !inspector.position().finished) return results;
    const Graph& root = inspector.model().graph(inspector.root());
    for (size_t i = 0; i < root.outputs.size() && i < kMostResults; ++i) {
        const Tensor& tensor = inspector.output(static_cast<int>(i));
        ResultStrip::Output one;
        one.output = root.outputs[i].value;
        one.name = toText(i < names.size() ? names[i] : root.outputs[i].name);
        one.type = toText(shortType(tensor));
        if (tensor.data == nullptr) {
            one.value = QObject::tr("not recorded");
        } else {
            one.value = valueOf(root, one.output, tensor, labels);
            if (isFloat(tensor.dtype)) {
                const TensorStatistics statistics = computeStatistics(tensor);
                one.nan = statistics.nan;
                one.infinite = statistics.positiveInf + statistics.negativeInf;
            }
            if (isImageShape(tensor.shape) && tensor.elementCount() <= kMostPixels) {
                ValueAnswer answer;
                ValueRequest request;
                request.wantsImage = true;
                fillAnswer(answer, tensor, request);
                if (answer.image && !answer.image->isMosaic()) one.picture = pictureOf(*answer.image);
            }
        }
        results.push_back(std::move(one));
    }
    return results;
}

} // namespace

ResultStrip::ResultStrip(QWidget* parent) : QFrame(parent)
{
    setObjectName("resultStrip");
    setAccessibleName(tr("Results"));
    setAttribute(Qt::WA_StyledBackground);
    m_row = new QHBoxLayout(this);
    m_row->setContentsMargins(8, 3, 8, 3);
    m_row->setSpacing(6);
    const auto restyle = [this] {
        setStyleSheet(QStringLiteral("#resultStrip { background: %1; border-top: 1px solid %2; }")
                          .arg(themed(Token::raised).name(), themed(Token::line).name()));
    };
    restyle();
    connect(&Theme::instance(), &Theme::changed, this, restyle);
    hide();
}

void ResultStrip::clear()
{
    while (QLayoutItem* const item = m_row->takeAt(0)) {
        if (item->widget()) item->widget()->deleteLater();
        delete item;
    }
}

void ResultStrip::follow(Document* document)
{
    if (document == nullptr || !document->stop()->finished || document->stop()->failed) return hide();
    std::vector<std::string> names;
    for (const Port& port : document->backend().session().target().outputs) names.push_back(port.name);
    const qsizetype all = std::ssize(names);
    document->bridge().ask(
        this, QStringLiteral("results"),
        [names, labels = document->stop()->compared.labelsHere](Inspector& inspector) { return resultsOf(inspector, names, labels.get()); },
        [this, document = QPointer(document), all](const std::vector<Output>& results) {
            if (document && document->stop()->finished && !results.empty()) show(*document, results, all - std::ssize(results));
        });
}

void ResultStrip::show(Document& document, const std::vector<Output>& results, qsizetype more)
{
    clear();
    auto* const head = new QLabel(tr("Results"), this);
    Theme::instance().wear(*head, FontUse::small, true);
    m_row->addWidget(head);
    for (const Output& one : results) {
        auto* const button = new QToolButton(this);
        button->setObjectName("result." + one.name);
        button->setAutoRaise(true);
        button->setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
        QString text = one.name + QStringLiteral("  ") + one.type;
        if (one.picture.isNull()) text += QStringLiteral("  ") + one.value;
        else {
            button->setIcon(QPixmap::fromImage(one.picture));
            button->setIconSize(one.picture.size());
        }
        if (one.nan > 0) text += QStringLiteral("  NaN %1").arg(one.nan);
        if (one.infinite > 0) text += QStringLiteral("  Inf %1").arg(one.infinite);
        button->setText(text);
        const auto restyle = [button, tone = one.nan + one.infinite > 0 ? Token::err : Token::text] {
            button->setStyleSheet(QStringLiteral("QToolButton { font-size: %1px; color: %2; padding: 1px 6px; }")
                                      .arg(Theme::instance().font(FontUse::value).pixelSize())
                                      .arg(themed(tone).name()));
        };
        restyle();
        connect(&Theme::instance(), &Theme::changed, button, restyle);
        button->setToolTip(one.name + QLatin1Char('\n') + one.type + QLatin1Char('\n') + one.value);
        connect(button, &QToolButton::clicked, this, [this, document = QPointer(&document), output = one.output] {
            if (!document) return;
            const GraphId root = document->backend().session().target().graph;
            const Graph& graph = document->model().graph(root);
            Selection selection;
            selection.graph = root;
            selection.value = output;
            selection.op = graph.value(output).producer;
            selection.address = graph.id;
            if (selection.op.valid()) selection.address += "/" + addressSite(graph.op(selection.op), selection.op.index);
            document->select(selection);
            emit chosen();
        });
        m_row->addWidget(button);
    }
    if (more > 0) m_row->addWidget(new QLabel(tr("and %1 more").arg(more), this));
    m_row->addStretch(1);
    setVisible(true);
}

} // namespace loopscope::viewer
