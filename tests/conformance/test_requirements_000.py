"""What document 000 demands of the modern dialect, one behaviour per test."""
