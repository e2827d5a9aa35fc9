"""The experiments of the paper: presets, measures, tables and figures."""
