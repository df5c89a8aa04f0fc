#!/usr/bin/env python3
"""fit.py FIGURES OUT: trees for the tuner's model (schedules/tune/forest.h), of what mica_figures writes.

    cd bench/results; mica_figures 2026-11-28-h200-tune.csv 2026-11-30-h200-tune-2.csv 2026-11-30-h200-tune.csv 2026-12-01-h200-tune.csv 2026-12-01-h200-steps.csv > figures.csv
    ../model/fit.py figures.csv ../../schedules/tune/forest.bin

Prints, of each algorithm, the rank correlation of predicted and measured times: the formula's; of
candidates of which trees have seen five sixths of those that look otherwise; of an algorithm that they have not seen.
Needs numpy, scipy and scikit-learn (Debian: python3-sklearn).
"""
import struct
import sys

import numpy as np
from scipy.stats import spearmanr
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.model_selection import GroupKFold, LeaveOneGroupOut, cross_val_predict

LEAF = 255
# Of several steps at once? Registers known?
FORESTS = [(False, False), (False, True), (True, False), (True, True)]
FEW = dict(n_estimators=150, max_leaf_nodes=8, learning_rate=0.08, min_samples_leaf=4)
TREES = {(False, False): dict(n_estimators=600, max_leaf_nodes=40, learning_rate=0.06),
         (False, True): dict(n_estimators=1200, max_leaf_nodes=64, learning_rate=0.05),
         (True, False): FEW, (True, True): FEW}


def boosted(which, **other):
    settings = {**TREES[which], **other}
    return GradientBoostingRegressor(max_depth=None, subsample=0.6, max_features=0.35, random_state=0, **settings)


def rows_of(which, names, known, figures):
    several, with_registers = which
    return ((figures[:, names.index("levels")] > 1) == several) & (known == with_registers)


def read(path):
    with open(path, encoding="ascii") as lines:
        names = next(lines).rstrip("\n").split(",")
        rows = [line.rstrip("\n").split(",") for line in lines]
    algorithm = np.array([row[0] for row in rows])
    known = np.array([int(row[1]) for row in rows])
    numbers = np.array([[float(text) for text in row[2:]] for row in rows], dtype=np.float32)
    return names[3:], algorithm, known, numbers[:, 0], numbers[:, 1:]


def report(names, algorithm, known, missing, figures):
    # The first figure is the formula's time over that of the memory, which is a grid's own: of a launch.
    formula = figures[:, names.index("formula")] - np.log(figures[:, names.index("levels")])
    for which in FORESTS:
        rows = rows_of(which, names, known, figures)
        name_of, x, y, base = algorithm[rows], figures[rows], missing[rows], formula[rows]
        # Candidates that differ in nothing that trees see, such as the same one measured twice, are learned together.
        same = np.unique(x, axis=0, return_inverse=True)[1].ravel()
        seen = cross_val_predict(boosted(which), x, y, groups=same, cv=GroupKFold(6), n_jobs=-1)
        fewer = min(200, TREES[which]["n_estimators"])
        unseen = cross_val_predict(boosted(which, n_estimators=fewer), x, y, groups=name_of, cv=LeaveOneGroupOut(),
                                   n_jobs=-1)
        print("several steps," if which[0] else "one step,", "registers", "known" if which[1] else "guessed")
        print(f"  {'':16} {'candidates':>10} {'formula':>8} {'others':>8} {'unseen':>8}")
        for name in sorted(set(name_of)):
            one = name_of == name
            ranks = [spearmanr(base[one] + by[one], base[one] + y[one])[0] for by in (np.zeros(len(y)), seen, unseen)]
            print(f"  {name:16} {one.sum():10}", " ".join(f"{rank:8.3f}" for rank in ranks))
        print(f"  half of the others are off by at most {100 * np.expm1(np.median(np.abs(seen - y))):.1f} %", flush=True)


def nodes_of(tree, rate):
    """Each before its left child; a leaf's value or a threshold, the figure, and how far its right child is."""
    nodes = []

    def add(i):
        at = len(nodes)
        nodes.append(None)
        if tree.children_left[i] < 0:
            nodes[at] = struct.pack("<fBB", rate * tree.value[i][0][0], LEAF, 0)
            return
        add(tree.children_left[i])
        right = len(nodes) - at
        add(tree.children_right[i])
        nodes[at] = struct.pack("<fBB", tree.threshold[i], tree.feature[i], right)

    add(0)
    return nodes


def write(path, names, known, missing, figures):
    with open(path, "wb") as out:
        out.write(("mica forest 2 " + " ".join(names) + "\n").encode("ascii"))
        for which in FORESTS:
            rows = rows_of(which, names, known, figures)
            model = boosted(which).fit(figures[rows], missing[rows])
            out.write(struct.pack("<fI", model.init_.constant_.ravel()[0], len(model.estimators_)))
            for (tree,) in model.estimators_:
                nodes = nodes_of(tree.tree_, model.learning_rate)
                out.write(struct.pack("<I", len(nodes)) + b"".join(nodes))


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    table = read(sys.argv[1])
    report(*table)
    write(sys.argv[2], table[0], *table[2:])
