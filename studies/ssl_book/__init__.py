"""The benchmark of the book "Semi-Supervised Learning" (Chapelle, Schoelkopf and Zien, 2006): seven
sets, 12 splits.

`python -m studies.ssl_book` prints the tables of docs/measured/ssl-book.md. The sets are in the folder
ssl_book of SEMISVM_DATA.
"""
