"""Troubles of the host's API server, as the control planes meet them; people are not concerned."""

from __future__ import annotations

from collections.abc import Callable

from hanse.apiserver import ApiServer, Identity, status
from hanse.apiserver.answers import Answer, AnyAnswer
from hanse.apiserver.gate import Onward
from hanse.kube.runtime import Runtime
from hanse.kube.transport import Request
from hanse.simulator.faults.gate import FaultGate
from hanse.simulator.faults.values import Fault, Party
from tests.simulation.tally import note_fault

_WE = (Party.CONTROL_PLANE,)
_FAULTS: dict[str, Fault] = {
    "slow": Fault("latency", seconds=1.5, parties=_WE),
    "errors": Fault("errors", rate=0.3, parties=_WE),
    "throttle": Fault("throttle", seconds=1.0, rate=0.5, parties=_WE),
    "some requests hang": Fault("hang", rate=0.2, parties=_WE),
    "everything hangs": Fault("hang", parties=_WE),
}
_GONE, _CONFLICTS, _DOWN = "watches begin too late (410)", "writes come second (409)", "down"
TROUBLES = (*_FAULTS, _GONE, _CONFLICTS, _DOWN)
_STRUCK_SHARE = 0.5


class HostGate:
    """The gate before the host: at most one trouble at a time, of the faults that members have and of its own."""

    def __init__(self, server: ApiServer, runtime: Runtime, note: Callable[[bool], None]) -> None:
        """`note` hears whether anything is wrong from now on."""
        self._server = server
        self._runtime = runtime
        self._note = note
        self._faults = FaultGate(runtime, lambda: server.revision)
        self.trouble = ""

    async def set(self, trouble: str) -> None:
        """Have this trouble from now on, "" for none."""
        before, self.trouble = self.trouble, trouble
        self._note(bool(trouble))
        if trouble:
            note_fault(f"host: {trouble}")
        self._faults.set([_FAULTS[trouble]] if trouble in _FAULTS else [])
        if trouble == _DOWN:
            await self._server.stop_serving()
        elif before == _DOWN:
            self._server.resume()
        if trouble == _GONE:
            # Whoever follows something has to begin anew, and is too late.
            self._faults.cut(Fault("cut-watches", parties=_WE))

    async def __call__(self, request: Request, identity: Identity, onward: Onward) -> AnyAnswer:
        """Do to a request what the trouble does to it."""
        if self.trouble == _GONE and ("watch", "true") in request.query and self._strikes():
            return _refused(410, "Expired", "too old resource version")
        if self.trouble == _CONFLICTS and request.method == "PUT" and self._strikes():
            return _refused(409, "Conflict", "the object has been modified; please apply your changes to the latest")
        return await self._faults(request, identity, onward)

    def _strikes(self) -> bool:
        return self._runtime.uniform(0.0, 1.0) < _STRUCK_SHARE


def _refused(code: int, reason: str, message: str) -> Answer:
    error = status.failure(code, reason, message)
    return Answer(error.code, status.status_body(error))
