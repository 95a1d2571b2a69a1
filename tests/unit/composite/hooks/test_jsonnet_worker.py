"""Jsonnet is given its own files and no others."""

import pytest

from hanse.composite.hooks.jsonnet_worker import MAIN, Files


@pytest.fixture
def own(tmp_path):
    folder = tmp_path / "own"
    (folder / "below").mkdir(parents=True)
    (folder / "hook.jsonnet").write_text("function(r) {}")
    (folder / "below" / "a.libsonnet").write_text("{ a: 1 }")
    (tmp_path / "shelf" / "vendor").mkdir(parents=True)
    (tmp_path / "shelf" / "vendor" / "c.libsonnet").write_text("{ c: 1 }")
    (tmp_path / "single.libsonnet").write_text("{ d: 1 }")
    (tmp_path / "secret.txt").write_text("secret")
    (folder / "link.txt").symlink_to(tmp_path / "secret.txt")
    return folder


def files(main, sent=None, libraries=()):
    return Files({"main": str(main), "files": sent or {}, "libraries": [str(each) for each in libraries]})


def test_what_was_sent_is_found_by_its_name():
    sent = files("hook.jsonnet", {"hook.jsonnet": "1", "lib.libsonnet": "ü"})

    assert sent.read("", MAIN) == ("hook.jsonnet", b"1")
    assert sent.read("", "./lib.libsonnet") == ("lib.libsonnet", "ü".encode())
    assert sent.refusal == ""


def test_a_file_imports_what_is_beside_and_below_it_and_its_libraries(own):
    shelf, single = own.parent / "shelf", own.parent / "single.libsonnet"
    found = files(own / "hook.jsonnet", libraries=[shelf, single])

    assert found.read("", MAIN) == (str(own / "hook.jsonnet"), b"function(r) {}")
    below = str(own / "below" / "a.libsonnet")
    assert found.read(f"{own}/", "below/a.libsonnet") == (below, b"{ a: 1 }")
    assert found.read(f"{own}/below/", "../hook.jsonnet") == (str(own / "hook.jsonnet"), b"function(r) {}")
    assert found.read(f"{own}/", "vendor/c.libsonnet") == (str(shelf / "vendor" / "c.libsonnet"), b"{ c: 1 }")
    assert found.read(f"{own}/", "single.libsonnet") == (str(single), b"{ d: 1 }")
    assert found.refusal == ""


@pytest.mark.parametrize(
    "name", ["/etc/passwd", "../secret.txt", "below/../../secret.txt", "link.txt", "nowhere.libsonnet", ".", "below"]
)
def test_no_other_file_of_the_machine_is_read(own, name):
    found = files(own / "hook.jsonnet", libraries=[own.parent / "single.libsonnet"])

    assert found.read(f"{own}/", name)[1] == b"null"
    assert "which is not among its files" in found.refusal


def test_code_that_was_sent_has_no_folder_at_all(own):
    sent = files("hook.jsonnet", {"hook.jsonnet": ""})

    assert sent.read("", str(own / "hook.jsonnet"))[1] == b"null"
    assert sent.refusal == f'imports "{own}/hook.jsonnet", which is not among its files'


def test_a_file_that_is_not_there_is_named(own):
    found = files(own / "gone.jsonnet")

    found.read("", MAIN)
    found.read("", "/etc/passwd")

    assert found.refusal == "cannot be read: gone.jsonnet: No such file or directory"
