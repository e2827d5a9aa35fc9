"""docs/theory.md lists the equations of the paper with their functions and their tests."""

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

# The labels of section 2 of the paper, and those of section 3 that define a measure.
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
    "TrainErrorDEF",
    "TestErrorDEF",
    "zAverage",
    "average_z_ConditionalProbability",
    "AbsoluteWeightAverage",
    "FreeEnergy:Resum",
    "Ising:interactionMatrix",
]


def test_every_label_has_a_row_or_a_word():
    listed = {label for row in ROWS for label in row[0].split(", ")}
    words = re.search(r"^Not yet here:.*", TEXT, re.M | re.S)
    pending = set(re.findall(r"\[([\w:]+)\]", words.group())) if words else set()
    assert listed | pending == set(LABELS)
    assert not listed & pending


def documented(name):
    """The function, or the class where the function is its one formula."""
    parts = name.split(".")
    value = importlib.import_module(".".join(parts[:3]))
    for part in parts[3:]:
        value = getattr(value, part)
    return value


@pytest.mark.parametrize(("labels", "function"), [row[:2] for row in ROWS])
def test_the_docstring_of_the_function_names_the_labels(labels, function):
    doc = inspect.getdoc(documented(function))
    for label in labels.split(", "):
        assert f"[{label}]" in doc


def test_every_label_has_one_home():
    sources = "".join(path.read_text() for path in (ROOT / "src").rglob("*.py"))
    for row in ROWS:
        for label in row[0].split(", "):
            assert sources.count(f"[{label}]") == 1, label


@pytest.mark.parametrize(("file", "test"), sorted({row[2:] for row in ROWS}))
def test_the_test_exists(file, test):
    assert f"def {test}(" in (ROOT / file).read_text()
