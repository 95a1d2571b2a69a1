"""Which addresses of charts are asked at all."""

import pytest

from hanse.rollouts.sources.downloads import DownloadProblem, Downloads
from hanse.rollouts.sources.settings import Limits


@pytest.mark.parametrize(
    "url", ["http://169.254.169.254/latest", "http://[fe80::1]/", "http://[::ffff:169.254.169.254]/index.yaml"]
)
async def test_where_clouds_hand_out_credentials_nobody_asks_for_charts(url: str) -> None:
    downloads = Downloads(Limits())
    try:
        with pytest.raises(DownloadProblem, match="a link-local address is not asked"):
            await downloads.get(url, most_bytes=10)
    finally:
        await downloads.close()
