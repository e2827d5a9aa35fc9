import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()


def test_the_example_runs_as_printed():
    (code,) = re.findall(r"```python\n(.*?)```", README, re.S)
    names: dict = {}
    exec(code, names)
    model, v = names["model"], names["v"]
    assert model.size_probabilities(v).shape == (500, 40)
    assert model.mean_hidden(v).shape == (500, 40)


def test_the_files_that_it_names_exist():
    for target in re.findall(r"\]\((?!https?:)([^)#]+)\)", README):
        assert (ROOT / target).exists(), target


def test_the_example_of_the_training_page_runs_as_printed(capsys):
    code, *_ = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "training.md").read_text(), re.S)
    names: dict = {}
    short = code.replace("Config()", "Config(epochs=2, looks=2, batch_size=10)")
    exec(short, names)
    assert names["trained"].W.shape == (128, 64)
    assert names["record"].epoch == 2
