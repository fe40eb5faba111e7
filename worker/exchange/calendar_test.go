package exchange_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/worker/catalog"
)

// cmdlets answers commands by their cmdlet, or by cmdlet and identity, with the JSON of their output.
func cmdlets(t *testing.T, outputs map[string]string) *catalog.Catalog {
	t.Helper()
	return answers(t, func(w http.ResponseWriter, r *http.Request) {
		var body struct {
			CmdletInput struct {
				CmdletName string
				Parameters struct{ Identity string }
			}
		}
		_ = json.NewDecoder(r.Body).Decode(&body) // without identity there is none
		cmdlet := body.CmdletInput.CmdletName
		output, known := outputs[cmdlet+" "+body.CmdletInput.Parameters.Identity]
		if !known {
			output, known = outputs[cmdlet]
		}
		if !known {
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprint(w, `{"error":{"code":"NotFound","details":[{"message":"Ex6F9304|ManagementObjectNotFoundException|it couldn't be found"}]}}`)
			return
		}
		fmt.Fprint(w, `{"value":`+output+`}`)
	})
}

// Public programs get the user of an entry as a text or as an object.
func TestUsersOfACalendarAreTextsOrObjects(t *testing.T) {
	t.Parallel()
	const folders = `[{"Name":"Geburtstage","FolderType":"User Created"},{"Name":"Kalender","FolderType":"Calendar"}]`
	for note, user := range map[string]string{
		"a text":                    `"Ada"`,
		"an object with an address": `{"DisplayName":"Ada","RecipientPrincipal":{"PrimarySmtpAddress":"ada@contoso.example"}}`,
		"an object with a name":     `{"DisplayName":"Ada","UserType":"Internal"}`,
	} {
		c := cmdlets(t, map[string]string{
			"Get-MailboxFolderStatistics": folders,
			"Get-MailboxFolderPermission": `[{"User":"Default","AccessRights":["AvailabilityOnly"]},{"User":"Anonymous","AccessRights":["None"]},{"User":` + user + `,"AccessRights":["Editor"]}]`,
			"Get-Recipient":               `[{"PrimarySmtpAddress":"ada@contoso.example"}]`,
		})
		answer, err := call(t, c, "Get-ExchangeCalendarPermissions", map[string]any{"Identity": "bob@contoso.example"})
		got := string(testenv.Must(json.Marshal(answer))(t))
		if want := `{"Permissions":["Default=AvailabilityOnly","ada@contoso.example=Editor"],"Unresolved":[]}`; err != nil || got != want {
			t.Errorf("%s: got %s, %v; want %s", note, got, err, want)
		}
	}
	for note, tc := range map[string]struct{ folders, user, want string }{
		"an entry of nobody":  {folders, `7`, "names no user"},
		"no calendar, though": {`[{"Name":"Geburtstage","FolderType":"User Created"}]`, `"Ada"`, "no folder of type Calendar"},
	} {
		c := cmdlets(t, map[string]string{"Get-MailboxFolderStatistics": tc.folders, "Get-MailboxFolderPermission": `[{"User":` + tc.user + `,"AccessRights":["Editor"]}]`})
		if _, err := call(t, c, "Get-ExchangeCalendarPermissions", map[string]any{"Identity": "bob@contoso.example"}); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: got %v, want %q", note, err, tc.want)
		}
	}
}

// A name that two recipients have, or none, is no address.
func TestNamesThatAreNotClearAreReported(t *testing.T) {
	t.Parallel()
	for note, recipients := range map[string]string{"two": `[{"PrimarySmtpAddress":"a@contoso.example"},{"PrimarySmtpAddress":"b@contoso.example"}]`, "none": `[]`} {
		c := cmdlets(t, map[string]string{
			"Get-MailboxPermission": `[{"User":"NT AUTHORITY\\SELF","AccessRights":["FullAccess","ReadPermission"]},{"User":"Ada","AccessRights":["FullAccess"]},
				{"User":"Admins","AccessRights":["FullAccess"],"IsInherited":true},{"User":"Eve","AccessRights":["FullAccess"],"Deny":true}]`,
			"Get-RecipientPermission":           `[{"Trustee":"Eve","AccessControlType":"Deny","AccessRights":["SendAs"]}]`,
			"Get-Mailbox":                       `[{"GrantSendOnBehalfTo":[]}]`,
			"Get-Recipient bob@contoso.example": `[{"RecipientType":"UserMailbox"}]`,
			"Get-Recipient":                     recipients,
		})
		answer, err := call(t, c, "Get-ExchangeMailboxPermissions", map[string]any{"Identity": "bob@contoso.example"})
		got := string(testenv.Must(json.Marshal(answer))(t))
		if want := `{"FullAccess":[],"SendAs":[],"SendOnBehalf":[],"Unresolved":["Ada"]}`; err != nil || got != want {
			t.Errorf("%s: got %s, %v; want %s", note, got, err, want)
		}
	}
}

func TestARecipientOfAnotherKindIsRefused(t *testing.T) {
	t.Parallel()
	c := cmdlets(t, map[string]string{"Get-Recipient": `[{"RecipientType":"MailContact","PrimarySmtpAddress":"ada@old.example"}]`})
	for function, params := range map[string]map[string]any{
		"Set-ExchangeHidden":         {"Hidden": true},
		"Add-ExchangeSecondaryEmail": {"SecondaryEmail": "a@contoso.example"},
		"Set-ExchangePrimaryEmail":   {"PrimaryEmail": "a@contoso.example"},
		"Remove-ExchangeAddresses":   {"Domain": "contoso.example"},
	} {
		params["Identity"] = "ada@old.example"
		_, err := call(t, c, function, params)
		var f *catalog.Failure
		if !errors.As(err, &f) || f.Type != catalog.FailureConflict || !strings.Contains(f.Message, "is a MailContact: give a mail user") {
			t.Errorf("%s: got %v", function, err)
		}
	}
}

// Exchange may print a time without its zone, and wraps messages.
func TestAutomaticRepliesAreReadBack(t *testing.T) {
	t.Parallel()
	params := map[string]any{"Identity": "bob", "InternalMessage": "I'm gone,\nsee <b>you</b>", "StartTime": "2026-03-01T18:00:00Z", "EndTime": "2026-03-02T18:00:00Z"}
	printed := func(message, start string) map[string]string {
		return map[string]string{
			"Set-MailboxAutoReplyConfiguration": `[]`,
			"Get-MailboxAutoReplyConfiguration": `[{"AutoReplyState":"Scheduled","ExternalAudience":"All","InternalMessage":` + message + `,"ExternalMessage":` + message +
				`,"StartTime":"` + start + `","EndTime":"2026-03-02T18:00:00"}]`,
		}
	}
	const same = `"<html>\n<body>\nI&#39;m gone,<br>see <b>you</b>\n</body>\n</html>"`
	if _, err := call(t, cmdlets(t, printed(same, "2026-03-01T18:00:00")), "Set-ExchangeAutomaticReplies", params); err != nil {
		t.Error(err)
	}
	for note, outputs := range map[string]map[string]string{
		"another message":     printed(`"<p>I stay</p>"`, "2026-03-01T18:00:00"),
		"another time":        printed(same, "2026-03-01T19:00:00"),
		"a time that is none": printed(same, "tomorrow"),
	} {
		if _, err := call(t, cmdlets(t, outputs), "Set-ExchangeAutomaticReplies", params); err == nil || !strings.Contains(err.Error(), "is another one") {
			t.Errorf("%s: got %v", note, err)
		}
	}
}
