# Functions of the scripts beside this file.

# usage prints the comment at the top of the script and ends it.
usage() {
  sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0" >&2
  exit 2
}

# registration prints the client id of the app registration with a display name, and creates the
# registration if it is missing.
registration() { # NAME
  local id
  id=$(az ad app list --display-name "$1" --query "[?displayName=='$1'].appId | [0]" --output tsv)
  [ -n "$id" ] || id=$(az ad app create --display-name "$1" --sign-in-audience AzureADMyOrg --query appId --output tsv)
  echo "$id"
}

# service_principal prints the object id of the service principal of an app registration, and
# creates the service principal if it is missing.
service_principal() { # CLIENT_ID
  az ad sp show --id "$1" --query id --output tsv 2>/dev/null || az ad sp create --id "$1" --query id --output tsv
}

# assign_app_role gives a user, a group or a service principal an app role of an API.
assign_app_role() { # OBJECT_ID API_CLIENT_ID ROLE
  local api role output
  api=$(az ad sp show --id "$2" --query id --output tsv) || return 1
  role=$(az ad sp show --id "$2" --query "appRoles[?value=='$3'].id | [0]" --output tsv) || return 1
  if [ -z "$role" ]; then
    echo "the API $2 has no app role $3" >&2
    return 1
  fi
  if output=$(az rest --method post --url "https://graph.microsoft.com/v1.0/servicePrincipals/$api/appRoleAssignedTo" \
    --body "{\"principalId\": \"$1\", \"resourceId\": \"$api\", \"appRoleId\": \"$role\"}" 2>&1); then
    return 0
  fi
  case $output in
  *"already exists"*) ;;
  *)
    echo "$output" >&2
    return 1
    ;;
  esac
}
