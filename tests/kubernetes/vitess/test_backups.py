"""What real vtctlds say of backups, started with the flags of a VitessBackupStorage's Pod: on a volume, and in S3."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit
from xml.sax.saxutils import escape

import pytest

from hanse.vitess.operator.backup_asking import Listing, stored_backup
from hanse.vitess.operator.backup_listing import inventory
from hanse.vitess.operator.storages import sync_storage
from hanse.vitess.tablets.calling import CallFailed
from hanse.vitess.tablets.grpc_calling import GrpcCaller
from hanse.vitess.tablets.vtctld import Vtctld
from tests.kubernetes.vitess.programs import real_vitess
from tests.unit.vitess.operator.scenes import SETTINGS, child, cluster, live, watched
from tests.vitess_specs import vitess_cluster

OLD, NEW = "2026-11-17.014500.zone1-2548885007", "2026-11-18.014500.zone1-2548885007"


class Bucket:
    """Just as much of S3 as it takes to list one bucket, page by page, to those who sign their questions."""

    def __init__(self, *keys: str) -> None:
        self.keys = sorted(keys)
        self.refuses = False
        self.questions: list[str] = []

    def answer(self, path: str, signed: bool) -> tuple[int, str]:
        url = urlsplit(path)
        self.questions.append(path)
        if self.refuses or not signed:
            return 403, "<Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>"
        query = {name: values[0] for name, values in parse_qs(url.query, keep_blank_values=True).items()}
        prefix, after = query.get("prefix", ""), query.get("continuation-token", "")
        rests = {key.removeprefix(prefix) for key in self.keys if key.startswith(prefix)}
        folders = sorted({f"{prefix}{rest.split('/')[0]}/" for rest in rests if "/" in rest})
        left = [each for each in folders if each > after]
        page = "".join(f"<CommonPrefixes><Prefix>{escape(each)}</Prefix></CommonPrefixes>" for each in left[:1])
        more = f"<NextContinuationToken>{escape(left[0])}</NextContinuationToken>" if len(left) > 1 else ""
        truncated = str(len(left) > 1).lower()
        return 200, f"<ListBucketResult><IsTruncated>{truncated}</IsTruncated>{more}{page}</ListBucketResult>"


@contextmanager
def served(bucket: Bucket) -> Iterator[str]:
    """Serve a bucket on loopback; yields its address."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            signed = "AWS4-HMAC-SHA256 Credential=reader/" in self.headers.get("Authorization", "")
            code, text = bucket.answer(self.path, signed)
            self.send_response(code)
            self.send_header("Content-Type", "application/xml")
            self.send_header("Content-Length", str(len(text.encode())))
            self.end_headers()
            self.wfile.write(text.encode())

        def do_HEAD(self):
            """Say that the bucket is there, which is asked first."""
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_said):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


def container(**location):
    """Return the container that looks into a location."""
    storage = live(child(cluster(vitess_cluster(backup={"locations": [location]})), "VitessBackupStorage"))
    return child(sync_storage(storage, watched([]), SETTINGS, Listing()), "Pod")["spec"]["containers"][0]


@pytest.fixture(scope="module")
def vitess():
    with real_vitess() as running:
        yield running


@pytest.fixture
async def caller():
    asking = GrpcCaller()
    yield asking
    await asking.close()


def mirrored(infos):
    stored = [stored_backup("commerce", "-", each) for each in infos]
    found = inventory("example", "", stored, frozenset({("commerce", "-")}))
    return [each["status"] for each in found.backups], found.invalid


async def test_a_volume_is_listed_by_a_real_vtctld(vitess, caller):
    root = vitess.processes.folder / "backups" / "example"
    for name in (OLD, NEW, "lost+found"):
        (root / "commerce" / "-" / name).mkdir(parents=True)
    (root / "commerce" / "-" / NEW / "MANIFEST").write_text("{}")
    flags = {"file_backup_storage_root": str(root)}
    address = vitess.start_as_in_pod("vtctld-of-a-volume", container(volume={"emptyDir": {}}), flags, {})
    vtctld = Vtctld(caller, address)
    backups, invalid = mirrored(await vtctld.backups("commerce", "-", 10_000))
    assert backups == [
        {"startTime": "2026-11-18T01:45:00Z", "storageDirectory": "commerce/-", "storageName": NEW},
        {"startTime": "2026-11-17T01:45:00Z", "storageDirectory": "commerce/-", "storageName": OLD},
    ], "and not which of them are complete, which vtctld does not say"
    assert invalid == ("commerce/-/lost+found",)
    assert await vtctld.backups("commerce", "80-", 10_000) == ()


async def test_a_bucket_is_listed_by_a_real_vtctld_and_a_refusal_is_no_empty_bucket(vitess, caller):
    keys = vitess.processes.folder / "keys"
    keys.write_text("[default]\naws_access_key_id = reader\naws_secret_access_key = secret\n")
    bucket = Bucket(
        *(f"prod/example/commerce/-/{name}/{file}" for name in (OLD, NEW) for file in ("MANIFEST", "0")),
        "prod/other/commerce/-/2026-11-16.014500.zone1-2548885007/0",
    )
    with served(bucket) as endpoint:
        asked = container(
            s3={
                "region": "us-east-1",
                "bucket": "backups",
                "endpoint": endpoint,
                "forcePathStyle": True,
                "keyPrefix": "prod/",
                "authSecret": {"name": "s3", "key": "credentials"},
            }
        )
        assert [each["name"] for each in asked["env"]] == ["AWS_SHARED_CREDENTIALS_FILE"]
        # What this machine says of buckets elsewhere is not meant.
        env = {"AWS_SHARED_CREDENTIALS_FILE": str(keys), "AWS_CA_BUNDLE": ""}
        address = vitess.start_as_in_pod("vtctld-of-a-bucket", asked, {"s3_backup_aws_retries": "0"}, env)
        vtctld = Vtctld(caller, address)
        backups, _ = mirrored(await vtctld.backups("commerce", "-", 10_000))
        assert [each["storageName"] for each in backups] == [NEW, OLD]
        assert len(bucket.questions) == 2, "page by page"
        assert all(each.startswith("/backups?") for each in bucket.questions)
        assert await vtctld.backups("commerce", "80-", 10_000) == ()
        bucket.refuses = True
        with pytest.raises(CallFailed, match="AccessDenied"):
            await vtctld.backups("commerce", "-", 10_000)
