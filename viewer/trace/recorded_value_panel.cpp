// The recorded value of the selected row: element by element, beside what the same operator wrote before it.
#include "engine/observe/address.h"
#include "engine/tensor/compare.h"
#include "engine/tensor/value_text.h"
#include "tracer/api/trace_replay.h"
#include "viewer/style/theme.h"
#include "viewer/trace/result_panels.h"
#include "viewer/widgets/rows.h"

#include <QHeaderView>
#include <QVBoxLayout>

#include <cmath>

namespace loopscope::viewer {

/// What the trace holds of one write.
struct RecordedValuePanel::Write {
    int64_t step = -1, iteration = -1;
    RecordedValue value;
    bool found = false;
    Tensor view() const
    {
        Tensor tensor;
        tensor.dtype = value.dtype;
        tensor.shape = value.shape;
        tensor.data = const_cast<std::byte*>(value.bytes.data()); // NOLINT(cppcoreguidelines-pro-type-const-cast): Tensor has no const form
        tensor.bytes = value.bytes.size();
        return tensor;
    }
};

struct RecordedValuePanel::WritePair {
    Write now, before;
};

namespace {

constexpr int64_t kMostElements = 4096; ///< shown

using Write = RecordedValuePanel::Write;
using WritePair = RecordedValuePanel::WritePair;

Write readWrite(const TraceReader& reader, const RecordedRun& run, const std::string& condition, const QueryParameters& parameters)
{
    Write write;
    const Result<QueryResult> rows =
        reader.query("SELECT step, iteration FROM writes_of WHERE run = :run AND op_id = :op AND slot = 0 AND " + condition + " LIMIT 1",
                     parameters, {});
    if (!rows.ok() || rows->rows.empty() || !std::holds_alternative<int64_t>(rows->rows[0][0])) return write;
    write.step = std::get<int64_t>(rows->rows[0][0]);
    if (const auto* const iteration = std::get_if<int64_t>(&rows->rows[0][1])) write.iteration = *iteration;
    Result<std::optional<RecordedValue>> value = run.value(write.step, 0);
    write.found = value.ok() && value->has_value();
    if (write.found) write.value = std::move(**value);
    return write;
}

/// `step` < 0: the first write of `iteration`, or the first of all.
WritePair readPair(const std::string& path, const std::string& op, int64_t iteration, int64_t step)
{
    WritePair pair;
    const Result<std::unique_ptr<TraceReader>> reader = TraceReader::open(path);
    if (!reader.ok() || (*reader)->defaultRun() == nullptr) return pair;
    const Result<std::unique_ptr<RecordedRun>> run = RecordedRun::open(**reader);
    if (!run.ok()) return pair;
    QueryParameters parameters = {{"run", std::to_string((*reader)->defaultRun()->id)}, {"op", op}};
    std::string condition = "1 ORDER BY step";
    if (step >= 0) {
        parameters["at"] = std::to_string(step);
        condition = "step = :at";
    } else if (iteration >= 0) {
        parameters["at"] = std::to_string(iteration);
        condition = "iteration = :at ORDER BY step";
    }
    pair.now = readWrite(**reader, **run, condition, parameters);
    if (pair.now.step < 0) return pair;
    parameters["at"] = std::to_string(pair.now.step);
    pair.before = readWrite(**reader, **run, "step < :at ORDER BY step DESC", parameters);
    return pair;
}

QString placeOf(const Write& write)
{
    return write.iteration >= 0 ? "@" + QString::number(write.iteration) : "step " + QString::number(write.step);
}

} // namespace

RecordedValuePanel::RecordedValuePanel(Document& document) : Panel(document, "panelRecordedValue", "Value")
{
    m_address = new QLabel("Select a row of the result.", this);
    m_address->setObjectName("recordedAddress");
    m_address->setContentsMargins(8, 5, 8, 5);
    Theme::instance().wear(*m_address, FontUse::body, true);
    m_address->setTextInteractionFlags(Qt::TextSelectableByMouse);
    m_stored = new QLabel(this);
    Theme::instance().wear(*m_stored, FontUse::small);
    m_table = new QTableWidget(0, 4, this);
    m_table->setObjectName("recordedValue");
    m_table->setAccessibleName("Elements of the recorded value");
    m_table->setFrameShape(QFrame::NoFrame);
    m_table->setShowGrid(false);
    m_table->verticalHeader()->hide();
    followRowHeight(*m_table);
    m_table->setEditTriggers(QAbstractItemView::NoEditTriggers);
    m_table->hide();
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(0);
    layout->addWidget(m_address);
    layout->addWidget(m_table, 1);
    layout->addStretch(0);
    connect(&TraceDesk::of(document), &TraceDesk::rowSelected, this, &RecordedValuePanel::refresh);
    connect(&TraceDesk::of(document), &TraceDesk::answered, this, &RecordedValuePanel::refresh);
    connect(&Theme::instance(), &Theme::changed, this, &RecordedValuePanel::refresh);
}

/// The value that the row is about and the one written before it.
void RecordedValuePanel::refresh()
{
    TraceDesk& desk = TraceDesk::of(document());
    const int row = desk.selectedRow();
    const QString place = desk.valueOf(row);
    m_table->hide();
    m_stored->clear();
    m_background.run([](std::stop_token) { return 0; }, [](int) {}); // what is under way is void
    Result<Address> address = parseAddress(place.toStdString());
    if (place.isEmpty() || !address.ok()) return m_address->setText("Select a row of the result.");
    if (address->target == TargetKind::op) {
        address->target = TargetKind::output;
        address->slot = 0;
    }
    m_address->setText(QString::fromStdString(toString(*address)));
    int64_t iteration = -1, step = -1;
    for (auto at = address->steps.rbegin(); at != address->steps.rend() && iteration < 0; ++at) iteration = at->iteration;
    const QueryResult& result = desk.answer()->result;
    for (size_t c = 0; c < result.columns.size(); ++c)
        if (const auto* const number = std::get_if<int64_t>(&result.rows[static_cast<size_t>(row)][c]);
            number != nullptr && result.columns[c] == "step")
            step = *number;
    m_background.run([path = desk.path().toStdString(), op = place.toStdString(), iteration,
                      step](std::stop_token) { return readPair(path, op, iteration, step); },
                     [this](const WritePair& pair) { show(pair); });
}

void RecordedValuePanel::show(const WritePair& pair)
{
    const Write &now = pair.now, &before = pair.before;
    if (!now.found) return m_stored->setText("not recorded");
    const RecordedValue& value = now.value;
    const auto fill = [this](const std::vector<std::array<QString, 4>>& rows, int boldRow) {
        m_table->setRowCount(static_cast<int>(rows.size()));
        for (int r = 0; r < m_table->rowCount(); ++r)
            for (int c = 0; c < 4; ++c) {
                auto* item = new QTableWidgetItem(rows[static_cast<size_t>(r)][static_cast<size_t>(c)]);
                item->setFont(Theme::instance().font(FontUse::value, c == 3 && r == boldRow));
                item->setTextAlignment(c == 0 ? Qt::AlignLeft | Qt::AlignVCenter : Qt::AlignRight | Qt::AlignVCenter);
                m_table->setItem(r, c, item);
            }
        for (int c = 0; c < 4; ++c) m_table->setColumnWidth(c, Theme::instance().barHeight(c == 0 ? 80 : 96));
        m_table->setVisible(!rows.empty());
    };
    const auto text = [](const std::string& s) { return QString::fromStdString(s); };
    m_table->setHorizontalHeaderLabels(
        {value.hasElements ? "element" : "statistic", before.found ? placeOf(before) : QString("before"), placeOf(now), "\u0394"});
    std::vector<std::array<QString, 4>> rows;
    if (!value.hasElements) {
        m_stored->setText(value.isDead ? "dead" : "statistics only");
        const auto add = [&](const char* name, double TensorStatistics::*part) {
            const bool both = before.found && before.value.statistics;
            const double here = (*value.statistics).*part, there = both ? (*before.value.statistics).*part : 0;
            rows.push_back({name, both ? text(realText(there, 6)) : QString(), text(realText(here, 6)),
                            both ? text(realText(here - there, 6)) : QString()});
        };
        if (value.statistics)
            for (const auto& [name, part] : {std::pair("min", &TensorStatistics::min), std::pair("max", &TensorStatistics::max),
                                             std::pair("mean", &TensorStatistics::mean), std::pair("std", &TensorStatistics::std)})
                add(name, part);
        return fill(rows, -1);
    }
    const Tensor a = now.view(), b = before.view();
    const bool both = before.found && before.value.hasElements && b.shape == a.shape;
    const int64_t total = a.elementCount(), shown = std::min(total, kMostElements);
    int largest = -1;
    double most = 0;
    for (int64_t i = 0; i < shown; ++i) {
        const double change = both ? elementAsReal(a, i) - elementAsReal(b, i) : 0;
        if (std::isfinite(change) && std::fabs(change) > most) {
            most = std::fabs(change);
            largest = static_cast<int>(i);
        }
        rows.push_back({text(elementIndexText(a.shape, i)), both ? text(elementText(b, i)) : QString(), text(elementText(a, i)),
                        both ? text(realText(change, 6)) : QString()});
    }
    m_stored->setText(shown < total ? QString("%1 of %2 elements").arg(shown).arg(total) : QString("stored in full"));
    fill(rows, largest);
}

Panel* makeRecordedValuePanel(Document& document) { return new RecordedValuePanel(document); }

} // namespace loopscope::viewer
