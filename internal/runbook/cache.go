package runbook

import (
	"slices"
	"time"
)

// DefaultCacheTTL is for how long a result is used again when the runbook does not say. In a runbook
// whose batches stay for a shorter time it is that time.
const DefaultCacheTTL = 24 * time.Hour

// Cache has the work of a step done once for each key, in all batches of the runbook.
type Cache struct {
	// Key is a template: see [template.ResolveString]. If a variable of it has no value, the step is done
	// without the cache.
	Key string
	TTL time.Duration // from the success on; never 0 after Parse
}

var cacheObject = Object{
	Name: "steps.cache", Doc: "The step is done once for each key. Other members and batches of the runbook take over its result. See [Do work once](../write-a-runbook.md#do-work-once).",
	Fields: []Field{
		{"key", true, "A template that identifies the work: a fingerprint of everything that its result depends on. It has at least one variable, and neither `_batch_id`, `_batch_start_time` nor `_outputs`, which differ in each batch. If one of its variables has no value, the step is done without the cache.", Form{"type": "string", "pattern": `\{\{`}},
		{"ttl", false, "For how long the result is used, from the success of the step on. Not longer than `expires` in `items`. Default: `1d`, or `expires` if that is shorter.", durationForm()},
	},
}

// draftCache is a cache with its positions.
type draftCache struct {
	key  position
	uses []use
	ttl  position
	set  bool // the runbook gives a TTL
}

// cache reads the cache of a step. The variables of its key are not uses of the step before the draft
// has them all: see call.
func (p *parser) cache(f fields, s *draftStep) {
	n, ok := f.values["cache"]
	if !ok {
		return
	}
	g, ok := p.object(n, f.join("cache"), cacheObject)
	if !ok {
		return
	}
	c := draftCache{key: g.at("key"), ttl: g.at("ttl"), set: g.has("ttl")}
	s.Cache = &Cache{TTL: g.duration("ttl")}
	if g.text("key") != "" {
		before := len(s.uses)
		if key, sound := p.template(g.values["key"], g.join("key"), s); sound {
			s.Cache.Key, _ = key.(string)
		}
		for i := before; i < len(s.uses); i++ {
			s.uses[i].amidText = true // a key is text
		}
		c.uses = slices.Clone(s.uses[before:])
		if len(c.uses) == 0 && s.Cache.Key != "" {
			p.errorf(c.key, g.join("key"), CodeCache, "has no variable, so that the step would be done once for all members: name the variables that its result depends on")
		}
	}
	s.cache = c
}

// cached checks the caches of all steps, and gives those a TTL that have none.
func (v *validator) cached() {
	v.eachStep(func(s draftStep) { v.cachedStep(s) })
	refuse := func(steps []draftStep, why string) {
		for _, s := range steps {
			if s.Cache != nil {
				v.p.errorf(s.cache.key, s.path+".cache", CodeCache, "is not possible here: %s", why)
			}
		}
	}
	refuse(v.d.removed, "each member who is removed needs the step")
	for _, rb := range v.d.rollbacks {
		refuse(rb.steps, "a rollback undoes what its own run did")
	}
}

// cachedStep checks the cache of one step.
func (v *validator) cachedStep(s draftStep) {
	if s.Cache == nil {
		return
	}
	path := s.path + ".cache"
	if s.OnFailure != "" {
		v.p.errorf(s.onFailure, s.path+".on_failure", CodeCache, "excludes cache: the rollback would undo what others have the result of")
	}
	keyed := map[string]bool{}
	for _, u := range s.cache.uses {
		keyed[u.variable] = true
		switch u.variable {
		case VariableBatchID, VariableBatchStartTime, VariableOutputs:
			v.p.errorf(u.pos, u.path, CodeCache, "{{%s}} differs in each batch, so that no result would be used again: remove it from the key", u.variable)
		}
		if v.isSecret(u.variable) {
			v.p.errorf(u.pos, u.path, CodeSecretPlace, "{{%s}} is secret, and a key of the cache cannot use a value that is encrypted", clip(u.variable))
		}
	}
	for _, out := range s.outputs {
		if v.isSecret(out.variable) {
			v.p.errorf(out.pos, out.path, CodeSecretPlace, "%q is secret, and the result of a step with cache is given to others", clip(out.variable))
		}
	}
	if owner := slices.IndexFunc(s.uses, func(u use) bool { return u.variable == VariableBatchOwner }); owner >= 0 && !keyed[VariableBatchOwner] {
		v.p.warnf(s.cache.key, path+".key", CodeCache, "lacks {{%s}}, which the step uses: an owner would get the result of another; add it to the key", VariableBatchOwner)
	}
	longest := DefaultCacheTTL
	if v.d.request != nil && v.d.request.Expires > 0 {
		longest = v.d.request.Expires
	}
	switch {
	case !s.cache.set:
		s.Cache.TTL = min(DefaultCacheTTL, longest)
	case v.d.request != nil && s.Cache.TTL > longest:
		v.p.errorf(s.cache.ttl, path+".ttl", CodeCache, "is longer than expires in items: the batch that has the result is deleted before")
	}
}

// key is the template of the key; empty without a cache.
func (c *Cache) key() string {
	if c == nil {
		return ""
	}
	return c.Key
}
