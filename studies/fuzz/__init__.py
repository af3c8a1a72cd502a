"""Inputs that nobody thought of: random estimators, tables, options, model files and faults, and
what must hold of all.

A category is a module with three functions:

    make(random)      a recipe: what to try, as values that JSON can hold
    check(recipe)     a `Verdict`: what came of it
    simpler(recipe)   recipes with one thing less, from which a failure is made small

Recipes are drawn from a seed, so a run is repeatable input by input, whatever the number of
processes.
"""
