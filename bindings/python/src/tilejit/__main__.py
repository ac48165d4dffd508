# SPDX-License-Identifier: Apache-2.0
"""python -m tilejit: the command."""

from tilejit._command import main

main()
