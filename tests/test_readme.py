import re
from pathlib import Path

README = (Path(__file__).parents[1] / "README.md").read_text()


def test_the_example_runs_as_printed():
    (code,) = re.findall(r"```python\n(.*?)```", README, re.S)
    names: dict = {}
    exec(code, names)
    model, v = names["model"], names["v"]
    assert model.size_probabilities(v).shape == (500, 40)
    assert model.mean_hidden(v).shape == (500, 40)


def test_the_files_that_it_names_exist():
    root = Path(__file__).parents[1]
    for target in re.findall(r"\]\((?!https?:)([^)#]+)\)", README):
        assert (root / target).exists(), target
