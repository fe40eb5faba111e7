package github

import (
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// limit counts the requests of a user.
type limit struct {
	max     int
	used    int
	reset   time.Time // of the hour that began with its first request
	minute  time.Time // when the running minute began
	inOne   int       // requests in it
	running int
}

// enter counts a request of a user as running.
func (s *Server) enter(login string) *limit {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.limits[login]
	if l == nil {
		l = &limit{max: s.config.Limit}
		if login == "" {
			l.max = s.config.AnonymousLimit
		}
		s.limits[login] = l
	}
	now := s.config.Now()
	if !now.Before(l.reset) {
		l.used, l.reset = 0, now.Add(time.Hour)
	}
	if now.Sub(l.minute) >= time.Minute {
		l.inOne, l.minute = 0, now
	}
	l.inOne++
	l.running++
	return l
}

func (s *Server) leave(l *limit) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l.running--
}

// secondary refuses a request above a secondary limit.
func (s *Server) secondary(l *limit) *answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l.inOne <= s.config.PerMinute && l.running <= s.config.Concurrent {
		return nil
	}
	wait := l.minute.Add(time.Minute).Sub(s.config.Now())
	return s.tooMany(s.config.LimitStatus, strconv.Itoa(max(1, int(wait.Round(time.Second).Seconds()))))
}

// tooMany is the answer above a secondary limit; retryAfter is in seconds, or empty.
func (s *Server) tooMany(status int, retryAfter string) *answer {
	a := refuse(status, docsSecondary, "You have exceeded a secondary rate limit. Please wait a few minutes before you try again.")
	a.free = true
	if retryAfter != "" {
		a.header = map[string]string{"Retry-After": retryAfter}
	}
	return a
}

// exhausted refuses a request above the primary limit.
func (s *Server) exhausted(l *limit, login string) *answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l.used < l.max {
		return nil
	}
	who := "user " + login
	if login == "" {
		who = "127.0.0.1. (But here's the good news: Authenticated requests get a higher rate limit. Check out the documentation for more details.)"
	}
	a := refuse(s.config.LimitStatus, docsLimits, "API rate limit exceeded for %s", who)
	a.free = true
	return a
}

// charge counts an answer against the primary limit.
func (s *Server) charge(l *limit, a *answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !a.free {
		l.used++
	}
}

func (s *Server) writeLimit(h http.Header, l *limit) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, value := range l.values() {
		h.Set("X-RateLimit-"+name, fmt.Sprint(value))
	}
	h.Set("X-RateLimit-Resource", "core")
}

func (l *limit) values() map[string]int64 {
	return map[string]int64{"limit": int64(l.max), "remaining": int64(max(0, l.max-l.used)), "used": int64(l.used), "reset": l.reset.Unix()}
}

func (s *Server) rateLimit(login string) *answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	core := s.limits[login].values()
	a := object(map[string]any{"resources": map[string]any{"core": core}, "rate": core})
	a.etag, a.free = "", true
	return a
}
