"""Jobs, functions and results as docs/write-a-worker.md defines them."""

import json
from dataclasses import dataclass, field
from datetime import datetime, timezone

from azure.servicebus import ServiceBusMessage

MAX_BODY = 240 << 10  # bytes
MAX_ERROR = 4000  # characters


@dataclass(frozen=True)
class Parameter:
    name: str
    description: str
    required: bool = False
    type: str = "string"
    secret: bool = False  # never logged or shown


@dataclass(frozen=True)
class Function:
    name: str
    description: str
    call: callable
    parameters: tuple = ()
    result: tuple = ()  # names and descriptions of the fields; empty if the function returns True
    timeout: int = 60  # seconds


class Failure(Exception):
    """The failure of a job. Its message must not contain secrets."""

    def __init__(self, type, message, throttled=False, retry_after=0, redelivered=False):
        super().__init__(message)
        self.type, self.throttled, self.retry_after, self.redelivered = type, throttled, retry_after, redelivered


class Unreadable(Exception):
    """A message that does not say whom to answer."""


@dataclass
class Job:
    id: str
    batch_id: int
    correlation: dict
    function: str | None = None
    parameters: object = None
    effect_id: str = ""
    secrets: list = field(default_factory=list)
    dispatched_at: datetime | None = None
    expires_at: datetime | None = None
    invalid: str = ""  # why the job cannot be done

    @property
    def message_id(self):
        return "batch-%d-%s" % (self.batch_id, self.id)

    @property
    def key(self):
        """Identifies the work: a restored store may assign the ids of jobs again."""
        return self.message_id, self.function, json.dumps(self.parameters, sort_keys=True)


def read_json(message):
    """Returns the body of a message as an object whose names are in lower case."""
    try:
        value = json.loads(b"".join(message.body))
    except (TypeError, ValueError, RecursionError) as e:
        raise Unreadable("the body is not JSON: %s" % e) from e
    if not isinstance(value, dict):
        raise Unreadable("the body is not a JSON object")
    return lower(value)


def lower(value):
    return {name.lower(): v for name, v in value.items()}


def read_job(message):
    body = read_json(message)
    correlation = body.get("correlationdata")
    ids = lower(correlation) if isinstance(correlation, dict) else {}
    batch_id = ids.get("batchid")
    if not isinstance(body.get("jobid"), str) or not body["jobid"] or not isinstance(batch_id, int) or not ids.get("stepexecutionid"):
        raise Unreadable("no JobId and CorrelationData to answer to")
    job = Job(body["jobid"], batch_id, correlation)
    try:
        job.function, job.parameters = body.get("functionname"), body.get("parameters") or {}
        job.effect_id = body.get("effectid") or job.message_id
        job.secrets = [text for text in body.get("secrets") or [] if text]
        job.dispatched_at, job.expires_at = read_time(body.get("dispatchedat")), read_time(body.get("expiresat"))
    except (TypeError, ValueError) as e:
        job.invalid = "the job cannot be read: %s" % e
    if not isinstance(job.function, str) or not job.function:
        job.invalid = "the job names no function"
    elif not isinstance(job.parameters, dict):
        job.invalid = "the job's Parameters are not a JSON object"
    return job


def read_time(text):
    return datetime.fromisoformat(text) if text else None


def write_time(time):
    return time.astimezone(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def check(parameters, function):
    """Returns the parameters with the declared names, or raises Failure."""
    declared = {p.name.lower(): p for p in function.parameters}
    checked = {}
    for name, value in parameters.items():
        parameter = declared.get(name.lower())
        if parameter is None:
            raise Failure("InvalidParameters", "%s has no parameter %s" % (function.name, name))
        if not isinstance(value, str):
            raise Failure("InvalidParameters", "parameter %s of %s is not text" % (name, function.name))
        checked[parameter.name] = value
    for p in function.parameters:
        if p.required and not checked.get(p.name):
            raise Failure("InvalidParameters", "%s needs the parameter %s" % (function.name, p.name))
    return checked


def success(job, value, milliseconds):
    if not isinstance(value, (bool, dict)):
        return failure(job, Failure("InvalidResult", "%s returned neither a boolean nor an object" % job.function), milliseconds)
    try:
        body = result(job, milliseconds, Status="Success", ResultType="Boolean" if isinstance(value, bool) else "Object", Result=value, Error=None)
    except (TypeError, ValueError) as e:
        return failure(job, Failure("InvalidResult", "the result of %s is not JSON: %s" % (job.function, e)), milliseconds)
    if len(body) > MAX_BODY:
        return failure(job, Failure("InvalidResult", "the result of %s has %d bytes; at most %d can be sent" % (job.function, len(body), MAX_BODY)), milliseconds)
    return message(job, "result", body)


def failure(job, error, milliseconds=0):
    text = str(error)
    for secret in sorted(job.secrets, key=len, reverse=True):
        text = text.replace(secret, "***")
    details = {"Message": text[:MAX_ERROR], "Type": error.type, "IsThrottled": error.throttled, "Attempts": 1}
    if error.retry_after:
        details["RetryAfterSeconds"] = error.retry_after
    if error.redelivered:
        details["Redelivered"] = True
    body = result(job, milliseconds, Status="Failure", Result=None, Error=details)
    return message(job, "refuse" if error.redelivered else "result", body)


def result(job, milliseconds, **fields):
    fields.update(JobId=job.id, CorrelationData=job.correlation, DurationMs=milliseconds, Timestamp=write_time(datetime.now(timezone.utc)))
    return json.dumps(fields, allow_nan=False).encode()


def message(job, prefix, body):
    return ServiceBusMessage(
        body,
        message_id="%s-%s" % (prefix, job.message_id),
        correlation_id=job.id,
        content_type="application/json",
        application_properties={"MessageType": "worker-result"},
    )
