"""A backend that answers by a function of the request and notes what it was asked."""

from orderbias.backends import TextReply


class Scripted:
    def __init__(self, answer):
        self.answer, self.asked = answer, []
        self.identity = {"model": "scripted"}

    def ask(self, requests):
        self.asked += requests
        return [self.reply(self.answer(r), r) for r in requests]

    @staticmethod
    def reply(said, request):
        if isinstance(said, TextReply):
            return said
        return TextReply(said, len(request.prompt.split()), len(said.split()))


def run(asking, answer):
    """Answer one query's requests; returns its answer and the requests."""
    asked, request = [], next(asking)
    while True:
        asked.append(request)
        try:
            request = asking.send(Scripted.reply(answer(request), request))
        except StopIteration as done:
            return done.value, asked
