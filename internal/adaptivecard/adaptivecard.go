// Package adaptivecard makes messages for workflows of Teams.
package adaptivecard

// Message returns the message that a workflow of Teams posts as an Adaptive Card. Its texts are
// RichTextBlocks, which Teams shows as they are: names must not become links. Text and link can be empty.
func Message(title, text, link string) any {
	type object = map[string]any
	block := func(run object) object {
		run["type"] = "TextRun"
		return object{"type": "RichTextBlock", "inlines": []object{run}}
	}
	body := []object{block(object{"text": title, "weight": "Bolder", "size": "Medium"})}
	if text != "" {
		body = append(body, block(object{"text": text}))
	}
	card := object{
		"$schema": "http://adaptivecards.io/schemas/adaptive-card.json", "type": "AdaptiveCard", "version": "1.4",
		"fallbackText": title, "body": body,
	}
	if link != "" {
		card["actions"] = []object{{"type": "Action.OpenUrl", "title": "Open", "url": link}}
	}
	return object{"type": "message", "attachments": []object{{
		"contentType": "application/vnd.microsoft.card.adaptive", "contentUrl": nil, "content": card,
	}}}
}
