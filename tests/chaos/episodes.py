"""What clients do: each episode is a small story around one task, chosen by chance."""

import asyncio
import itertools
import random
from collections.abc import Awaitable, Callable, Sequence

from a2a_temporal._log.answers import Answer
from a2a_temporal._log.answers import RefusedError as AnswerRefusedError
from a2a_temporal._server.approvals import Approvals, Outcome, UnknownTaskError
from a2a_temporal._server.waiting import Person
from tests.chaos.client import ENDED, Client, RefusedError, is_parked
from tests.chaos.fleet import Fleet
from tests.chaos.journal import Journal, Said
from tests.support.hook import Hook
from tests.support.results import Json, is_terminal, state

COMPLETED = frozenset({"COMPLETED"})
CANCELED = frozenset({"CANCELED"})
PARKED = frozenset({"INPUT_REQUIRED"})

PAYMENTS = "/payments"


class Player(Client):
    """A client that knows stories."""

    def __init__(self, name: str, *, seed: str, fleet: Fleet, journal: Journal, hook: Hook) -> None:
        super().__init__(name, seed=seed, fleet=fleet, journal=journal)
        self.seed = seed
        self.hook = hook
        self.context_id = f"context-{name}"
        self.approvals = Approvals(fleet.engine)

    async def play(self, calm: asyncio.Event) -> None:
        """Play one episode after the other until it is calm; the n-th is always the same."""
        for number in itertools.count():
            if calm.is_set():
                break
            self.luck = random.Random(f"{self.seed}/{number}")
            (episode,) = self.luck.choices(EPISODES, WEIGHTS)
            name = episode.__name__
            try:
                await episode(self)
                self.journal.counts[f"episode {name}"] += 1
            except Exception as error:
                self.journal.complain(f"episode {name} of {self.name}: {error!r}"[:2000])
        await self.approvals.aclose()

    async def begin(
        self,
        text: str,
        *,
        ends: frozenset[str] = COMPLETED,
        effects: Sequence[str] = (),
        forbidden: Sequence[str] = (),
        agent: str = "",
        configuration: Json | None = None,
    ) -> str:
        """Send the first message of a task; its id."""
        said = self.message(text, effects=effects, forbidden=forbidden)
        task = await self.say(
            said, agent=agent, context_id=self.context_id, configuration=configuration
        )
        self.journal.belongs(task["id"], context_id=task["contextId"], expected=ends)
        return str(task["id"])

    async def reply(self, text: str, task_id: str, *, effects: Sequence[str] = ()) -> Said:
        """Send a further message; a task that has ended may refuse it."""
        said = self.message(text, task_id=task_id, effects=effects)
        try:
            await self.say(said)
        except RefusedError as refused:
            if refused.code != ENDED:
                self.journal.complain(f"{text!r} to {task_id} was refused: {refused.code}")
        return said


async def quick(player: Player) -> None:
    """One turn with one effect."""
    step = player.new_id()
    task_id = await player.begin(f"effect {step}; echo {step}", effects=[step])
    await player.finished(task_id)


async def interrupted_by_messages(player: Player) -> None:
    """Messages to a working task: each is handled in its turn, or refused."""
    steps = [player.new_id() for _ in range(player.luck.randint(2, 5))]
    first = f"count {player.luck.randint(4, 10)} 0.3; effect {steps[0]}"
    task_id = await player.begin(first, effects=steps[:1])
    for step in steps[1:]:
        await player.wait(player.luck.uniform(0, 1))
        await player.reply(f"effect {step}; echo {step}", task_id, effects=[step])
    await player.finished(task_id)


async def streamed(player: Player) -> None:
    """A stream that is cut and taken up again holds what GetTask says."""
    step = player.new_id()
    chunks = f"chunks {player.luck.randint(8, 25)} 24 {player.luck.choice((0.05, 0.2, 0.4))}"
    following = player.follow(
        said=player.message(f"{chunks}; effect {step}; status 3", effects=[step])
    )
    task_id = await following.begun()
    player.journal.belongs(
        task_id, context_id=(await player.get(task_id))["contextId"], expected=COMPLETED
    )
    await following.settle(await player.finished(task_id))


async def conversation(player: Player) -> None:
    """Questions and answers, with a stream open all the while."""
    steps = [player.new_id() for _ in range(player.luck.randint(1, 4))]
    task_id = await player.begin(f"ask {steps[0]}?")
    following = player.follow(task_id)
    for number, step in enumerate(steps):
        await player.until(task_id, is_parked)
        further = f"; ask {steps[number + 1]}?" if step != steps[-1] else ""
        await player.reply(f"effect {step}; chunks 3 9 0.1{further}", task_id, effects=[step])
        if further:
            await player.until(task_id, _answered(number + 2))
    await following.settle(await player.finished(task_id))


async def left_parked(player: Player) -> None:
    """A question that nobody answers before the storm is over."""
    step = player.new_id()
    task_id = await player.begin(f"echo {step}; ask {step}?; effect {step}", ends=PARKED)
    if player.luck.random() < 0.5:
        following = player.follow(task_id)
        await following.settle(await player.finished(task_id, parked=True))
    else:
        await player.finished(task_id, parked=True)


async def canceled(player: Player) -> None:
    """A long task is canceled; its work stops."""
    following = None
    task_id = await player.begin("count 3000 0.1", ends=CANCELED)
    if player.luck.random() < 0.5:
        following = player.follow(task_id)
    await player.wait(player.luck.uniform(0, 4))
    if player.luck.random() < 0.3:
        await player.reply("echo waits", task_id)
    await player.cancel(task_id)
    final = await player.finished(task_id)
    if following is not None:
        await following.settle(final)


async def canceled_while_parked(player: Player) -> None:
    """A question is withdrawn."""
    task_id = await player.begin(f"ask {player.new_id()}?", ends=CANCELED)
    if player.luck.random() < 0.7:
        await player.finished(task_id, parked=True)
    await player.cancel(task_id)
    await player.finished(task_id)


async def crashing(player: Player) -> None:
    """The agent takes its worker with it, once."""
    before, after = player.new_id(), player.new_id()
    text = f"effect {before}; chunks 5 9 0.05; crash; effect {after}"
    task_id = await player.begin(text, effects=[before, after])
    await player.finished(task_id)


async def flaky(player: Player) -> None:
    """The agent asks for further attempts."""
    step = player.new_id()
    task_id = await player.begin(f"effect {step}; flaky 2", effects=[step])
    await player.finished(task_id)


async def credentials(player: Player) -> None:
    """A credential is given out of band."""
    step = player.new_id()
    task_id = await player.begin(f"auth; effect {step}", effects=[step])
    await player.until(task_id, is_parked)
    player.fleet.release(task_id)
    await player.finished(task_id)


async def pushed(player: Player) -> None:
    """A receiver is told of the end."""
    step = player.new_id()
    task_id = await player.begin(
        f"chunks 4 9 0.2; effect {step}",
        effects=[step],
        configuration={"taskPushNotificationConfig": player.hook.config(id=step)},
    )
    player.journal.hooked.add(task_id)
    await player.finished(task_id)


async def listing(player: Player) -> None:
    """The tasks of a context are listed, whatever happens to them."""
    await player.listed(player.context_id)


async def forgotten(player: Player) -> None:
    """A client sends a message and is never seen again."""
    caller, text = player.caller(), f"echo {player.new_id()}"
    try:
        await asyncio.wait_for(caller.send(text), player.luck.uniform(0.001, 0.2))
    except Exception as error:
        player.journal.counts[f"forgotten: {type(error).__name__}"] += 1


async def payments(player: Player) -> None:
    """Payments are approved through every door, also twice; each is paid once, a rejected never."""
    name = player.new_id()
    number = player.luck.randint(1, 5)
    rejected = player.luck.random() < 0.15
    steps = [f"{name}-{index}" for index in range(number)]
    task_id = await player.begin(
        f"{number} {name}",
        ends=frozenset({"REJECTED"}) if rejected else COMPLETED,
        effects=steps[:-1] if rejected else steps,
        forbidden=steps[-1:] if rejected else [],
        agent=PAYMENTS,
    )
    following = player.follow(task_id, agent=PAYMENTS) if player.luck.random() < 0.5 else None
    request = ""
    while True:
        before = request
        task = await player.until(task_id, _asks_anew(before), agent=PAYMENTS)
        if is_terminal(state(task)):
            break
        (asked,) = _requests(task)
        request = str(asked["id"])
        verdict = "reject" if rejected and asked["details"]["step"] == steps[-1] else "approve"
        doors = [player.luck.choice(DOORS) for _ in range(1 + (player.luck.random() < 0.3))]
        await asyncio.gather(*(door(player, task_id, request, verdict) for door in doors))
    if following is not None:
        await following.settle(task)


async def _by_message(player: Player, task_id: str, request: str, verdict: str) -> None:
    said = player.message(f"{verdict} {request}", task_id=task_id)
    try:
        await player.say(said, agent=PAYMENTS)
    except RefusedError as refused:
        if refused.code != ENDED:
            player.journal.complain(f"an answer to {task_id} was refused: {refused.code}")


async def _by_signal(player: Player, task_id: str, request: str, verdict: str) -> None:
    handle = player.fleet.engine.get_workflow_handle(task_id)
    try:
        await player.as_operator(
            f"signal {verdict}",
            lambda: handle.signal(verdict, {"request": request, "by": player.name}),
        )
    except RefusedError:
        player.journal.counts["signal: too late"] += 1


async def _by_decision(player: Player, task_id: str, request: str, verdict: str) -> None:
    answer = Answer(
        "reject" if verdict == "reject" else "approve", request=request, token=player.new_id()
    )
    person = Person(player.name, operator=True)

    async def decide() -> Outcome:
        waiting = await player.approvals.task(person, task_id)
        return await player.approvals.decide(person, waiting, answer)

    try:
        await player.as_operator("decide", decide)
    except (AnswerRefusedError, UnknownTaskError) as refused:
        player.journal.counts[f"decide: {type(refused).__name__}"] += 1


DOORS = (_by_message, _by_signal, _by_decision)


def _answered(messages: int) -> Callable[[Json], bool]:
    """Say whether the answer that is a task's n-th message has been dealt with."""

    def dealt_with(task: Json) -> bool:
        history = task.get("history", [])
        users = [index for index, each in enumerate(history) if each["role"] == "ROLE_USER"]
        asked_since = bool(task["status"].get("message"))
        return is_terminal(state(task)) or (
            len(users) >= messages and is_parked(task) and asked_since
        )

    return dealt_with


def _requests(task: Json) -> list[Json]:
    message = task["status"].get("message", {})
    about = message.get("metadata", {}).get("https://a2a-temporal.dev/extensions/approvals/v1", {})
    return list(about.get("requests", []))


def _asks_anew(before: str) -> Callable[[Json], bool]:
    """Say whether a task asks for something else than before, or has ended."""

    def asks(task: Json) -> bool:
        asked = _requests(task)
        return is_terminal(state(task)) or (bool(asked) and asked[0]["id"] != before)

    return asks


EPISODES: tuple[Callable[[Player], Awaitable[None]], ...] = (
    quick,
    interrupted_by_messages,
    streamed,
    conversation,
    left_parked,
    canceled,
    canceled_while_parked,
    crashing,
    flaky,
    credentials,
    pushed,
    listing,
    forgotten,
    payments,
)
WEIGHTS = (3, 4, 5, 4, 1, 4, 1, 1, 1, 1, 2, 2, 1, 5)
