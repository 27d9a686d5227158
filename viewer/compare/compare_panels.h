// The panels of the Compare task. Each is owned by whoever asked for it.
#pragma once

namespace loopscope::viewer {

class Document;
class Panel;

Panel* makeCompareAPanel(Document& document);
Panel* makeCompareBPanel(Document& document);
Panel* makeErrorStripPanel(Document& document);
Panel* makeDifferencesPanel(Document& document);
Panel* makeUnmatchedPanel(Document& document);
/// Null: the other side is no fused model.
Panel* makeRewritesPanel(Document& document);
/// Null: the other side is not the model itself on other kernels.
Panel* makeKernelsPanel(Document& document);
Panel* makeCompareSettingsPanel(Document& document);
Panel* makeTensorDifferencePanel(Document& document);
Panel* makeTensorAPanel(Document& document);
Panel* makeTensorBPanel(Document& document);

} // namespace loopscope::viewer
