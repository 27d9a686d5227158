// What the tensor panel offers for the value that is shown: forms of complex numbers, channels of pictures, items of lists, all elements of
// huge values, the way to the last value where there is none.
#include "viewer/tensor/tensor_panel_impl.h"

#include "engine/base/text.h"
#include "engine/observe/address.h"
#include "viewer/bridge/text.h"
#include "viewer/widgets/value_menu.h"

namespace loopscope::viewer {

namespace {

constexpr double kGamma = 2.2;

/// Of a picture: its colours or channels, and how bright it is.
void addChannels(std::vector<ViewOption>& options, const ImagePixels& image, int channel, double gamma,
                 const std::function<void(int)>& setChannel, const std::function<void(double)>& setGamma)
{
    constexpr std::string_view names = "RGBA";
    const auto add = [&](const QString& text, bool on, int to, const QString& tip) {
        options.push_back({text, on, [setChannel, to] { setChannel(to); }, tip});
    };
    const bool isGrey = image.allChannels > image.channels;
    add(isGrey ? "mosaic" : "all", channel < 0, -1, "All channels");
    if (isGrey) {
        const auto last = static_cast<int>(image.allChannels - 1);
        add("\u2039", false, std::max(0, channel - 1), "The channel before (PgUp)");
        add("channel " + QString::number(std::max(0, channel)), channel >= 0, std::max(0, channel), "One channel");
        add("\u203a", false, std::min(last, channel + 1), "The next channel (PgDown)");
    }
    for (int c = 0; c < image.channels && image.channels > 1; ++c)
        add(QString(QChar(names[static_cast<size_t>(c)])), channel == c, c, "Channel " + QString::number(c));
    options.push_back({"gamma 2.2", gamma != 1, [setGamma, to = gamma == 1 ? kGamma : 1.0] { setGamma(to); },
                       "Brighter darks: values to the power of 1/2.2"});
}

/// Of a value that is not all finite: what one wants to know then.
void addQuestions(std::vector<ViewOption>& options, Document& document, QWidget& asking, const QString& expression)
{
    const auto add = [&](const QString& text, const QString& line, const QString& tip) {
        options.push_back({text, false, [&document, &asking, line] { askDebugger(document, asking, line); }, tip});
    };
    add("why nan", "why nan " + expression, "Where the first NaN or infinity came from");
    add("who wrote this", "lastwrite " + expression, "The operator and the step that wrote it last");
}

} // namespace

void TensorPanel::refreshOptions()
{
    std::vector<ViewOption> options;
    const Value* const value = declared();
    const auto again = [this](auto& setting, auto to) {
        return [this, &setting, to] {
            setting = to;
            request();
            refresh();
        };
    };
    if (value != nullptr && m_hasAnswer && m_answer.neverRun && !m_modes.overIterations() && iterationNow() > 0) {
        if (const int64_t last = m_course.lastWrittenBefore(iterationNow()); last >= 0) {
            Result<Address> address = parseAddress(document().valueAddress(m_selection));
            if (address.ok())
                for (auto step = address->steps.rbegin(); step != address->steps.rend(); ++step)
                    if (step->iteration >= 0) {
                        step->iteration = last;
                        break;
                    }
            const QString place = address.ok() ? toText(toString(*address)) : QString();
            options.push_back({"Show @" + QString::number(last), false,
                               [this, place] { document().perform(request::GoToPlace{place.toStdString()}); }, "Goes to " + place});
        }
        options.push_back(
            {"Go to its last write", false, [this] { command("previousWrite"); }, "Goes back to where it was written last (,)"});
    }
    if (m_hasAnswer && m_answer.present) {
        if (dtypeClass(m_answer.dtype) == DTypeClass::complex) {
            using Complex = CellStyle::Complex;
            for (const auto& [text, form] :
                 {std::pair("a+bi", Complex::both), std::pair("magnitude", Complex::magnitude), std::pair("phase", Complex::phase),
                  std::pair("real", Complex::real), std::pair("imaginary", Complex::imaginary)})
                options.push_back({text, m_complex == form, again(m_complex, form), {}});
        }
        if (m_answer.dtype == DType::string) options.push_back({"bytes", m_hex, again(m_hex, !m_hex), "The bytes of the strings (x)"});
        if (m_answer.isSparse) options.push_back({"dense", m_dense, again(m_dense, !m_dense), "With the zeros that are not stored"});
        if (m_item >= 0) options.push_back({"\u2039 " + toText(m_answer.held), false, again(m_item, int64_t{-1}), "Back to all items"});
        if (m_modes[TensorMode::image] && m_answer.image)
            addChannels(
                options, *m_answer.image, m_channel, m_gamma, [again, this](int to) { again(m_channel, to)(); },
                [again, this](double to) { again(m_gamma, to)(); });
        if (m_modes[TensorMode::histogram]) options.push_back({"log", m_log, again(m_log, !m_log), "Counts on a logarithmic scale (l)"});
        if (m_modes[TensorMode::quantization] && value->type.quantization &&
            value->type.quantization->kind == Quantization::Kind::blockwise)
            for (const auto& [name, id] : {std::pair("scales", value->type.quantization->blockScales),
                                           std::pair("zero points", value->type.quantization->blockZeros)}) {
                if (id < 0) continue;
                const QString other = toText(document().model().graph(m_selection.graph).value(ValueId(id)).id);
                options.push_back({QString(name) + ": " + other, false,
                                   [this, id] {
                                       Selection tensor = m_selection;
                                       tensor.value = ValueId(id);
                                       tensor.op = {};
                                       show(tensor);
                                   },
                                   "Shows that tensor"});
            }
        if (m_modes[TensorMode::histogram] && m_answer.histogram && m_answer.histogram->looked < m_answer.histogram->total) {
            if (m_scan.isRunning()) {
                options.push_back(
                    {QString("Stop, %1 %").arg(static_cast<int>(m_scan.share() * 100)), false, [this] { m_scan.stop(); }, "Esc"});
            } else if (!m_scan.isThere()) {
                const QString all = toText(groupThousands(m_answer.histogram->total));
                options.push_back({"All " + all, false, [this] { beginScan(); }, "Counts every element"});
            }
        }
    }
    const bool asks = m_hasAnswer && m_answer.present && !m_feed && document().stop()->started && m_answer.hasStatistics;
    if (asks && m_answer.statistics.firstAbnormal >= 0)
        addQuestions(options, document(), *this, toText(document().expressionOf(m_selection)));
    m_options->setOptions(std::move(options));
    m_progress->setVisible(m_scan.isRunning());
    if (m_scan.isThere()) m_progress->setShare(m_scan.share());
}

void TensorPanel::beginScan() { m_scan.begin(scanSource()); }

/// What a histogram is of: address and frame of the value, the tensor of a list, whether zeros count that are not stored, the moment.
ElementScan::Source TensorPanel::scanSource() const
{
    const Value* const value = declared();
    const bool isConstant = value != nullptr && value->role == ValueRole::constant;
    auto& doc = const_cast<TensorPanel*>(this)->document(); // NOLINT(cppcoreguidelines-pro-type-const-cast): Panel has one accessor
    const ValueRequest request = currentRequest();
    return {request.address, request.frame, request.item, request.dense, isConstant ? Tick() : doc.stop()->tick};
}

void TensorPanel::countNext(const HistogramScan& scan, const ElementScan::Taken& taken)
{
    const Value* const value = declared();
    if (value == nullptr) return;
    if (value->role == ValueRole::constant)
        m_scanner.run([&model = document().model(), question = currentRequest(),
                       scan](std::stop_token) { return scanConstant(model, question, scan); },
                      taken);
    else
        document().bridge().ask(
            this, "scan", [question = currentRequest(), scan](Inspector& inspector) { return readScan(inspector, question, scan); }, taken);
}

/// Opens what the row under the cursor stands for.
void TensorPanel::openItem()
{
    if (m_answer.held.empty() || m_item >= 0 || m_content.plane.grid.rowNames.empty()) return;
    m_item = m_cursor.row;
    m_axes.reset();
    request();
}

} // namespace loopscope::viewer
