#!/bin/sh
# BADGE_LIST names a file with a line "object id,badge" for each badge.
user=$(sed -n 's/.*"UserId":"\([^"]*\)".*/\1/p')
echo "looking for $user" >&2
line=$(grep "^$user," "$BADGE_LIST")
case $? in
0) echo '{"success":true,"result":{"complete":true,"data":{"Badge":"'"${line#*,}"'"}}}' ;;
1) echo '{"success":true,"result":{"complete":false,"data":null}}' ;;
*) echo '{"success":false,"error":{"type":"NoBadgeList","message":"the list of badges cannot be read"}}' ;;
esac
