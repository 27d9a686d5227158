// One input of the run: its name and type, where its elements come from, what that gives or why it does not.
#pragma once

#include "viewer/bridge/document.h"
#include "viewer/panels/input_source.h"
#include "viewer/widgets/parts.h"

#include <QImage>
#include <QWidget>

#include <string>
#include <vector>

class QCheckBox;
class QComboBox;
class QLabel;
class QLayout;
class QLineEdit;
class QTableView;
class QToolButton;

namespace loopscope::viewer {

class ValueTableModel;

/// What was answered for the first picture holds for the next ones.
struct PictureHabit {
    QString range; ///< "0,1"; empty: nobody was asked yet
};

class InputRow : public QWidget {
    Q_OBJECT
public:
    InputRow(Document& document, const InputPort& port, PictureHabit& habit, QWidget* parent);

    const std::string& name() const { return m_port.name; }
    bool isValid() const { return m_valid; }
    bool isChecking() const { return m_checking; }
    /// What is typed has not been told to the debugger: a file or a range is still to be chosen.
    bool isEdited() const { return asksForRange(); }
    QString problem() const { return m_problem; }
    QString source() const { return textOf(m_source); }
    /// As if typed: tells the debugger.
    void give(const QString& source);
    void commit(); ///< what is typed and not confirmed yet
    /// What the debugger has already, from a session or the console.
    void adopt(const QString& source);

signals:
    void changed();

private:
    void build();
    QLayout* makeHead();
    QLayout* makeSource();
    void makeSizes();
    void makePictureLine();
    void makeTable();
    QLayout* makePreview();
    void restyle();
    void kindChosen(int kind);
    void chooseFile();
    void pictureChosen();
    void sizesTyped();
    void elementTyped(qint64 element, const QString& text);
    void apply();
    void check();
    void refresh();
    bool asksForRange() const;
    bool hasSizes() const;
    Shape shapeNow() const;

    Document& m_document;
    const InputPort m_port;
    PictureHabit& m_habit;
    InputSource m_source;
    bool m_valid = false, m_checking = false;
    QString m_problem;
    QImage m_pixels;
    QLabel *m_title = nullptr, *m_type = nullptr, *m_picture = nullptr, *m_preview = nullptr;
    QComboBox *m_kind = nullptr, *m_layout = nullptr, *m_range = nullptr;
    QCheckBox* m_fit = nullptr;
    QLineEdit* m_text = nullptr;
    QToolButton *m_choose = nullptr, *m_edit = nullptr;
    QWidget *m_sizes = nullptr, *m_pictureLine = nullptr;
    std::vector<QLineEdit*> m_sizeFields; ///< by axis; null where the size is known
    QTableView* m_table = nullptr;
    ValueTableModel* m_elements = nullptr;
    Background m_background;
};

} // namespace loopscope::viewer
