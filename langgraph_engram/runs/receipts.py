"""Read the receipt of a run, and add up those of several."""

from collections.abc import Sequence
from typing import Any, cast

from langgraph_engram.nodes.keeping.report_run import report_run
from langgraph_engram.results import Comparisons, Receipt
from langgraph_engram.state import WriteState
from langgraph_engram.usage import total


def add_receipts(receipts: Sequence[Receipt]) -> Receipt:
    """Add up receipts; the run named is the last one. None gives an empty receipt."""
    counts = Receipt.model_fields.keys() - {"run_id", "usage"}
    sums = {name: sum(getattr(receipt, name) for receipt in receipts) for name in counts}
    entries = [entry for receipt in receipts for entry in receipt.usage.by_node]
    return Receipt(run_id=receipts[-1].run_id if receipts else "", usage=total(entries), **sums)


def receipt_of(state: dict[str, Any]) -> Receipt:
    """Give the receipt of a run as its graph left it; of one that waits for a person, all turns are pending."""
    left = cast(WriteState, state)
    if "receipt" in left:
        return left["receipt"]
    return report_run(left)["receipt"].model_copy(update={"pending": len(left["turns"])})


def comparisons_of(receipt: Receipt) -> Comparisons:
    """Say how many comparisons of vectors the filter saved: the receipts of a whole scope, added up, give its figure.

    DimMem reports 59 % saved on LoCoMo and 75 % on LongMemEval.
    """
    possible, made = receipt.pairs_possible, receipt.pairs_compared
    return Comparisons(all_pairs=possible, made=made, saved=1 - made / possible if possible else 0.0)
