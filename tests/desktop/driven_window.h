// What tests of the real window share: a window with settings and sessions of its own, driven as a person drives it.
#pragma once

#include "app/desktop/terminal_backend.h"
#include "viewer/style/theme.h"
#include "viewer/widgets/panel_strip.h"
#include "viewer/window/address_bar.h"
#include "viewer/window/main_window.h"
#include "viewer/window/session_store.h"
#include "viewer/window/status_line.h"

#include <QAction>
#include <QApplication>
#include <QDir>
#include <QFileDialog>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QTemporaryDir>
#include <QTest>
#include <QTreeView>

namespace loopscope::viewer::testing {

class DrivenWindow {
protected:
    void begin()
    {
        qputenv("LOOPSCOPE_SAMPLES", QDir::currentPath().toUtf8() + "/samples/text");
        Theme::instance().apply();
        m_folder = std::make_unique<QTemporaryDir>();
        start();
    }
    void end()
    {
        m_window.reset();
        m_services.reset();
        m_folder.reset();
        Theme::instance().set(ThemeName::light);
        Theme::instance().setDense(false);
        Theme::instance().setTextPercent(100);
    }

    void start()
    {
        m_services = std::make_unique<app::DesktopServices>(app::Arguments());
        m_window = std::make_unique<MainWindow>(*m_services,
                                                MainWindow::Folders{m_folder->path() + "/settings.json", m_folder->path() + "/sessions"});
        m_window->show();
        m_window->activateWindow();
        QVERIFY(QTest::qWaitForWindowActive(m_window.get()));
    }
    void restart()
    {
        m_window->close();
        m_window.reset();
        start();
    }
    /// Until nothing runs and every panel has drawn what it shows.
    void settle()
    {
        for (int i = 0; i < 2; ++i) {
            QVERIFY(QTest::qWaitFor([&] { return m_window->settled(); }, 30000));
            QTest::qWait(20);
        }
    }
    void open(const QString& path, const std::vector<std::pair<std::string, std::string>>& inputs = {})
    {
        m_window->open(path.contains('/') ? path : "samples/text/" + path);
        settle();
        QVERIFY2(m_window->document(), qPrintable(path));
        for (const auto& [name, source] : inputs) m_window->document()->backend().setInput(name, source);
    }
    void execute(const QString& line)
    {
        m_window->document()->execute(line);
        settle();
    }
    void trigger(const char* command)
    {
        QVERIFY2(m_window->action(command)->isEnabled(), command);
        m_window->action(command)->trigger();
        settle();
    }
    /// A key of the window, as it is bound, pressed where the focus is.
    void press(const QString& key)
    {
        const QKeyCombination one = QKeySequence(key)[0];
        QWidget* const focus = QApplication::focusWidget();
        QTest::keyClick(focus ? focus : m_window.get(), one.key(), one.keyboardModifiers());
        settle();
    }
    void type(const QString& text)
    {
        QVERIFY(QApplication::focusWidget());
        QTest::keyClicks(QApplication::focusWidget(), text);
    }
    /// Moves the keyboard into a panel, which is opened if need be.
    Panel* enter(const char* panel)
    {
        Panel* const shown = m_window->area()->show(panel, true);
        settle();
        return shown;
    }
    /// Types a path into the file dialog that is open and accepts it.
    void answerDialog(const QString& path)
    {
        auto* const dialog = find<QFileDialog>({});
        QVERIFY(dialog);
        auto* const field = dialog->findChild<QLineEdit*>("fileNameEdit");
        QVERIFY(field);
        field->setText(path);
        QTest::keyClick(field, Qt::Key_Return);
        QTRY_VERIFY(!dialog->isVisible());
        m_window->activateWindow(); // as a window manager does
        settle();
    }
    template <typename Widget = QWidget> Widget* find(const QString& name) { return m_window->findChild<Widget*>(name); }
    const StopSnapshot& stop() const { return *m_window->document()->stop(); }
    QString address() const { return m_window->addressBar()->address(); }
    QString selected() const { return QString::fromStdString(m_window->document()->selection().address); }
    QString reason() { return find<QLabel>("statusReason")->text(); }
    QString sessionFile() const
    {
        const QStringList files = QDir(m_folder->path() + "/sessions").entryList({"*.json"});
        return files.isEmpty() ? QString() : m_folder->path() + "/sessions/" + files.front();
    }

    std::unique_ptr<QTemporaryDir> m_folder;
    std::unique_ptr<app::DesktopServices> m_services;
    std::unique_ptr<MainWindow> m_window;
};

/// The texts of a tree or table, a line a visible row, cells apart by " | ".
inline QStringList rowsOf(const QAbstractItemView* view)
{
    QStringList lines;
    const auto* const tree = qobject_cast<const QTreeView*>(view);
    const std::function<void(const QModelIndex&)> walk = [&](const QModelIndex& parent) {
        const QAbstractItemModel& model = *view->model();
        for (int row = 0; row < model.rowCount(parent); ++row) {
            QStringList cells;
            for (int column = 0; column < model.columnCount(parent); ++column)
                cells.append(model.index(row, column, parent).data().toString());
            lines.append(cells.join(" | "));
            if (const QModelIndex index = model.index(row, 0, parent); tree && tree->isExpanded(index)) walk(index);
        }
    };
    walk({});
    return lines;
}

} // namespace loopscope::viewer::testing
