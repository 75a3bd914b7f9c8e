"""Time the entrants of a row alternately, round by round."""

import math

from .processes import NoAnswer

ONE_TIMING = 0.01  # seconds; shorter calls are repeated
MOST, LEAST = 21, 3  # rounds
TOLERANCE = 1e-4  # float32 sums of some hundred products, in another order


class Entrant:
    """One that is timed, and its times: None for a round that it sat out."""

    def __init__(self, ask, least, seconds):
        self.ask, self.least, self.seconds = ask, least, seconds
        self.times, self.calls = [], 1

    def check(self):
        """Call it for the first time; some numbers of its output."""
        answer = self.ask("check")
        self.first = answer["seconds"]
        return answer["sample"]

    def settle(self):
        """See by a second call how many of them make up a timing."""
        once = self.ask("time", calls=1)["seconds"]
        self.calls = max(1, math.ceil(ONE_TIMING / once))

    def goes_on(self):
        found = [took for took in self.times if took is not None]
        if len(found) < self.least:
            return True
        return len(found) < MOST and sum(found) * self.calls < self.seconds

    def take_part(self):
        took = None
        if self.goes_on():
            took = self.ask("time", calls=self.calls)["seconds"]
        self.times.append(took)


def alternate(asks, wanted, seconds, slow=False):
    """Return times by entrant, an item for each round, and why others have none.

    Args:
        asks: entrant -> function (request), which asks its worker.
        wanted: entrants that take part in LEAST rounds or more; others in one or more.
        seconds: after so long an entrant sits out further rounds.
        slow: calls take so long that the first ones count as a round.
    """
    taking = {
        one: Entrant(ask, LEAST if one in wanted else 1, seconds)
        for one, ask in asks.items()
    }
    missing = {}
    samples = dict(in_turn(taking, Entrant.check, missing))
    for one in different(samples):
        missing[one] = "its output is not the same"
        del taking[one]
    if slow:
        for one in taking.values():
            one.times.append(one.first)
    else:
        in_turn(taking, Entrant.settle, missing)
    while any(one.goes_on() for one in taking.values()):
        in_turn(taking, Entrant.take_part, missing)
    return {name: one.times for name, one in taking.items()}, missing


def in_turn(taking, step, missing):
    """Let all take a step; who cannot is out, with the reason."""
    done = []
    for name, one in list(taking.items()):
        try:
            done.append((name, step(one)))
        except NoAnswer as error:
            missing[name] = str(error)
            del taking[name]
    return done


def different(samples):
    """Entrants whose numbers are not those of d2l, or of the first that has any."""
    have = {k: v for k, v in samples.items() if v is not None and "GEMM" not in k}
    if not have:
        return []
    truth = have.get("d2l", next(iter(have.values())))
    return [
        entrant
        for entrant, sample in have.items()
        if len(sample) != len(truth)
        or any(not abs(a - b) <= TOLERANCE for a, b in zip(sample, truth))
    ]
