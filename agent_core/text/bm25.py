"""How well each of many texts fits a query: BM25, as rank-bm25 has it, with an idf that is never negative.

k1 = 1.2, b = 0.75; idf = ln(1 + (N − n + 0.5) / (n + 0.5)), and an average length of at least 1, so that neither an
empty collection nor one of texts without words is a case of its own. Source: MEM-03, MEM-05, MEM-23.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import accumulate, chain
from typing import Any, Final

K1: Final = 1.2
B: Final = 0.75


@cache
def _scorer() -> type[Any]:
    """The class that scores; it brings numpy, so it is made with the first search, and on no screen's thread."""
    import numpy as np
    from rank_bm25 import BM25Okapi

    class Okapi(BM25Okapi):  # type: ignore[misc]
        def _initialize(self, corpus: Sequence[Sequence[str]]) -> Mapping[str, int]:
            """As in rank-bm25, but counted by numpy, which takes a third of the time.

            The texts' terms stand in one row, all places of one term side by side: a query reads those of its terms.
            """
            self.corpus_size, self.doc_len = len(corpus), [len(text) for text in corpus]
            numbers = {term: number for number, term in enumerate(dict.fromkeys(chain.from_iterable(corpus)))}
            row = np.fromiter(map(numbers.__getitem__, chain.from_iterable(corpus)), np.int64, sum(self.doc_len))
            row = row * self.corpus_size + np.repeat(np.arange(self.corpus_size), self.doc_len)
            places, counts = np.unique(row, return_counts=True)
            terms, texts = np.divmod(places, self.corpus_size)
            self._text, self._count = texts.astype(np.int32), counts.astype(np.int32)
            return dict(zip(numbers, np.bincount(terms, minlength=len(numbers)).tolist(), strict=True))

        def _calc_idf(self, nd: Mapping[str, int]) -> None:
            count = self.corpus_size
            self.idf = {term: math.log(1 + (count - n + 0.5) / (n + 0.5)) for term, n in nd.items()}
            self.avgdl = max(sum(self.doc_len) / count, 1.0)
            ends = list(accumulate(nd.values()))
            self._places = dict(zip(nd, map(slice, [0, *ends], ends), strict=False))
            self._length = self.k1 * (1 - self.b + self.b * np.array(self.doc_len) / self.avgdl)

        def get_scores(self, query: Sequence[str]) -> Any:
            score = np.zeros(self.corpus_size)
            for term in query:
                texts, count = self._text[self._places[term]], self._count[self._places[term]]
                score[texts] += self.idf[term] * (count * (self.k1 + 1) / (count + self._length[texts]))
            return score

    return Okapi


class Bm25:
    """A collection of texts, each given as its terms. May be asked from several threads at once."""

    def __init__(self, texts: Sequence[Sequence[str]]) -> None:
        self._size = len(texts)
        self._okapi = _scorer()(texts, k1=K1, b=B) if texts else None  # rank-bm25 divides by the number of texts

    def scores(self, query: Sequence[str]) -> list[float]:
        """The score of each text; a term that the query has twice counts once."""
        if self._okapi is None:
            return []
        known = [term for term in dict.fromkeys(query) if term in self._okapi.idf]
        if not known:
            return [0.0] * self._size
        scores: list[float] = self._okapi.get_scores(known).tolist()
        return scores

    def telling(self, query: Sequence[str], most: int) -> list[str]:
        """The terms of a query that are in the collection, once each, the rarest `most` of them."""
        if self._okapi is None:
            return []
        idf = self._okapi.idf
        known = dict.fromkeys(term for term in query if term in idf)
        return sorted(known, key=lambda term: -idf[term])[:most]
