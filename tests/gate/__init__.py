"""The gate: runs every notebook with nbval and closes what nbval lets through.

`plugin` holds the pytest hooks, `items` a notebook's tests, `rules` what can be said of
the stored file alone, `compare` and `pictures` judge stored and fresh outputs.
"""
