"""Verdicts on the evidence of a run. Pure functions: each returns what it found wrong."""

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence

from tests.bench_agent.commands import SECRET
from tests.chaos.journal import Exit, Fault, Refusal, Said, Seen, Streamed
from tests.chaos.views import messages_of_clients
from tests.support.ledger import Line
from tests.support.results import Json, is_terminal, state, text_of, timestamp

GRACE = 3.0
"""Seconds in which the work of a canceled task may still leave a trace (CASES.md, C2)."""

INSIDE = (SECRET, "traceback", "rpc", "temporal ", "temporalio", "127.0.0.1", "/site-packages/")
"""What no client may read in an error."""

_PROTOCOL = re.compile("jsonrpc|google.rpc|temporarily", re.IGNORECASE)

Finals = Mapping[str, Json]

_ALL_HAPPENED = ("COMPLETED", "REJECTED")


def acknowledged_once(said: Iterable[Said], finals: Finals) -> list[str]:
    """An acknowledged message is in exactly one task's history, once; a refused one in none."""
    where: dict[str, list[str]] = defaultdict(list)
    for task_id, task in finals.items():
        for message_id in messages_of_clients(task):
            where[message_id].append(task_id)
    found: list[str] = []
    for each in said:
        homes = where.get(each.message_id, [])
        name = f"message {each.message_id} ({each.text!r})"
        if each.acknowledged and homes != sorted(each.acknowledged):
            found.append(f"{name} was acknowledged for {each.acknowledged} and is in {homes}")
        if each.refused and homes and not each.acknowledged:
            found.append(f"{name} was refused with {each.refused} and is in {homes}")
        if each.task_id and homes and homes != [each.task_id]:
            found.append(f"{name} was sent to {each.task_id} and is in {homes}")
    return found


def settled(finals: Finals, expected: Mapping[str, Collection[str]]) -> list[str]:
    """Each task ended, or is parked, in the way its story says."""
    found: list[str] = []
    for task_id, task in finals.items():
        wanted = expected.get(task_id, ("COMPLETED",))
        if state(task) not in wanted:
            text = text_of(task["status"].get("message", {}))
            found.append(f"task {task_id} is {state(task)} ({text}), not {sorted(wanted)}")
    return found


def streams_agree(streamed: Iterable[Streamed]) -> list[str]:
    """Each stream with what it was resumed by made the Task that GetTask says."""
    found: list[str] = []
    for each in streamed:
        kind = "with cursors" if each.cursors else "plain"
        name = f"what {each.opened} streams ({kind}) told of task {each.task_id}"
        if each.held is None and each.cursors and each.frames:
            found.append(f"{name} is nothing")
        if each.held is not None and each.held != each.final:
            wrong = {key for key in each.final if each.final[key] != each.held.get(key)}
            parts = "; ".join(f"{key}: {each.held[key]} / {each.final[key]}" for key in wrong)
            found.append(f"{name} differs from GetTask: {parts}"[:1500])
        if each.doubled:
            found.append(f"{name} came twice: {each.doubled}")
    return found


def terminal_stays(seen: Iterable[Seen]) -> list[str]:
    """No terminal state that anybody saw was ever another one, and nothing followed it."""
    found: list[str] = []
    for task_id, each in _by_task(seen).items():
        states = {state(one.task) for one in each if is_terminal(state(one.task))}
        if len(states) > 1:
            found.append(f"task {task_id} was seen in {sorted(states)}")
            continue
        ended = min((s.answered for s in each if is_terminal(state(s.task))), default=None)
        if ended is None:
            continue
        after = [s for s in each if s.asked > ended and not is_terminal(state(s.task))]
        found += [
            f"task {task_id} had ended and was {state(s.task)} {s.asked - ended:.2f} s later "
            f"({s.source})"
            for s in after[:1]
        ]
        wholes = [s.task for s in each if s.source == "get" and is_terminal(state(s.task))]
        if any(whole != wholes[0] for whole in wholes):
            found.append(f"task {task_id} changed after its end")
    return found


def never_backwards(seen: Iterable[Seen], attempts: Mapping[str, int]) -> list[str]:
    """What was asked after an answer is never older than that answer.

    Args:
        seen: What was seen.
        attempts: Task id → how many attempts were lost: only those may take artifacts back.
    """
    found: list[str] = []
    for task_id, each in _by_task(seen).items():
        looks = sorted((s for s in each if s.asked > 0), key=lambda s: s.asked)
        answers = sorted(each, key=lambda s: s.answered)
        known = _Known()
        position = 0
        for look in looks:
            while position < len(answers) and answers[position].answered < look.asked:
                known.learn(answers[position])
                position += 1
            wrong = known.contradiction(look, shrinks=attempts.get(task_id, 0) > 0)
            if wrong:
                found.append(f"task {task_id} went back ({look.source}): {wrong}")
                break
    return found


class _Known:
    """The most that answers so far have said of one task."""

    def __init__(self) -> None:
        self.at = 0.0
        self.messages: list[str] = []
        self.artifacts: dict[str, int] = {}

    def learn(self, seen: Seen) -> None:
        if "timestamp" in seen.task["status"]:
            self.at = max(self.at, timestamp(seen.task))
        if seen.source == "get":
            messages = messages_of_clients(seen.task)
            if len(messages) > len(self.messages):
                self.messages = messages
            for artifact in seen.task.get("artifacts", []):
                known = self.artifacts.get(artifact["artifactId"], 0)
                self.artifacts[artifact["artifactId"]] = max(known, len(text_of(artifact)))

    def contradiction(self, look: Seen, *, shrinks: bool) -> str:
        if "timestamp" in look.task["status"] and timestamp(look.task) < self.at:
            return f"its status is of {timestamp(look.task)}, one of {self.at} was known"
        if look.source != "get":
            return ""
        messages = messages_of_clients(look.task)
        if messages[: len(self.messages)] != self.messages:
            return f"its messages are {messages}, {self.messages} were known"
        lengths = {a["artifactId"]: len(text_of(a)) for a in look.task.get("artifacts", [])}
        shrunk = {name for name, known in self.artifacts.items() if lengths.get(name, 0) < known}
        if shrunk and not shrinks:
            return f"artifacts shrank: {sorted(shrunk)}"
        return ""


def effects_once(said: Iterable[Said], lines: Sequence[Line], finals: Finals) -> list[str]:
    """Each effect of an acknowledged message happened, under one key, once in an attempt.

    A task that a person rejects has had the effects that were approved before, and no other.
    """
    keys: dict[str, set[str]] = defaultdict(set)
    for line in lines:
        if line.kind == "effect":
            keys[str(line.step)].add(str(line.key))
    found = [
        f"effect {step} happened under {len(k)} keys" for step, k in keys.items() if len(k) > 1
    ]
    runs = Counter((line.key, line.attempt) for line in lines if line.kind == "effect")
    found += [
        f"effect {key} happened {times} times in attempt {attempt}"
        for (key, attempt), times in runs.items()
        if times > 1
    ]
    for each in said:
        found += [
            f"effect {step} of {each.text!r} happened, which nobody was to allow"
            for step in each.forbidden
            if step in keys
        ]
        over = [t for t in each.acknowledged if t in finals and state(finals[t]) in _ALL_HAPPENED]
        found += [
            f"effect {step} of task {task_id}, which is over, is missing"
            for task_id in over
            for step in each.effects
            if step not in keys
        ]
    return found


def silent_after_cancel(
    seen: Iterable[Seen], lines: Sequence[Line], faults: Sequence[Fault]
) -> list[str]:
    """The work of a task that was reported CANCELED has stopped.

    A process that was frozen, or cut off from a frozen or dead Temporal, cannot know; it gets the
    same grace from the moment it can.
    """
    found: list[str] = []
    by_task: dict[str, list[Line]] = defaultdict(list)
    for line in lines:
        by_task[line.task].append(line)
    for task_id, each in _by_task(seen).items():
        reported = min((s.answered for s in each if state(s.task) == "CANCELED"), default=None)
        if reported is None:
            continue
        late = [
            line
            for line in by_task[task_id]
            if line.time > reported + GRACE and not _excused(line, reported, faults)
        ]
        if late:
            last = max(late, key=lambda line: line.time)
            found.append(
                f"task {task_id} was reported CANCELED, and {last.kind} {last.step} came "
                f"{last.time - reported:.1f} s later (process {last.pid}, attempt {last.attempt})"
            )
    return found


def _excused(line: Line, reported: float, faults: Sequence[Fault]) -> bool:
    return any(
        fault.until + GRACE >= line.time
        and fault.at <= line.time
        and fault.until >= reported
        and (fault.pid == line.pid or fault.target == "temporal")
        for fault in faults
    )


def nothing_crashed(exits: Iterable[Exit], lines: Sequence[Line]) -> list[str]:
    """No process ended by itself, but for the workers whose agent was told to crash."""
    told = {line.pid for line in lines if line.kind == "crash"}
    return [
        f"{each.name} ended by itself with {each.code}:\n{each.tail}"
        for each in exits
        if each.pid not in told
    ]


def nothing_leaked(refusals: Iterable[Refusal]) -> list[str]:
    """No error says anything of the inside, and every error is one of the protocol."""
    found: list[str] = []
    for each in refusals:
        text = _PROTOCOL.sub("", each.body).lower()
        inside = [word for word in INSIDE if word.lower() in text]
        if inside:
            found.append(f"{each.call} was answered with {inside}: {each.body[:300]}")
        if each.code == 0 and each.status != 503:
            found.append(f"{each.call} was answered with HTTP {each.status}: {each.body[:300]}")
    return sorted(set(found))


def receivers_were_told(
    hooked: Iterable[str], told: Mapping[str, Sequence[str]], finals: Finals
) -> list[str]:
    """Each receiver was told the end, and nothing after it."""
    found: list[str] = []
    for task_id in hooked:
        states = list(told.get(task_id, []))
        final = state(finals[task_id]) if task_id in finals else ""
        if final not in states:
            found.append(f"the receiver of task {task_id} was told {states}, not {final}")
        elif any(not is_terminal(name) for name in states[states.index(final) :]):
            found.append(f"the receiver of task {task_id} was told {states}")
    return found


def _by_task(seen: Iterable[Seen]) -> dict[str, list[Seen]]:
    sorted_by_task: dict[str, list[Seen]] = defaultdict(list)
    for each in seen:
        sorted_by_task[each.task_id].append(each)
    return sorted_by_task
