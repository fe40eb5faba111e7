package notify

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/matoolkit/matoolkit/worker/catalog"
	"github.com/matoolkit/matoolkit/worker/graph"
)

// MailResult is the result of Send-MemberMail.
type MailResult struct{ Language string }

// text is a mail in one language.
type text struct{ subject, body string }

func (s service) sendMail(ctx context.Context, p catalog.Params) (any, error) {
	texts, err := readTexts(p.Object("Texts"))
	if err != nil {
		return nil, err
	}
	language, err := choose(texts, p.String("Language"), cmp.Or(p.String("DefaultLanguage"), "en"))
	if err != nil {
		return nil, err
	}
	if s.From == "" {
		return nil, notConfigured("no sender: set MAIL_FROM of the worker")
	}
	to := p.String("To")
	if err := s.Graph.CheckRecipient(to); err != nil {
		return nil, err
	}
	t := texts[language]
	err = s.Graph.SendMail(ctx, graph.Mail{
		From: s.From, To: []string{to}, Subject: t.subject, Body: t.body, HTML: p.String("Format") == "html", Effect: graph.Effect(ctx),
	})
	if err != nil {
		return nil, err
	}
	return MailResult{language}, nil
}

var languageTag = regexp.MustCompile(`^[A-Za-z]{2,3}(-[A-Za-z0-9]{1,8})*$`)

// readTexts reads the texts, by language in lower case.
func readTexts(object map[string]any) (map[string]text, error) {
	texts := map[string]text{}
	for _, language := range slices.Sorted(maps.Keys(object)) {
		folded := strings.ToLower(language)
		if !languageTag.MatchString(language) {
			return nil, wrong(fmt.Sprintf("Texts has %q, which is not a language, such as en or de-CH", language))
		}
		if _, twice := texts[folded]; twice {
			return nil, wrong(fmt.Sprintf("Texts has the language %s twice", language))
		}
		parts, _ := object[language].(map[string]any)
		var t text
		for name, value := range parts {
			content, _ := value.(string)
			switch strings.ToLower(name) {
			case "subject":
				t.subject = content
			case "body":
				t.body = content
			default:
				return nil, wrong(fmt.Sprintf("Texts.%s has %q: use Subject and Body", language, name))
			}
		}
		if strings.TrimSpace(t.subject) == "" || strings.TrimSpace(t.body) == "" || strings.ContainsAny(t.subject, "\r\n") {
			return nil, wrong(fmt.Sprintf("Texts.%s needs a Subject of one line and a Body, which are texts", language))
		}
		texts[folded] = t
	}
	return texts, nil
}

// choose returns the language of the text for a person: the person's, without its region where there is none with it, or
// the default one.
func choose(texts map[string]text, language, otherwise string) (string, error) {
	if _, has := texts[strings.ToLower(otherwise)]; !has {
		return "", wrong("Texts has no text in the DefaultLanguage " + otherwise)
	}
	for tag := strings.ToLower(strings.ReplaceAll(language, "_", "-")); tag != ""; {
		if _, has := texts[tag]; has {
			return tag, nil
		}
		tag = tag[:max(strings.LastIndex(tag, "-"), 0)]
	}
	return strings.ToLower(otherwise), nil
}
