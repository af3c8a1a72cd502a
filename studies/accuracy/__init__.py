"""How accurate is `AutoSVC`, beside the published methods and the usual classifiers?

book         the benchmark of the SSL book, with its splits and its published errors
few_labels   20, 50 and 100 labels on public tables and texts that nobody developed on
texts        texts by meaning, with and without an encoder
"""
