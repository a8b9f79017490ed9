"""Modules of the tools file's own folder, and installed packages."""
from __future__ import annotations

import hashlib
import os
import py_compile
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
from conftest import Runner

TOOL = "\n@edge_tool\ndef f():\n    'd'\n    return helper.value()\n"


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_what_was_loaded_is_named_and_hashed(runner: Runner) -> None:
    helper = runner.write("from package.inner import x\nimport package.later\ndef value(): return x\n", name="helper.py")
    init = runner.write("", name="package/__init__.py")
    inner = runner.write("x = 7\n", name="package/inner.py")
    later = runner.write("", name="package/later.py")
    runner.write("", name="unused.py")
    answer = runner.call("f", text="import helper\n" + TOOL)
    assert answer.result == {"result": 7}
    assert answer.json["loaded_files"] == [{"path": path.relative_to(runner.folder).as_posix(), "sha256": digest(path)} for path in (helper, init, inner, later)]


def test_what_was_loaded_is_named_where_the_call_failed_too(runner: Runner) -> None:
    helper = runner.write("def value(): raise ValueError\n", name="helper.py")
    answer = runner.call("f", text="import helper\n" + TOOL)
    assert answer.code == "tool_raised" and answer.json["loaded_files"] == [{"path": "helper.py", "sha256": digest(helper)}]


def test_a_module_imported_by_the_function_counts(runner: Runner) -> None:
    helper = runner.write("def value(): return 7\n", name="helper.py")
    answer = runner.call("f", text="\n@edge_tool\ndef f():\n    'd'\n    import helper\n    return helper.value()\n")
    assert answer.json["loaded_files"] == [{"path": "helper.py", "sha256": digest(helper)}]


def test_a_stale_pyc_is_not_run(runner: Runner) -> None:
    helper = runner.write("def value(): return 'old'\n", name="helper.py")
    stat = helper.stat()
    py_compile.compile(str(helper), cfile=str(runner.folder / "__pycache__" / f"helper.{sys.implementation.cache_tag}.pyc"))
    helper.write_text("def value(): return 'new'\n")
    os.utime(helper, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    answer = runner.call("f", text="import helper\n" + TOOL)
    assert answer.result == {"result": "new"} and answer.json["loaded_files"][0]["sha256"] == digest(helper)


def test_the_digest_is_that_of_the_bytes_that_ran(runner: Runner) -> None:
    before = b"open(__file__, 'w').write('# other')\ndef value(): return 7\n"
    (runner.folder / "helper.py").write_bytes(before)
    answer = runner.call("f", text="import helper\n" + TOOL)
    assert answer.result == {"result": 7} and answer.json["loaded_files"][0]["sha256"] == hashlib.sha256(before).hexdigest()


def test_namespace_packages_and_extensions(runner: Runner) -> None:
    inner = runner.write("x = 7\n", name="space/inner.py")
    answer = runner.call("f", text="from space import inner\n@edge_tool\ndef f():\n    'd'\n    return inner.x\n")
    assert answer.json["loaded_files"] == [{"path": "space/inner.py", "sha256": digest(inner)}]
    suffix = sysconfig.get_config_var("EXT_SUFFIX")
    (runner.folder / f"broken{suffix}").write_bytes(b"not a library")
    assert runner.inspect("import broken\n").codes == ["tools_file_import_failed"]


def test_the_standard_library_comes_first(runner: Runner) -> None:
    runner.write("raise RuntimeError('shadow')\n", name="json.py")
    assert runner.call("f", text="import json\n@edge_tool\ndef f():\n    'd'\n    return json.loads('1')\n").result == {"result": 1}


def test_a_sibling_may_import_the_file_itself(runner: Runner) -> None:
    runner.path = runner.folder / "billing.py"
    runner.path.write_text("from edgestudio.tools import edge_tool\nRATE = 3\nimport helper\n@edge_tool\ndef f():\n    'd'\n    return helper.value()\n")
    runner.write("import billing\nimport tools\ndef value(): return billing.RATE if billing is tools else None\n", name="helper.py")
    answer = runner.call("f")
    assert answer.result == {"result": 3} and [file["path"] for file in answer.json["loaded_files"]] == ["helper.py"]


HELPER = "from edgestudio.tools import edge_tool\n\n@edge_tool\ndef shared(a: int):\n    'd'\n    return a\n\n@edge_tool\ndef other():\n    'd'\n"


def test_tools_of_siblings_count_only_where_the_file_names_them(runner: Runner) -> None:
    runner.write(HELPER, name="helper.py")
    runner.write("import helper\nfrom helper import (\n    shared as renamed,\n)\n\n@edge_tool\ndef own():\n    'd'\n")
    tools = runner.inspect().tools
    assert sorted(tools) == ["own", "shared"]
    assert runner.path.read_text().splitlines()[tools["shared"]["line"] - 1] == "from helper import ("
    answer = runner.call("shared", {"a": 3})
    assert answer.result == {"result": 3} and answer.json["loaded_files"][0]["path"] == "helper.py"
    assert runner.call("other").code == "unknown_tool"


def test_copied_metadata_makes_no_tool(runner: Runner) -> None:
    # functools.wraps copies a function's attributes, and so may anyone else.
    runner.write(HELPER, name="helper.py")
    runner.write("import helper\ndef copy(): pass\ncopy.__dict__.update(helper.shared.__dict__)\n@edge_tool\ndef own():\n    'd'\n")
    assert list(runner.inspect().tools) == ["own"]


def test_what_a_sibling_decorates_wrongly_is_its_own_affair(runner: Runner) -> None:
    runner.write("from edgestudio.tools import edge_tool\nedge_tool(5)\n", name="helper.py")
    assert list(runner.inspect("import helper\n@edge_tool\ndef own():\n    'd'\n").tools) == ["own"]


def test_a_star_import_names_them_all(runner: Runner) -> None:
    runner.write(HELPER, name="helper.py")
    assert sorted(runner.inspect("from helper import *\n").tools) == ["other", "shared"]


def test_tools_of_siblings_alone_are_no_tools_of_the_file(runner: Runner) -> None:
    runner.write(HELPER, name="helper.py")
    (error,) = runner.inspect("import helper\n").errors
    assert error["code"] == "no_tools_found" and "helper" in error["message"]


def test_a_problem_in_a_named_sibling_tool_has_the_imports_line(runner: Runner) -> None:
    runner.write("from edgestudio.tools import edge_tool\n\n\n\n\n\n@edge_tool\ndef bad(a: dict):\n    'd'\n", name="helper.py")
    (error,) = runner.inspect("from helper import bad\n").errors
    assert (error["code"], error["parameter"]) == ("unsupported_type_hint", "a")
    assert runner.path.read_text().splitlines()[error["line"] - 1] == "from helper import bad"


def test_a_wrapped_tool_of_a_sibling_keeps_its_wrapper(runner: Runner) -> None:
    runner.write("import functools\nfrom edgestudio.tools import edge_tool\ndef double(function):\n    @functools.wraps(function)\n    def wrapper(*a, **k): return 2 * function(*a, **k)\n    return wrapper\n\n"
                 "@double\n@edge_tool\ndef shared(a: int):\n    'd'\n    return a\n", name="helper.py")
    assert runner.call("shared", {"a": 3}, text="from helper import shared\n").result == {"result": 6}


# installed packages

def environment(folder: Path, *options: str) -> tuple[str, Path]:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", *options, str(folder)], check=True)
    return str(folder / "bin" / "python"), next((folder / "lib").glob("python*/site-packages"))


THIRD = "import thirdparty_xyz\n@edge_tool\ndef f():\n    'd'\n    return thirdparty_xyz.value\n"


def test_packages_of_a_virtual_environment(runner: Runner, tmp_path: Path) -> None:
    python, site = environment(tmp_path / "venv")
    (site / "thirdparty_xyz.py").write_text("import sys\nvalue = sys.prefix\n")
    (site / "noise.pth").write_text("import sys; sys.stderr.write('a .pth ran')\n")
    answer = runner.call("f", text=THIRD, python=python)
    assert answer.result == {"result": str(tmp_path / "venv")} and answer.json["loaded_files"] == []
    assert "a .pth ran" not in answer.stderr


def test_editable_installs(runner: Runner, tmp_path: Path) -> None:
    python, site = environment(tmp_path / "venv")
    (tmp_path / "source").mkdir()
    (tmp_path / "source" / "thirdparty_xyz.py").write_text("value = 7\n")
    (site / "editable.pth").write_text(str(tmp_path / "source") + "\n")
    assert runner.call("f", text=THIRD, python=python).result == {"result": 7}
    (site / "editable.pth").write_text("import hooked_xyz\n")
    (site / "hooked_xyz.py").write_text(
        "import sys, importlib.util\nclass Finder:\n    @staticmethod\n    def find_spec(name, path=None, target=None):\n        if name == 'thirdparty_xyz':\n"
        f"            return importlib.util.spec_from_file_location(name, {str(tmp_path / 'source' / 'thirdparty_xyz.py')!r})\nsys.meta_path.append(Finder)\n")
    assert runner.call("f", text=THIRD, python=python).result == {"result": 7}


def test_an_editable_install_after_an_ordinary_one(runner: Runner, tmp_path: Path) -> None:
    python, site = environment(tmp_path / "venv")
    (site / "ordinary_xyz.py").write_text("")
    (tmp_path / "source").mkdir()
    (tmp_path / "source" / "thirdparty_xyz.py").write_text("value = 7\n")
    (site / "editable.pth").write_text(str(tmp_path / "source") + "\n")
    assert runner.call("f", text="import ordinary_xyz\n" + THIRD, python=python).result == {"result": 7}


def test_packages_of_the_user(runner: Runner) -> None:
    folder = runner.cwd / ".local" / "lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}" / "site-packages"
    folder.mkdir(parents=True)
    (folder / "thirdparty_xyz.py").write_text("value = 7\n")
    base = os.path.realpath(sys.executable)
    answer = runner.call("f", text=THIRD, python=base)
    assert answer.result == {"result": 7}


def test_the_systems_packages_in_an_environment(runner: Runner, tmp_path: Path) -> None:
    for options, found in (((), False), (("--system-site-packages",), True)):
        name = "with" if options else "without"
        python, _ = environment(tmp_path / name, *options)
        folder = runner.cwd / ".local" / "lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}" / "site-packages"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "thirdparty_xyz.py").write_text("value = 7\n")
        runner.write(THIRD)
        assert (runner.inspect(python=python).errors == []) is found


def test_a_missing_package_is_reported_as_such(runner: Runner) -> None:
    (error,) = runner.inspect("import no_such_package_xyz\n").errors
    assert error["message"].startswith("ModuleNotFoundError: No module named 'no_such_package_xyz'")


def test_optional_imports_still_fail_softly(runner: Runner) -> None:
    assert runner.call("f", text="try:\n    import no_such_package_xyz\nexcept ImportError:\n    value = 7\n@edge_tool\ndef f():\n    'd'\n    return value\n").result == {"result": 7}


def test_an_environment_below_the_tools_folder_is_not_the_users_code(runner: Runner) -> None:
    python, site = environment(runner.folder / ".venv")
    (site / "thirdparty_xyz.py").write_text("value = 7\n")
    answer = runner.call("f", text=THIRD, python=python)
    assert answer.result == {"result": 7} and answer.json["loaded_files"] == []


@pytest.mark.parametrize("name", ["tools file.py", "工具.py", "tools", "a.b.py", "json.py"])
def test_file_names(runner: Runner, name: str) -> None:
    runner.path = runner.folder / name
    runner.path.write_text("from edgestudio.tools import edge_tool\nimport json\n@edge_tool\ndef f():\n    'd'\n    return json.dumps(1)\n")
    assert list(runner.inspect().tools) == ["f"] and runner.call("f").result == {"result": "1"}
