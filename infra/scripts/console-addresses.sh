#!/usr/bin/env bash
# Usage: console-addresses.sh CONSOLE_CLIENT_ID API_URL...
#
# Lets the console sign in from the given addresses of the admin API, such as
# https://name.azurewebsites.net, and from no others. You can repeat it.
set -eu
. "$(dirname "$0")/lib.sh"
[ $# -ge 2 ] || usage

console=$1 addresses=
shift
for url; do
  addresses="$addresses${addresses:+, }\"${url%/}/api/console/\""
done
az rest --method patch --url "https://graph.microsoft.com/v1.0/applications(appId='$console')" --output none \
  --body "{\"spa\": {\"redirectUris\": [$addresses]}}"
