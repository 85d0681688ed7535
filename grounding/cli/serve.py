"""``grounding serve``: a card's model behind an OpenAI-compatible address, until Ctrl-C. No logic of its own."""

import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from cyclopts.validators import Number

from grounding.data.option import DataDir, ready
from grounding.errors import UserError

SERVE_EXAMPLES = """
Examples:

```
# GTA1 on this machine's GPU; prints the address when it is ready
grounding serve gta1 --port 8000

# An adapter that `grounding train` left, and its base at the same address
grounding serve results/RUN/adapter --port 8000

# Four copies on four GPUs, ports 8000 to 8003, with a flag more for vLLM
grounding serve gta1 --port 8000 --replicas 4 -- --max-num-seqs 128
```
"""

_Count = Annotated[int, Parameter(validator=Number(gte=1))]


def serve_command(
    grounder: str,
    *flags: str,
    port: Annotated[int | None, Parameter(validator=Number(gte=1, lte=65535))] = None,
    host: str = "127.0.0.1",
    data_parallel_size: _Count = 1,
    replicas: _Count = 1,
    model: str | None = None,
    data_dir: DataDir | None = None,
    server_command: str | None = None,
    start_timeout: float = 3600.0,
    log_dir: Path = Path("results"),
) -> int:
    """Serve a grounder's card with vLLM and the flags that the card names, until Ctrl-C.

    Prints the base URLs on standard output once they answer; the server's own output goes to a file, which is named on
    standard error. Exit code 0: ended by Ctrl-C or SIGTERM when it was ready; 2: it can't be served or ended itself.

    Args:
        grounder: A card's name, its model's id, a path to a card (.yaml), or the folder of a model that `grounding
            train` tuned: an adapter is served beside its base, each under its own name.
        flags: More flags for vLLM, after `--`; they win over the card's.
        port: The port, and the first of several [default: free ones].
        host: The address to listen on; 0.0.0.0 for all of this machine's.
        data_parallel_size: vLLM's own data parallelism: so many engines behind one port.
        replicas: So many servers on ports in a row; GPUs are shared out among them where there are enough.
        model: A local checkpoint to serve under the card's name; of an adapter, the base that it was trained on.
        data_dir: The folder whose pictures the server may open, for `--send file`.
        server_command: What starts a server [default: the variable GROUNDING_VLLM, or `vllm serve`]. The model's name
            is put after it.
        start_timeout: Seconds after which a server that is not ready is given up.
        log_dir: Where the log goes, in the folder `serving`.
    """
    from grounding.cards import GrounderCard, find_card
    from grounding.cards.identity import hub_repository
    from grounding.cards.places import models_dir
    from grounding.grounders import BUILTIN
    from grounding.run.runner import terminated_like_interrupted
    from grounding.serving.command import ServerOptions, check_servable, check_weights
    from grounding.serving.command import server_command as command_words
    from grounding.serving.managed import running_servers

    found = find_card(grounder, models_dir() / "grounders", GrounderCard, builtin=tuple(BUILTIN), kind="grounder")
    check_servable(found)
    if found.image.send == "file" and data_dir is None:
        raise UserError(f"{found.name} sends screenshots as file:// URLs: name their folder with --data-dir")
    folder = ready(data_dir)
    options = ServerOptions(
        command=command_words(server_command),
        host=host,
        port=port,
        replicas=replicas,
        data_parallel_size=data_parallel_size,
        model=model,
        # The server follows links before it looks where a file lies.
        media_dir=folder and (hub_repository(folder) or folder),
        flags=flags,
        start_timeout_s=start_timeout,
    )
    check_weights(found, options)
    log = log_dir / "serving" / f"{found.name}{'' if port is None else f'-{port}'}.log"
    print(f"the server's output goes to {log}", file=sys.stderr, flush=True)
    with terminated_like_interrupted(), running_servers(found, options, log, live=sys.stderr.isatty()) as fleet:
        # From the moment that the address is told, an interruption is the way to end this.
        try:
            print(*fleet.base_urls, sep="\n", flush=True)
            told = f"grounding eval --grounder {grounder} --base-url {' '.join(fleet.base_urls)}"
            print(
                f"ready after {fleet.ready_after_s:.0f} s; Ctrl-C ends it. In another terminal: {told}",
                file=sys.stderr,
                flush=True,
            )
            fleet.watch()
        except KeyboardInterrupt:
            print("stopping", file=sys.stderr, flush=True)
    return 0
