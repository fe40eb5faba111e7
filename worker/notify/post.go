package notify

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/matoolkit/matoolkit/internal/adaptivecard"
	"github.com/matoolkit/matoolkit/internal/webhook"
	"github.com/matoolkit/matoolkit/worker/catalog"
	"github.com/matoolkit/matoolkit/worker/graph"
	"github.com/matoolkit/matoolkit/worker/throttle"
)

func (s service) post(ctx context.Context, p catalog.Params) (any, error) {
	var content any = p.Object("Body")
	switch {
	case p.Has("Title") == p.Has("Body"):
		return nil, wrong("give one of Title and Body")
	case p.Has("Text") && p.Has("Body"):
		return nil, wrong("Text is given with Body: put it into Body")
	case p.Has("Title"):
		content = adaptivecard.Message(p.String("Title"), p.String("Text"), "")
	}
	body, err := json.Marshal(content)
	if err != nil {
		return nil, err
	}
	target, key, id := p.String("UrlSetting"), p.String("KeySetting"), graph.Effect(ctx)
	if err := s.Poster.CheckTarget(target, key); err != nil {
		return nil, notConfigured(err.Error())
	}
	attempts, err := s.Policy.Do(ctx, judge, func(ctx context.Context) error { return s.Poster.Post(ctx, target, key, id, body) })
	if err == nil {
		return true, nil
	}
	f := &catalog.Failure{Type: catalog.FailureUnreachable, Message: err.Error(), Attempts: attempts}
	var refused *webhook.StatusError
	if errors.As(err, &refused) {
		f.Type = fmt.Sprintf("HTTP %d", refused.Status)
	}
	if v := judge(err); v.Outcome == throttle.Throttled {
		f.Throttled, f.RetryAfter = true, v.After
	}
	return nil, f
}

// judge says whether a post that failed is worth repeating. The receiver knows a repetition by its id.
func judge(err error) throttle.Verdict {
	var refused *webhook.StatusError
	switch {
	case errors.Is(err, context.Canceled):
		return throttle.Verdict{}
	case !errors.As(err, &refused):
		return throttle.Verdict{Outcome: throttle.Transient} // no answer came
	case refused.Status == http.StatusTooManyRequests, refused.Status == http.StatusServiceUnavailable && refused.RetryAfter != "":
		return throttle.Verdict{Outcome: throttle.Throttled, After: throttle.After(refused.RetryAfter, time.Now())}
	case refused.Status >= 500, refused.Status == http.StatusRequestTimeout:
		return throttle.Verdict{Outcome: throttle.Transient}
	}
	return throttle.Verdict{}
}
