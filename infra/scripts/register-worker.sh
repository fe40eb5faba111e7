#!/usr/bin/env bash
# Usage: register-worker.sh NAME ENVIRONMENT PERMISSION...
#
# Creates the app registration NAME-ENVIRONMENT-worker in the tenant of "az login", the target
# tenant, and grants it application permissions of Microsoft Graph. Exchange.ManageAsApp is that of
# Exchange Online and comes with the role Exchange Recipient Administrator. Prints the client id as
# a variable for the shell. You can repeat it.
set -eu
. "$(dirname "$0")/lib.sh"
[ $# -ge 3 ] || usage

app=$(registration "$1-$2-worker")
principal=$(service_principal "$app")
shift 2
echo "export WORKER_APP_ID=$app"

failed=0
for permission; do
  api=00000003-0000-0000-c000-000000000000 # Microsoft Graph
  [ "$permission" != Exchange.ManageAsApp ] || api=00000002-0000-0ff1-ce00-000000000000
  assign_app_role "$principal" "$api" "$permission" || { echo "not granted: $permission" >&2; failed=1; }
  [ "$permission" = Exchange.ManageAsApp ] || continue

  role=31392ffb-586c-42d1-9346-e59415a2cc4e # Exchange Recipient Administrator
  assignments=https://graph.microsoft.com/v1.0/roleManagement/directory/roleAssignments
  count=$(az rest --url "$assignments?\$filter=principalId eq '$principal' and roleDefinitionId eq '$role'" --query 'length(value)' --output tsv)
  [ "$count" != 0 ] || az rest --method post --url "$assignments" --output none \
    --body "{\"principalId\": \"$principal\", \"roleDefinitionId\": \"$role\", \"directoryScopeId\": \"/\"}"
done
exit $failed
