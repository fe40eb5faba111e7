package scaler_test

import (
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/matoolkit/matoolkit/internal/scaler"
)

func TestTheSizeIsReadAtTopLevelOrUnderData(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]scaler.Size{
		`{"file_size_mb": 50}`:                                  {MB: "50"},
		`{"file_size_mb":0.5,"data":{"file_size_mb":7}}`:        {MB: "0.5"},
		`{"data":{"file_size_mb": 7e1 }}`:                       {MB: "7e1"},
		`{"file_size_mb":null,"data":{"file_size_mb":7}}`:       {MB: "7"},
		`{"file_size_mb":0}`:                                    {MB: "0"},
		`{"file_size_mb":"50"}`:                                 {Problem: scaler.SizeInvalid},
		`{"file_size_mb":"50","data":{"file_size_mb":7}}`:       {Problem: scaler.SizeInvalid},
		`{"file_size_mb":true}`:                                 {Problem: scaler.SizeInvalid},
		`{"file_size_mb":[1]}`:                                  {Problem: scaler.SizeInvalid},
		`{"file_size_mb":-1}`:                                   {Problem: scaler.SizeInvalid},
		`{"file_size_mb":1e400}`:                                {Problem: scaler.SizeInvalid},
		`{"file_size_mb":1073741825}`:                           {Problem: scaler.SizeInvalid},
		`{"file_size_mb":1` + strings.Repeat("0", 50) + `e-50}`: {Problem: scaler.SizeInvalid},
		`{"FILE_SIZE_MB":50}`:                                   {Problem: scaler.SizeMissing},
		`{"data":{}}`:                                           {Problem: scaler.SizeMissing},
		`{"data":"file_size_mb"}`:                               {Problem: scaler.SizeMissing},
		`{"data":{"data":{"file_size_mb":1}}}`:                  {Problem: scaler.SizeMissing},
		``:                                                      {Problem: scaler.BodyNotJSON},
		`null`:                                                  {Problem: scaler.BodyNotJSON},
		`[{"file_size_mb":1}]`:                                  {Problem: scaler.BodyNotJSON},
		`{"file_size_mb":1`:                                     {Problem: scaler.BodyNotJSON},
		`{"file_size_mb":NaN}`:                                  {Problem: scaler.BodyNotJSON},
		`5`:                                                     {Problem: scaler.BodyNotJSON},
	} {
		if got := scaler.ReadSize([]byte(body)); got != want {
			t.Errorf("%s: %+v, want %+v", body, got, want)
		}
	}
}

func FuzzReadSize(f *testing.F) {
	for _, body := range []string{`{"file_size_mb":1e-1000000000}`, `{"data":{"file_size_mb":12.5}}`, `{`, ``, `{"file_size_mb":1e1000000000}`} {
		f.Add([]byte(body))
	}
	s := settings(f, nil)
	f.Fuzz(func(t *testing.T, body []byte) {
		size := scaler.ReadSize(body)
		if (size.MB == "") == (size.Problem == "") {
			t.Fatalf("%q: %+v", body, size)
		}
		if memory := s.GroupFor(scaler.Message{Size: size}).Memory; memory < s.Memory.Min || memory > s.Memory.Max {
			t.Fatalf("%q: memory %d", body, memory)
		}
	})
}

func TestMemoryIsTheSizeTimesTheMultiplierClampedAndRoundedUp(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		size, multiplier string
		want             int
	}{
		{"0", "1", 10},
		{"1", "1", 10},
		{"1024", "1", 10},
		{"1025", "1", 11},
		{"1126.4", "1", 11},
		{"1126.41", "1", 12},
		{"1536", "1", 15},
		{"1536.0", "1.0", 15},
		{"1024", "1.5", 15},
		{"512", "3", 15},
		{"100", "20", 20},
		{"3000", "2.5", 74},
		{"8192", "1", 80},
		{"8193", "1", 80},
		{"1e6", "1", 80},
		{"1073741824", "999999", 80},
		{"1e-300", "1", 10},
		{"1E3", "1.024", 10},
		{"1E3", "1.1264", 11},
	} {
		s := settings(t, map[string]string{"ACI_MEMORY_MULTIPLIER": c.multiplier, "ACI_MAX_MEMORY_GB": "8"})
		if got := s.GroupFor(scaler.Message{Size: scaler.Size{MB: c.size}}).Memory; got != c.want {
			t.Errorf("%s MB times %s: %d tenths of a GB, want %d", c.size, c.multiplier, got, c.want)
		}
	}
}

func TestNamesFollowFromTopicSubscriptionAndMessage(t *testing.T) {
	t.Parallel()
	s := settings(t, map[string]string{"ACI_NAME_PREFIX": strings.Repeat("p", 36)})
	form := regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)
	names := map[string]bool{}
	for _, m := range [][2]string{{"a", "1"}, {"a", "2"}, {"b", "1"}, {"a1", ""}, {"a", "1\x00"}, {"a\x00", "1"}, {"a", "A"}, {"a", "a"}} {
		name := s.NameFor(m[0], m[1])
		if !form.MatchString(name) || len(name) != 63 || names[name] {
			t.Errorf("%q has the name %q", m, name)
		}
		names[name] = true
	}
	if s.NameFor("a", "1") != s.NameFor("A", "1") {
		t.Error("the case of a subscription changes the name")
	}
	if settings(t, map[string]string{"SB_TOPIC_NAME": "other"}).NameFor("a", "1") == settings(t, nil).NameFor("a", "1") {
		t.Error("another topic has the same name")
	}
	if got := settings(t, nil).NameFor("north", "m-1"); got != "validator-r2jncjsf753rbv4d44ejxreriq" {
		t.Errorf("the name %s: groups of an earlier version would not be recognized", got)
	}
}

func TestAGroupHasTheTagsAndVariablesOfItsMessage(t *testing.T) {
	t.Parallel()
	s := settings(t, map[string]string{
		"INSTANCE_SUBSCRIPTION_ENV_NAME": "SB_SUBSCRIPTION", "INSTANCE_MESSAGE_ENV_NAME": "MESSAGE_ID", "INSTANCE_LOG_LEVEL": "debug", "INSTANCE_API_KEY": "s3cret",
		"INSTANCE_STORAGE": "DefaultEndpointsProtocol=https;AccountKey=s3cret", "INSTANCE_EMPTY": "",
	})
	m := scaler.Message{Subscription: "north", ID: "m-1", Size: scaler.Size{MB: "50"}}
	g := s.GroupFor(m)
	if !maps.Equal(g.Tags, map[string]string{"managed_by": "validator", "message_id": "m-1", "file_size_mb": "50", "subscription": "north"}) {
		t.Errorf("tags %v", g.Tags)
	}
	want := []scaler.Variable{
		{Name: "API_KEY", Value: "s3cret", Secure: true},
		{Name: "LOG_LEVEL", Value: "debug", Secure: true},
		{Name: "MESSAGE_ID", Value: "m-1"},
		{Name: "SB_SUBSCRIPTION", Value: "north"},
		{Name: "STORAGE", Value: "DefaultEndpointsProtocol=https;AccountKey=s3cret", Secure: true},
	}
	if !slices.Equal(g.Env, want) {
		t.Errorf("variables %+v\nwant      %+v", g.Env, want)
	}
	for range 20 { // the order of the environment and of maps must not matter
		if again := s.GroupFor(m); !reflect.DeepEqual(again, g) {
			t.Fatalf("another group for the same message: %+v, then %+v", g, again)
		}
	}
	if len(settings(t, nil).GroupFor(m).Env) != 0 {
		t.Error("a container without settings has variables")
	}
}

func TestGroupsWithOtherTagsAreNotTheScalers(t *testing.T) {
	t.Parallel()
	s := settings(t, nil)
	for value, want := range map[string]bool{"validator": true, "Validator": false, "validator-2": false, "": false} {
		if got := s.Manages(map[string]string{"managed_by": value}); got != want {
			t.Errorf("managed_by %q: %t", value, got)
		}
	}
	if s.Manages(nil) {
		t.Error("a group without tags is the scaler's")
	}
}
