#!/usr/bin/env bash
# Usage: github-environment.sh OWNER/REPOSITORY
#
# Prepares the GitHub environments $ENVIRONMENT, which deploys, and $ENVIRONMENT-plan, which only
# runs what-if: an identity of each in the resource group rg-matoolkit-github, their roles on
# $RESOURCE_GROUP, and the variables of the workflows. Prints the entry of imagePushers for the
# identity that deploys. The variables NAME, ENVIRONMENT, RESOURCE_GROUP, LOCATION, SUBSCRIPTION_ID,
# TENANT_ID, TARGET_TENANT_ID, API_CLIENT_ID, WORKER_APP_ID and WORKER_ID are required, CONSOLE_CLIENT_ID is not. You can
# repeat it.
set -eu
. "$(dirname "$0")/lib.sh"
[ $# = 1 ] || usage

repository=$1 identities=rg-matoolkit-github
identity() { # ENVIRONMENT PROPERTY
  az identity show --resource-group "$identities" --name "matoolkit-github-$1" --query "$2" --output tsv
}

az group create --name "$identities" --location "$LOCATION" --output none
for environment in "$ENVIRONMENT" "$ENVIRONMENT-plan"; do
  az identity create --resource-group "$identities" --name "matoolkit-github-$environment" --output none
  az identity federated-credential create --resource-group "$identities" --identity-name "matoolkit-github-$environment" --name github \
    --issuer https://token.actions.githubusercontent.com --subject "repo:$repository:environment:$environment" \
    --audiences api://AzureADTokenExchange --output none
done

group=$(az group show --name "$RESOURCE_GROUP" --query id --output tsv)
what_if="What-if $NAME-$ENVIRONMENT"
count=$(az role definition list --custom-role-only true --scope "$group" --name "$what_if" --query 'length(@)' --output tsv)
[ "$count" != 0 ] || az role definition create --output none --role-definition "{
  \"Name\": \"$what_if\", \"Description\": \"Runs what-if\", \"AssignableScopes\": [\"$group\"],
  \"Actions\": [\"Microsoft.Resources/deployments/whatIf/action\", \"Microsoft.Resources/deployments/validate/action\"]}"

assign() { # OBJECT_ID ROLE
  az role assignment create --assignee-object-id "$1" --assignee-principal-type ServicePrincipal --role "$2" --scope "$group" --output none
}
deployer=$(identity "$ENVIRONMENT" principalId)
planner=$(identity "$ENVIRONMENT-plan" principalId)
assign "$deployer" Contributor
assign "$deployer" "Role Based Access Control Administrator"
assign "$deployer" "Locks Contributor"
assign "$planner" Reader
assign "$planner" "$what_if"
assign_app_role "$deployer" "$API_CLIENT_ID" Reader # for the smoke test

for environment in "$ENVIRONMENT" "$ENVIRONMENT-plan"; do
  gh api --silent --method PUT "repos/$repository/environments/$environment"
  client=$(identity "$environment" clientId)
  while read -r variable value; do
    gh variable set "$variable" --repo "$repository" --env "$environment" --body "$value" </dev/null
  done <<VARIABLES
AZURE_CLIENT_ID $client
AZURE_TENANT_ID $TENANT_ID
AZURE_SUBSCRIPTION_ID $SUBSCRIPTION_ID
AZURE_RESOURCE_GROUP $RESOURCE_GROUP
MATOOLKIT_NAME $NAME
API_CLIENT_ID $API_CLIENT_ID
${CONSOLE_CLIENT_ID:+CONSOLE_CLIENT_ID $CONSOLE_CLIENT_ID
}TARGET_TENANT_ID $TARGET_TENANT_ID
WORKER_APP_ID $WORKER_APP_ID
WORKER_ID $WORKER_ID
VARIABLES
done

echo "imagePushers: {\"id\": \"$deployer\", \"type\": \"ServicePrincipal\"}"
