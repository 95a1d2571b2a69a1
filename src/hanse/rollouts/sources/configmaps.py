"""Charts and files in a ConfigMap of the application's namespace, on the host."""

from __future__ import annotations

import base64
import binascii

from hanse.kube.client import Client
from hanse.kube.errors import ApiError
from hanse.kube.manifest import Obj
from hanse.kube.resources import CONFIGMAPS
from hanse.kube.transport import Unreachable
from hanse.rollouts.environment import Chart
from hanse.rollouts.sources.charts import OpenChart, open_archive
from hanse.rollouts.sources.choosing import choose, unresolved
from hanse.rollouts.sources.problem import CHART_ERROR, CHART_FETCH_FAILURE, SourceProblem
from hanse.rollouts.sources.settings import Limits
from hanse.rollouts.sources.trees import Tree, unpack

CHART_KEY = "chart.tgz"
FILES_KEY = "files.tgz"
# The word that Shipper has for a request that its own API server refused.
_FAILED_CALL = "FailedAPICall"


class ConfigMapSource:
    """What one ConfigMap holds; read anew every time."""

    def __init__(self, host: Client, namespace: str, name: str, limits: Limits) -> None:
        self._host = host
        self._namespace, self._name = namespace, name
        self._limits = limits
        self._where = f'ConfigMap "{namespace}/{name}"'

    async def resolve(self, chart: Chart) -> str:
        """Return the version of the packed chart, if it is the one that is meant; raises SourceProblem."""
        opened = await self._open()
        if opened.name != chart.name:
            raise unresolved(chart, f'{self._where} holds chart "{opened.name}"')
        return choose(chart, [opened.version])

    async def fetch(self, chart: Chart, version: str) -> None:
        """Do nothing: a ConfigMap is read when the chart is opened."""

    async def open(self, chart: Chart, version: str) -> OpenChart:
        """Return the packed chart; raises SourceProblem."""
        opened = await self._open()
        if (opened.name, opened.version) != (chart.name, version):
            raise unresolved(chart, f'{self._where} holds chart "{opened.name}" of version "{opened.version}"')
        return opened

    async def files(self) -> Tree:
        """Return the files: those of the packed folder, or the texts of `data` by their keys; raises SourceProblem."""
        found = await self._read()
        packed = (found.get("binaryData") or {}).get(FILES_KEY)
        if packed is None:
            return {key: text.encode() for key, text in (found.get("data") or {}).items()}
        archive = _decoded(packed, self._where)
        return await self._host.runtime.in_thread(lambda: unpack(archive, self._limits, self._where))

    async def _open(self) -> OpenChart:
        packed = ((await self._read()).get("binaryData") or {}).get(CHART_KEY)
        if packed is None:
            raise SourceProblem(
                CHART_ERROR,
                f"{self._where} has no {CHART_KEY} in binaryData; "
                f"make it with `kubectl create configmap --from-file={CHART_KEY}=…`",
            )
        archive = _decoded(packed, self._where)
        return await self._host.runtime.in_thread(lambda: open_archive(archive, self._limits, self._where))

    async def _read(self) -> Obj:
        try:
            found = await self._host.find(CONFIGMAPS, self._name, self._namespace)
        except (ApiError, Unreachable) as error:
            raise SourceProblem(_FAILED_CALL, f"{self._where} cannot be read: {error}", transient=True) from error
        if found is None:
            raise SourceProblem(CHART_FETCH_FAILURE, f"{self._where} does not exist", transient=True)
        return found


def _decoded(packed: str, where: str) -> bytes:
    try:
        return base64.b64decode(packed, validate=True)
    except (binascii.Error, ValueError) as error:
        raise SourceProblem(CHART_ERROR, f"{where} has binaryData that is not base64") from error
