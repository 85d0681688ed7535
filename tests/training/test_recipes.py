from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grounding.errors import UserError
from grounding.records import Record
from grounding.training.recipes import read_recipe
from grounding.training.records import LoraRule, Optimisation, Saving
from grounding.training.strictyaml import YamlProblem, read_yaml, scalar, value_of


class Term(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    kind: Literal["hit", "format"]
    weight: Annotated[float, msgspec.Meta(gt=0)] = 1.0


class Rule(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    optimisation: Optimisation = Optimisation(learning_rate=1e-6)
    terms: tuple[Term, ...] = (Term(kind="hit"),)


class Recipe(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    name: str
    source: str = ""
    lora: LoraRule | None = LoraRule()
    rule: Rule | None = None
    saving: Saving = Saving()
    beta: float = 0.0


TEXT = """\
# A recipe for tests: what the paper says.

name: small  # its name
source: 'a paper: "section 4"'
rule:  # of the second stage
  # Appendix B, table 9.
  # Halved.
  optimisation:
    learning_rate: 1e-6  # appendix B
    batch: 4
  terms:
    - kind: hit  # section 3
      weight: 2
    # why not
    - {kind: format}
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "small.yaml"
    path.write_text(TEXT)
    return path


def test_a_recipe_is_read_with_defaults(file: Path) -> None:
    read = read_recipe(str(file), Recipe)
    assert read.recipe == Recipe(
        name="small",
        source='a paper: "section 4"',
        rule=Rule(
            optimisation=Optimisation(learning_rate=1e-6, batch=4),
            terms=(Term(kind="hit", weight=2), Term(kind="format")),
        ),
    )
    assert (read.path, read.overrides) == (file, ())


def test_what_is_stored_reads_as_the_same_and_keeps_the_comments(file: Path, tmp_path: Path) -> None:
    read = read_recipe(str(file), Recipe, ["rule.optimisation.batch=8", "lora.rank=4"])
    stored = tmp_path / "recipe.yaml"
    stored.write_text(read.text)
    assert read_recipe(str(stored), Recipe).recipe == read.recipe
    assert "# The recipe as it was used; from small.yaml." in read.text
    assert "# Changed by --set lora.rank=4" in read.text
    assert "# A recipe for tests: what the paper says." in read.text
    assert "    learning_rate: 1e-06  # appendix B" in read.text
    assert "    batch: 8  # --set" in read.text
    assert "    accumulation: 1  # default" in read.text
    assert "  # Appendix B, table 9.\n  # Halved.\n  optimisation:" in read.text
    assert "    - kind: hit  # section 3\n      weight: 2.0" in read.text
    assert "rule:  # of the second stage" in read.text
    assert "rank: 4  # --set" in read.text
    assert "  alpha: 32  # default" in read.text


@pytest.mark.parametrize(
    ("override", "place", "value"),
    [
        ("rule.optimisation.learning_rate=1e-5", ("rule", "optimisation", "learning_rate"), 1e-5),
        ("rule.terms.1.weight=3", ("rule", "terms", 1, "weight"), 3.0),
        ("lora=null", ("lora",), None),
        ("saving.every_steps=null", ("saving", "every_steps"), None),
        ("lora.targets=[q_proj, v_proj]", ("lora", "targets"), ("q_proj", "v_proj")),
        ("beta = 0.04", ("beta",), 0.04),
        ("name=a=b", ("name",), "a=b"),
    ],
)
def test_an_override_reaches_its_field(file: Path, override: str, place: tuple[Any, ...], value: object) -> None:
    found: Any = read_recipe(str(file), Recipe, [override]).recipe
    for name in place:
        found = found[name] if isinstance(name, int) else getattr(found, name)
    assert found == value


@pytest.mark.parametrize(
    ("override", "told"),
    [
        ("rule.optimization.learning_rate=1", ["field rule", "unknown field `optimization`", "optimisation, terms"]),
        ("rule.terms.0.kind=near", ["field rule.terms.kind", "Allowed: hit, format"]),
        ("rule.terms.5.kind=hit", ["rule.terms is a list of 2"]),
        ("rule.optimisation.learning_rate=-1", ["rule.optimisation.learning_rate", "> 0"]),
        ("rule.optimisation.batch=two", ["rule.optimisation.batch", "Expected `int`, got `str`"]),
        ("name.first=1", ["name has no fields"]),
        ("rank", ["expected field=value"]),
        ("beta=[1", ["not valid YAML"]),
    ],
)
def test_a_wrong_override_is_refused_with_what_is_allowed(file: Path, override: str, told: list[str]) -> None:
    with pytest.raises(UserError) as caught:
        read_recipe(str(file), Recipe, [override])
    for words in (f"--set {override}", *told):
        assert words in str(caught.value)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("name: a\nname: b", "name is there twice"),
        ("- name: a", "expected fields with values"),
        ("name: a\nlearning: 1", "unknown field `learning`"),
        ("name: !!python/name:os.system a", "not valid YAML"),
        ("name: [", "not valid YAML"),
        ("source: x", "missing required field `name`"),
        ("1: a", "1 is not a name"),
        ("", "expected fields with values"),
    ],
)
def test_a_wrong_file_is_refused(tmp_path: Path, text: str, told: str) -> None:
    path = tmp_path / "wrong.yaml"
    path.write_text(text)
    with pytest.raises(UserError) as caught:
        read_recipe(str(path), Recipe)
    assert str(path) in str(caught.value)
    assert told in str(caught.value)


def test_an_unknown_name_says_what_there_is() -> None:
    with pytest.raises(UserError, match="neither a file nor a bundled recipe"):
        read_recipe("no-such-recipe", Recipe)


@given(
    st.one_of(
        st.floats(allow_nan=False),
        st.integers(),
        st.booleans(),
        st.none(),
        st.text(max_size=30),
        st.lists(st.text(max_size=9)),
    )
)
def test_a_value_written_is_the_value_read(value: Any) -> None:
    written = scalar(value)
    assert "\n" not in written
    read = value_of(f"{written}  # and a remark")
    assert read == value
    assert type(read) is type(value)


@given(st.text(max_size=200))
def test_any_text_is_read_or_refused(text: str) -> None:
    with contextlib.suppress(YamlProblem):
        assert isinstance(read_yaml(text), dict)
