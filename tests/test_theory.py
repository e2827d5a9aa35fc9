"""docs/theory.md lists every equation of section 2 with its function and its test."""

import importlib
import inspect
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "docs" / "theory.md").read_text()
ROWS = re.findall(
    r"^\| ([\w:, ]+) \| `(vrbm[\w.]+)` \| `(tests/[\w/]+\.py)::(\w+)` \|$", TEXT, re.M
)

# The labels of section 2 of the paper, and the one of section 3 whose home is the model.
LABELS = [
    "GrandCanonical_BoltzmannDistribution",
    "GrandCanonical:FreeEnergy1a",
    "GrandCanonical:FreeEnergy1b",
    "GrandCanonical:FreeEnergy",
    "vRBM:PartitionFunction",
    "vRBM:ModelProbabilties",
    "GrandCanonical:FreeEnergy_approx",
    "ChemicalPotential_FunctinalForm",
    "vRBM:DerivativeOfFreeEnergy",
    "z_conditionalProbability",
    "ExtremizationCondition",
    "ExtremizationCondition_Explicit",
    "ExtremizationCondition_Compact",
    "CD:updateStep",
    "h_VEV",
    "ccdf",
    "z_conditionalVEV",
    "z_probableValue",
    "v_VEV",
    "probability_v_conditioned_h_z",
    "kcd_step",
    "a_CDupdate",
    "ChemicalPotential:ConceptualAnsatz",
    "VacuumEnergyDEF",
    "FundamentalEnergyQuantum",
    "ChemicalPotential:ConcreteAnsatz",
    "AverageFreeEnergy",
]


def test_every_label_has_a_row_or_a_word():
    listed = {label for row in ROWS for label in row[0].split(", ")}
    words = re.search(r"^Not yet here:.*", TEXT, re.M | re.S)
    pending = set(re.findall(r"\[([\w:]+)\]", words.group())) if words else set()
    assert listed | pending == set(LABELS)
    assert not listed & pending


@pytest.mark.parametrize("name", sorted({row[1] for row in ROWS}))
def test_the_function_exists(name):
    parts = name.split(".")
    for split in range(len(parts) - 1, 0, -1):
        try:
            value = importlib.import_module(".".join(parts[:split]))
        except ModuleNotFoundError:
            continue
        for part in parts[split:]:
            value = getattr(value, part)
        break
    assert callable(value)
    assert inspect.getdoc(value)


@pytest.mark.parametrize(("labels", "function"), [row[:2] for row in ROWS])
def test_the_docstring_or_module_names_the_label(labels, function):
    path = ROOT / "src" / Path(*function.split(".")[:3]).with_suffix(".py")
    assert any(f"[{label}]" in path.read_text() for label in labels.split(", "))


@pytest.mark.parametrize(("file", "test"), sorted({row[2:] for row in ROWS}))
def test_the_test_exists(file, test):
    assert f"def {test}(" in (ROOT / file).read_text()
