"""The placement bench keeps its results under its own heading."""

from bench.placement import Measured, add_result, fleet_of, measure, result_line, table


def test_a_result_goes_under_the_benchs_own_heading(tmp_path):
    results = tmp_path / "RESULTS.md"
    results.write_text("# Machinery: x\n\n| a |\n\n# Propagation: how much slower\n\n| b |\n")

    add_result(results, "| first |")
    add_result(results, "| second |")

    text = results.read_text()
    titles = [line.partition(":")[0] for line in text.splitlines() if line.startswith("# ")]
    assert titles == ["# Machinery", "# Placement", "# Propagation"]
    assert text.index("| first |\n| second |\n\n# Propagation") > text.index("# Placement")


def test_everything_is_measured_and_told():
    found = measure(8, seconds=0.0, intents=3)

    assert isinstance(found, Measured)
    assert len(fleet_of(8)) == found.clusters == 8
    assert result_line(found, commit="abc", command="x").count("|") == 12
    assert "one cluster lost" in table([found])
