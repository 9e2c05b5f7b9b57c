"""Prints the sheets of a workbook as JSON: names, panes, filters, and every cell as its type and text."""
import json, sys
import openpyxl


def cell(c):
    return None if c.value is None else [type(c.value).__name__, str(c.value), c.number_format]


book = openpyxl.load_workbook(sys.argv[1])
json.dump([{"name": s.title, "pane": s.freeze_panes, "filter": s.auto_filter.ref,
            "widths": [s.column_dimensions[name].width for name in sorted(s.column_dimensions)],
            "rows": [[cell(c) for c in row] for row in s.iter_rows()]} for s in book], sys.stdout)
