"""What Schemathesis does to the server under test besides its requests; see run-conformance.ts."""

import json
import pathlib

import requests
import schemathesis

INSTANCES_MAX = 2
TEST_DATA = json.loads((pathlib.Path(__file__).parent / "test-data.json").read_text())


@schemathesis.hook
def before_call(ctx, case, kwargs):
    """An instance is a process of 80 MB: 64 of them would take the whole machine, so valid topologies have one or two."""
    if case.path != "/api/cluster/topology" or not isinstance(case.body, dict):
        return
    instances = case.body.get("instances")
    if isinstance(instances, (int, float)) and not isinstance(instances, bool) and INSTANCES_MAX < instances <= 64:
        case.body = {**case.body, "instances": INSTANCES_MAX}


@schemathesis.hook
def after_call(ctx, case, response):
    """Without its queues the server would answer most requests with 404 or 409, and little of it would be tested."""
    removed = response.request.method == "DELETE" and response.status_code == 204
    stopped = case.path == "/api/queues/{queue}/stop" and response.status_code == 200
    if not removed and not stopped:
        return
    base = case.operation.base_url.rstrip("/")
    for each in TEST_DATA:
        requests.post(base + each["path"], json=each["body"], timeout=30)
    if stopped:
        requests.post(f"{base}/api/queues/{response.json()['name']}/start", timeout=30)
