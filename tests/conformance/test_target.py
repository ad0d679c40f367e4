"""What `tallystick plugins check` can be pointed at."""

from pathlib import Path

import pytest
from conformance.broken import PYPROJECT, broken, loaded

from tallystick.errors import PluginError
from tallystick_conformance.loading import Subject
from tallystick_conformance.target import find


def test_an_installed_plugin_is_found_by_its_name() -> None:
    found = find("skills")
    assert (found.name, found.distribution, found.paths) == ("skills", "tallystick", ())
    assert found.version
    assert "workflow" in {other.name for other in found.others}
    assert "skills" not in {other.name for other in found.others}


def test_a_project_is_found_by_its_folder(tmp_path: Path) -> None:
    found = find(str(broken(tmp_path)))
    assert (found.name, found.distribution, found.version) == ("acme", "acme-parcels", "1.2.3")
    assert found.entry.value == "acme_parcels.plugin"
    assert found.paths == (tmp_path.resolve(),)
    assert {"skills", "workflow"} <= {other.name for other in found.others}
    assert find(str(tmp_path / "pyproject.toml")) == found


def test_a_project_may_be_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(broken(tmp_path))
    assert find(".").name == "acme"


def test_a_folder_src_is_looked_at_first(tmp_path: Path) -> None:
    folder = broken(tmp_path)
    (folder / "src").mkdir()
    (folder / "acme_parcels").rename(folder / "src" / "acme_parcels")
    with loaded(folder) as subject:
        assert isinstance(subject, Subject)
        assert subject.folder == tmp_path / "src" / "acme_parcels"
        assert (subject.plugin.distribution, subject.plugin.version) == ("acme-parcels", "1.2.3")


def test_one_of_several_plugins_of_a_project_is_named(tmp_path: Path) -> None:
    folder = broken(tmp_path, pyproject=PYPROJECT + 'other = "acme_other"\n')
    with pytest.raises(PluginError, match=r"found the plugins acme, other, expected one: check"):
        find(str(folder))
    found = find(f"{folder}:other")
    assert (found.name, found.entry.value) == ("other", "acme_other")
    assert "acme" in {other.name for other in found.others}


def test_of_an_installed_project_its_folder_is_checked_alone(tmp_path: Path) -> None:
    """The plugins of the installed one are not beside those of the folder."""
    same = PYPROJECT.replace("acme-parcels", "Tallystick")
    found = find(str(broken(tmp_path, pyproject=same)))
    assert not {"skills", "workflow"} & {other.name for other in found.others}


@pytest.mark.parametrize(
    ("pyproject", "message"),
    [
        ("[project", "found what is not TOML"),
        ("", r"found no plugin in \[project.entry-points.\"tallystick.plugins\"\]"),
        ("project = 1", "found no plugin"),
        ('[project.entry-points."tallystick.plugins"]\nacme = 1', "found no plugin"),
    ],
)
def test_a_project_without_a_plugin_is_refused(
    tmp_path: Path, pyproject: str, message: str
) -> None:
    with pytest.raises(PluginError, match=message):
        find(str(broken(tmp_path, pyproject=pyproject)))


def test_what_is_neither_a_plugin_nor_a_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PluginError, match=r"found no plugin 'levitation', expected the name"):
        find("levitation")
    for nowhere in (str(tmp_path), f"{tmp_path}/none", f"{broken(tmp_path / 'a')}:none"):
        with pytest.raises(PluginError):
            find(nowhere)
