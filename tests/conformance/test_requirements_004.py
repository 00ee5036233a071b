"""What document 004 demands of the envelope dialect, one behaviour per test."""
