#!/usr/bin/env bash
# Usage: compile.sh [COMMAND...]
#
# Lints and builds the templates with the Bicep compiler, and fails if it reports an error or a
# warning: it reports a value of the wrong type as a warning, and then exits with 0. COMMAND runs
# the compiler; the default is "az bicep". The rules are in infra/bicepconfig.json.
set -eu
. "$(dirname "$0")/lib.sh"
case ${1-} in
-*) usage ;;
'') set -- az bicep ;;
esac

file= # "az bicep" takes the template as an option
[ "$1" != az ] || file=--file
failed=
for template in main shared/deploy automation/functions/deploy automation/worker/deploy automation/scaler/deploy automation/context-bundle/deploy; do
  template=$(dirname "$0")/../$template.bicep
  echo "== $template"
  reported=$("$@" lint $file "$template" 2>&1 && "$@" build $file "$template" --stdout 2>&1 >/dev/null) || failed=1
  [ -z "$reported" ] || echo "$reported"
  ! echo "$reported" | grep -qE '\([0-9]+,[0-9]+\) : (Error|Warning) ' || failed=1
done
if [ -n "$failed" ]; then
  echo "the compiler reports errors or warnings" >&2
  exit 1
fi
