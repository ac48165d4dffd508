# SPDX-License-Identifier: Apache-2.0
"""Every block of Python in the pages is run, each page in one go, after two matrices are made. Those for tensors on a GPU are only compiled, and
so are those for JAX where it is not installed."""

import pathlib
import re
import sys

import numpy
import pytest
import tilejit

ROOT = pathlib.Path(__file__).resolve().parents[3]
PAGES = [page for page in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")), ROOT / "bindings/python/README.md")
         if "\n```python\n" in page.read_text()]


def has_jax():
    try:
        import jax.ffi  # noqa: F401
    except ImportError:
        return False
    return True


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_blocks(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```python\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)
    assert blocks
    names = {"numpy": numpy, "tilejit": tilejit, "a": numpy.ones((32, 30), "f4"), "b": numpy.ones((30, 20), "f4"), "bias": numpy.ones(20, "f4")}
    for block in blocks:
        block = block.replace("(512, 300)", "(32, 30)").replace("(300, 700)", "(30, 20)").replace("(512, 700)", "(32, 20)").replace("ones(700", "ones(20")
        block = block.replace("seconds=8", "seconds=8, evaluations=1").replace("b[:200]", "b[:20]")
        code = compile(block, str(page), "exec")
        if "cuda" not in block and ("import jax" not in block or has_jax()):
            exec(code, names)


def test_every_name_is_described():
    for name in tilejit.__all__:
        assert getattr(tilejit, name).__doc__, name
    assert sys.modules["tilejit"].__doc__
