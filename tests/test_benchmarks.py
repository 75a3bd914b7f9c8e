"""What `make bench` makes of times: ratios, targets, and what it names as missing.

No time is asserted here, nor measured: workers are stood in for, but for the last tests,
in which entrants compute the same at the smallest shape.
"""

import pytest

from benchmarks import __main__ as bench
from benchmarks import cases, figure, measure, report, rounds, targets
from benchmarks.cases import BOTH, FORWARD, Key, Shape
from benchmarks.processes import NoAnswer, Process, environment
from benchmarks.ratios import Ratio, ratio, typical
from benchmarks.targets import MET, MISSED, NOT_MEASURED, Target

# Ratios


def test_ratio_is_of_times_of_the_same_round():
    times = {"ours": [1.0, 2.0, 9.0, 3.0], "d2l": [2.0, 8.0, None, 4.0]}
    assert ratio(times, "ours", "d2l") == Ratio(0.5, 0.25, 0.75, 3)
    assert str(ratio(times, "ours", "d2l")) == "0.50 (0.25 to 0.75)"
    assert str(ratio({"a": [3.0], "b": [2.0]}, "a", "b")) == "1.50"


def test_no_ratio_without_both():
    times = {"ours": [1.0, None], "d2l": [None, 2.0]}
    assert ratio(times, "ours", "d2l") is None
    assert ratio(times, "ours", "torch.F") is None
    assert (typical(times, "d2l"), typical(times, "torch.F")) == (2.0, None)


# Targets

ROW = Key("one core", "S1", FORWARD)


@pytest.mark.parametrize(
    "times, mark",
    [
        ({"ours": [1.0], "d2l": [2.0]}, MET),
        ({"ours": [1.0, 3.0, 1.0], "d2l": [2.0, 2.0, 2.0]}, MET),  # the median decides
        ({"ours": [1.01], "d2l": [2.0]}, MISSED),
        ({"ours": [1.0]}, NOT_MEASURED),
    ],
)
def test_marks(times, mark):
    (found,) = targets.marks({ROW: times}, [Target(ROW, "ours", "d2l", 0.5)])
    assert found[2] == mark


def test_targets_are_about_what_is_measured():
    assert len({(t.key, t.one, t.other) for t in targets.TARGETS}) == len(
        targets.TARGETS
    )
    for target in targets.TARGETS:
        where, what, part = target.key
        if where == cases.IMPORT:
            known = {"import paddle", "import d2l_ext"}
        elif where == cases.MEMORY:
            known = {"ours", "d2l", "ours, half n"}
            assert what in measure.IN_MEMORY and part in cases.PASSES
        else:
            assert what in [*cases.TIMED, cases.EPOCH] and where in (
                "one core",
                "all cores",
            )
            asked = cases.variants(where, amd=True).items()
            known = {cases.entrant(n, v) for v, names in asked for n in names}
            known.update(cases.TORCH)
        assert {target.one, target.other} <= known, target


def test_no_target_is_left_out_in_silence():
    lines = report.verdicts({ROW: {"ours": [1.0], "d2l": [1.0]}}).splitlines()
    count = len(targets.TARGETS)
    assert len(lines) == count + 2
    assert lines[1].startswith("MISSED") and "1.00" in lines[1]
    assert lines[-1] == f"1 MISSED, {count - 1} not measured"
    page = report.targets({})
    assert page.count(NOT_MEASURED) == 2 * count


# Rounds


class Worker:
    """Answers as one that takes `seconds` for a call, and notes who was asked."""

    def __init__(self, asked, name, seconds, sample=(1.0, 2.0), error=None):
        self.asked, self.name, self.seconds = asked, name, seconds
        self.sample, self.error = sample, error

    def __call__(self, do, **request):
        if self.error:
            raise NoAnswer(self.error)
        if do == "time":
            self.asked.append((self.name, request["calls"]))
        return {"seconds": self.seconds, "sample": self.sample}


def test_all_are_asked_in_turn():
    asked = []
    asks = {name: Worker(asked, name, 0.004) for name in ("ours", "d2l")}
    times, missing = rounds.alternate(asks, wanted=set(), seconds=0.05)
    assert missing == {} and len(times["ours"]) == len(times["d2l"]) == 5
    # once each to see how long it takes, then three calls a round, together 0.012 s
    assert asked == [("ours", 1), ("d2l", 1)] + 5 * [("ours", 3), ("d2l", 3)]


def test_slow_ones_sit_out_unless_a_target_wants_them():
    asked = []
    asks = {name: Worker(asked, name, 1.0) for name in ("ours", "d2l", "paddle.nn")}
    times, _ = rounds.alternate(asks, {"ours", "d2l"}, 0.5, slow=True)
    assert times["ours"] == times["d2l"] == [1.0, 1.0, 1.0]
    assert times["paddle.nn"] == [1.0, None, None]
    assert asked.count(("ours", 1)) == 2  # the first call counts as a round


def test_there_is_an_end_to_rounds():
    times, _ = rounds.alternate({"ours": Worker([], "ours", 1e-6)}, set(), 1e9)
    assert len(times["ours"]) == rounds.MOST


def test_who_fails_or_computes_something_else_is_named():
    asks = {
        "ours": Worker([], "ours", 1.0, sample=[1.0, 2.00001]),
        "d2l": Worker([], "d2l", 1.0, sample=[1.0, 2.0]),
        "GEMM": Worker([], "GEMM", 1.0, sample=[7.0]),
        "torch.nn": Worker([], "torch.nn", 1.0, sample=[1.0, float("nan")]),
        "torch.F": Worker([], "torch.F", 1.0, error="no such function"),
    }
    times, missing = rounds.alternate(asks, set(), 0.1)
    assert set(times) == {"ours", "d2l", "GEMM"}
    assert missing == {
        "torch.F": "no such function",
        "torch.nn": "its output is not the same",
    }


# Cases and settings


def test_flops_of_valid_keys():
    shape = Shape(batch=2, n=3, d=5, heads=1)
    # 6 tokens by four 5 x 5 products, 3 queries by 2 + 3 keys by 5, twice; 2 flops each
    assert cases.flops(shape, [2, 3], FORWARD) == 2 * (6 * 4 * 25 + 3 * 5 * 5 * 2)
    assert cases.flops(shape, [2, 3], BOTH) == 3 * cases.flops(shape, [2, 3], FORWARD)


def test_settings_are_for_one_process(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    assert environment("one core")["OMP_NUM_THREADS"] == "1"
    assert "OMP_NUM_THREADS" not in environment("all cores", "MKL")
    env = environment("all cores", "MKL+OMP", cores=3)
    assert (env["OMP_NUM_THREADS"], env["MKL_DEBUG_CPU_TYPE"]) == ("3", "5")


def test_mkl_is_told_only_on_amd():
    assert list(cases.variants("one core", amd=False)) == [""]
    assert list(cases.variants("all cores", amd=False)) == ["", "OMP"]
    assert list(cases.variants("GPU", amd=True)) == [""]


# What is written


@pytest.fixture
def results():
    found = measure.Results(tell=print)
    times = {"ours": [0.001, 0.002], "d2l": [0.002, 0.002], "ours, MKL": [0.001, 0.001]}
    for part in cases.PASSES:
        found.measured[Key("one core", "S1", part)] = times
    size = {part: {"bytes": 10**8, "seconds": 1.0} for part in cases.PASSES}
    measure.keep(found, "ours", "S6, half n", size)
    measure.keep(found, "ours", "S6", size)
    found.measured[Key(cases.IMPORT, "")] = {"import paddle": [1.0]}
    return found


def test_page_has_ratios_and_reasons(results):
    results.missing[Key("one core", "S1", FORWARD), "torch.F"] = "no kernel"
    page = report.page(results, {"processor": "some model", "cores": 2})
    assert "- processor: some model\n- cores: 2\n" in page
    assert "| S1 | forward | 1.5 | 0.75 (0.50 to 1.00) |" in page
    assert "no kernel" in page and "fused attention" not in page
    assert "| S6 | forward | 8192 | d2l_ext | 100 |" in page


def test_missing_torch_is_said(monkeypatch):
    monkeypatch.setattr(bench.importlib.util, "find_spec", lambda name: None)
    assert bench.find_torch(gpu=False) == (None, "PyTorch is not installed")


def test_figure_is_drawn_of_what_there_is(results, tmp_path):
    figure.draw(results.measured, tmp_path / "results.png")
    assert (tmp_path / "results.png").read_bytes().startswith(b"\x89PNG")


# The entrants themselves


@pytest.mark.parametrize("part", cases.PASSES)
def test_entrants_of_paddle_compute_the_same(part):
    samples = {}
    with Process("in_paddle", "one core") as worker:
        assert "Paddle" in worker.ask("about")["versions"]
        for name in "ours", "d2l", "paddle.nn":
            samples[name] = worker.ask("check", name=name, what="S1", part=part)[
                "sample"
            ]
        with pytest.raises(NoAnswer, match="KeyError"):
            worker.ask("check", name="nobody", what="S1", part=part)
    assert len(samples["d2l"]) >= 100 and rounds.different(samples) == []


def test_entrants_of_torch_compute_the_same():
    pytest.importorskip("torch", reason="PyTorch is not installed")
    samples = {}
    with Process("in_torch", "one core") as worker:
        worker.ask("about")
        for name in "torch.d2l", "torch.nn", "torch.F":
            samples[name] = worker.ask("check", name=name, what="S1", part=BOTH)[
                "sample"
            ]
        worker.ask("check", name="torch.d2l", what=cases.EPOCH, part="")
    assert rounds.different(samples) == []
