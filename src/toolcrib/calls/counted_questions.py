"""How often the client of a call is asked, and whether it is being asked now."""

from __future__ import annotations

from toolcrib.model.asking import PassedOn, Question


class CountedQuestions(PassedOn):
    """The client of a call; its questions are counted."""

    async def ask(self, question: Question) -> bytes:
        self.questions += 1
        self.open_questions += 1
        try:
            return await super().ask(question)
        finally:
            self.open_questions -= 1
