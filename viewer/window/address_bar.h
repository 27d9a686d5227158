// The canonical address of the present moment, set apart as crumbs that can be clicked, and its field: Ctrl+G makes it a text with
// completion that takes every form of `goto`.
#pragma once

#include <QFrame>
#include <QPointer>
#include <QRect>
#include <QString>
#include <QStringList>

#include <functional>
#include <utility>

class QLineEdit;
class QLabel;

namespace loopscope::viewer {

class AddressBar : public QFrame {
    Q_OBJECT
public:
    explicit AddressBar(QWidget* parent = nullptr);

    /// Empty: nothing is open, and `hint` says so.
    void setAddress(const QString& address, const QString& hint = {});
    QString address() const { return m_address; }
    /// What edits it, at its right end; empty: no key does.
    void setKey(const QString& key);
    void edit(const QString& text = {});
    void editIteration(); ///< of the innermost loop
    /// Candidates for what is typed.
    void setCompletion(std::function<QStringList(const QString&)> completion) { m_completion = std::move(completion); }
    bool isEditing() const;
    QStringList crumbs() const; ///< visible texts, for tests

signals:
    void gotoRequested(const QString& place);
    void iterationRequested(const QString& number);
    void crumbClicked(const QString& address);

protected:
    void paintEvent(QPaintEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    struct Crumb {
        QString text, address; ///< address up to here
        bool isIteration = false, isSeparator = false;
        QRect rect;
    };
    void layOut();
    void stopEditing();
    void leave();

    QString m_address, m_hint;
    QList<Crumb> m_crumbs;
    QLineEdit* m_field;
    QPointer<QWidget> m_before; ///< where the keyboard was
    QLabel* m_key;
    bool m_forIteration = false;
    std::function<QStringList(const QString&)> m_completion;
};

} // namespace loopscope::viewer
