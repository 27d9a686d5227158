// Small parts that several panels share: what an empty panel says and offers, chips, and work off the GUI thread.
#pragma once

#include <QAbstractButton>
#include <QLabel>
#include <QPointer>
#include <QStackedWidget>
#include <QThreadPool>

#include <functional>
#include <memory>
#include <stop_token>
#include <utility>
#include <vector>

class QHBoxLayout;

namespace loopscope::viewer {

/// One action that an empty panel offers.
struct Offer {
    QString text;
    std::function<void()> run;
};

/// A content that is replaced by a line of text and offers where there is nothing to show.
class EmptyStack : public QStackedWidget {
    Q_OBJECT
public:
    explicit EmptyStack(QWidget* content, QWidget* parent = nullptr);
    void showContent();
    void showEmpty(const QString& text, std::vector<Offer> offers = {});
    bool isEmpty() const { return currentIndex() == 1; }
    QString emptyText() const;

private:
    void restyle();
    QLabel* m_text = nullptr;
    QWidget* m_page = nullptr;
    QWidget* m_buttons = nullptr;
    std::vector<std::pair<QString, QAbstractButton*>> m_offers;
};

/// A line that is cut in its middle where there is no room for it, with the whole as its tool tip.
class ElidedLabel : public QLabel {
    Q_OBJECT
public:
    using QLabel::QLabel;
    QSize minimumSizeHint() const override;

protected:
    void paintEvent(QPaintEvent* event) override;
};

/// A rounded button that is on or off, or a plain one.
class Chip : public QAbstractButton {
    Q_OBJECT
public:
    explicit Chip(const QString& text, QWidget* parent = nullptr);
    QSize sizeHint() const override;

protected:
    void paintEvent(QPaintEvent* event) override;
};

/// A text button as panels offer it: an outline, or filled with the accent.
class OfferButton : public QAbstractButton {
    Q_OBJECT
public:
    explicit OfferButton(const QString& text, bool primary = false, QWidget* parent = nullptr);
    QSize sizeHint() const override;
    QSize minimumSizeHint() const override; ///< the text is elided below its own width

protected:
    void keyPressEvent(QKeyEvent* event) override; ///< Return presses it as Space does
    void paintEvent(QPaintEvent* event) override;

private:
    bool m_primary;
};

/// Runs one piece of work at a time on a thread; a newer piece makes the older one's answer void. The destructor waits for what runs, which
/// should look at its token.
class Background : public QObject {
    Q_OBJECT
public:
    explicit Background(QObject* parent = nullptr) : QObject(parent) { m_pool.setMaxThreadCount(1); }
    ~Background() override
    {
        m_stop.request_stop();
        m_pool.waitForDone();
    }
    /// `work(std::stop_token)` on the thread, `done(answer)` on the GUI thread.
    template <typename Work, typename Done> void run(Work work, Done done)
    {
        m_stop.request_stop();
        m_stop = std::stop_source();
        const uint64_t ticket = ++m_ticket;
        m_pool.start([this, ticket, token = m_stop.get_token(), work = std::move(work), done = std::move(done)]() mutable {
            using Answer = decltype(work(token));
            auto answer = std::make_shared<Answer>(work(token));
            // The destructor waits for this function, so `this` lives here; the event is dropped with it.
            QMetaObject::invokeMethod(
                this,
                [this, ticket, answer, done = std::move(done)]() mutable {
                    if (ticket == m_ticket) done(std::move(*answer));
                },
                Qt::QueuedConnection);
        });
    }

private:
    std::stop_source m_stop;
    uint64_t m_ticket = 0;
    QThreadPool m_pool;
};

} // namespace loopscope::viewer
