"""How fast d2l_ext is beside others: `make bench`."""
