"""What document 001 demands of the session dialect, one behaviour per test."""
