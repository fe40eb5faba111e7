package message

import (
	"regexp"
	"strconv"
)

// NotificationJobID is the JobID of a job that sends a mail and is of no batch. It names the document of
// the delivery and counts its attempts.
func NotificationJobID(delivery string, attempt int) string {
	return "notification-" + delivery + "-" + strconv.Itoa(attempt)
}

var notificationJobID = regexp.MustCompile(`^notification-(delivery:.+)-([1-9][0-9]{0,2})$`)

// SplitNotificationJobID returns the document of the delivery and the attempt of a NotificationJobID. It
// is false for other ids.
func SplitNotificationJobID(id string) (delivery string, attempt int, ok bool) {
	found := notificationJobID.FindStringSubmatch(id)
	if found == nil {
		return "", 0, false
	}
	attempt, err := strconv.Atoi(found[2])
	return found[1], attempt, err == nil
}
