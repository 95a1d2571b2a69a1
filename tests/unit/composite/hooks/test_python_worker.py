"""What a hook's Python function may be, and what is said when it is not; without the process around it."""

import sys

import orjson
import pytest

from hanse.composite.hooks.python_worker import Functions
from hanse.composite.hooks.serving import Refusal, Stale


@pytest.fixture(autouse=True)
def _interpreter():
    path, finders, modules = sys.path[:], sys.meta_path[:], set(sys.modules)
    yield
    sys.path[:], sys.meta_path[:] = path, finders
    for name in set(sys.modules) - modules:
        del sys.modules[name]


def ask(functions, request=None, function="sync", **place):
    head = orjson.dumps({"function": function, **place})
    return orjson.loads(functions.answer(head, orjson.dumps(request or {})))


def called(code, request=None, **more):
    return ask(Functions(), request, files=[["hook.py", code], *more.pop("beside", [])], **more)


@pytest.mark.parametrize(
    "code",
    [
        "def sync(request): return {'n': request['n'] + 1}",
        "async def sync(request): return {'n': request['n'] + 1}",
        "sync = lambda request: {'n': request['n'] + 1}",
        "from hanse.composite.lambdas import hook\n@hook('sync')\ndef mine(request): return {'n': request['n'] + 1}",
        # What is marked comes before what is merely called so.
        "from hanse.composite.lambdas import hook\ndef sync(r): return {}\n@hook('sync')\ndef b(r): return {'n': 8}",
        "class Sync:\n  def __call__(self, request): return {'n': request['n'] + 1}\nsync = Sync()",
        # Looks for its own module by name.
        "from dataclasses import dataclass\n@dataclass\nclass N:\n  n: int\ndef sync(r): return {'n': N(8).n}",
    ],
)
def test_a_function_is_called_with_the_request(code):
    assert called(code, {"n": 7}) == {"n": 8}


def test_files_that_were_sent_beside_it_can_be_imported():
    beside = [["names.py", "import shapes\nNAME = shapes.SHAPE"], ["shapes.py", "SHAPE = 'round'"]]

    assert called("import names\ndef sync(r): return {'is': names.NAME}", beside=beside) == {"is": "round"}


def test_a_module_is_found_in_the_folders_that_are_given(tmp_path):
    package = tmp_path / "shop_hooks"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "web.py").write_text("def finalize(request): return {'finalized': True}")

    found = ask(Functions(), function="finalize", module="shop_hooks.web", folders=[str(tmp_path)])

    assert found == {"finalized": True}


LOOP = "a = {}\na['a'] = a\ndef sync(r): return a"
DEEP = "def sync(r):\n  a = {}\n  for _ in range(3000): a = {'a': a}\n  return a"
UNSPEAKABLE = "class E(Exception):\n  def __str__(self): raise E\ndef sync(r): raise E"


@pytest.mark.parametrize(
    ("code", "sentence"),
    [
        ("def sync(r):\n  x = 1\n  return r['spec']", "raised KeyError: 'spec' (line 3 of hook.py)"),
        ("def sync(r): assert r", "raised AssertionError (line 1 of hook.py)"),
        ("def sync(r): return sync(r)", "raised RecursionError: maximum recursion depth exceeded"),
        ("def sync(r, children): return {}", "raised TypeError: sync() missing 1 required positional argument: 'child"),
        ("async def sync(r):\n  raise ValueError('no')", "raised ValueError: no (line 2 of hook.py)"),
        ("import sys\ndef sync(r): sys.exit(3)", "asked its process to exit (SystemExit: 3) (line 2 of hook.py)"),
        ("def sync(r): raise KeyboardInterrupt", "raised KeyboardInterrupt (line 1 of hook.py)"),
        (UNSPEAKABLE, "raised E: its text cannot be told (line 3 of hook.py)"),
        ("def sync(r): raise ValueError('x' * 10**6)", f"raised ValueError: {'x' * 400} (line 1 of hook.py)"),
        ("def sync(r): return None", "returned nothing; it must return a dict"),
        ("def sync(r): return [r]", "returned a list; it must return a dict"),
        (
            "def sync(r): return {'a': {1}}",
            "returned what is not JSON: TypeError: Object of type set is not JSON serializable",
        ),
        ("def sync(r): return {'a': float('nan')}", "returned what is not JSON: ValueError: Out of range float values"),
        ("def sync(r): return {'a': chr(0xD800)}", "returned what is not JSON: UnicodeEncodeError: "),
        ("def sync(r): return {(1, 2): 3}", "returned what is not JSON: TypeError: keys must be str, int"),
        (LOOP, "returned what is not JSON: ValueError: Circular reference detected"),
        (DEEP, "returned what is not JSON: RecursionError: "),
        ("def synk(r): return {}", 'is not there; define it, or mark one with @hook("sync")'),
        ("sync = 3", "is no function but a int"),
        ("import nowhere_at_all", "raised ModuleNotFoundError: No module named 'nowhere_at_all' (line 1 of hook.py)"),
        ("def sync(r:\n  return {}", "raised SyntaxError: "),
    ],
)
def test_whatever_goes_wrong_is_one_sentence(code, sentence):
    with pytest.raises(Refusal) as refused:
        called(code)

    assert str(refused.value).startswith(sentence)


def test_memory_that_is_used_up_is_not_the_codes_own_affair():
    with pytest.raises(MemoryError):
        called("def sync(r): raise MemoryError")


def test_code_is_loaded_once_and_other_code_wants_another_process():
    functions = Functions()
    counting = [["hook.py", "calls = []\ndef sync(r):\n  calls.append(r)\n  return {'calls': len(calls)}"]]

    assert [ask(functions, files=counting)["calls"] for _ in range(3)] == [1, 2, 3]
    with pytest.raises(Stale):
        ask(functions, files=[["hook.py", "def sync(r): return {}"]])


def test_a_file_that_changes_or_a_module_of_it_wants_another_process(tmp_path):
    main, beside = tmp_path / "web.py", tmp_path / "names_beside.py"
    main.write_text("def sync(r):\n  import names_beside\n  return {'is': names_beside.NAME}")
    beside.write_text("NAME = 'a'")
    functions = Functions()

    assert [ask(functions, path=str(main)) for _ in range(2)] == [{"is": "a"}] * 2
    for file in (beside, main):
        changed = Functions()
        ask(changed, path=str(main))
        file.write_text(file.read_text() + "\n")
        with pytest.raises(Stale):
            ask(changed, path=str(main))
        sys.modules.pop("names_beside")


def test_a_file_that_is_not_there_yet_is_loaded_when_it_is(tmp_path):
    functions = Functions()
    main = tmp_path / "web.py"

    with pytest.raises(Refusal, match="cannot be read: No such file or directory"):
        ask(functions, path=str(main))
    main.write_text("def sync(r): return {'here': True}")
    with pytest.raises(Stale):
        ask(functions, path=str(main))
    assert ask(Functions(), path=str(main)) == {"here": True}
