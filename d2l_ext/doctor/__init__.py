"""Find why a notebook fails on this machine: ``python -m d2l_ext.doctor``.

What runs here is the standard library alone, in the syntax of Python 3.8. Whatever may
crash, hang or be missing is imported by a process of its own (``probe``). Each check
returns findings; what they say, in English and Chinese, is in ``sentences``.
"""
