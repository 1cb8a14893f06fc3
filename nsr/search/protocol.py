"""The two protocols: how the searches of a comparison decode, and how they fit constants.

                 ours                                         published
    decoder      by the grammar, until no hypothesis          whatever the network writes, until b hypotheses
                 can still become one of the b best           are finished
    fit          least squares with exact derivatives         BFGS from 10 normal starts
                 (nsr.numbers.fitting)                        (nsr.numbers.bfgs)

A claim of the paper is judged under both, and a strategy is compared with another one under one and the same.
The two mixed ones tell what decoder and fit contribute.
"""

from __future__ import annotations

from dataclasses import dataclass

from nsr.book.spelling import refuse_unknown
from nsr.numbers.fitting import Method
from nsr.search.engine import Strategy
from nsr.search.strategies.names import PUBLISHED_DECODER, by_name


@dataclass(frozen=True)
class Protocol:
    """Whether a search decodes as published, and how it fits (see `nsr.numbers.fitting.METHODS`)."""

    published_decoder: bool = False
    fit: Method = ""

    @classmethod
    def named(cls, name: str) -> Protocol:
        """One of the four by its name.

        >>> Protocol.named("published")
        Protocol(published_decoder=True, fit='bfgs')
        """
        refuse_unknown([name], PROTOCOLS, "protocol", ValueError)
        return PROTOCOLS[name]

    @classmethod
    def of(cls, strategy: Strategy, fit: Method) -> Protocol:
        """The protocol under which a strategy searches with this fit.

        >>> Protocol.of(by_name("gvs", published=True), "").name
        'published decoder'
        """
        while inside := getattr(strategy, "predictor", None) or getattr(strategy, "inner", None):
            strategy = inside
        decoder = {option: getattr(strategy, option, None) for option in PUBLISHED_DECODER}
        return cls(decoder == PUBLISHED_DECODER, fit)

    @property
    def name(self) -> str:
        return next(name for name, protocol in PROTOCOLS.items() if protocol == self)

    def strategy(self, name: str, beam_size: int = 5) -> Strategy:
        """A strategy by its name, with the decoder of this protocol.

        >>> Protocol.named("published").strategy("beam", 50).stop
        'published'
        """
        return by_name(name, beam_size, published=self.published_decoder)


PROTOCOLS: dict[str, Protocol] = {"ours": Protocol(), "published": Protocol(True, "bfgs")}
PROTOCOLS |= {"published decoder": Protocol(True), "published fit": Protocol(fit="bfgs")}
