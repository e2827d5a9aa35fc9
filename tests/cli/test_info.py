from vrbm.cli import main


def test_version_and_info(capsys):
    assert main(["--version"]) == 0
    assert main(["info"]) == 0
    printed = capsys.readouterr().out
    assert "vrbm 0." in printed
    assert "device 0: cpu" in printed
