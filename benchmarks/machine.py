"""What the figures were measured on: the processor, and nothing that names a place."""

import platform


def processor():
    """(model, whether it is AMD's)."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            lines = [line.split(":", 1) for line in file if ":" in line]
    except OSError:  # not Linux
        return platform.processor() or platform.machine(), False
    fields = {name.strip(): value.strip() for name, value in lines}
    model = fields.get("model name", platform.machine())
    return model, fields.get("vendor_id") == "AuthenticAMD"
