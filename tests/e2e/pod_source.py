"""One cluster of an embedded federation that sends pods into all of them, as a test drives it."""

from __future__ import annotations

import json

from hanse.pods.admission.certificate_secret import CONFIGURATION_NAME
from tests.e2e.federation import MEMBERS, EmbeddedFederation

_WEBHOOKS = f"mutatingwebhookconfiguration/{CONFIGURATION_NAME}"
_NOBODY = "https://127.0.0.1:1/"


class EmbeddedSource:
    """A cluster of `hanse up`, whose targets are all clusters, itself among them."""

    targets = MEMBERS

    def __init__(self, federation: EmbeddedFederation, home: str) -> None:
        self._federation = federation
        self._asked: list[str] = []
        self.home = home

    def kubectl(self, *arguments: str, input: str | None = None) -> str:  # noqa: A002
        """Type a command of kubectl's in the source."""
        return self._federation.kubectl(self.home, *arguments, input=input)

    def kubectl_in(self, target: str, *arguments: str) -> str:
        """Type a command of kubectl's in a target."""
        return self._federation.kubectl(target, *arguments)

    def hanse(self, *arguments: str) -> str:
        """Type a command of Hanse's."""
        return self._federation.hanse(*arguments)

    def kill_control_plane(self) -> None:
        """End everything with SIGKILL, since it is one process, and start it again."""
        self._federation.kill_control_plane()

    def fail(self, target: str) -> None:
        """Have a target answer nobody."""
        self._federation.fail(target)

    def heal(self, target: str) -> None:
        """Bring it back."""
        self._federation.heal(target)

    def lose_admission(self) -> None:
        """Have the API server ask where nobody answers, since the server that does is in the one process of all."""
        found = json.loads(self.kubectl("get", _WEBHOOKS, "--output=json"))
        self._asked = [webhook["clientConfig"]["url"] for webhook in found["webhooks"]]
        self._ask([_NOBODY] * len(self._asked))

    def return_admission(self) -> None:
        """Have the API server ask where it did before."""
        self._ask(self._asked)

    def close_door(self) -> None:
        """Have its pods run at home from now on."""
        self.hanse("doors", "disable", "pods", "--cluster", self.home, "--yes")

    def _ask(self, urls: list[str]) -> None:
        patch = [
            {"op": "replace", "path": f"/webhooks/{index}/clientConfig/url", "value": url}
            for index, url in enumerate(urls)
        ]
        self.kubectl("patch", _WEBHOOKS, "--type=json", f"--patch={json.dumps(patch)}")
