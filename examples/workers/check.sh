#!/bin/sh
# Installs the worker of one language, verifies it, and runs a batch with it on a local system:
#   check.sh python|typescript
# It needs "make build", and python3 with venv or node with npm.
set -eu

language=$1
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/matoolkit-workers/$language
work=$(mktemp -d)
processes=

stop() {
	for process in $processes; do
		kill "$process" 2>/dev/null && wait "$process" || :
	done
	processes=
}
finish() {
	status=$?
	stop
	test $status -eq 0 || tail -n 50 "$work"/*.log
	rm -rf "$work"
}
trap finish EXIT
trap 'exit 1' INT TERM

say() { printf '%s: %s\n' "$language" "$1"; }

matoolkit() { "$root/bin/matoolkit" "$@"; }

# start starts a local system with the options, and the worker.
start() {
	rm -f "$work/endpoints.json"
	(cd "$root" && exec bin/matoolkit local up --ephemeral --free-ports --worker-id worker-02 --endpoints "$work/endpoints.json" "$@") >"$work/local.log" 2>&1 &
	processes="$processes $!"
	tries=0
	until test -s "$work/endpoints.json"; do
		tries=$((tries + 1))
		test $tries -lt 300 || { say 'the local system did not start'; exit 1; }
		sleep 0.1
	done
	variables=$(matoolkit local env --for worker --endpoints "$work/endpoints.json")
	eval "$variables"
	case $language in
	python) (cd "$cache" && exec venv/bin/python worker.py) >"$work/worker.log" 2>&1 & ;;
	typescript) (cd "$cache" && exec node dist/worker.js) >"$work/worker.log" 2>&1 & ;;
	esac
	worker=$!
	processes="$worker $processes"
}

mkdir -p "$cache"
cp -R "$here/$language/." "$cache/"
say 'install packages'
cd "$cache"
case $language in
python)
	test -x venv/bin/pip || python3 -m venv venv
	venv/bin/pip install --quiet --disable-pip-version-check --requirement requirements.txt
	;;
typescript)
	npm ci --no-audit --no-fund --loglevel error
	npm run --silent build
	;;
*)
	say 'unknown language'
	exit 2
	;;
esac

export BADGES_DIR="$work/badges" PYTHONDONTWRITEBYTECODE=1
export MATOOLKIT_TOKEN_STORE=file HOME="$work" XDG_CONFIG_HOME="$work/config"

say 'verify'
start --parts servicebus
matoolkit worker verify worker-02 --results-subscription orchestrator \
	--function Test-BadgeIssued --parameters '{"UserId":"7"}' --required UserId
stop

say 'run a batch'
start --auto-approve
variables=$(matoolkit local env --wait --endpoints "$work/endpoints.json")
eval "$variables"
matoolkit auth login
tries=0
until matoolkit worker get worker-02 --output json 2>/dev/null | grep -q Test-BadgeIssued; do # its functions are announced
	tries=$((tries + 1))
	test $tries -lt 100 || { say 'the worker did not announce its functions'; exit 1; }
	sleep 0.2
done
matoolkit runbook publish "$here/runbook.yaml"
matoolkit batch create badges "$here/members.csv"
matoolkit batch advance 1 --wait --yes
failed=$(matoolkit batch members 1 --status failed --output json)
echo "$failed" | grep -q '"items": \[\]' || { echo "$failed"; say 'a member failed'; exit 1; }
badges=$(find "$BADGES_DIR" -name '*.json' | wc -l)
test "$badges" -eq 3 || { say "found $badges badges, want 3"; exit 1; }

say 'stop the worker'
kill "$worker"
wait "$worker" || { say "the worker ended with $?"; exit 1; }
matoolkit worker list
say 'ok'
