"""Folders as ConfigMaps."""

import base64
import io
import tarfile

import pytest
import yaml
from click.testing import CliRunner

from hanse.cli.failures import Misuse
from hanse.cli.rollout_pack import command
from hanse.cli.rollout_packing import archived, pack


def write(folder, **files):
    for name, content in files.items():
        path = folder / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return folder


def unpacked(text):
    with tarfile.open(fileobj=io.BytesIO(base64.b64decode(text))) as archive:
        return {member.name: archive.extractfile(member).read() for member in archive}


def test_a_chart_becomes_an_archive_with_its_own_folder(tmp_path):
    write(tmp_path, templates__x=b"kind: Service", **{".git__config": b"x"})
    (tmp_path / "Chart.yaml").write_text("name: web\nversion: 1.2.3\n")

    packed = pack(tmp_path, "parcel", "shop")

    assert packed.reference == {"chart": {"name": "web", "version": "1.2.3", "repoUrl": "configmap://parcel"}}
    metadata = {"name": "parcel", "namespace": "shop", "annotations": {"hanse.dev/federate": "false"}}
    assert packed.manifest["metadata"] == metadata
    assert unpacked(packed.manifest["binaryData"]["chart.tgz"]) == {
        "web/Chart.yaml": b"name: web\nversion: 1.2.3\n",
        "web/templates/x": b"kind: Service",
    }


def test_files_side_by_side_stay_readable(tmp_path):
    (tmp_path / "kustomization.yaml").write_text("resources: [web.yaml]\n")
    (tmp_path / "web.yaml").write_text("kind: Service\n")

    packed = pack(tmp_path, "parcel")

    assert packed.reference == {"source": {"kustomization": {"location": "configmap://parcel"}}}
    assert packed.manifest["data"] == {"kustomization.yaml": "resources: [web.yaml]\n", "web.yaml": "kind: Service\n"}
    assert "namespace" not in packed.manifest["metadata"]


def test_files_in_folders_become_an_archive(tmp_path):
    write(tmp_path, deep__web=b"kind: Service")

    packed = pack(tmp_path, "parcel")

    assert packed.kind == "manifests"
    assert unpacked(packed.manifest["binaryData"]["files.tgz"]) == {"deep/web": b"kind: Service"}


@pytest.mark.parametrize("name", ["Shop", "shop_1", "-shop", "shop/1", ""])
def test_a_name_that_no_config_map_can_have_is_refused(tmp_path, name):
    write(tmp_path, a=b"kind: Service")

    with pytest.raises(Misuse, match=r"--name: .* is no name for a ConfigMap"):
        pack(tmp_path, name)


def test_the_same_files_give_the_same_archive():
    assert archived({"b": b"2", "a": b"1"}) == archived({"a": b"1", "b": b"2"})


def too_large(folder):
    (folder / "web.yaml").write_text("x" * 1_100_000)


def linked(folder):
    (folder / "web.yaml").symlink_to("/etc/hostname")


def broken_chart(folder):
    (folder / "Chart.yaml").write_text("name: web\n")


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (too_large, "has 1074 KB when packed, and a ConfigMap takes 1024 KB (1 MB)"),
        (linked, "web.yaml is a link; put the file itself there"),
        (broken_chart, "Chart.yaml: it must be YAML with a name and a version"),
        (lambda folder: folder.rmdir(), "there is no folder"),
        (lambda folder: None, "there is no file in"),
    ],
)
def test_what_cannot_be_packed_is_said_in_one_sentence(tmp_path, spoil, sentence):
    spoil(tmp_path)

    with pytest.raises(Misuse) as refused:
        pack(tmp_path, "parcel")

    assert sentence in str(refused.value)


def test_what_is_packed_goes_to_kubectl_and_what_to_write_is_told_beside_it(tmp_path):
    (tmp_path / "web.yaml").write_text("kind: Service\n")

    done = CliRunner().invoke(command, [str(tmp_path), "--name", "parcel"])

    assert done.exit_code == 0, done.output
    assert yaml.safe_load(done.stdout)["data"] == {"web.yaml": "kind: Service\n"}
    assert "in the application's template: source: {manifests: {location: 'configmap://parcel'}}" in done.stderr
