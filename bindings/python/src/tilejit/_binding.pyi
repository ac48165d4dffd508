# SPDX-License-Identifier: Apache-2.0
# make_binding.py writes this extension; its names are those of the C headers.
from typing import Any

ffi: Any
lib: Any
