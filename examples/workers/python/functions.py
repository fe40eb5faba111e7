"""The functions of the worker. Replace them by your own.

A function receives the job and its checked parameters. It returns True or a dict, or raises Failure. It may
be called again for a job that it has done: use job.effect_id as the idempotency key of what it changes. Run
calls that block with asyncio.to_thread.
"""

import asyncio

import badges
from contract import Function, Parameter


async def new_badge(job, parameters):
    return {"BadgeId": await asyncio.to_thread(badges.order, job.effect_id, parameters["UserId"])}


async def test_badge_issued(job, parameters):
    badge = await asyncio.to_thread(badges.find, parameters["UserId"])
    if badge is None:
        return {"complete": False, "data": None}  # the step polls
    return {"complete": True, "data": {"BadgeId": badge}}


USER_ID = Parameter("UserId", "Id of the user.", required=True)

FUNCTIONS = (
    Function("New-Badge", "Orders a badge for a user.", new_badge, (USER_ID,), (("BadgeId", "Id of the badge."),)),
    Function(
        "Test-BadgeIssued",
        "Tells whether a user has a badge. Not complete until then.",
        test_badge_issued,
        (USER_ID,),
        (("complete", "Whether the user has a badge."), ("data", "BadgeId, the id of the badge.")),
    ),
)
