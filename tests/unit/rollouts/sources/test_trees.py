"""Files of strangers, read into memory within limits."""

import gzip
import io
import tarfile

import pytest

from hanse.rollouts.sources import Limits, SourceProblem
from hanse.rollouts.sources.charts import open_archive
from hanse.rollouts.sources.trees import below_top, read_folder, safe_path, subtree, unpack, write_tree
from tests.component.rollouts.sources.stores import chart_files, packed, packed_chart

LIMITS = Limits(unpacked_bytes=200_000, unpacked_files=20)


def tar_of(*members):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        for name, kind in members:
            member = tarfile.TarInfo(name)
            member.type, member.linkname = kind, "/etc/passwd"
            tar.addfile(member)
    return buffer.getvalue()


def said(action):
    with pytest.raises(SourceProblem) as caught:
        action()
    assert caught.value.reason == "ChartError"
    return str(caught.value)


def test_an_archive_is_its_files():
    assert unpack(packed({"./a/b.yaml": "x", "c": "y"}), LIMITS, "it") == {"a/b.yaml": b"x", "c": b"y"}


@pytest.mark.parametrize(
    ("archive", "sentence"),
    [
        (
            tar_of(("../../etc/cron.d/x", tarfile.REGTYPE)),
            "it holds the path '../../etc/cron.d/x', which leads out of it",
        ),
        (tar_of(("/etc/x", tarfile.REGTYPE)), "it holds the path '/etc/x', which leads out of it"),
        (tar_of(("a\\b", tarfile.REGTYPE)), "it holds the path 'a\\\\b', which leads out of it"),
        (tar_of(("link", tarfile.SYMTYPE)), "it holds link, a link or device; only files are taken"),
        (tar_of(("link", tarfile.LNKTYPE)), "it holds link, a link or device; only files are taken"),
        (tar_of(("pipe", tarfile.FIFOTYPE)), "it holds pipe, a link or device; only files are taken"),
        (tar_of(("disk", tarfile.BLKTYPE)), "it holds disk, a link or device; only files are taken"),
        (packed({f"f{number}": "" for number in range(21)}), "it holds more than 20 files; that is too many"),
        (packed({"zeros": b"\0" * 300_000}), "it holds more than 0 MB; that is too much"),
        (b"not an archive", "it is not a whole tar.gz archive"),
        (packed({"a": "x" * 1000})[:-20], "it is not a whole tar.gz archive"),
        (gzip.compress(b"neither is this" * 100), "it is not a whole tar.gz archive"),
        (b"", "it is not a whole tar.gz archive"),
    ],
    ids=range(13),
)
def test_archives_that_could_do_harm_are_refused(archive, sentence):
    assert said(lambda: unpack(archive, LIMITS, "it")) == sentence


def test_a_bomb_is_refused_long_before_it_is_unfolded():
    bomb = gzip.compress(b"\0" * 5_000_000)
    assert len(bomb) < 50_000
    assert "too much" in said(lambda: unpack(bomb, LIMITS, "it"))


@pytest.mark.parametrize(
    ("path", "safe"), [("a/b", True), ("./a", True), ("", False), ("/a", False), ("a/../b", False), ("a\0b", False)]
)
def test_a_path_stays_below_where_it_starts(path, safe):
    assert (safe_path(path) is not None) is safe


def test_a_folder_of_a_tree_is_seen_from_there():
    tree = {"apps/web/a": b"1", "apps/webby/b": b"2", "c": b"3"}
    assert subtree(tree, "apps/web/") == {"a": b"1"}
    assert subtree(tree, "") == tree
    assert below_top(tree) == {"web/a": b"1", "webby/b": b"2"}


def test_a_folder_is_read_and_written_whole(tmp_path):
    tree = {"a.yaml": b"1", "deep/er/b.yaml": b"2"}
    write_tree(tree, tmp_path / "charts")
    assert read_folder(tmp_path, "charts", LIMITS, "it") == tree


def test_names_that_do_not_go_together_are_refused(tmp_path):
    assert "cannot be written" in said(lambda: write_tree({"a": b"", "a/b": b""}, tmp_path))


@pytest.mark.parametrize(
    ("within", "sentence"),
    [
        ("../secret", "it leads outside of the folder that the control plane was given"),
        ("/etc", "it leads outside of the folder that the control plane was given"),
        ("linked", "it leads over a link, which is not followed"),
        ("linked/deeper", "it leads over a link, which is not followed"),
        ("absent", "it: there is no such folder where the control plane runs"),
        ("holder", "it holds the link inner; links are not taken"),
        ("holder2", "it holds the link folder; links are not taken"),
    ],
)
def test_nothing_outside_of_the_operators_folder_is_read(tmp_path, within, sentence):
    outside, root = tmp_path / "outside", tmp_path / "root"
    for folder in (outside, root / "holder", root / "holder2"):
        folder.mkdir(parents=True)
    (outside / "secret").write_text("x")
    (root / "linked").symlink_to(outside)
    (root / "holder" / "inner").symlink_to(outside / "secret")
    (root / "holder2" / "folder").symlink_to(outside)
    assert said(lambda: read_folder(root, within, LIMITS, "it")) == sentence


def test_charts_within_charts_are_unpacked():
    inner = packed_chart("db", "1.0.0", {"charts/deepest-2.0.0.tgz": packed_chart("deepest", "2.0.0")})
    opened = open_archive(packed_chart(files={"charts/db-1.0.0.tgz": inner}), LIMITS, "it")
    assert (opened.name, opened.version) == ("web", "0.1.0")
    assert "charts/db-1.0.0/charts/deepest-2.0.0/Chart.yaml" in opened.tree
    assert not [path for path in opened.tree if path.endswith(".tgz")]


def test_charts_within_charts_share_the_limit():
    large = packed_chart("db", "1.0.0", {"README.md": b"x" * 150_000})
    archive = packed_chart(files={"charts/a.tgz": large, "charts/b.tgz": large})
    assert "too much" in said(lambda: open_archive(archive, LIMITS, "it"))


def test_an_endless_nest_of_charts_is_refused():
    nest = packed_chart("db")
    for _ in range(5):
        nest = packed({"db/Chart.yaml": "name: db", "db/charts/db.tgz": nest})
    assert "more than 4 deep" in said(lambda: open_archive(nest, LIMITS, "it"))


def test_what_has_no_chart_yaml_is_no_chart():
    files = {f"web/{path}": content for path, content in chart_files().items() if path != "Chart.yaml"}
    assert said(lambda: open_archive(packed(files), LIMITS, "it")) == "it is no chart: it has no Chart.yaml"
