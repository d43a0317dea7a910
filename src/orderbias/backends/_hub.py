"""Whether the hub answers, asked once and briefly: its own packages try again and again without a connection."""

from __future__ import annotations

#: Seconds to wait for the hub's answer.
PATIENCE = 10


def hub_is_out_of_reach(name: str, revision: str | None) -> bool:
    """Whether a hub id can only be had from what was downloaded before.

    A hub that answers, be it that there is no such model, is in reach: loading then says what is wrong.
    """
    from huggingface_hub import HfApi
    from huggingface_hub.errors import HfHubHTTPError

    try:
        HfApi().model_info(name, revision=revision, timeout=PATIENCE)
    except HfHubHTTPError:
        return False
    except Exception:  # whatever the connection's library raises, and the hub's switch to stay offline
        return True
    return False
