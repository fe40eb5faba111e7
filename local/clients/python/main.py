"""Runs the cases of local/clients with the packages for Python."""

import json
import os
import sys
import threading

import blob_cases
import cosmos_cases
import servicebus_cases

CLIENT = "python"
LIMIT = 60  # seconds that a case may take
PROGRAMS = {"servicebus": servicebus_cases.cases, "cosmos": cosmos_cases.cases, "blob": blob_cases.cases}


def execute(f):
    """Returns the error of a case."""
    if f is None:
        return RuntimeError("the %s client does not implement the case" % CLIENT)
    errors = []

    def run():
        try:
            f()
        except Exception as e:
            errors.append(e)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(LIMIT)
    if thread.is_alive():
        return TimeoutError("no end within %ds" % LIMIT)
    return errors[0] if errors else None


def judge(error, refused):
    """Compares the error of a case with the refusal that cases.json expects."""
    if error is None:
        return ("FAIL", "the server does not refuse " + refused) if refused else ("PASS", "")
    note = " ".join(("%s: %s" % (type(error).__name__, error)).split())
    return "REFUSED" if refused and refused.lower() in note.lower() else "FAIL", note


count = {"PASS": 0, "FAIL": 0, "REFUSED": 0}
prefixes = tuple(sys.argv[2:])
with open(sys.argv[1]) as file:
    cases = json.load(file)
for c in cases:
    name = c["service"] + "/" + c["name"]
    if prefixes and not name.startswith(prefixes) or CLIENT in c.get("without", {}):
        continue
    outcome, note = judge(execute(PROGRAMS[c["service"]].get(c["name"])), c.get("refused", ""))
    count[outcome] += 1
    print("%s %s: %s" % (outcome, name, note) if note else "%s %s" % (outcome, name), flush=True)
print("%(PASS)d passed, %(FAIL)d failed, %(REFUSED)d refused" % count, flush=True)
os._exit(1 if count["FAIL"] else 0)
