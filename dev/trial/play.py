"""The trial itself: an agent writes, corrects and asks; others look over its shoulder; all is checked."""

from __future__ import annotations

import statistics
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import cycle
from pathlib import Path

from dev.trial.agent import Agent, Answer
from dev.trial.corrections import Corrections
from dev.trial.screen import Checked, Screen
from dev.trial.world import Question, World

PROJECT = "trial/shop"
HITS = 10

# The same statement as people repeat it.
_SPELLINGS: tuple[Callable[[str], str], ...] = (
    str,
    lambda text: text.rstrip(".").upper(),
    lambda text: f"  {text.replace(' ', '  ')} ",
)


class Play:
    """One trial in one home folder.

    `ids` and `texts` follow what the store should hold, by key; `current`, what took a statement's place.
    """

    def __init__(self, home: Path, seed: int, screen: Screen) -> None:
        self.home = home
        self.screen = screen
        self.world = World(seed)
        self.corrections = Corrections(self.world)
        self.first_texts = {each.key: each.content for each in self.world.statements}
        self.texts = dict(self.first_texts)
        self.ids: dict[str, str] = {}
        self.current: dict[str, str] = {}
        self.before_corrections = ""

    async def run(self) -> None:
        """Everything, in order."""
        started = time.perf_counter()
        agent = Agent(self.home, "writer", PROJECT)
        async with agent.connection:
            tools = await agent.tools()
            self.screen.title("connect", "an official MCP client, the server as its child, over stdio")
            self.screen.fact(
                f"{len(tools)} tools listed {1000 * (time.perf_counter() - started):.0f} ms after the spawn,"
                f" protocol {agent.connection.protocol_version}"
            )
            await self.write(agent)
            if self.screen.wrong:
                return
            await self.correct(agent)
            await self.ask(
                agent,
                "ask by word",
                "names, numbers, codes, paths, parts of words",
                self._today(self.world.by_word()),
            )
            await self.ask(
                agent,
                "ask by meaning",
                "in other words than the answer's",
                self._today(self.world.by_meaning()),
            )
            await self.ask(
                agent,
                "ask about time",
                "as of a day, as the store knew it, and now",
                [*self.corrections.questions()],
            )
            await self.share()

    async def write(self, agent: Agent) -> None:
        """Writes every statement of the world."""
        times: list[float] = []
        failed: list[str] = []
        for said in self.world.statements:
            answer = await agent.call(
                "memory_write",
                {"content": said.content, "type": said.type, "valid_from": said.since, "scope": said.scope},
            )
            times.append(answer.milliseconds)
            if answer.result.get("status") != "created" or answer.result.get("vector") != "ready":
                failed.append(f"{said.content}: {answer.code or answer.result}")
            self.ids[said.key] = answer.result.get("id", "")
        kinds = Counter(said.type for said in self.world.statements)
        self.screen.title(
            "remember", ", ".join(f"{count} {kind}" for kind, count in kinds.most_common(8)) + ", …"
        )
        first, *others = times
        self._check(
            sum(times),
            f"write {len(times)} memories, each with its vector",
            "\n".join(failed[:5])
            or f"the first in {first:.0f} ms (makes the store, loads the model), then"
            f" {statistics.median(others):.1f} ms each, 95 % in {_percentile(others, 95):.1f} ms",
            ok=not failed,
        )
        last = await agent.call("memory_get", {"id": self.ids[self.world.statements[-1].key]})
        self.before_corrections = last.result.get("memory", {}).get("recorded_at", "")

    async def correct(self, agent: Agent) -> None:
        """Supersedes, updates, deletes, restores, and says things twice."""
        self.screen.title(
            "correct", "nothing is overwritten: what was true, and what was believed, stays readable"
        )
        await self._supersede(agent)
        await self._update_delete_restore(agent)
        await self._say_again(agent)
        await self._bring_back(agent)

    async def _supersede(self, agent: Agent) -> None:
        answers: list[Answer] = []
        for each in (*self.corrections.replaced, self.corrections.always_so):
            arguments = {"old_id": self.ids[each.key], "content": each.content, "valid_from": each.since}
            answers.append(await agent.call("memory_supersede", arguments))
            self.ids[each.new_key] = answers[-1].result.get("id", "")
            self.texts[each.new_key] = each.content
            self.current[each.key] = each.new_key
        self._check_all("superseded, one of them back to its first day", answers, "superseding")

    async def _update_delete_restore(self, agent: Agent) -> None:
        updated: list[Answer] = []
        for wrong in self.corrections.misrecorded:
            arguments = {"id": self.ids[wrong.key], "content": wrong.content}
            updated.append(await agent.call("memory_update", arguments))
            self.texts[wrong.key] = wrong.content
        self._check_all("recorded wrongly, corrected in place as a new version", updated, "updated")
        deleted = [
            await agent.call("memory_delete", {"id": self.ids[key]}) for key in self.corrections.deleted
        ]
        self._check_all("deleted", deleted, "deleted")
        arguments = {"id": self.ids[self.corrections.restored]}
        restored = await agent.call("m3_call", {"tool": "memory_restore", "args": arguments})
        status = restored.result.get("result", {}).get("status", restored.code)
        self._check(
            restored.milliseconds,
            "one of them brought back, through m3_call",
            status,
            ok=status == "restored",
        )

    async def _say_again(self, agent: Agent) -> None:
        told = {said.key: said for said in self.world.statements}
        answers: list[Answer] = []
        wrong = 0
        for key, spelled in zip(self.corrections.said_again(), cycle(_SPELLINGS)):
            current = self.current.get(key, key)
            arguments = {
                "content": spelled(self.texts[current]),
                "type": told[key].type,
                "scope": told[key].scope,
            }
            answers.append(await agent.call("memory_write", arguments))
            wrong += answers[-1].result.get("id") != self.ids[current]
        self._check_all(
            "said again, in other case and spacing: the memory that stands is named, none is added",
            answers,
            "duplicate",
            wrong,
        )

    async def _bring_back(self, agent: Agent) -> None:
        returned = self.corrections.returned
        kind = next(said.type for said in self.world.statements if said.key == returned.key)
        again = {"content": self.texts[returned.key], "type": kind}
        refused = await agent.call("memory_write", again)
        self._check(
            refused.milliseconds,
            f"an agent that has not heard writes what was superseded: {again['content']}",
            f"{refused.code or refused.result}: {refused.message}",
            ok=refused.code == "superseded_value",
        )
        kept = await agent.call("memory_write", again | {"reassert": True})
        self.ids[f"{returned.key}, again"] = kept.result.get("id", "")
        self.texts[f"{returned.key}, again"] = again["content"]
        self.current[returned.key] = f"{returned.key}, again"
        back = await agent.call("memory_get", {"id": kept.result.get("id", "")})
        ended = await agent.call(
            "memory_update",
            {
                "id": self.ids[returned.new_key],
                "valid_to": back.result.get("memory", {}).get("valid_from", ""),
            },
        )
        self._check(
            kept.milliseconds + ended.milliseconds,
            "it does hold again: written with reassert, and the one in between ends today",
            f"{kept.code or kept.result.get('status')}, {ended.code or ended.result.get('status')}",
            ok=kept.result.get("status") == "created" and not ended.code,
        )

    def _today(self, questions: Iterable[Question]) -> list[Question]:
        """The questions with what now stands in the place of an answer that was superseded."""
        return [replace(each, answer=self.current.get(each.answer, each.answer)) for each in questions]

    async def ask(self, agent: Agent, title: str, about: str, questions: Sequence[Question]) -> None:
        """Asks and checks; the answer's place, text and absences all count."""
        self.screen.title(title, about)
        times: list[float] = []
        for question in questions:
            checked = await self._ask(agent, question)
            times.append(checked.milliseconds)
            self.screen.show(checked)
        self.screen.fact(f"{len(times)} questions, median {statistics.median(times):.1f} ms")

    async def _ask(self, agent: Agent, question: Question) -> Checked:
        known_at = self.before_corrections if question.before_corrections else ""
        asked = {"query": question.text, "k": HITS, "search_mode": question.mode}
        answer = await agent.call("memory_search", asked | {"as_of": question.as_of, "known_at": known_at})
        found = [hit["id"] for hit in answer.hits]
        stale = [key for key in question.gone if self.ids[key] in found]
        texts = self.first_texts if question.before_corrections else self.texts
        expected = texts.get(question.answer, "")
        wanted = self.ids.get(question.answer, "")
        place = found.index(wanted) if wanted in found else -1
        right = not stale and not answer.result.get("degraded")
        if question.answer:
            right = right and 0 <= place < question.within and answer.hits[place]["content"] == expected
        label = f"{question.text}{self._when(question)}"
        if not right:
            got = "".join(f"\n{'':18}{hit['score']:.2f} {hit['content']}" for hit in answer.hits[:5])
            instead = f"wanted: {expected}; stale: {stale}; got: {answer.code}{got}"
            return Checked(False, answer.milliseconds, label, instead)
        if not question.answer:
            return Checked(True, answer.milliseconds, label, "(not found any more, as it should be)")
        hit = answer.hits[place]
        second = f"place {place + 1}; " if place else ""
        return Checked(True, answer.milliseconds, label, hit["content"], f"{second}{hit['why']}")

    def _when(self, question: Question) -> str:
        if question.before_corrections:
            return "  (known_at: before the corrections)"
        if question.as_of:
            return f"  (as_of: {question.as_of})"
        return f"  ({question.mode})" if question.mode != "hybrid" else ""

    async def share(self) -> None:
        """A second agent in the same project sees the memories; one in another project does not."""
        self.screen.title("share", "each agent has a server process of its own on the one store")
        port, everywhere = f"port {self.world.services[-1].name}", "everywhere"
        for name, project, sees in (("reviewer", PROJECT, True), ("stranger", "trial/elsewhere", False)):
            agent = Agent(self.home, name, project)
            async with agent.connection:
                query = self.texts[port]
                answer = await agent.call("memory_search", {"query": query, "k": HITS})
                theirs = {hit["id"] for hit in answer.hits} & set(self.ids.values()) - {self.ids[everywhere]}
                read = await agent.call("memory_get", {"id": self.ids[port]})
                shared = await agent.call("memory_get", {"id": self.ids[everywhere]})
                got = "finds and reads it" if theirs else f"finds nothing of the project; by id: {read.code}"
                right = (
                    (self.ids[port] in theirs and not read.code)
                    if sees
                    else (not theirs and read.code == "not_found")
                )
                self._check(
                    answer.milliseconds,
                    f"{name}, in the project {project}: {query}",
                    f"{got}; what was written for everywhere (scope user): {shared.code or 'read'}",
                    ok=right and not shared.code,
                )

    def _check_all(self, what: str, answers: Sequence[Answer], status: str, wrong: int = 0) -> None:
        other = [answer.code or answer.result.get("status") for answer in answers]
        others = [str(each) for each in other if each != status]
        shown = (
            f"got {', '.join(others)}; {wrong} name another memory"
            if others or wrong
            else f"{status} each time"
        )
        total = sum(answer.milliseconds for answer in answers)
        self._check(total, f"{len(answers)} {what}", shown, ok=not others and not wrong)

    def _check(self, milliseconds: float, asked: str, answered: str, *, ok: bool) -> None:
        self.screen.show(Checked(ok, milliseconds, asked, answered))


def _percentile(values: Sequence[float], percent: int) -> float:
    return sorted(values)[min(len(values) - 1, len(values) * percent // 100)]
