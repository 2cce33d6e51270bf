"""What a compiled function can read besides its arguments: the walker that python/common/walk has, for this package."""
