#!/usr/bin/env bash
# Usage: worker-certificate.sh VAULT APP_ID TARGET_TENANT_ID [CERTIFICATE]
#
# Creates a certificate (by default "worker"), or a new version of it, in a vault of the tenant of
# "az login", and registers its public part for an app registration of the target tenant, where you
# sign in. The private key stays in the vault, which mails its contacts before the certificate
# expires and does not renew it.
set -eu
. "$(dirname "$0")/lib.sh"
[ $# = 3 ] || [ $# = 4 ] || usage

vault=$1 app=$2 tenant=$3 certificate=${4:-worker}
subscription=$(az account show --query id --output tsv)
policy=$(az keyvault certificate get-default-policy | sed 's/AutoRenew/EmailContacts/')
folder=$(mktemp -d)
trap 'rm -r "$folder"; az account set --subscription "$subscription"' EXIT

az keyvault certificate create --vault-name "$vault" --name "$certificate" --policy "$policy" --output none
az keyvault certificate download --vault-name "$vault" --name "$certificate" --file "$folder/public.pem"
az login --tenant "$tenant" --allow-no-subscriptions --output none
az ad app credential reset --id "$app" --cert "@$folder/public.pem" --append --output none
