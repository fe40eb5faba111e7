#!/usr/bin/env bash
# Usage: register-people.sh NAME ENVIRONMENT PERMISSION...
#
# Creates the app registration NAME-ENVIRONMENT-people in the tenant of "az login", and grants it
# application permissions of Microsoft Graph. Data sources of the type graph read with it, so it
# takes only permissions to read. Prints the client id as a variable for the shell. You can repeat it.
set -eu
. "$(dirname "$0")/lib.sh"
[ $# -ge 3 ] || usage
for permission in "${@:3}"; do
  case $permission in
  *.Read.*|Sites.Selected) ;;
  *)
    echo "$permission is not a permission to read" >&2
    exit 2
    ;;
  esac
done

app=$(registration "$1-$2-people")
principal=$(service_principal "$app")
shift 2
echo "export PEOPLE_APP_ID=$app"

failed=0
for permission; do
  assign_app_role "$principal" 00000003-0000-0000-c000-000000000000 "$permission" || { echo "not granted: $permission" >&2; failed=1; }
done
exit $failed
