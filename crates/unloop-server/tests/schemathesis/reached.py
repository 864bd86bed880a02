"""Whether every call of the document was answered well at least once, as the server counts; and what else it answered."""

import collections
import json
import re
import sys
import urllib.request

ANSWERED = re.compile(r'unloop_http_requests_total\{method="([^"]*)",route="([^"]*)",status="([^"]*)"\} ([0-9]+)')


def read(path):
    with urllib.request.urlopen(sys.argv[1] + path, timeout=20) as answer:
        return answer.read().decode()


calls = [
    (method.upper(), path) for path, methods in json.loads(read("v1/openapi.json"))["paths"].items() for method in methods
]
answered = collections.Counter()
statuses = collections.Counter()
for method, route, status, count in ANSWERED.findall(read("metrics")):
    statuses[status] += int(count)
    if status.startswith("2"):
        answered[method, route] += int(count)

print("answers by status:", ", ".join(f"{status}: {count}" for status, count in sorted(statuses.items())))
missing = [call for call in calls if not answered[call]]
for method, path in missing:
    print(f"{method} {path} was never answered well")
# A document without calls would pass everything.
sys.exit(1 if missing or len(calls) < 20 else 0)
