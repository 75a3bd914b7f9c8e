pytest_plugins = ["tests.gate.plugin"]
