// The table of keys under Settings: every command with its keys, to be changed in place. Whose key a new one is already is said while it
// is typed; each row and the whole table can be reset.
#pragma once

#include <QWidget>

class QLabel;
class QLineEdit;
class QTableWidget;

namespace loopscope::viewer {

class MainWindow;
struct KeyPlace;

class KeyEditor : public QWidget {
    Q_OBJECT
public:
    explicit KeyEditor(MainWindow& window, QWidget* parent = nullptr);

private:
    void fill();
    void showRow(int row);
    void restyle();
    void filter(const QString& text);
    void typed(const KeyPlace& place, const QString& key);
    void change(const KeyPlace& place, const QString& key);

    MainWindow& m_window;
    QLineEdit* m_filter;
    QTableWidget* m_table;
    QLabel* m_clash;
};

} // namespace loopscope::viewer
