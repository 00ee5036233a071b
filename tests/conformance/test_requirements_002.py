"""What document 002 demands of the legacy dialect, one behaviour per test."""
