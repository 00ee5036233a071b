"""What a failed check in a helper compared is shown."""

import pytest

pytest.register_assert_rewrite("tests.seeds.flows")
