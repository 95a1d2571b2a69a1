"""The embedded Kubernetes API server: storage, discovery, verbs, CRDs and watch, in process or over HTTPS."""

from hanse.apiserver.credentials import CertificateAuthority, ServingCredentials
from hanse.apiserver.identity import Identity
from hanse.apiserver.server import ApiServer
from hanse.apiserver.storage import MemoryStorage, SqliteStorage

__all__ = ["ApiServer", "CertificateAuthority", "Identity", "MemoryStorage", "ServingCredentials", "SqliteStorage"]
