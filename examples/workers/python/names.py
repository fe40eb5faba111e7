"""Names of topics, and the beginning of those of the worker's subscriptions."""

import os

JOBS = os.environ.get("WORKER_JOBS_TOPIC") or "worker-jobs"
CONTROL = os.environ.get("WORKER_CONTROL_TOPIC") or "worker-control"
RESULTS = os.environ.get("WORKER_RESULTS_TOPIC") or "worker-results"
PREFIX = os.environ.get("WORKER_SUBSCRIPTION_PREFIX") or "worker-"
