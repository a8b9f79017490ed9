"""``Runner``: has the program ``edge`` run an agent of a file, and reads what it came to."""
from __future__ import annotations

import asyncio
import json
import os
import sys
from typing import Any, Optional

from edgestudio._agents import find_agents
from edgestudio.agents.agent import Agent
from edgestudio.agents.exceptions import AgentsException, MaxTurnsExceeded, UserError
from edgestudio.agents.handoffs import refuse
from edgestudio.agents.result import RunResult, read_result

DEFAULT_MAX_TURNS = 20


class Runner:
    """Runs agents of files. Imprints and the model are those that the environment variable EDGE_AGENT_ARGS names, as
    arguments of ``edge agent run``."""

    @classmethod
    async def run(
        cls, starting_agent: Agent[Any], input: Any, *, context: Any = None, max_turns: int = DEFAULT_MAX_TURNS,
        hooks: Any = None, run_config: Any = None, session: Any = None, previous_response_id: Any = None, conversation_id: Any = None,
    ) -> RunResult:
        """Runs starting_agent, an agent of a module's file, on a text.

        Raises UserError for what can't be run, MaxTurnsExceeded where the model's replies came to max_turns without an
        answer, AgentsException for other failures.
        """
        refuse("Runner.run", hooks=hooks, run_config=run_config, session=session, previous_response_id=previous_response_id,
               conversation_id=conversation_id)
        path, agents = _file_of(starting_agent)
        command = [_program(), "agent", "run", path, "--agent", starting_agent.name, "--prompt", _text(input), "--max-turns", str(max_turns), "--json"]
        if context is not None:
            command += ["--context", _json(context)]
        process = await asyncio.create_subprocess_exec(*command, *_more(), stdout=asyncio.subprocess.PIPE)
        out, _ = await process.communicate()
        return read_result(_answer(out, process.returncode), agents, input, context)

    @classmethod
    def run_sync(cls, starting_agent: Agent[Any], input: Any, **options: Any) -> RunResult:
        """run, for a program without an event loop."""
        return asyncio.run(cls.run(starting_agent, input, **options))


def _program() -> str:
    if "edgestudio._runner" in sys.modules:
        raise UserError("Runner.run was called while edge was loading the file, or by a tool: put it under `if __name__ == \"__main__\":`")
    import shutil
    named = os.environ.get("EDGE_BIN")
    found = shutil.which(named or "edge")
    if found is None:
        raise UserError(f"the program {named or 'edge'} isn't there: put edge on PATH, or name it in EDGE_BIN")
    return found


def _more() -> list[str]:
    import shlex
    return shlex.split(os.environ.get("EDGE_AGENT_ARGS", ""))


def _file_of(agent: Agent[Any]) -> tuple[str, dict[str, Agent[Any]]]:
    """The file in which edge finds the agent, and all agents there; the program's own file first."""
    modules = sorted(sys.modules.items(), key=lambda item: item[0] != "__main__")
    for _, module in modules:
        path = getattr(module, "__file__", None)
        if isinstance(path, str) and path.endswith(".py") and any(isinstance(value, Agent) for value in list(vars(module).values())):
            found = find_agents(vars(module))
            if any(other is agent for other in found):
                return os.path.abspath(path), {other.name: other for other in found}
    raise UserError(f"{agent!r} is in no variable of a module: edge runs agents from their file, so it must be there when the file has been loaded")


def _text(input: Any) -> str:
    if not isinstance(input, str):
        raise UserError(f"the input of a run is text, got a {type(input).__name__}: lists of items aren't supported")
    return input


def _json(context: Any) -> str:
    try:
        return json.dumps(context, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise UserError(f"the context goes to another process, so it must be JSON (objects, arrays, text, numbers): {error}") from error


def _answer(out: bytes, status: Optional[int]) -> dict[str, Any]:
    try:
        answer = json.loads(out)
    except ValueError:
        answer = None
    if not isinstance(answer, dict):
        raise AgentsException(f"edge ended with status {status} and without an answer")
    if answer.get("schema") == "edge.agent/v1":
        if answer["finish_reason"] == "turn_limit":
            raise MaxTurnsExceeded(answer["final_output"])
        return answer
    error = answer.get("error") or {}
    message = f"{error.get('message')} [{error.get('code')}]"
    raise (UserError if error.get("class") == "usage" else AgentsException)(message)
