// The first page: open something, go on with something recent, or press one button and be inside a loop.
#pragma once

#include "viewer/bridge/backend.h"

#include <QScrollArea>

#include <vector>

class QVBoxLayout;
class QPushButton;

namespace loopscope::viewer {

class Settings;

class WelcomePage : public QScrollArea {
    Q_OBJECT
public:
    WelcomePage(std::vector<Services::Sample> samples, Settings& settings, QWidget* parent = nullptr);
    void showRecent();

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

    std::vector<Services::Sample> m_samples;
    Settings& m_settings;
    QVBoxLayout* m_recent = nullptr;
    QList<QPushButton*> m_themes;
};

} // namespace loopscope::viewer
