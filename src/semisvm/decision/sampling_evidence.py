"""What a promise that was certified by sampling is about, and what it rests on."""

from dataclasses import dataclass
from typing import Literal

SamplingClaim = Literal["pool", "new rows"]


@dataclass(frozen=True)
class SamplingEvidence:
    """What a promise that was certified by sampling is about, and what it rests on.

    Parameters
    ----------
    claim : {"pool", "new rows"}
        About these rows of the pool, or about new rows from the same source.
    n_labels : int
        Labels that were given in the campaign.
    n_rows : int
        Rows of the pool.
    n_accepted : int
        Rows of the pool that the threshold accepts.
    campaign : int
        The number of the campaign; the risks of all campaigns add up.
    total_risk : float
        The chance, at most, that any of the campaigns so far is wrong.
    is_known : bool
        Whether so many rows were labeled that the claim is known to be true, not only proved with some confidence.
    """

    claim: SamplingClaim
    n_labels: int
    n_rows: int
    n_accepted: int
    campaign: int = 1
    total_risk: float = 0.1
    is_known: bool = False

    def caution(self, confidence: float) -> str:
        """Say what the promise is about and how sure it is.

        Parameters
        ----------
        confidence : float
            The probability of the promise.

        Returns
        -------
        words : str
            A sentence or two.
        """
        about = f"these {self.n_rows:,} rows" if self.claim == "pool" else "new rows from the source of this pool"
        if self.is_known:
            return f"Known for {about}: so many of them were labeled that nothing is left to chance."
        told = f"Holds for {about} with probability {confidence:.0%} over the tool's own random draws."
        if self.campaign > 1:
            told += (
                f" This is campaign {self.campaign}: the chance that any of the {self.campaign} is wrong is at most "
                f"{self.total_risk:.0%}."
            )
        return told
