"""Teacher, student, quantisation and evaluation in one run on a machine with a GPU.

    python -m training.train --bundle training/.bundle --out OUT --budget-seconds 1660

writes to OUT, as it goes: `teacher.*.npz`, `student.*.npz` (checkpoints), `encoder.safetensors` (what ships),
`log.txt` and `report.json`. With `--resume FOLDER` the teacher comes from there and only the student is trained; with
`--go-on FOLDER` the student starts from one that was saved there.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
import torch

from training import compact, export
from training.bundle import TRAINED_PIECES, VARIANTS, WHOLE, Bundle, Rows
from training.evaluate import Evaluation
from training.figures import Figures, overall, table
from training.model import STUDENT_LAYERS, State, TextEncoder, from_state, interpolate, student_state
from training.outlook import outlook
from training.pace import Clock
from training.packing import TokenTable
from training.report import Report
from training.student import StudentPlan, train_student
from training.teacher import Tables, TeacherPlan, train_teacher

# Learning rates that suit the size of the model.
TEACHER_RATES = {"minilm": 8e-5, "mpnet": 4e-5}
# Shares of the tuned weights that are tried; the rest is the untouched model.
TUNED_SHARES = (0.6, 0.7, 0.8, 0.9, 1.0)
STUDENT_POSITIONS = 192
SECONDS_TO_FINISH = 20


def main() -> None:
    """Run the stages that fit into the time."""
    options = _options()
    clock = Clock()
    options.out.mkdir(parents=True, exist_ok=True)
    report = Report(options.out, clock)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    report.say(f"torch {torch.__version__} on {torch.cuda.get_device_name() if device.type == 'cuda' else 'cpu'}")
    run = Run(options, report, device)
    teacher = run.saved_teacher() if options.resume else run.trained_teacher()
    if options.student_steps:
        run.student(teacher)
    report.say("done")


class Run:
    """The tables, the development sets, and the stages in order."""

    def __init__(self, options: argparse.Namespace, report: Report, device: torch.device) -> None:
        self.options, self.report, self.device = options, report, device
        bundle = Bundle(options.bundle)
        queries = TokenTable(bundle.queries(), device)
        self.tables = Tables(bundle, queries, TokenTable(_documents(bundle), device))
        self.evaluation = Evaluation(bundle, queries)
        self.rows: dict[str, Figures] = {}
        report.say(f"bundle: {bundle.tools} tools, {bundle.documents} documents, {len(queries)} queries")

    def trained_teacher(self) -> State:
        """Fine-tune with several seeds, average, and mix with the untouched weights as the dev sets like best."""
        options = self.options
        untouched = compact.load(options.bundle, options.base)
        self._measure(f"{options.base} untouched", untouched)
        began = self.report.clock()
        tuned: list[State] = []
        for number in range(options.teachers):
            until = began + options.teacher_seconds * (number + 1) / options.teachers
            plan = TeacherPlan(
                batch=options.teacher_batch,
                steps=options.teacher_steps,
                until=until,
                seed=number + 1,
                report_every=options.report_every,
                rate=TEACHER_RATES[options.base],
            )
            tuned.append(train_teacher(untouched, self.tables, self.evaluation, plan, self.report))
        mean = {key: np.mean([one[key] for one in tuned], axis=0) for key in untouched}
        candidates = {share: interpolate(untouched, mean, share) for share in TUNED_SHARES}
        scores = {
            share: overall(self._measure(f"teacher, {share:.0%} tuned", own)) for share, own in candidates.items()
        }
        best = max(scores, key=scores.__getitem__)
        compact.save(options.out, "teacher", candidates[best])
        self.report.keep(tuned_share=best, teachers=options.teachers)
        self.report.say(f"teacher saved: {best:.0%} tuned")
        return candidates[best]

    def saved_teacher(self) -> State:
        """The teacher of an earlier run, and what that run reported of it."""
        earlier = self.options.resume / "report.json"
        if earlier.exists():
            known = json.loads(earlier.read_text(encoding="utf-8"))
            self.rows |= {name: own for name, own in known["figures"].items() if not name.startswith("student")}
            self.report.keep(**{key: known[key] for key in ("teachers", "tuned_share") if key in known})
        state = compact.load(self.options.resume, "teacher")
        self._measure("teacher, as saved", state)
        return state

    def student(self, teacher: State) -> None:
        """Distil, quantise, measure, write what ships."""
        options = self.options
        start = self._untaught(teacher)
        if teacher["positions.weight"].shape[1] != start["positions.weight"].shape[1]:
            seen = outlook(self._model(teacher), self._model(start), self.tables)
            teacher = {**teacher, "outlook.weight": seen}
            self._measure("teacher, as the student sees it", teacher)
        self._measure("teacher, typos", teacher, typos=True)
        plan = StudentPlan(
            batch=options.student_batch,
            steps=options.student_steps,
            until=options.budget_seconds - SECONDS_TO_FINISH,
            seed=17 if options.go_on else 7,
            report_every=options.report_every * 2,
            refresh_every=options.refresh_every,
            save_every=options.save_every,
            unlabelled_rows=options.unlabelled_rows,
            rate=options.student_rate,
        )
        model = self._model(teacher)
        final = train_student(start, model, self.tables, self.evaluation, plan, self.report, self._save_student)
        self._save_student(final)
        self._export(final)

    def _untaught(self, teacher: State) -> State:
        """Where the student starts: at an earlier one, else at layers of MiniLM, of the tuned one if that teaches."""
        options = self.options
        if options.go_on:
            return compact.load(options.go_on, "student")
        grown = teacher if options.base == "minilm" else compact.load(options.bundle, "minilm")
        counts = self.tables.bundle.word_counts()
        return student_state(grown, counts, positions=STUDENT_POSITIONS, layers=STUDENT_LAYERS[options.student_layers])

    def _export(self, state: State) -> None:
        exact = export.quantized(state)
        self._measure("student, as it ships", exact, exact=True)
        self._measure("student, typos", exact, exact=True, typos=True)
        path = self.options.out / "encoder.safetensors"
        notes = {"trained": "toolcrib training/train.py", "license": "Apache-2.0"}
        checksum = export.write(path, state, self.tables.bundle.vocabulary, notes)
        self.report.keep(figures=self.rows, sha256=checksum, bytes=path.stat().st_size)
        self.report.say(f"{path.name}: {path.stat().st_size} bytes, sha256 {checksum}")
        self.report.say("\n" + table(self.rows))

    def _save_student(self, state: State) -> None:
        compact.save(self.options.out, "student", state)

    def _measure(self, name: str, state: State, *, typos: bool = False, exact: bool = False) -> Figures:
        figures = self.evaluation(self._model(state), typos=typos, exact=exact)
        self.rows[name] = figures
        self.report.say(name, figures)
        self.report.keep(figures=self.rows)
        return figures

    def _model(self, state: State) -> TextEncoder:
        return from_state(state).to(self.device).eval()


def _documents(bundle: Bundle) -> Rows:
    """Every tool in every variant, then the special documents, in one table."""
    tools = np.arange(bundle.tools)
    parts = [bundle.document_rows(tools, shown, TRAINED_PIECES) for shown in VARIANTS]
    parts.append(bundle.document_rows(np.arange(bundle.tools, bundle.documents), WHOLE, TRAINED_PIECES))
    return Rows(np.concatenate([part.tokens for part in parts]), np.concatenate([part.lengths for part in parts]))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bundle", type=Path, default=Path("training/.bundle"))
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--budget-seconds", type=float, default=1660)
    parser.add_argument("--base", choices=sorted(TEACHER_RATES), default="mpnet", help="what the teacher is made from")
    parser.add_argument("--teachers", type=int, default=2, help="fine-tuned with different seeds, then averaged")
    parser.add_argument("--teacher-seconds", type=float, default=450, help="for all of them together")
    parser.add_argument("--teacher-steps", type=int, default=1150)
    parser.add_argument("--teacher-batch", type=int, default=512)
    parser.add_argument("--student-steps", type=int, default=60_000, help="0 stops after the teacher")
    parser.add_argument("--student-batch", type=int, default=1024)
    parser.add_argument("--student-layers", type=int, choices=sorted(STUDENT_LAYERS), default=6)
    parser.add_argument("--student-rate", type=float, default=4e-4)
    parser.add_argument("--report-every", type=int, default=500)
    parser.add_argument("--refresh-every", type=int, default=2000, help="steps after which made-up texts change")
    parser.add_argument("--save-every", type=int, default=4000)
    parser.add_argument("--unlabelled-rows", type=int, default=65_536)
    parser.add_argument("--resume", type=Path, help="a folder with the saved teacher")
    parser.add_argument("--go-on", type=Path, help="a folder with a saved student to start from, not a fresh one")
    return parser.parse_args()


if __name__ == "__main__":
    main()
