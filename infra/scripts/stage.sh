#!/usr/bin/env bash
# Usage: stage.sh what-if|create shared|functions|worker|scaler|context-bundle [PARAMETER=VALUE...] [OPTION...]
#
# Shows what a deployment of a stage would change, or deploys the stage, with the stage's
# deploy.parameters.$ENVIRONMENT.json. OPTION is one of "az deployment group". The variables
# RESOURCE_GROUP, NAME and ENVIRONMENT are required; for functions also API_CLIENT_ID, and
# CONSOLE_CLIENT_ID for a console; for worker
# also WORKER_ID, TARGET_TENANT_ID and WORKER_APP_ID; scaler needs the parameter topicName.
set -eu
. "$(dirname "$0")/lib.sh"
[ $# -ge 2 ] || usage

action=$1 stage=$2
shift 2
case $stage in
shared) folder=shared deployment=shared ;;
functions)
  folder=automation/functions deployment=functions
  set -- entraClientId="$API_CLIENT_ID" consoleClientId="${CONSOLE_CLIENT_ID:-}" "$@"
  ;;
worker)
  folder=automation/worker deployment=$WORKER_ID
  set -- workerId="$WORKER_ID" targetTenantId="$TARGET_TENANT_ID" appId="$WORKER_APP_ID" "$@"
  ;;
scaler | context-bundle) folder=automation/$stage deployment=$stage ;;
*) usage ;;
esac
set -- --parameters name="$NAME" "$@"
case $action in
what-if) ;;
create) set -- "$@" --output none ;;
*) usage ;;
esac

folder=$(dirname "$0")/../$folder
az deployment group "$action" --resource-group "$RESOURCE_GROUP" --name "$deployment" \
  --template-file "$folder/deploy.bicep" --parameters "@$folder/deploy.parameters.$ENVIRONMENT.json" "$@"
