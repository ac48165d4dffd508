# SPDX-License-Identifier: Apache-2.0
"""How contexts end: by close(), by with, when nothing refers to them, while other threads use them, in a forked child, with the process."""

import gc
import os
import subprocess
import sys
import threading

import pytest
import tilejit


def test_a_context_that_nobody_has_is_freed(tmp_path, random):
    """A context that is freed writes its list of shapes; one that is not does so seconds later."""
    path = tmp_path / "shapes.csv"
    context = tilejit.Context(driver="emulator", capture=path)
    array = context.to_device(random(3, 4))
    tilejit.matmul(array, context.to_device(random(4, 5)))
    del context
    assert not path.exists(), "freed, and an array is still there"
    del array
    gc.collect()
    assert "1,3,4,5,,f32" in path.read_text()


def test_close_while_threads_multiply(random):
    a, b = random(8, 8), random(8, 8)
    for _ in range(8):
        context = tilejit.Context(driver="emulator")
        on_device, begun, raised = context.to_device(a), threading.Barrier(5), []

        def work(x, y):
            try:
                tilejit.matmul(x, y, context=context)
                begun.wait()
                while True:
                    tilejit.matmul(x, y, context=context)
            except Exception as error:
                raised.append(error)

        threads = [threading.Thread(target=work, args=pair) for pair in ((a, b), (on_device, on_device)) * 2]
        for thread in threads:
            thread.start()
        begun.wait()
        context.close()
        for thread in threads:
            thread.join()
        assert len(raised) == 4
        for error in raised:
            assert isinstance(error, tilejit.InvalidArgument) and ("closed" in str(error) or "freed" in str(error)), error


def test_arrays_and_kernels_of_a_closed_context(random):
    with tilejit.Context(driver="emulator") as context:
        array = context.to_device(random(2, 2))
    assert array.address == 0
    for call in (array.numpy, lambda: array.write(random(2, 2)), lambda: tilejit.matmul(array, array), lambda: context.stats, lambda: context.empty(1)):
        with pytest.raises(tilejit.InvalidArgument, match="closed|freed"):
            call()
    array.free()
    context.close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_process_ends_with_contexts(tmp_path):
    """The process, and a child of it, end without a word, with contexts and arrays at hand."""
    code = """
import gc, os, numpy, tilejit
context = tilejit.Context(driver="emulator", capture="shapes.csv")
array = context.to_device(numpy.ones((4, 4), "f4"))
product = tilejit.matmul(array, array)
child = os.fork()
if child == 0:
    del array, product
    context.close()
    gc.collect()
    raise SystemExit(7)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7 and not os.path.exists("shapes.csv")
"""
    done = subprocess.run([sys.executable, "-X", "dev", "-W", "ignore::DeprecationWarning", "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert "1,4,4,4,,f32" in (tmp_path / "shapes.csv").read_text()
