#!/usr/bin/env bash
# Usage: assign-role.sh API_CLIENT_ID Reader|Requester|RequesterForAll|Operator|Approver|Admin OBJECT_ID...
#
# Gives users, groups or applications a role of the admin API. For an application, OBJECT_ID is
# that of its service principal.
set -eu
. "$(dirname "$0")/lib.sh"
[ $# -ge 3 ] || usage

api=$1 role=$2
shift 2
for principal; do
  assign_app_role "$principal" "$api" "$role"
done
