"""Measurements of scale are kept as records, of which the last of each size is drawn."""

import json
from xml.etree import ElementTree as ET

from bench.flame import boxes, read_stacks
from bench.flame import draw as draw_flame
from bench.scale_plot import curves, draw
from bench.scale_records import RESTART, read_records


def _record(clusters: int, cpu: float, objects: int = 100) -> str:
    cells = {"subject": "control plane", "phase": "cold start", "clusters": clusters, "objects": objects}
    return json.dumps(cells | {"cpu_seconds": cpu, "peak_mb": 10 * cpu, "idle_percent": 0.0})


def test_of_each_size_the_last_measurement_counts() -> None:
    records = read_records([_record(100, 9.0), _record(10, 2.0), _record(100, 8.0)])

    assert [(cells["clusters"], cells["cpu_seconds"]) for cells in records] == [(10, 2.0), (100, 8.0)]


def test_only_what_differs_in_nothing_but_clusters_makes_a_curve() -> None:
    records = read_records([_record(10, 2.0), _record(100, 8.0), _record(100, 30.0, objects=1000)])

    (curve,) = curves(records, "cpu_seconds")

    assert curve.name == "control plane, cold start, 100 objects"
    assert curve.points == ((10.0, 2.0), (100.0, 8.0))


def test_the_plot_is_drawn_with_all_of_its_points() -> None:
    picture = ET.fromstring(draw(read_records([_record(10, 2.0), _record(100, 8.0)])))

    assert len(picture.findall(".//{*}circle")) == 3 * 2


def test_a_table_is_headed_by_its_columns() -> None:
    assert "| clusters | nodes each | pods each |" in RESTART.heading


STACKS = (
    "run (asyncio/run.py:1);Handle._run (asyncio/events.py:80);work (hanse/kube/controller.py:5);get (hanse/x.py:1) 6",
    "run (asyncio/run.py:1);Handle._run (asyncio/events.py:80);work (hanse/kube/controller.py:9) 2",
    "run (asyncio/run.py:1);EpollSelector.select (selectors.py:468) 50",
)


def test_a_flame_graph_shows_functions_below_the_loop_and_no_waiting() -> None:
    root = read_stacks(STACKS)

    found = [(box.frame.name, box.share, box.depth) for box in boxes(root, root.samples)]

    assert found == [("all", 1.0, 0), ("work (kube/controller.py)", 1.0, 1), ("get (x.py)", 0.75, 2)]
    assert len(ET.fromstring(draw_flame(root, "a < b")).findall(".//{*}g")) == 3
