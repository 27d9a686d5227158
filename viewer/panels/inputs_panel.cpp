// Inputs of the run: where each one's elements come from, what they look like, and why the run cannot begin yet.
#include "engine/debug/inspect/value_line.h"
#include "viewer/panels/common.h"
#include "viewer/panels/panels.h"
#include "viewer/widgets/parts.h"

#include <QComboBox>
#include <QFileDialog>
#include <QFocusEvent>
#include <QLabel>
#include <QLineEdit>
#include <QScrollArea>
#include <QToolButton>
#include <QVBoxLayout>

namespace loopscope::viewer {

namespace {

enum class Source : uint8_t { none, seed, file, constant };

Source sourceOf(const QString& text)
{
    if (text.isEmpty()) return Source::none;
    if (text.startsWith('@')) return Source::seed;
    static const QStringList endings = {".npy", ".npz", ".bin", ".raw", ".png", ".jpg", ".jpeg", ".ppm", ".pgm", ".pb"};
    for (const QString& ending : endings)
        if (text.contains(ending)) return Source::file;
    return Source::constant;
}

/// One input: its name and type, the source, what that gives or why it does not.
class InputRow : public QWidget {
    Q_OBJECT
public:
    InputRow(Document& document, const InputPort& port, QWidget* parent) : QWidget(parent), m_document(document), m_name(port.name)
    {
        auto* column = new QVBoxLayout(this);
        column->setContentsMargins(8, 6, 8, 6);
        column->setSpacing(4);
        auto* head = new QHBoxLayout;
        head->setSpacing(8);
        m_title = new QLabel(toText(port.name), this);
        m_type = new QLabel(toText(port.type), this);
        m_type->setTextInteractionFlags(Qt::TextSelectableByMouse);
        head->addWidget(m_title);
        head->addWidget(m_type);
        head->addStretch(1);
        auto* line = new QHBoxLayout;
        line->setSpacing(4);
        m_kind = new QComboBox(this);
        m_kind->addItems({"not given", "seed", "file", "constant"});
        m_kind->setAccessibleName("Source of " + toText(port.name));
        m_kind->setCurrentIndex(static_cast<int>(sourceOf(toText(port.source))));
        m_text = new QLineEdit(toText(port.source), this);
        m_text->setObjectName("inputSource." + toText(port.name));
        m_text->setAccessibleName("Elements of " + toText(port.name));
        m_text->setMinimumWidth(80);
        m_choose = new QToolButton(this);
        m_choose->setText("…");
        m_choose->setToolTip("Choose a file");
        line->addWidget(m_kind);
        line->addWidget(m_text, 1);
        line->addWidget(m_choose);
        m_preview = new QLabel(this);
        m_preview->setTextInteractionFlags(Qt::TextSelectableByMouse);
        m_preview->setWordWrap(true);
        column->addLayout(head);
        column->addLayout(line);
        column->addWidget(m_preview);
        connect(m_kind, &QComboBox::activated, this, &InputRow::chosen);
        connect(m_text, &QLineEdit::editingFinished, this, &InputRow::typed);
        connect(m_choose, &QToolButton::clicked, this, &InputRow::chooseFile);
        connect(&Theme::instance(), &Theme::changed, this, &InputRow::restyle);
        restyle();
        fields();
        preview(port);
    }

    bool isValid() const { return m_valid; }
    const std::string& name() const { return m_name; }
    QString problem() const { return m_problem; }
    void give(const QString& source)
    {
        m_text->setText(source);
        m_kind->setCurrentIndex(static_cast<int>(sourceOf(source)));
        fields();
        typed();
    }
    QLineEdit* field() { return m_text; }

signals:
    void changed();

private:
    void restyle()
    {
        m_title->setFont(Theme::instance().font(FontUse::body, true));
        m_type->setFont(Theme::instance().font(FontUse::value));
        m_text->setFont(Theme::instance().font(FontUse::value));
        m_preview->setFont(Theme::instance().font(FontUse::value));
        m_kind->setFont(Theme::instance().font(FontUse::body));
        m_title->setStyleSheet(QString("color: %1;").arg(themed(Token::text).name()));
        m_type->setStyleSheet(QString("color: %1;").arg(themed(Token::text2).name()));
        m_preview->setStyleSheet(QString("color: %1;").arg(themed(m_problem.isEmpty() ? Token::text3 : Token::err).name()));
    }

    void fields()
    {
        const auto kind = static_cast<Source>(m_kind->currentIndex());
        m_text->setEnabled(kind != Source::none);
        m_choose->setVisible(kind == Source::file);
        m_text->setPlaceholderText(kind == Source::seed       ? "@7 · @7[-1,1]"
                                   : kind == Source::file     ? "in.npy, in.npz, image.png, raw.bin"
                                   : kind == Source::constant ? "3 · [1,2,3]"
                                                              : "");
    }

    void chosen()
    {
        const auto kind = static_cast<Source>(m_kind->currentIndex());
        fields();
        if (kind == Source::seed)
            m_text->setText("@7");
        else if (kind == Source::constant)
            m_text->setText("0");
        else
            m_text->clear();
        if (kind == Source::file) return chooseFile();
        typed();
    }

    void chooseFile()
    {
        const QString path = QFileDialog::getOpenFileName(this, "Elements of " + toText(m_name), {},
                                                          "Arrays and images (*.npy *.npz *.png *.jpg *.jpeg *.bin *.raw);;All files (*)");
        if (path.isEmpty()) return;
        m_text->setText(path);
        typed();
    }

    void typed()
    {
        if (m_document.bridge().busy()) return; // the backend belongs to the command that runs
        const QString source = m_text->text().trimmed();
        InputPort port{m_name, m_type->text().toStdString(), source.toStdString(), ""};
        if (!source.isEmpty()) m_document.backend().setInput(m_name, port.source);
        preview(port);
        emit changed();
    }

    void preview(const InputPort& port)
    {
        m_problem = toText(port.problem);
        m_valid = false;
        if (port.source.empty()) {
            m_preview->setText("not given yet");
        } else if (const Result<Array> array =
                       m_document.bridge().busy() ? Result<Array>(Array()) : m_document.backend().previewInput(m_name, port.source);
                   array.ok()) {
            m_valid = m_problem.isEmpty();
            m_preview->setText(array->bytes.empty()
                                   ? QString()
                                   : toText(shortType(array->view())) + "  " + onScreen(firstElements(array->view(), 6).text));
        } else {
            m_problem = toText(array.error().message());
        }
        if (!m_problem.isEmpty()) m_preview->setText(m_problem);
        restyle();
    }

    Document& m_document;
    const std::string m_name;
    QLabel* m_title = nullptr;
    QLabel* m_type = nullptr;
    QComboBox* m_kind = nullptr;
    QLineEdit* m_text = nullptr;
    QToolButton* m_choose = nullptr;
    QLabel* m_preview = nullptr;
    QString m_problem;
    bool m_valid = false;
};

class InputsPanel : public Panel {
    Q_OBJECT
public:
    explicit InputsPanel(Document& document) : Panel(document, "panelInputs", "Inputs")
    {
        auto* column = new QVBoxLayout(this);
        column->setContentsMargins(0, 0, 0, 0);
        column->setSpacing(0);
        auto* content = new QWidget;
        m_rows = new QVBoxLayout(content);
        m_rows->setContentsMargins(0, 0, 0, 0);
        m_rows->setSpacing(0);
        m_area = new QScrollArea(this);
        m_area->setFrameShape(QFrame::NoFrame);
        m_area->setWidgetResizable(true);
        m_area->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
        m_area->setWidget(content);
        m_stack = new EmptyStack(m_area, this);
        auto* foot = new QWidget(this);
        auto* line = new QHBoxLayout(foot);
        line->setContentsMargins(8, 6, 8, 6);
        line->setSpacing(8);
        m_run = new OfferButton("Run (F5)", true, foot);
        m_run->setObjectName("inputsRun");
        m_fill = new OfferButton("Fill with seed 7", false, foot);
        m_fill->setObjectName("inputsFill");
        m_reason = new QLabel(foot);
        m_reason->setObjectName("inputsReason");
        m_reason->setWordWrap(true);
        line->addWidget(m_run);
        line->addWidget(m_fill);
        line->addWidget(m_reason, 1);
        column->addWidget(m_stack, 1);
        column->addWidget(foot);
        connect(m_run, &QAbstractButton::clicked, this, [this] { this->document().execute("run"); });
        connect(m_fill, &QAbstractButton::clicked, this, [this] {
            for (InputRow* row : m_inputs)
                if (!row->isValid()) row->give("@7");
            m_run->setFocus();
        });
        connect(&document, &Document::stopChanged, this, &InputsPanel::check);
        connect(&document.bridge(), &DebugBridge::busyChanged, this, [this](bool busy) {
            if (!busy && m_inputs.empty()) fill();
            check();
        });
        connect(&Theme::instance(), &Theme::changed, this, &InputsPanel::restyle);
        fill();
        restyle();
    }

    QWidget* focusTarget() override { return m_fill->isVisible() ? static_cast<QWidget*>(m_fill) : m_run; }

private:
    void restyle()
    {
        m_reason->setFont(Theme::instance().font(FontUse::body));
        m_reason->setStyleSheet(QString("color: %1;").arg(themed(Token::text2).name()));
        m_area->setStyleSheet(
            QString("QScrollArea, QScrollArea > QWidget > QWidget { background: %1; }").arg(themed(Token::surface).name()));
    }

    void fill()
    {
        if (document().bridge().busy()) return;
        const std::vector<InputPort> ports = document().backend().inputs();
        for (const InputPort& port : ports) {
            auto* row = new InputRow(document(), port, m_area->widget());
            connect(row, &InputRow::changed, this, &InputsPanel::check);
            m_rows->addWidget(row);
            m_inputs.push_back(row);
        }
        m_rows->addStretch(1);
        if (ports.empty())
            m_stack->showEmpty(document().backend().isReplay() ? "A recording has its inputs." : "This graph takes no inputs.");
        else
            m_stack->showContent();
        check();
    }

    void check()
    {
        QString reason;
        int missing = 0;
        for (const InputRow* row : m_inputs) {
            if (row->isValid()) continue;
            ++missing;
            if (reason.isEmpty())
                reason = toText(row->name()) + (row->problem().isEmpty() ? QString(" is not given") : ": " + row->problem());
        }
        if (missing > 1) reason += QString(", and %1 more").arg(missing - 1);
        const bool busy = document().bridge().busy();
        m_run->setEnabled(missing == 0 && !busy);
        m_fill->setVisible(missing > 0);
        m_reason->setText(busy                         ? QString("running")
                          : missing > 0                ? reason
                          : document().stop()->started ? QString("begins a new run")
                                                       : QString());
    }

    QVBoxLayout* m_rows = nullptr;
    QScrollArea* m_area = nullptr;
    EmptyStack* m_stack = nullptr;
    OfferButton* m_run = nullptr;
    OfferButton* m_fill = nullptr;
    QLabel* m_reason = nullptr;
    std::vector<InputRow*> m_inputs;
};

} // namespace

Panel* makeInputsPanel(Document& document) { return new InputsPanel(document); }

} // namespace loopscope::viewer

#include "inputs_panel.moc"
