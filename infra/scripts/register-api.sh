#!/usr/bin/env bash
# Usage: register-api.sh NAME ENVIRONMENT
#
# Creates three app registrations in the tenant of "az login": NAME-ENVIRONMENT-api is the admin API
# with its roles, NAME-ENVIRONMENT-cli is the command line, a public client, NAME-ENVIRONMENT-console
# is the console, a single-page application. Makes you the first Admin. Prints the client ids as variables for the shell. You can repeat it.
set -eu
. "$(dirname "$0")/lib.sh"
[ $# = 2 ] || usage

api=$(registration "$1-$2-api")
cli=$(registration "$1-$2-cli")
console=$(registration "$1-$2-console")
application="https://graph.microsoft.com/v1.0/applications(appId='$api')"
scope=7b6f2c57-db9c-486b-b65e-c8819945449e

az rest --method patch --url "$application" --output none --body "{
  \"identifierUris\": [\"api://$api\"],
  \"appRoles\": [
    {\"id\": \"833c4817-7091-4bc8-822e-46acca8bb30d\", \"value\": \"Admin\", \"displayName\": \"Admin\",
     \"description\": \"May do everything\", \"allowedMemberTypes\": [\"User\", \"Application\"], \"isEnabled\": true},
    {\"id\": \"9786bfd4-2cbb-4d43-bf8b-b6c18ceb3fa8\", \"value\": \"Approver\", \"displayName\": \"Approver\",
     \"description\": \"May read, approve phases, and decide on what is held\", \"allowedMemberTypes\": [\"User\", \"Application\"], \"isEnabled\": true},
    {\"id\": \"d5074b50-8f55-4c48-8b5d-52e40a925b53\", \"value\": \"Operator\", \"displayName\": \"Operator\",
     \"description\": \"May read, and drive batches\", \"allowedMemberTypes\": [\"User\", \"Application\"], \"isEnabled\": true},
    {\"id\": \"0f6f7a3e-58f4-4c0f-9d53-3f7d1b0c7a52\", \"value\": \"Requester\", \"displayName\": \"Requester\",
     \"description\": \"May start batches of pipelines and read them, with their own name as the owner\", \"allowedMemberTypes\": [\"User\", \"Application\"], \"isEnabled\": true},
    {\"id\": \"5c0d8a5e-6f5b-4f0e-8a3d-2b7c9e4f1a60\", \"value\": \"RequesterForAll\", \"displayName\": \"Requester for all\",
     \"description\": \"May start batches of pipelines for every owner, and read these; for services\", \"allowedMemberTypes\": [\"User\", \"Application\"], \"isEnabled\": true},
    {\"id\": \"a4b3001d-626c-476a-8243-3073faff9f4a\", \"value\": \"Reader\", \"displayName\": \"Reader\",
     \"description\": \"May read\", \"allowedMemberTypes\": [\"User\", \"Application\"], \"isEnabled\": true}],
  \"api\": {
    \"requestedAccessTokenVersion\": 2,
    \"oauth2PermissionScopes\": [
      {\"id\": \"$scope\", \"value\": \"access_as_user\", \"type\": \"User\", \"isEnabled\": true,
       \"adminConsentDisplayName\": \"Use matoolkit\",
       \"adminConsentDescription\": \"Use the admin API of matoolkit as the signed-in user\"}]}}"

# Preauthorize the command line, the console and the Azure CLI, which signs in with --auth azure-cli. This is a
# second request, because the scope must exist.
az rest --method patch --url "$application" --output none --body "{\"api\": {\"preAuthorizedApplications\": [
  {\"appId\": \"$cli\", \"delegatedPermissionIds\": [\"$scope\"]},
  {\"appId\": \"$console\", \"delegatedPermissionIds\": [\"$scope\"]},
  {\"appId\": \"04b07795-8ddb-461a-bbee-02f9e1bf7b46\", \"delegatedPermissionIds\": [\"$scope\"]}]}}"
az ad app update --id "$cli" --is-fallback-public-client true
service_principal "$cli" >/dev/null
service_principal "$console" >/dev/null

# Only assigned users get a token for the API.
principal=$(service_principal "$api")
az ad sp update --id "$principal" --set appRoleAssignmentRequired=true
me=$(az ad signed-in-user show --query id --output tsv)
assign_app_role "$me" "$api" Admin

echo "export API_CLIENT_ID=$api CLI_CLIENT_ID=$cli CONSOLE_CLIENT_ID=$console"
