"""The problems of the CS4VM paper as it prints them, in w and b: to be solved by Clarabel, or
evaluated at a given f.

    X          (n, p) rows, the kernel is linear
    sign       (n,) labels, 0 where there is none;   guess (n,) the same with guesses for the others
    cost       {+1: c(+1), -1: c(-1)};   C, C_unlabeled the paper's C1, C2

Each class has `least()`, the optimum by Clarabel, and `value(w, b)`, the objective at a w and b,
slacks at their best.
"""

import clarabel
import numpy as np
from scipy import sparse

from oracles import solve_convex


def hinge(z):
    return np.maximum(0.0, z)


class Labeled:
    """What the three problems share: variables w, b, a slack a labeled row, and `n_more` of
    their own.
    """

    n_more = 0

    def __init__(self, X, sign, cost, C, C_unlabeled=0.0, guess=None):
        self.X = X
        self.sign = sign
        self.cost = cost
        self.C = C
        self.C_unlabeled = C_unlabeled
        self.labeled = np.flatnonzero(sign)
        self.price = C * np.array([cost[int(s)] for s in sign[self.labeled]])
        self.guess = guess

    def value(self, w, b):
        f = self.X @ w + b
        losses = self.price * hinge(1 - self.sign[self.labeled] * f[self.labeled])
        return 0.5 * w @ w + losses.sum() + self.value_of_rest(w, b)

    def value_of_rest(self, w, b):
        return 0.0

    def least(self):
        p = self.X.shape[1]
        n = len(self.labeled)
        size = p + 1 + n + self.n_more
        quadratic = np.zeros(size)
        linear = np.zeros(size)
        quadratic[:p] = 1.0
        linear[p + 1 : p + 1 + n] = self.price
        lines = []
        bounds = []
        for k, i in enumerate(self.labeled):
            line = np.zeros(size)
            line[: p + 1] = -self.sign[i] * np.append(self.X[i], 1.0)  # 1 - y f <= slack
            line[p + 1 + k] = -1.0
            lines.append(line)
            bounds.append(-1.0)
            lines.append(-np.eye(size)[p + 1 + k])  # slack >= 0
            bounds.append(0.0)
        constant = self.add_rest(linear, lines, bounds, p + 1 + n)
        x, _ = solve_convex(
            sparse.diags(quadratic),
            linear,
            np.array(lines),
            np.array(bounds),
            [clarabel.NonnegativeConeT(len(bounds))],
            tol=1e-12,
            reduced_tol=1e-7,
        )
        return float(0.5 * x @ (quadratic * x) + linear @ x) + constant

    def add_rest(self, linear, lines, bounds, first):
        return 0.0


class Equation6(Labeled):
    """The machine with known label means; variables p+ and p- of every unlabeled row."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.positive = np.flatnonzero((self.sign == 0) & (self.guess > 0))
        self.negative = np.flatnonzero((self.sign == 0) & (self.guess < 0))
        self.unlabeled = np.flatnonzero(self.sign == 0)
        self.n_more = 2 * len(self.unlabeled)
        n_plus = len(self.positive)
        n_minus = len(self.negative)
        mean_plus = self.X[self.positive].mean(axis=0)
        mean_minus = self.X[self.negative].mean(axis=0)
        self.reward_w = n_plus * self.cost[+1] * mean_plus - n_minus * self.cost[-1] * mean_minus
        self.n1 = self.cost[+1] * n_plus + self.cost[-1] * n_minus
        self.n2 = self.cost[+1] * n_plus - self.cost[-1] * n_minus

    def value_of_rest(self, w, b):
        f = self.X[self.unlabeled] @ w + b
        above = self.cost[+1] * hinge(f - 1)
        below = self.cost[-1] * hinge(-f - 1)
        return self.C_unlabeled * (
            above.sum() + below.sum() - (w @ self.reward_w - self.n1 + self.n2 * b)
        )

    def add_rest(self, linear, lines, bounds, first):
        p = self.X.shape[1]
        n_unlabeled = len(self.unlabeled)
        linear[first:] = self.C_unlabeled
        linear[:p] = -self.C_unlabeled * self.reward_w
        linear[p] = -self.C_unlabeled * self.n2
        for k, i in enumerate(self.unlabeled):
            for side, place in ((+1, first + k), (-1, first + n_unlabeled + k)):
                line = np.zeros(len(linear))
                line[: p + 1] = (
                    side * self.cost[side] * np.append(self.X[i], 1.0)
                )  # c (side f - 1) <= p
                line[place] = -1.0
                lines += [line, -np.eye(len(linear))[place]]
                bounds += [self.cost[side], 0.0]
        return self.C_unlabeled * self.n1


class Equation7(Labeled):
    """The largest margin between the label means; one variable, the margin."""

    n_more = 1

    def means(self):
        unlabeled = self.sign == 0
        return self.X[unlabeled & (self.guess > 0)].mean(axis=0), self.X[
            unlabeled & (self.guess < 0)
        ].mean(axis=0)

    def value_of_rest(self, w, b):
        plus, minus = self.means()
        return -self.C_unlabeled * min(
            (w @ plus + b) / self.cost[+1], -(w @ minus + b) / self.cost[-1]
        )

    def add_rest(self, linear, lines, bounds, first):
        p = self.X.shape[1]
        linear[first] = -self.C_unlabeled
        for side, mean in zip((+1, -1), self.means(), strict=True):
            line = np.zeros(len(linear))
            line[: p + 1] = -side * np.append(mean, 1.0)
            line[first] = self.cost[side]
            lines.append(line)
            bounds.append(0.0)
        return 0.0
