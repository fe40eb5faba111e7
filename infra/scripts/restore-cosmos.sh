#!/usr/bin/env bash
# Usage: restore-cosmos.sh RESOURCE_GROUP PREFIX TIME ACCOUNT
#
# Stops the Functions app PREFIX-func, and restores the Cosmos DB account PREFIX-cosmos as it was at
# TIME, such as 2026-11-20T21:30:00Z, into the new account ACCOUNT. PREFIX is NAME-ENVIRONMENT. Then
# it configures what a restore does not include: the app's role, and in private mode the endpoint.
# You can repeat it.
set -eu
. "$(dirname "$0")/lib.sh"
[ $# = 4 ] || usage

group=$1 prefix=$2 time=$3 account=$4
az functionapp stop --resource-group "$group" --name "$prefix-func"
location=$(az functionapp show --resource-group "$group" --name "$prefix-func" --query location --output tsv | tr -d ' ' | tr '[:upper:]' '[:lower:]')
vnet=$(az network vnet list --resource-group "$group" --query "[?name=='$prefix-vnet'].name | [0]" --output tsv)
access=ENABLED
[ -z "$vnet" ] || access=DISABLED

if ! az cosmosdb show --resource-group "$group" --name "$account" --output none 2>/dev/null; then
  az cosmosdb restore --resource-group "$group" --account-name "$prefix-cosmos" --target-database-account-name "$account" \
    --restore-timestamp "$time" --location "$location" --public-network-access "$access" --output none
fi

id=$(az cosmosdb show --resource-group "$group" --name "$account" --query id --output tsv)
app=$(az identity show --resource-group "$group" --name "$prefix-func-id" --query principalId --output tsv)
az resource update --ids "$id" --set properties.disableLocalAuth=true --output none
assigned=$(az cosmosdb sql role assignment list --resource-group "$group" --account-name "$account" --query "[?principalId=='$app'] | length(@)" --output tsv)
[ "$assigned" != 0 ] || az cosmosdb sql role assignment create --resource-group "$group" --account-name "$account" \
  --scope /dbs/matoolkit --role-definition-id 00000000-0000-0000-0000-000000000002 --principal-id "$app" --output none

if [ -n "$vnet" ]; then
  az network private-endpoint create --resource-group "$group" --name "$account-pe" --vnet-name "$vnet" \
    --subnet snet-private-endpoints --private-connection-resource-id "$id" --group-id Sql --connection-name "$account-pe" --output none
  az network private-endpoint dns-zone-group create --resource-group "$group" --endpoint-name "$account-pe" --name default \
    --private-dns-zone privatelink.documents.azure.com --zone-name cosmos --output none
fi
echo "Restored into https://$account.documents.azure.com:443/. The app is stopped."
