package matrix_test

import (
	"strings"
	"testing"

	"github.com/matoolkit/matoolkit/worker/catalog"
)

// texts are a mail in three languages.
var texts = map[string]any{
	"en":    map[string]any{"Subject": "Your move", "Body": "Dear Ada"},
	"de":    map[string]any{"subject": "Ihr Umzug", "body": "Guten Tag, Ada"},
	"pt-BR": map[string]any{"Subject": "Sua mudança", "Body": "Olá, Ada"},
}

// mailRows are of mails to people.
func mailRows() []row {
	return []row{
		{
			name: "Send-MemberMail", function: "Send-MemberMail", params: map[string]any{"To": "ada@contoso.example", "Texts": texts, "Language": "de_CH"},
			refusals: []refusal{
				{"a person elsewhere", map[string]any{"To": "ada@other.example"}, catalog.FailureNotConfigured, "does not mail people in other.example"},
				{"a domain below", map[string]any{"To": "ada@sub.contoso.example"}, catalog.FailureNotConfigured, "MAIL_DOMAINS"},
				{"two addresses", map[string]any{"To": "ada@other.example,bob@contoso.example"}, catalog.FailureParameters, "To"},
				{"a default without a text", map[string]any{"DefaultLanguage": "fr"}, catalog.FailureParameters, "no text in the DefaultLanguage fr"},
				{"a language that is none", map[string]any{"Texts": map[string]any{"en": texts["en"], "English text": texts["en"]}}, catalog.FailureParameters, "not a language"},
				{"a language twice", map[string]any{"Texts": map[string]any{"en": texts["en"], "EN": texts["en"]}}, catalog.FailureParameters, "twice"},
				{"a text without a body", map[string]any{"Texts": map[string]any{"en": map[string]any{"Subject": "x"}}}, catalog.FailureParameters, "Texts.en needs"},
				{"a subject of two lines", map[string]any{"Texts": map[string]any{"en": map[string]any{"Subject": "x\nBcc: y", "Body": "z"}}}, catalog.FailureParameters, "of one line"},
				{"a part that is none", map[string]any{"Texts": map[string]any{"en": map[string]any{"Subject": "x", "Text": "y"}}}, catalog.FailureParameters, "use Subject and Body"},
			},
		},
		{
			name: "Send-MemberMail-in-the-default-language", function: "Send-MemberMail",
			params: map[string]any{"To": "ada@CONTOSO.example", "Texts": texts, "Language": "pt", "Format": "html"},
		},
	}
}

// Nobody is mailed unless the settings say from whom and to whom.
func TestNobodyIsMailedWithoutSettings(t *testing.T) {
	t.Parallel()
	w := start(t, row{}, nil)
	w.domains = nil
	if answer, err := w.call(t.Context(), "Send-MemberMail", map[string]any{"To": "ada@contoso.example", "Texts": texts}, false); err == nil {
		t.Errorf("got %s", answer)
	}
	if mails := w.tenant.State().Mails; len(mails) > 0 {
		t.Errorf("sent %v", mails)
	}
}

// Without MAIL_DOMAINS an alert goes to the addresses in ALERT_TO only, also if a runbook names them.
func TestAlertsGoToAdministratorsByDefault(t *testing.T) {
	t.Parallel()
	w := start(t, row{}, nil)
	w.domains = nil
	w.does(step{"Send-AdminAlert", map[string]any{"Subject": "x", "To": "Admins@contoso.example"}})
	answer, err := w.call(t.Context(), "Send-AdminAlert", map[string]any{"Subject": "x", "To": "ada@contoso.example"}, false)
	if err == nil || !strings.Contains(err.Error(), "MAIL_DOMAINS") {
		t.Errorf("got %s, %v", answer, err)
	}
	if mails := w.tenant.State().Mails; len(mails) != 1 {
		t.Errorf("sent %v", mails)
	}
}
