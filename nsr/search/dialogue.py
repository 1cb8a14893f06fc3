"""The dialogue with a search: a search asks by `yield`, somebody answers, and in the end it returns.

Whoever answers writes

    dialogue = Dialogue(strategy.search(view, rng))
    for requests in dialogue:  # always a list, also where the search yielded one request
        dialogue.answers = [… for request in requests]
    dialogue.result  # what the search returned
"""

from collections.abc import Generator, Iterator
from typing import Any


class Dialogue:
    """Runs a search from one question to the next; between two of them its user sets `answers`.

    >>> def search():
    ...     number = yield "one"
    ...     more = yield ["two", "three"]
    ...     return [number, *more]
    >>> dialogue = Dialogue(search())
    >>> for requests in dialogue:
    ...     dialogue.answers = [len(request) for request in requests]
    >>> dialogue.result
    [3, 3, 5]
    """

    def __init__(self, steps: Generator[Any, Any, Any]) -> None:
        self.steps = steps
        self.single = True  # the search yielded one request, not a list of them
        self.answers: list[Any] = [None]  # nothing was asked yet, and a generator is started with None
        self.result: Any = None

    def __iter__(self) -> Iterator[list[Any]]:
        return self

    def __next__(self) -> list[Any]:
        """Hand over the answers; the search goes on to its next requests, or ends and leaves its result."""
        try:
            asked = self.steps.send(self.answers[0] if self.single else self.answers)
        except StopIteration as end:
            self.result = end.value
            raise
        self.single = not isinstance(asked, list | tuple)
        return [asked] if self.single else list(asked)

    def close(self) -> None:
        """End the search where it is."""
        self.steps.close()
