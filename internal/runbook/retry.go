package runbook

import (
	"regexp"
	"strconv"
	"strings"
	"time"

	"gopkg.in/yaml.v3"
)

// maxRetries is how often a step can be repeated, and manyRetries how often it hardly ever should.
const maxRetries, manyRetries = 1_000_000, 100

var backoffs = []string{BackoffFixed, BackoffExponential}

func (f fields) retry() *Retry {
	n, ok := f.values["retry"]
	if !ok {
		return nil
	}
	g, ok := f.p.object(n, f.join("retry"), retryObject)
	if !ok {
		return nil
	}
	r := &Retry{
		MaxRetries: g.count("max_retries", 0, maxRetries), Interval: g.duration("interval"),
		Backoff: g.oneOf("backoff", backoffs), MaxInterval: g.duration("max_interval"), Jitter: g.jitter(),
	}
	if r.MaxRetries > 0 {
		g.require("interval")
	}
	g.growth(r)
	return r
}

// growth checks that the waits between retries fit together, and warns of a policy that keeps a
// member waiting for long.
func (f fields) growth(r *Retry) {
	f.warnIfLong("interval", r.Interval)
	f.warnIfLong("max_interval", r.MaxInterval)
	if r.MaxRetries > manyRetries {
		f.p.warnf(f.at("max_retries"), f.join("max_retries"), CodeLongRetry, "%d retries are many: the step fails only after the last of them", r.MaxRetries)
	}
	switch {
	case f.has("max_interval") && r.Backoff != BackoffExponential:
		if f.refused["backoff"] || f.has("backoff") && r.Backoff == "" {
			return // what was meant is not known
		}
		f.p.errorf(f.at("max_interval"), f.join("max_interval"), CodeBadValue, "is only for backoff: exponential")
	case r.MaxInterval > 0 && r.MaxInterval < r.Interval:
		f.p.errorf(f.at("max_interval"), f.join("max_interval"), CodeBadValue, "is shorter than the interval, the first delay")
	}
}

func (f fields) warnIfLong(name string, wait time.Duration) {
	if wait > MaxRetryWait {
		f.p.warnf(f.at(name), f.join(name), CodeLongRetry, "is longer than 24h: a member waits that long before the next attempt")
	}
}

var wholePercent = regexp.MustCompile(`^[0-9]{1,3}%$`)

// jitter reads the field as a whole percentage from 0 to 100.
func (f fields) jitter() int {
	n, ok := f.values["jitter"]
	if !ok {
		return 0
	}
	path := f.join("jitter")
	if n, ok = f.p.enter(n, path); !ok {
		return 0
	}
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!str" {
		f.p.errorf(at(n), path, CodeBadPercent, "must be a percentage such as 20%%, not %s", describe(n))
		return 0
	}
	share, err := strconv.Atoi(strings.TrimSuffix(n.Value, "%"))
	if !wholePercent.MatchString(n.Value) || err != nil || share > 100 {
		f.p.errorf(at(n), path, CodeBadPercent, "%q is invalid; use a whole percentage from 0%% to 100%%, such as 20%%", clip(n.Value))
		return 0
	}
	return share
}
