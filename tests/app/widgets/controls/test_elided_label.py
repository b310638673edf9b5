"""A line of words gives way to its neighbours, and keeps its words for whoever asks."""

from app.widgets.controls.elided_label import ElidedLabel


def test_it_needs_no_width_and_keeps_its_text(qtbot):
    label = ElidedLabel("199 documents in the corpus")
    qtbot.addWidget(label)
    label.resize(40, 20)
    label.show()
    assert label.minimumSizeHint().width() == 0
    assert label.text() == "199 documents in the corpus"
    assert not label.grab().isNull()
