#include "viewer/panels/input_row.h"

#include "engine/api/inspector.h"
#include "engine/tensor/compare.h"
#include "engine/tensor/value_text.h"
#include "viewer/panels/common.h"
#include "viewer/panels/value_table.h"
#include "viewer/style/icons.h"

#include <QCheckBox>
#include <QComboBox>
#include <QFileDialog>
#include <QHeaderView>
#include <QIntValidator>
#include <QLabel>
#include <QLineEdit>
#include <QRegularExpression>
#include <QTableView>
#include <QToolButton>
#include <QVBoxLayout>

namespace loopscope::viewer {

namespace {

using Kind = InputSource::Kind;

constexpr int64_t kLiteralElements = 256; ///< of larger values the table notes single elements as patches
constexpr int64_t kPreviewSide = 96;
constexpr int kTableRows = 8; ///< shown at once

/// What a check on another thread found.
struct Checked {
    QString problem;
    Array array;
    QImage pixels;
};

/// Whether a shape is what the model declares, whose unknown dimensions may be anything.
bool fitsDeclared(const Shape& shape, const Shape& declared)
{
    if (shape.rank() != declared.rank()) return false;
    for (int axis = 0; axis < declared.rank(); ++axis)
        if (declared[axis] >= 0 && shape[axis] != declared[axis]) return false;
    return true;
}

/// The pixels that an input was given, as the model gets them: height, width and channels where the source says.
QImage pixelsOf(const Array& array, const InputSource& source)
{
    const Shape& shape = array.shape;
    const int rank = shape.rank();
    if (rank < 2 || array.bytes.empty()) return {};
    const auto holds = [&](int axis) { return axis >= 0 && (shape[axis] == 1 || shape[axis] == 3 || shape[axis] == 4); };
    const bool first = rank > 2 && (source.layout == InputSource::Layout::nchw ||
                                    (source.layout == InputSource::Layout::declared && !holds(rank - 1) && holds(rank - 3)));
    const int64_t channels = rank == 2 ? 1 : shape[first ? rank - 3 : rank - 1];
    const int64_t height = shape[rank == 2 ? 0 : first ? rank - 2 : rank - 3], width = shape[rank == 2 ? 1 : first ? rank - 1 : rank - 2];
    if (height < 1 || width < 1 || channels < 1) return {};
    double low = 0, high = 1;
    if (const QStringList bounds = source.range.split(','); bounds.size() == 2) {
        low = bounds[0].toDouble();
        high = bounds[1].toDouble();
    }
    if (isInteger(array.dtype)) {
        low = static_cast<double>(integerMin(array.dtype));
        high = low + 255;
    }
    const double scale = high > low ? 255 / (high - low) : 0;
    const Tensor view = array.view();
    const int64_t every = std::max<int64_t>(1, std::max(height, width) / kPreviewSide);
    QImage image(static_cast<int>((width + every - 1) / every), static_cast<int>((height + every - 1) / every), QImage::Format_RGB32);
    for (int y = 0; y < image.height(); ++y)
        for (int x = 0; x < image.width(); ++x) {
            const auto sample = [&](int64_t c) {
                const int64_t at = y * every * width + x * every;
                const double v = elementAsReal(view, first ? c * height * width + at : at * channels + c);
                return static_cast<int>(std::clamp((v - low) * scale, 0.0, 255.0));
            };
            image.setPixel(x, y, channels < 3 ? qRgb(sample(0), sample(0), sample(0)) : qRgb(sample(0), sample(1), sample(2)));
        }
    return image;
}

} // namespace

InputRow::InputRow(Document& document, const InputPort& port, PictureHabit& habit, QWidget* parent)
    : QWidget(parent),
      m_document(document),
      m_port(port),
      m_habit(habit),
      m_source(inputSourceOf(toText(port.source)))
{
    build();
    connect(&Theme::instance(), &Theme::changed, this, &InputRow::restyle);
    restyle();
    check();
}

QLayout* InputRow::makeHead()
{
    m_title = new QLabel(toText(m_port.name), this);
    m_type = new QLabel(toText(m_port.type), this);
    m_type->setTextInteractionFlags(Qt::TextSelectableByMouse);
    auto* head = new QHBoxLayout;
    head->setSpacing(8);
    head->addWidget(m_title);
    head->addWidget(m_type);
    head->addStretch(1);
    return head;
}

/// Where the elements come from.
QLayout* InputRow::makeSource()
{
    const QString name = toText(m_port.name);
    m_kind = new QComboBox(this);
    m_kind->setObjectName("inputKind." + name);
    m_kind->addItems({"not given", "seed", "file", "table", "last run", "constant"});
    m_kind->setAccessibleName("Source of " + name);
    m_text = new QLineEdit(this);
    m_text->setObjectName("inputSource." + name);
    m_text->setAccessibleName("Elements of " + name);
    m_text->setMinimumWidth(80);
    m_choose = new QToolButton(this);
    m_choose->setText("…");
    m_choose->setToolTip("Choose a file");
    m_edit = new QToolButton(this);
    m_edit->setObjectName("inputEdit." + name);
    m_edit->setCheckable(true);
    m_edit->setAutoRaise(true);
    m_edit->setToolTip("Show the elements as a table and type into it");
    m_edit->setAccessibleName("Elements of " + name + " as a table");
    auto* line = new QHBoxLayout;
    line->setSpacing(4);
    line->addWidget(m_kind);
    line->addWidget(m_text, 1);
    line->addWidget(m_choose);
    line->addWidget(m_edit);
    return line;
}

/// A field for each dimension that the model leaves open.
void InputRow::makeSizes()
{
    const QString name = toText(m_port.name);
    m_sizes = new QWidget(this);
    auto* sizes = new QHBoxLayout(m_sizes);
    sizes->setContentsMargins(0, 0, 0, 0);
    sizes->setSpacing(4);
    m_sizeFields.assign(static_cast<size_t>(m_port.shape.hasRank() ? m_port.shape.rank() : 0), nullptr);
    for (size_t axis = 0; axis < m_sizeFields.size(); ++axis) {
        if (m_port.shape[static_cast<int>(axis)] >= 0) continue;
        auto* field = new QLineEdit(m_sizes);
        field->setObjectName(QString("inputSize.%1.%2").arg(name).arg(axis));
        field->setAccessibleName(QString("Size of dimension %1 of %2").arg(axis).arg(name));
        field->setValidator(new QIntValidator(0, 1 << 30, field));
        field->setFixedWidth(56);
        sizes->addWidget(new QLabel(QString("dim %1").arg(axis), m_sizes));
        sizes->addWidget(field);
        m_sizeFields[axis] = field;
        connect(field, &QLineEdit::editingFinished, this, &InputRow::sizesTyped);
    }
    sizes->addStretch(1);
}

/// How pixels become elements.
void InputRow::makePictureLine()
{
    const QString name = toText(m_port.name);
    m_pictureLine = new QWidget(this);
    auto* picture = new QHBoxLayout(m_pictureLine);
    picture->setContentsMargins(0, 0, 0, 0);
    picture->setSpacing(4);
    m_range = new QComboBox(m_pictureLine);
    m_range->setObjectName("inputRange." + name);
    m_range->setAccessibleName("What 0 and 255 become in " + name);
    for (const auto& [text, range] :
         {std::pair("range …", ""), std::pair("0 … 1", "0,1"), std::pair("−1 … 1", "-1,1"), std::pair("0 … 255", "0,255")})
        m_range->addItem(QString::fromUtf8(text), QString(range));
    m_layout = new QComboBox(m_pictureLine);
    m_layout->setObjectName("inputLayout." + name);
    m_layout->setAccessibleName("Order of the axes of " + name);
    m_layout->addItems({"axes as declared", "channels last", "channels first"});
    m_fit = new QCheckBox("resize to fit", m_pictureLine);
    m_fit->setObjectName("inputFit." + name);
    picture->addWidget(m_range);
    picture->addWidget(m_layout);
    picture->addWidget(m_fit);
    picture->addStretch(1);
}

void InputRow::makeTable()
{
    const QString name = toText(m_port.name);
    m_elements = new ValueTableModel(this);
    m_table = new QTableView(this);
    m_table->setObjectName("inputTable." + name);
    m_table->setAccessibleName("Elements of " + name);
    m_table->setModel(m_elements);
    m_table->setShowGrid(true);
    m_table->horizontalHeader()->setDefaultSectionSize(76);
    m_table->horizontalHeader()->setMinimumSectionSize(24);
    m_table->verticalHeader()->setMinimumSectionSize(12);
}

QLayout* InputRow::makePreview()
{
    const QString name = toText(m_port.name);
    m_picture = new QLabel(this);
    m_picture->setObjectName("inputPixels." + name);
    m_preview = new QLabel(this);
    m_preview->setObjectName("inputPreview." + name);
    m_preview->setTextInteractionFlags(Qt::TextSelectableByMouse);
    m_preview->setWordWrap(true);
    auto* below = new QHBoxLayout;
    below->setSpacing(8);
    below->addWidget(m_picture, 0, Qt::AlignTop);
    below->addWidget(m_preview, 1, Qt::AlignTop);
    return below;
}

void InputRow::build()
{
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(8, 6, 8, 6);
    column->setSpacing(4);
    column->addLayout(makeHead());
    column->addLayout(makeSource());
    makeSizes();
    column->addWidget(m_sizes);
    makePictureLine();
    column->addWidget(m_pictureLine);
    makeTable();
    column->addWidget(m_table);
    column->addLayout(makePreview());
    connect(m_kind, &QComboBox::activated, this, &InputRow::kindChosen);
    connect(m_text, &QLineEdit::editingFinished, this, [this] {
        if (m_text->text().trimmed() != source()) give(m_text->text());
    });
    connect(m_choose, &QToolButton::clicked, this, &InputRow::chooseFile);
    connect(m_edit, &QToolButton::toggled, this, &InputRow::refresh);
    connect(m_range, &QComboBox::activated, this, &InputRow::pictureChosen);
    connect(m_layout, &QComboBox::activated, this, &InputRow::pictureChosen);
    connect(m_fit, &QCheckBox::clicked, this, &InputRow::pictureChosen);
    connect(m_elements, &ValueTableModel::typed, this, &InputRow::elementTyped, Qt::QueuedConnection);
}

void InputRow::restyle()
{
    const Theme& theme = Theme::instance();
    m_title->setFont(theme.font(FontUse::body, true));
    m_type->setFont(theme.font(FontUse::value));
    m_text->setFont(theme.font(FontUse::value));
    m_preview->setFont(theme.font(FontUse::value));
    m_kind->setFont(theme.font(FontUse::body));
    m_edit->setIcon(themedIcon("table"));
    m_table->verticalHeader()->setDefaultSectionSize(theme.rowHeight());
    m_title->setStyleSheet(QString("color: %1;").arg(themed(Token::text).name()));
    m_type->setStyleSheet(QString("color: %1;").arg(themed(Token::text2).name()));
    refresh();
}

void InputRow::give(const QString& source)
{
    m_source = inputSourceOf(source);
    if (m_source.isPicture() && m_source.range.isEmpty() && isFloat(m_port.dtype)) m_source.range = m_habit.range;
    apply();
}

void InputRow::commit()
{
    if (m_text->isModified() && m_text->text().trimmed() != source()) give(m_text->text());
    if (std::ranges::any_of(m_sizeFields, [](const QLineEdit* field) { return field != nullptr && field->isModified(); })) sizesTyped();
}

void InputRow::adopt(const QString& source)
{
    if (source == this->source()) return;
    m_source = inputSourceOf(source);
    check();
}

/// The shape that the source gives, or would: unknown sizes as typed, else 1.
Shape InputRow::shapeNow() const
{
    Shape shape = m_port.shape.hasRank() ? m_port.shape : Shape{};
    for (int axis = 0; axis < shape.rank(); ++axis) {
        if (shape[axis] >= 0) continue;
        bool isNumber = false;
        const qlonglong typed = m_sizeFields[static_cast<size_t>(axis)]->text().toLongLong(&isNumber);
        shape[axis] = isNumber ? typed : 1;
    }
    return shape;
}

void InputRow::kindChosen(int kind)
{
    const bool isString = m_port.dtype == DType::string;
    switch (static_cast<Kind>(kind)) {
    case Kind::none: return give({});
    case Kind::seed: return give("@7");
    case Kind::file: return chooseFile();
    case Kind::table: {
        const Shape shape = shapeNow();
        const bool known = m_valid && m_elements->array().shape == shape;
        m_edit->setChecked(true);
        if (shape.elementCount() > kLiteralElements) return source().isEmpty() ? give("0") : refresh();
        Array zeros;
        zeros.dtype = m_port.dtype;
        zeros.shape = shape;
        for (int axis = 0; axis < shape.rank(); ++axis) zeros.shape[axis] = 0;
        return give(literalOf(known ? m_elements->array() : zeros, shape));
    }
    case Kind::lastRun: return give("@last");
    case Kind::constant: return give(isString ? "\"\"" : m_port.dtype == DType::boolean ? "false" : "0");
    }
}

void InputRow::chooseFile()
{
    auto* const dialog = new QFileDialog(this, "Elements of " + toText(m_port.name), {},
                                         "Arrays and pictures (*.npy *.npz *.png *.jpg *.jpeg *.bin *.raw);;All files (*)");
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setFileMode(QFileDialog::ExistingFile);
    connect(dialog, &QFileDialog::fileSelected, this, &InputRow::give);
    connect(dialog, &QDialog::rejected, this, &InputRow::refresh);
    dialog->open();
}

void InputRow::pictureChosen()
{
    if (const QString range = m_range->currentData().toString(); !range.isEmpty()) m_source.range = m_habit.range = range;
    m_source.layout = static_cast<InputSource::Layout>(m_layout->currentIndex());
    m_source.fit = m_fit->isChecked();
    apply();
}

void InputRow::sizesTyped()
{
    const Shape shape = shapeNow();
    if (m_source.kind == Kind::table) {
        const Array& array = m_elements->array();
        if (array.shape.rank() != shape.rank() || array.shape == shape || shape.elementCount() > kLiteralElements) return;
        m_source.text = literalOf(array, shape);
    } else {
        std::vector<int64_t> sizes;
        for (int axis = 0; axis < shape.rank(); ++axis) sizes.push_back(shape[axis]);
        if (m_source.shape == sizes) return;
        m_source.shape = std::move(sizes);
    }
    apply();
}

void InputRow::elementTyped(qint64 element, const QString& text)
{
    const Array& array = m_elements->array();
    const bool listed = m_source.kind == Kind::table || m_source.kind == Kind::constant || m_source.kind == Kind::none;
    if (listed && m_source.patches.isEmpty() && array.shape.elementCount() <= kLiteralElements) {
        m_source = InputSource();
        m_source.text = literalOf(array, array.shape, element, text);
        m_source.kind = array.shape.rank() == 0 ? Kind::constant : Kind::table;
    } else {
        const QString place = "x" + toText(elementIndexText(array.shape, element)) + "=";
        QStringList patches = m_source.patches.split(';', Qt::SkipEmptyParts);
        for (QString& patch : patches) patch = patch.trimmed();
        patches.erase(std::remove_if(patches.begin(), patches.end(), [&](const QString& patch) { return patch.startsWith(place); }),
                      patches.end());
        patches << place + text;
        m_source.patches = patches.join("; ");
    }
    apply();
}

/// A picture of floats means nothing before somebody said what its brightest pixel is.
bool InputRow::asksForRange() const { return m_source.isPicture() && m_source.range.isEmpty() && isFloat(m_port.dtype); }

bool InputRow::hasSizes() const
{
    const bool sized = m_source.kind == Kind::seed || m_source.kind == Kind::constant || m_source.kind == Kind::table ||
                       (m_source.kind == Kind::file && (m_source.text.endsWith(".bin") || m_source.text.endsWith(".raw")));
    return sized && std::ranges::any_of(m_sizeFields, [](const QLineEdit* field) { return field != nullptr; });
}

/// Tells the debugger and looks at what the source gives.
void InputRow::apply()
{
    const QString text = source();
    if (!text.isEmpty() && !asksForRange()) {
        static const QRegularExpression plain(R"(^[\w/.:-]+$)");
        const QString name = toText(m_port.name);
        const QString given = (plain.match(name).hasMatch() ? name : "\"" + name + "\"") + "=" + text;
        m_document.perform(request::GiveInput{given.toStdString()}, "input " + name);
    }
    check();
}

void InputRow::check()
{
    m_valid = m_checking = false;
    m_problem = asksForRange() ? QString("say what the pixels 0 and 255 become") : QString();
    if (source().isEmpty() || asksForRange()) {
        m_pixels = {};
        m_background.run([](std::stop_token) { return 0; }, [](int) {}); // what is under way is void
        refresh();
        emit changed();
        return;
    }
    m_checking = true;
    m_background.run(
        [&backend = m_document.backend(), name = m_port.name, source = m_source](std::stop_token) {
            Checked checked;
            Result<Array> array = backend.previewInput(name, textOf(source).toStdString());
            if (!array.ok()) {
                checked.problem = toText(array.error().message());
                return checked;
            }
            if (source.isPicture()) checked.pixels = pixelsOf(*array, source);
            checked.array = std::move(array).value();
            return checked;
        },
        [this](Checked checked) {
            m_checking = false;
            m_valid = checked.problem.isEmpty();
            m_problem = checked.problem;
            const QString subject = "input '" + toText(m_port.name) + "': "; // the row says it already
            if (m_problem.startsWith(subject)) m_problem.remove(0, subject.size());
            m_pixels = std::move(checked.pixels);
            if (m_valid) m_elements->setArray(std::move(checked.array));
            if (m_source.kind == Kind::table) m_edit->setChecked(true);
            refresh();
            emit changed();
        });
    refresh();
    emit changed();
}

void InputRow::refresh()
{
    if (!m_text->hasFocus() || m_text->text().trimmed() != source()) m_text->setText(source());
    m_kind->setCurrentIndex(static_cast<int>(m_source.kind));
    m_text->setEnabled(m_source.kind != Kind::lastRun);
    m_text->setPlaceholderText("@7 · in.npy · [1,2,3] · 0.5");
    m_choose->setVisible(m_source.kind == Kind::file);
    const Shape shape = m_valid ? m_elements->array().shape : Shape{};
    m_sizes->setVisible(hasSizes());
    for (size_t axis = 0; axis < m_sizeFields.size(); ++axis)
        if (QLineEdit* const field = m_sizeFields[axis]; field != nullptr && m_valid && axis < static_cast<size_t>(shape.rank()))
            field->setText(QString::number(shape[static_cast<int>(axis)]));
    m_pictureLine->setVisible(m_source.isPicture());
    m_range->setVisible(isFloat(m_port.dtype) || !m_source.range.isEmpty());
    int range = m_range->findData(m_source.range);
    if (range < 0) {
        m_range->addItem(onScreen(m_source.range.toStdString()).replace(",", " … "), m_source.range);
        range = m_range->count() - 1;
    }
    m_range->setCurrentIndex(range);
    m_layout->setCurrentIndex(static_cast<int>(m_source.layout));
    m_fit->setChecked(m_source.fit);
    m_edit->setEnabled(m_valid && m_elements->rowCount() > 0);
    const bool isTable = m_edit->isChecked() && m_edit->isEnabled();
    m_table->setVisible(isTable);
    const int rows = std::min(m_elements->rowCount(), kTableRows);
    m_table->setFixedHeight(m_table->horizontalHeader()->sizeHint().height() + rows * Theme::instance().rowHeight() + 16);
    m_picture->setVisible(!m_pixels.isNull());
    if (!m_pixels.isNull()) m_picture->setPixmap(QPixmap::fromImage(m_pixels));
    const Tensor view = m_elements->array().view();
    // Another shape than the model declares is allowed, and makes it another model.
    const bool isResized = m_valid && m_problem.isEmpty() && m_port.shape.hasRank() && !fitsDeclared(shape, m_port.shape);
    const QString resized = isResized ? "resized from " + toText(toString(m_port.shape)) : QString();
    m_preview->setText(!m_problem.isEmpty() ? m_problem
                       : source().isEmpty() ? QString("not given yet")
                       : m_checking         ? QString("reading …")
                       : isTable            ? resized
                                            : toText(shortType(view)) + "  " + onScreen(firstElements(view, 6).text) +
                                       (isResized ? " · " + resized : QString()));
    m_preview->setVisible(!m_preview->text().isEmpty());
    m_preview->setStyleSheet(QString("color: %1;")
                                 .arg(themed(!m_problem.isEmpty() ? Token::err
                                             : isResized          ? Token::warn
                                                                  : Token::text3)
                                          .name()));
}

} // namespace loopscope::viewer
