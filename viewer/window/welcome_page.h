// The first page: open something, go on with something recent, or press one button and be inside a loop.
#pragma once

#include "viewer/bridge/backend.h"

#include <QScrollArea>

#include <vector>

class QBoxLayout;
class QGridLayout;
class QPushButton;
class QVBoxLayout;

namespace loopscope::viewer {

class Settings;

class WelcomePage : public QScrollArea {
    Q_OBJECT
public:
    WelcomePage(std::vector<Services::Sample> samples, Settings& settings, QWidget* parent = nullptr);
    void showRecent();

protected:
    void resizeEvent(QResizeEvent* event) override;

signals:
    void commandRequested(const QString& command);
    void fileRequested(const QString& path);
    void sampleRequested(int index);
    void themeRequested(const QString& name);

private:
    QWidget* startColumn();
    QWidget* sampleGrid();
    QWidget* keyColumn();
    QWidget* programColumn();
    void showTheme();
    void arrange();

    std::vector<Services::Sample> m_samples;
    Settings& m_settings;
    QBoxLayout *m_columns = nullptr, *m_lower = nullptr;
    QGridLayout* m_grid = nullptr;
    QVBoxLayout* m_recent = nullptr;
    QWidget* m_start = nullptr;
    QList<QWidget*> m_cards, m_cardWide; ///< the samples; all that is as wide as a card
    QList<QPushButton*> m_themes;
};

} // namespace loopscope::viewer
