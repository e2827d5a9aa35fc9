from jaxtyping import install_import_hook

# Shapes and types of every annotated call are checked while the tests run, and only then.
install_import_hook("vrbm", "beartype.beartype")
