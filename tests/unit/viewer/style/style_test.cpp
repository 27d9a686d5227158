// The look in numbers: contrasts and distances of the colours, type, icons, style sheet.
#include "color_difference.h"
#include "viewer/style/icons.h"
#include "viewer/style/theme.h"

#include <QApplication>
#include <QHeaderView>
#include <QLineEdit>
#include <QPushButton>
#include <QRegularExpression>
#include <QSignalSpy>
#include <QTest>
#include <QTreeWidget>
#include <QVBoxLayout>

#include <cmath>

namespace loopscope::viewer {

class StyleTest : public QObject {
    Q_OBJECT
private slots:
    void contrasts_data();
    void contrasts();
    void faintTextsCanBeRead();
    void familiesStandOut_data();
    void familiesStandOut();
    void differenceAgreesWithItsPaper();
    void familiesDiffer_data();
    void familiesDiffer();
    void comparedSidesDiffer();
    void typeByUse();
    void textSizeScales();
    void everyIconIsDrawn();
    void iconTakesItsColor();
    void iconFollowsTheme();
    void unknownIconIsNull();
    void themeAppliesToWidgets();
    void treeRowsAreTwenty();
    void sheetNamesEveryColor();
};

static constexpr ThemeName kThemes[] = {ThemeName::light, ThemeName::dark, ThemeName::highContrast};

// docs/desktop.md, "Colour": the ratio of each pair in light, dark, high contrast, to one digit.
void StyleTest::contrasts_data()
{
    QTest::addColumn<int>("front");
    QTest::addColumn<int>("back");
    QTest::addColumn<QList<double>>("ratios");
    QTest::addColumn<double>("least");
    const auto row = [](const char* name, Token front, Token back, QList<double> ratios, double least = 4.5) {
        QTest::newRow(name) << static_cast<int>(front) << static_cast<int>(back) << ratios << least;
    };
    row("text on surface", Token::text, Token::surface, {16.7, 14.6, 21.0});
    row("text on selection", Token::text, Token::accentWeak, {13.6, 10.4, 12.6});
    row("text2 on surface", Token::text2, Token::surface, {8.3, 9.4, 21.0});
    row("text2 on selection", Token::text2, Token::accentWeak, {6.7, 6.7, 12.6});
    row("text3 on surface", Token::text3, Token::surface, {6.1, 6.3, 14.7});
    row("text3 on window", Token::text3, Token::window, {5.5, 5.7, 14.7});
    row("text3 on selection", Token::text3, Token::accentWeak, {4.9, 4.5, 8.9});
    row("dead on dead-weak", Token::dead, Token::deadWeak, {4.9, 5.1, 11.5});
    row("line2 on surface", Token::line2, Token::surface, {3.6, 4.0, 21.0}, 3);
    row("accent on surface", Token::accent, Token::surface, {6.2, 8.2, 13.7});
    row("accent on selection", Token::accent, Token::accentWeak, {5.0, 5.9, 8.2});
    row("on-accent on accent", Token::onAccent, Token::accent, {6.2, 8.1, 13.7});
    row("cur text on cur", Token::curText, Token::cur, {11.2, 9.0, 16.6});
    row("err on surface", Token::err, Token::surface, {6.9, 7.8, 10.4});
    row("ok on surface", Token::ok, Token::surface, {6.6, 10.1, 13.9});
    row("warn on surface", Token::warn, Token::surface, {6.9, 10.4, 15.1});
    row("A on surface", Token::sideA, Token::surface, {6.2, 8.2, 13.7});
    row("B on surface", Token::sideB, Token::surface, {6.1, 9.1, 10.7});
    row("bp on surface", Token::bp, Token::surface, {5.9, 6.5, 8.3});
}

void StyleTest::contrasts()
{
    QFETCH(int, front);
    QFETCH(int, back);
    QFETCH(QList<double>, ratios);
    QFETCH(double, least);
    for (size_t i = 0; i < 3; ++i) {
        const auto& tokens = paletteOf(kThemes[i]).tokens;
        const double ratio = contrastRatio(tokens[static_cast<size_t>(front)], tokens[static_cast<size_t>(back)]);
        QCOMPARE(std::round(ratio * 10) / 10, ratios[static_cast<qsizetype>(i)]);
        QVERIFY2(std::round(ratio * 10) / 10 >= least, qPrintable(QString::number(ratio)));
    }
}

void StyleTest::faintTextsCanBeRead()
{
    Theme& theme = Theme::instance();
    theme.apply();
    for (const ThemeName name : kThemes) {
        theme.set(name);
        QWidget window;
        auto* const layout = new QVBoxLayout(&window);
        auto* const field = new QLineEdit;
        field->setPlaceholderText("Find");
        auto* const button = new QPushButton("Run");
        button->setEnabled(false);
        layout->addWidget(field);
        layout->addWidget(button);
        window.show();
        QTest::qWait(1);
        const auto readable = [&](const QColor& text, Token ground) {
            QCOMPARE(text.alpha(), 255);
            const double ratio = contrastRatio(text.rgb(), theme.color(ground).rgb());
            QVERIFY2(ratio >= 4.5, qPrintable(QString::number(ratio)));
        };
        readable(field->palette().color(QPalette::PlaceholderText), Token::surface);
        readable(button->palette().color(QPalette::Disabled, QPalette::ButtonText), Token::window);
    }
    theme.set(ThemeName::light);
}

void StyleTest::familiesStandOut_data()
{
    QTest::addColumn<int>("theme");
    QTest::addColumn<QList<double>>("ratios");
    QTest::newRow("light") << 0 << QList<double>{11.3, 3.1, 5.9, 3.1, 11.2, 4.4, 3.3, 11.7, 5.2};
    QTest::newRow("dark") << 1 << QList<double>{3.7, 13.1, 5.8, 10.0, 14.3, 3.8, 11.8, 5.4, 6.4};
}

void StyleTest::familiesStandOut()
{
    QFETCH(int, theme);
    QFETCH(QList<double>, ratios);
    const Palette& palette = paletteOf(kThemes[theme]);
    for (size_t i = 0; i < kFamilyCount; ++i) {
        const double ratio = contrastRatio(palette.families[i], palette.tokens[static_cast<size_t>(Token::surface)]);
        QCOMPARE(std::round(ratio * 10) / 10, ratios[static_cast<qsizetype>(i)]);
        QVERIFY(ratio >= 3);
    }
}

// Sharma, Wu, Dalal: pairs of the paper cannot be written in sRGB bytes; black to white is 100, grey steps follow S_L.
void StyleTest::differenceAgreesWithItsPaper()
{
    QVERIFY(std::abs(colorDifference(qRgb(0, 0, 0), qRgb(255, 255, 255)) - 100) < 0.01);
    QCOMPARE(colorDifference(qRgb(10, 20, 30), qRgb(10, 20, 30)), 0.0);
    QVERIFY(std::abs(colorDifference(qRgb(255, 0, 0), qRgb(0, 255, 0)) - 86.61) < 0.05);
    QVERIFY(std::abs(colorDifference(qRgb(0, 0, 255), qRgb(255, 0, 0)) - 52.88) < 0.05);
}

void StyleTest::familiesDiffer_data()
{
    QTest::addColumn<int>("theme");
    QTest::addColumn<int>("vision");
    QTest::addColumn<double>("smallest");
    const double light[] = {18.0, 14.5, 14.5, 14.2};
    const double dark[] = {20.3, 14.8, 14.4, 14.4};
    const char* names[] = {"normal", "protan", "deutan", "tritan"};
    for (int vision = 0; vision < 4; ++vision) {
        QTest::addRow("light %s", names[vision]) << 0 << vision << light[vision];
        QTest::addRow("dark %s", names[vision]) << 1 << vision << dark[vision];
    }
}

void StyleTest::familiesDiffer()
{
    QFETCH(int, theme);
    QFETCH(int, vision);
    QFETCH(double, smallest);
    const auto& families = paletteOf(kThemes[theme]).families;
    double found = 1000;
    for (size_t i = 0; i < kFamilyCount; ++i)
        for (size_t j = 0; j < i; ++j)
            found = std::min(found, colorDifference(simulated(families[i], static_cast<Vision>(vision)),
                                                    simulated(families[j], static_cast<Vision>(vision))));
    QVERIFY2(found >= 12, qPrintable(QString::number(found)));
    // The simulated colours are rounded to bytes here.
    QVERIFY2(std::abs(found - smallest) < 0.25, qPrintable(QString::number(found)));
}

void StyleTest::comparedSidesDiffer()
{
    for (const ThemeName theme : kThemes) {
        const auto& tokens = paletteOf(theme).tokens;
        for (int vision = 0; vision < 4; ++vision)
            QVERIFY(colorDifference(simulated(tokens[static_cast<size_t>(Token::sideA)], static_cast<Vision>(vision)),
                                    simulated(tokens[static_cast<size_t>(Token::sideB)], static_cast<Vision>(vision))) >= 40);
    }
}

void StyleTest::typeByUse()
{
    Theme& theme = Theme::instance();
    QCOMPARE(theme.font(FontUse::title).pixelSize(), 20);
    QCOMPARE(theme.font(FontUse::body).pixelSize(), 12);
    QCOMPARE(theme.font(FontUse::value).pixelSize(), 11);
    QCOMPARE(theme.font(FontUse::tiny).pixelSize(), 10);
    QVERIFY(theme.font(FontUse::body, true).weight() > theme.font(FontUse::body).weight());
    const QFontMetricsF fixed(theme.font(FontUse::value));
    QCOMPARE(fixed.horizontalAdvance(QStringLiteral("iiii")), fixed.horizontalAdvance(QStringLiteral("MMMM")));
}

void StyleTest::textSizeScales()
{
    Theme& theme = Theme::instance();
    QSignalSpy changed(&theme, &Theme::changed);
    theme.setTextPercent(150);
    QCOMPARE(theme.font(FontUse::body).pixelSize(), 18);
    QCOMPARE(theme.rowHeight(), 30);
    theme.setTextPercent(500);
    QCOMPARE(theme.textPercent(), 200);
    theme.setTextPercent(100);
    theme.setDense(true);
    QCOMPARE(theme.rowHeight(), 18);
    theme.setDense(false);
    QCOMPARE(changed.count(), 5);
}

// docs/desktop.md, "Icons".
void StyleTest::everyIconIsDrawn()
{
    const QStringList ids =
        QStringLiteral("continue reverse-continue pause stop restart step-over step-into step-out step-back-over step-back-into "
                       "step-back-out iteration-back iteration-forward record find pin fit loop-region branch-region "
                       "call-region graph tree table heat-map histogram plot image compare swap follow export console watch "
                       "bookmark model-file recording warning error notice close theme")
            .split(QLatin1Char(' '));
    QCOMPARE(ids.size(), 41);
    QSet<QByteArray> pictures;
    for (const QString& id : ids) {
        const QImage image = iconPixmap(id, 16, Qt::black, 2).toImage();
        QCOMPARE(image.size(), QSize(32, 32));
        int inked = 0;
        for (int y = 0; y < image.height(); ++y)
            for (int x = 0; x < image.width(); ++x) inked += qAlpha(image.pixel(x, y)) > 0;
        QVERIFY2(inked > 20, qPrintable(id));
        pictures.insert(QByteArray(reinterpret_cast<const char*>(image.constBits()), static_cast<int>(image.sizeInBytes())));
    }
    QCOMPARE(pictures.size(), 41);
    QVERIFY(!applicationIcon().isNull());
}

void StyleTest::iconTakesItsColor()
{
    const QImage image = iconPixmap(QStringLiteral("stop"), 16, QColor(200, 10, 20), 1).toImage();
    QCOMPARE(image.pixelColor(8, 8), QColor(200, 10, 20));
}

void StyleTest::iconFollowsTheme()
{
    const QIcon icon = themedIcon(QStringLiteral("stop"));
    const auto middle = [&](QIcon::State state) {
        return icon.pixmap(QSize(16, 16), 1.0, QIcon::Normal, state).toImage().pixelColor(8, 8);
    };
    Theme::instance().set(ThemeName::light);
    QCOMPARE(middle(QIcon::Off), themed(Token::text2));
    QCOMPARE(middle(QIcon::On), themed(Token::accent));
    Theme::instance().set(ThemeName::dark);
    QCOMPARE(middle(QIcon::Off), themed(Token::text2));
    QCOMPARE(middle(QIcon::Off), QColor(0xB6, 0xBD, 0xC7));
    Theme::instance().set(ThemeName::light);
}

void StyleTest::unknownIconIsNull() { QVERIFY(iconPixmap(QStringLiteral("no-such"), 16, Qt::black, 1).isNull()); }

void StyleTest::themeAppliesToWidgets()
{
    Theme& theme = Theme::instance();
    theme.apply();
    QLineEdit field;
    field.ensurePolished();
    QCOMPARE(field.sizeHint().height(), 26);
    QPushButton button(QStringLiteral("Run"));
    button.ensurePolished();
    QCOMPARE(button.sizeHint().height(), 26);
    for (const ThemeName name : kThemes) {
        theme.set(name);
        QCOMPARE(QApplication::palette().color(QPalette::Window), themed(Token::window));
        field.resize(100, 26);
        QCOMPARE(field.grab().toImage().pixelColor(60, 13), themed(Token::surface));
    }
    theme.set(ThemeName::light);
}

void StyleTest::treeRowsAreTwenty()
{
    Theme::instance().apply();
    QTreeWidget tree;
    tree.setHeaderLabels({QStringLiteral("Invocation"), QStringLiteral("Steps")});
    auto* parent = new QTreeWidgetItem(&tree, {QStringLiteral("main"), QStringLiteral("1,350")});
    auto* child = new QTreeWidgetItem(parent, {QStringLiteral("while#1")});
    tree.expandAll();
    tree.resize(240, 200);
    tree.show();
    QVERIFY(QTest::qWaitForWindowExposed(&tree));
    QCOMPARE(tree.visualItemRect(parent).height(), 20);
    QCOMPARE(tree.visualItemRect(child).y() - tree.visualItemRect(parent).y(), 20);
    QCOMPARE(tree.header()->height(), 20);
    QCOMPARE(tree.indentation(), 12);
}

void StyleTest::sheetNamesEveryColor()
{
    const QString sheet = styleSheet();
    QVERIFY(!sheet.contains(QLatin1Char('@')));
    QVERIFY(!sheet.contains(QRegularExpression(QStringLiteral("%[a-z]"))));
}

} // namespace loopscope::viewer

QTEST_MAIN(loopscope::viewer::StyleTest)
#include "style_test.moc"
