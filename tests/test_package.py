import os
import subprocess
import sys
import time

import pytest

import vrbm


def run(*arguments: str, **kwargs) -> subprocess.CompletedProcess:
    return subprocess.run(arguments, capture_output=True, text=True, **kwargs)


def test_import_starts_nothing():
    code = "import sys, vrbm; dir(vrbm); assert not {'jax', 'numpy', 'sklearn'} & set(sys.modules)"
    result = run(sys.executable, "-c", code)
    assert result.returncode == 0, result.stderr


def test_every_public_name_can_be_had():
    for name in vrbm.__all__:
        assert getattr(vrbm, name) is not None
        assert name in dir(vrbm)
    for module in ("model", "data", "training"):
        assert getattr(vrbm, module).__name__ == f"vrbm.{module}"
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        vrbm.Nothing  # noqa: B018


def test_help_answers_within_a_second():
    vrbm_command = os.path.join(os.path.dirname(sys.executable), "vrbm")
    run(vrbm_command, "--help")  # the first call may compile bytecode
    start = time.perf_counter()
    result = run(vrbm_command, "--help")
    seconds = time.perf_counter() - start
    assert result.returncode == 0
    assert "demo" in result.stdout
    assert seconds < 1
