"""Where the real Kubernetes components are on this machine."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[3]
_NEEDED = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl")


class ComponentsMissingError(Exception):
    """The real components have not been built or given."""


def find_kubectl() -> Path | None:
    """Return the kubectl that was built, else the one on PATH; None where there is neither."""
    found = subprocess.run([CHECKOUT / "components" / "build", "--path"], capture_output=True, text=True, check=False)
    built = Path(found.stdout.strip() or "/nowhere") / "kubectl"
    if os.access(built, os.X_OK):
        return built
    installed = shutil.which("kubectl")
    return Path(installed) if installed else None


def components_folder() -> Path:
    """Return the folder with the real components; raises if one of them is not there."""
    recipe = CHECKOUT / "components" / "build"
    found = subprocess.run([recipe, "--path"], capture_output=True, text=True, check=True)
    folder = Path(found.stdout.strip())
    missing = [name for name in _NEEDED if not os.access(folder / name, os.X_OK)]
    if missing:
        raise ComponentsMissingError(f"{', '.join(missing)} not found: run `make kubernetes` or set KUBEBUILDER_ASSETS")
    return folder
