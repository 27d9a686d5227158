// The line at the bottom: state in a word, why it stopped, what the kernels are, what going back costs; work that takes long with its
// Cancel; seed, recording, density.
#pragma once

#include <QPointer>
#include <QWidget>

class QHBoxLayout;
class QLabel;
class QPushButton;
class QTimer;

namespace loopscope::viewer {

class Document;

class StatusLine : public QWidget {
    Q_OBJECT
public:
    explicit StatusLine(QWidget* parent = nullptr);

    /// Null: nothing is open.
    void show(Document* document);
    /// "Opening movenet.tflite": instead of the state, until clearWork().
    void showWork(const QString& text);
    void clearWork();
    /// Of the bridge.
    void showProgress(const QString& what, qint64 tick, qint64 target, qint64 from);
    /// "Cancelled at step 41,233; back at step 1,055": for some seconds.
    void say(const QString& text);
    QString stateText() const;

signals:
    void cancelRequested();
    void densityClicked();

private:
    QLabel* label(const QString& name, bool separated);
    void setState(const char* icon, const QString& word, int token);

    QHBoxLayout* m_row;
    QLabel *m_icon, *m_state, *m_reason, *m_profile, *m_memory, *m_kept, *m_progress, *m_seed, *m_recording;
    QPushButton *m_cancel, *m_density;
    QTimer* m_saying;
    QString m_said;
    qint64 m_saidAt = -1; ///< tick of the stop at which it was said
    QPointer<Document> m_document;
};

/// "read_variable#1 failed: variable 'never' is read before it was assigned": of an error of the engine, "main/read_variable#1: C2:
/// variable …".
QString failureText(const QString& error);
/// "breakpoint 1 on tanh#15, iter == 37": all reasons of the stop.
QString stopReasonText(const Document& document);

} // namespace loopscope::viewer
