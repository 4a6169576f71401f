"""Verifies a stored Argon2 hash with argon2-cffi, then prints one of its own with the same parameters.

    python cross_verify.py STORED PASSWORD
"""

import sys

from argon2 import PasswordHasher, extract_parameters

stored, password = sys.argv[1:]
PasswordHasher().verify(stored, password)  # raises unless it matches
print(PasswordHasher.from_parameters(extract_parameters(stored)).hash(password))
