// The line above the rows of a listing: which graph, of which moment.
#pragma once

#include "viewer/style/theme.h"

#include <QString>
#include <QWidget>

namespace loopscope::viewer {

class ListingHead : public QWidget {
public:
    explicit ListingHead(QWidget* parent);
    void setTexts(const QString& address, const QString& signature, const QString& counts);
    QSize sizeHint() const override { return {100, Theme::instance().rowHeight()}; }

protected:
    void paintEvent(QPaintEvent*) override;

private:
    QString m_address, m_signature, m_counts;
};

} // namespace loopscope::viewer
