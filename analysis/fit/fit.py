#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fit the constants of predicted times to trials of tuners, and print them as rows of generator/families/model_rows.c.

    fit.py regret                          what the choices of today's constants cost, by row and by set of trials
    fit.py fit [ROW ...] [--write]         fit rows again, and say by cross-validation over shapes whether that is better
    fit.py rows                            print model_rows.c
    fit.py add FILE --set NAME             add the output of `tilejit tune --trials FILE` to the table of trials

The formulas are those of the library: a program of its tests (analysis_predict_trials) predicts with the constants that it gets.
`fit` needs NumPy and SciPy. README.md describes the table, the sets, and what a fit minimises.
"""
import argparse
import gzip
import math
import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

HERE = Path(__file__).resolve().parent
TREE = HERE.parent.parent
ROWS = TREE / "generator/families/model_rows.c"
HEAD = "# set\tdevice\tproblem\tconfig\tus\n"

DECISION = 25  # a config's odds to be chosen are exp(-25 ln(predicted)): smoother than the first choice alone
ERROR_WEIGHT = 0.05  # of the squared error of ln(time)
PRIOR_WEIGHT = 0.02  # of the squared change of ln(constant): what the trials do not decide stays
FOLDS = 5
SHARES = {"memory_efficiency", "pack_efficiency", "block.issue", "block.pipe_efficiency", "block.barrier_loss", "block.fetch_loss", "walk.rate"}  # 1 at most


# ---- the table of trials ---------------------------------------------------------------------------------------------


def read_table(path):
    """Return [set, device, problem, config, us] of each trial. Trials of one problem in one set are neighbours."""
    with gzip.open(path, "rt") as file:
        return [line.rstrip("\n").split("\t") for line in file if not line.startswith("#")]


def write_table(path, trials):
    text = HEAD + "".join("\t".join(trial) + "\n" for trial in trials)
    with open(path, "wb") as file, gzip.GzipFile("", "wb", 9, file, mtime=0) as packed:  # the same bytes each time
        packed.write(text.encode())


def add(table, path, name):
    """Add the timed trials of a tuning. Those of several devices may alternate."""
    trials = read_table(table)
    if any(trial[0] == name for trial in trials):
        sys.exit(f"fit.py: there is a set {name} already")
    with open(path) as file:
        lines = [line.rstrip("\n").split("\t") for line in file if not line.startswith("# device ")]
    head = [field.lstrip("# ") for field in lines[0]]
    if not {"problem", "device"} <= set(head):
        sys.exit(f"fit.py: {path} does not say of which problems and devices its trials are: tune again with this version")
    cells = [dict(zip(head, line)) for line in lines[1:] if not line[0].startswith("#")]
    new = [[name, c["device"], c["problem"], c["config"], c["us"]] for c in cells if c["state"] in ("timed", "slow")]
    write_table(table, trials + sorted(new, key=lambda trial: trial[:3]))
    print(f"{len(new)} trials of {len({tuple(trial[:3]) for trial in new})} shapes")


# ---- the library's predictions ---------------------------------------------------------------------------------------


class Model:
    """The recorded rows of constants, the row and predicted time of each trial, and predictions with other constants."""

    def __init__(self, tool, table):
        if not os.access(tool, os.X_OK):
            sys.exit(f"fit.py: {tool} is missing: cmake --build --preset dev --target analysis_predict_trials")
        self.process = subprocess.Popen([tool, table], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.trials = read_table(table)
        self.rows, self.row, self.us = {}, [], []
        for line in self.process.stdout:
            words = line.split()
            if words[0] == "row":
                self.rows[words[1]] = {name: float(value) for name, value in (word.split("=") for word in words[2:])}
            elif words[0] == "trial":
                self.row.append(words[1])
                self.us.append(float(words[2]))
            else:
                return
        sys.exit("fit.py: the predictions end early")

    def predict(self, row, constants):
        """Return the predicted times of the row's trials, in the table's order."""
        print(row, *(f"{name}={value:.9g}" for name, value in constants.items()), file=self.process.stdin, flush=True)
        return [float(us) for us in self.process.stdout.readline().split()]


# ---- regret ----------------------------------------------------------------------------------------------------------


def group_by(keys):
    """Return {key: [index]}."""
    groups = {}
    for index, key in enumerate(keys):
        groups.setdefault(key, []).append(index)
    return groups


def regret(indexes, predicted, measured):
    """Return the measured time of the config with the least predicted time, over the least measured time."""
    return measured[min(indexes, key=lambda i: predicted[i])] / min(measured[i] for i in indexes)


def mean(values):
    return math.exp(sum(map(math.log, values)) / len(values)) if values else float("nan")


def depends(trial_row, row):
    """Does the predicted time of a trial depend on a row? All depend on the constants that rows share."""
    return row in (trial_row, "shared")


def regrets_of_row(row, rows, shapes, predicted, measured):
    """Return the regrets among the row's own configs, and among all configs of the shapes in which the row was tried."""
    own = {key: [i for i in indexes if depends(rows[i], row)] for key, indexes in shapes.items()}
    return ([regret(indexes, predicted, measured) for indexes in own.values() if len(indexes) > 1],
            [regret(indexes, predicted, measured) for key, indexes in shapes.items() if own[key] and len(indexes) > 1])


def grouped(number):
    return f"{number:,}".replace(",", " ")


def show_regret(model):
    """Print tables for docs/analysis.md and README.md."""
    measured = [float(trial[4]) for trial in model.trials]
    shapes = group_by(tuple(trial[:3]) for trial in model.trials)

    print("| row | trials | shapes | among its own | among all |\n|---|--:|--:|--:|--:|")
    for row in model.rows:
        own, whole = regrets_of_row(row, model.row, shapes, model.us, measured)
        count = sum(depends(other, row) for other in model.row)
        print(f"| `{row}` | {grouped(count)} | {grouped(len(whole))} | {mean(own):.3f} | {mean(whole):.3f} |")
    print("\n| set | trials | shapes | regret |\n|---|--:|--:|--:|")
    for name, indexes in group_by(trial[0] for trial in model.trials).items():
        values = [regret(shapes[key], model.us, measured) for key in shapes if key[0] == name]
        print(f"| `{name}` | {grouped(len(indexes))} | {len(values)} | {mean(values):.3f} |")


# ---- fitting ---------------------------------------------------------------------------------------------------------


class Fit:
    """One row's constants: those that are 0 stay 0, the others vary, and so does nothing of the other rows."""

    def __init__(self, model, row):
        import numpy as np

        self.np, self.model, self.row = np, model, row
        self.start = {name: value for name, value in model.rows[row].items() if value > 0}
        self.measured = np.array([float(trial[4]) for trial in model.trials])
        self.shapes = group_by(tuple(trial[:3]) for trial in model.trials)
        self.own = np.array([depends(other, row) for other in model.row])
        self.touched = [key for key, indexes in self.shapes.items() if self.own[indexes].any() and len(indexes) > 1]

    def constants(self, x):
        return {name: value * math.exp(d) for (name, value), d in zip(self.start.items(), x)}

    def predict(self, x):
        predicted = self.np.array(self.model.us)
        predicted[self.own] = self.model.predict(self.row, self.constants(x))
        return predicted

    def expected_regret(self, predicted, groups):
        """Return the mean over groups of trials of the expected time, over the best of the group."""
        np = self.np
        at = np.concatenate(groups)
        first = np.cumsum([0] + [len(group) for group in groups[:-1]])
        which = np.repeat(np.arange(len(groups)), [len(group) for group in groups])
        log, us = np.log(predicted[at]), self.measured[at]
        odds = np.exp(-DECISION * (log - np.minimum.reduceat(log, first)[which]))
        return (np.add.reduceat(odds * us, first) / np.add.reduceat(odds, first) / np.minimum.reduceat(us, first)).mean()

    def train(self, keys):
        """Return the constants, as changes of their logarithms, that suit the trials of some shapes."""
        from scipy.optimize import minimize

        np = self.np
        whole = [np.array(self.shapes[key]) for key in keys]
        own = [group[self.own[group]] for group in whole]
        mine = np.concatenate(own)

        def loss(x):
            predicted = self.predict(x)
            error = np.log(predicted[mine] / self.measured[mine])
            return (self.expected_regret(predicted, whole) + self.expected_regret(predicted, own) +
                    ERROR_WEIGHT * (error ** 2).mean() + PRIOR_WEIGHT * (x ** 2).sum())

        bounds = [(-1.5, min(1.5, -math.log(value)) if name in SHARES else 1.5) for name, value in self.start.items()]
        return minimize(loss, np.zeros(len(self.start)), method="L-BFGS-B", bounds=bounds,
                        options={"maxiter": 25, "eps": 1e-3, "ftol": 1e-6}).x

    def regrets(self, x, keys):
        shapes = {key: self.shapes[key] for key in keys}
        return regrets_of_row(self.row, self.model.row, shapes, self.predict(x), self.measured)

    def cross_validate(self):
        """Return the regrets of held-out shapes, by today's constants and by those fitted to the other shapes."""
        problems = sorted({key[2] for key in self.touched})
        fold = {problem: i * 7919 % FOLDS for i, problem in enumerate(problems)}  # a problem of two sets is in one fold
        today, fitted = ([], []), ([], [])
        for part in range(FOLDS):
            held = [key for key in self.touched if fold[key[2]] == part]
            x = self.train([key for key in self.touched if fold[key[2]] != part])
            for sums, constants in ((today, 0 * x), (fitted, x)):
                for total, values in zip(sums, self.regrets(constants, held)):
                    total.extend(values)
        return today, fitted


def fit(model, names, is_written):
    better = {}

    print("regret of held-out shapes: among the row's own configs, and among all configs of the shape")
    print(f"{'row':14}{'shapes':>8}{'today':>9}{'refit':>9}{'today':>11}{'refit':>9}", flush=True)
    for name in names or model.rows:
        one = Fit(model, name)
        today, fitted = one.cross_validate()
        values = [mean(values) for values in (today[0], fitted[0], today[1], fitted[1])]
        is_better = values[1] < values[0] and values[3] < values[2]
        print(f"{name:14}{len(one.touched):8}{values[0]:9.4f}{values[1]:9.4f}{values[2]:11.4f}{values[3]:9.4f}"
              f"{'  better' if is_better else ''}", flush=True)
        if is_better:
            note = (f"Fitted to {sum(one.own)} trials of {len(one.touched)} shapes; regret of held-out shapes "
                    f"{values[3]:.3f}, before {values[2]:.3f}.")
            better[name] = (one.constants(one.train(one.touched)), note)
        one.predict([0] * len(one.start))  # the next row is fitted with today's constants of this one
    if is_written:
        ROWS.write_text(printed_rows(better))
        print(f"{len(better)} rows written to {ROWS.relative_to(TREE)}")


# ---- rows of C -------------------------------------------------------------------------------------------------------


def comment_of(old, note):
    """Return a row's comment: what it says of the kernels, and a new note in place of "Fitted ..."."""
    words = " ".join(old.strip("/* \n").replace("\n *", " ").split())
    text = f"{words.partition('Fitted')[0].strip()} {note}".strip()
    if len(text) <= 120:
        return f"/* {text} */\n"
    return "/*\n" + textwrap.fill(text, 126, initial_indent=" * ", subsequent_indent=" * ") + "\n */\n"


def printed_rows(changed):
    """Return model_rows.c with other constants and another note for some rows."""
    text = ROWS.read_text()

    def row(match):
        comment, kind, name, members = match.groups()
        constants, note = changed.get(name, ({}, None))
        if note:
            comment = comment_of(comment, note)
        for constant, value in constants.items():
            members = re.sub(rf"(?m)^    \.{re.escape(constant)} = .*,$", f"    .{constant} = {float(f'{value:.3g}'):.10g},", members)
        return f"{comment}const {kind} tj_model_{name} = {{\n{members}}};\n"

    return re.sub(r"(/\*(?:(?!\*/).)*\*/\n)const (tj_model|tj_shared_model) tj_model_(\w+) = \{\n(.*?)\};\n", row, text, flags=re.S)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tool", default=TREE / "build/dev/tests/analysis_predict_trials", help="predicts with given constants")
    parser.add_argument("--table", default=HERE / "trials.tsv.gz", help="the table of trials")
    verbs = parser.add_subparsers(dest="verb", required=True)
    verbs.add_parser("regret")
    verbs.add_parser("rows")
    fitting = verbs.add_parser("fit")
    fitting.add_argument("row", nargs="*")
    fitting.add_argument("--write", action="store_true", help="write the rows whose refit is better into model_rows.c")
    adding = verbs.add_parser("add")
    adding.add_argument("file")
    adding.add_argument("--set", required=True)
    words = parser.parse_args()
    if words.verb == "add":
        add(words.table, words.file, words.set)
    elif words.verb == "rows":
        print(printed_rows({}), end="")
    elif words.verb == "regret":
        show_regret(Model(words.tool, words.table))
    else:
        fit(Model(words.tool, words.table), words.row, words.write)


if __name__ == "__main__":
    main()
