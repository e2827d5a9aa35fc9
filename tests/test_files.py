"""Files that are whole or absent, and that stay what they were to others."""

import errno
import os

import pytest

from vrbm.files import CannotWrite, atomic, unfinished


def write(path, text):
    with atomic(path) as temporary:
        temporary.write_text(text)


def mode(path):
    return path.stat().st_mode & 0o7777


def test_a_new_file_has_the_mode_that_the_umask_leaves_and_the_umask_is_not_touched(
    tmp_path, monkeypatch
):
    (tmp_path / "theirs").touch()

    def touched(mask):
        raise AssertionError("the umask belongs to the whole process")

    monkeypatch.setattr(os, "umask", touched)
    write(tmp_path / "ours", "new")
    assert mode(tmp_path / "ours") == mode(tmp_path / "theirs")


def test_a_file_that_is_replaced_keeps_its_mode(tmp_path):
    path = tmp_path / "secret"
    path.touch()
    path.chmod(0o600)
    write(path, "new")
    assert (mode(path), path.read_text()) == (0o600, "new")


@pytest.mark.parametrize("exists", [True, False])
def test_a_symbolic_link_stays_and_its_file_is_written(tmp_path, exists):
    target, link = tmp_path / "elsewhere" / "file", tmp_path / "link"
    target.parent.mkdir()
    if exists:
        target.write_text("old")
    link.symlink_to(target)
    write(link, "new")
    assert link.is_symlink()
    assert target.read_text() == "new"
    assert [path.name for path in target.parent.iterdir()] == ["file"]


def test_what_is_no_regular_file_is_not_replaced(tmp_path):
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(ValueError, match="fifo is no regular file"):
        write(tmp_path / "fifo", "new")


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO])
def test_a_device_that_fails_leaves_the_old_file(tmp_path, number):
    path = tmp_path / "file"
    path.write_text("old")

    def fail():
        with atomic(path) as temporary:
            assert unfinished == {temporary}
            temporary.write_text("ha")
            raise OSError(number, os.strerror(number))

    with pytest.raises(CannotWrite, match=f"file could not be written: {os.strerror(number)}"):
        fail()
    assert path.read_text() == "old"
    assert [one.name for one in tmp_path.iterdir()] == ["file"]
    assert not unfinished


def test_a_folder_that_cannot_be_made_is_told(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(CannotWrite, match="inside could not be written: File exists"):
        write(tmp_path / "file" / "inside", "new")


def test_other_errors_of_the_block_are_not_about_the_file(tmp_path):
    with pytest.raises(ConnectionResetError), atomic(tmp_path / "file"):
        raise ConnectionResetError
