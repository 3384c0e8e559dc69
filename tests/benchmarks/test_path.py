"""One sentence passes few modules on its way."""

import path


def test_a_sentence_passes_55_modules_at_most() -> None:
    passed = set(path.traced().calls)
    assert passed >= {"groundrail.text.claims", "groundrail.generation.loop", "groundrail.scoring.scale"}
    assert len(passed) <= 55
