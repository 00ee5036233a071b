"""Shows the values of failed checks in helpers, and shares sessions between tests."""

import pytest

pytest.register_assert_rewrite("tests.judges.seeds.flows")


@pytest.fixture
def _no_process_left_running() -> None:
    """Leave them running: `Hosts` closes the sessions after the last flow."""
