"""Orders badges. It stands for a service of yours that accepts an idempotency key."""

import hashlib
import json
import os
import tempfile
from pathlib import Path

DIRECTORY = Path(os.environ.get("BADGES_DIR", "badges"))


def order(idempotency_key, user_id):
    """Returns the id of a new badge, or of the badge that was ordered with the same key."""
    DIRECTORY.mkdir(parents=True, exist_ok=True)
    name = hashlib.sha256(idempotency_key.encode()).hexdigest()[:16]
    path = DIRECTORY / (name + ".json")
    with tempfile.NamedTemporaryFile("w", dir=DIRECTORY) as file:
        json.dump({"badge": name, "user": user_id}, file)
        file.flush()
        try:
            os.link(file.name, path)  # fails if the badge exists
        except FileExistsError:
            pass
    return json.loads(path.read_text())["badge"]


def find(user_id):
    """Returns the id of the user's badge, or None."""
    for path in sorted(DIRECTORY.glob("*.json")):
        badge = json.loads(path.read_text())
        if badge["user"] == user_id:
            return badge["badge"]
    return None
