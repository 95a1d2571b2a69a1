"""How the operator of VitessClusters is set up on the command line, the same for all of them."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import click

from hanse.cli.failures import Misuse
from hanse.kube.names import name_problems
from hanse.vitess.operator.shaping import Settings

_DEFAULT = Settings()
_IMAGE = re.compile(r"[a-z0-9][\w./:@-]*")
_LARGEST_ID = 2**31 - 1
_NONE = -1


def _identity_option(flag: str, metavar: str, default: int | None, what: str) -> Callable[[Any], Any]:
    return click.option(
        flag,
        type=click.IntRange(_NONE, _LARGEST_ID),
        default=default,
        show_default=True,
        metavar=metavar,
        help=f"{what} (-1: not said, so that the namespace's own rules choose).",
    )


def vitess_options(decorated: Any) -> Any:
    """Add what is said of the pods of VitessClusters."""
    options = (
        click.option(
            "--vitess-priority-class",
            default=_DEFAULT.priority_class,
            show_default=True,
            metavar="NAME",
            help='The PriorityClass of the pods of VitessClusters; each cluster must have it, "" gives them none.',
        ),
        _identity_option("--vitess-run-as-user", "UID", _DEFAULT.run_as_user, "The user that these pods run as"),
        _identity_option("--vitess-fs-group", "GID", _DEFAULT.fs_group, "The group that their volumes belong to"),
        click.option(
            "--vitess-backup-image",
            default="",
            metavar="IMAGE",
            help="An image with Hanse, which lists backups on volumes and tells which are complete; without it Vitess' "
            "own vtctld lists them, as it does those in object stores, and does not tell that.",
        ),
    )
    for option in reversed(options):
        decorated = option(decorated)
    return decorated


def read_vitess_settings(priority_class: str, run_as_user: int, fs_group: int, backup_image: str) -> Settings:
    """Read what was given; raises Misuse."""
    if priority_class and (problems := name_problems(priority_class, "subdomain")):
        raise Misuse(f"--vitess-priority-class: {priority_class!r} is not the name of a PriorityClass: {problems[0]}")
    if backup_image and not _IMAGE.fullmatch(backup_image):
        raise Misuse(f"--vitess-backup-image: {backup_image!r} is no image: give one such as registry.example/hanse:1")
    return Settings(
        priority_class=priority_class,
        run_as_user=None if run_as_user == _NONE else run_as_user,
        fs_group=None if fs_group == _NONE else fs_group,
        backup_image=backup_image,
    )
