"""PositiveUnlabeledSVC: how often its promises hold, and how it compares."""
