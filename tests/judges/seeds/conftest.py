"""What a failed check in a helper compared is shown, and sessions are shared by many tests."""

import pytest

pytest.register_assert_rewrite("tests.judges.seeds.flows")


@pytest.fixture
def _no_process_left_running() -> None:
    """Leave them running: `Hosts` closes the sessions after the last flow."""
