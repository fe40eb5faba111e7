package custom_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/worker/catalog"
	"github.com/matoolkit/matoolkit/worker/custom"
)

const head = "name: Do\ndescription: Does.\n"

func TestManifestsThatAreWrongAreRefused(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ note, manifest, want string }{
		{"empty", "", "do.yaml:1:1: the manifest is empty"},
		{"a comment", "# nothing\n", "do.yaml:1:1: the manifest is empty"},
		{"null", "null\n", "do.yaml:1:1: the manifest is empty"},
		{"no YAML", "name: [\n", "do.yaml:1:1: not valid YAML: "},
		{"a list", "- name\n", "do.yaml:1:1: a manifest must be a mapping with the fields name, "},
		{"two documents", head + "command: [do.sh]\n---\nname: More\n", "do.yaml:4:1: a second document starts here"},
		{"an unknown field", head + "command: [do.sh]\ntimeuot: 1s\n", `do.yaml:4:1: a manifest has no field "timeuot": use name, `},
		{"a merge", "<<: {}\n" + head + "command: [do.sh]\n", `do.yaml:1:1: a manifest has no field "<<"`},
		{"a field twice", head + "name: Other\ncommand: [do.sh]\n", "do.yaml:3:1: name is given twice"},
		{"no name", "description: Does.\ncommand: [do.sh]\n", "do.yaml:1:1: name is missing"},
		{"an impossible name", "name: Do it\ndescription: x\ncommand: [do.sh]\n", `do.yaml:1:7: invalid name "Do it": use letters`},
		{"no description", "name: Do\ncommand: [do.sh]\n", "do.yaml:1:1: description is missing"},
		{"a number for text", "name: Do\ndescription: 17\ncommand: [do.sh]\n", "do.yaml:2:14: expected text: put 17 in quotes"},
		{"blanks for text", "name: Do\ndescription: ' '\ncommand: [do.sh]\n", "do.yaml:2:14: the text is empty"},
		{"an alias", "name: &n Do\ndescription: *n\ncommand: [do.sh]\n", "do.yaml:2:14: expected text"},
		{"a standard function", "name: new-entrauser\ndescription: x\ncommand: [do.sh]\n", "do.yaml:1:7: the function new-entrauser is built into the worker"},
		{"the function for measuring", "name: No-Op\ndescription: x\ncommand: [do.sh]\n", "do.yaml:1:7: the function No-Op is built into the worker"},

		{"params that are no list", head + "params: {}\ncommand: [do.sh]\n", "do.yaml:3:9: expected a list"},
		{"a param that is no mapping", head + "params: [A]\ncommand: [do.sh]\n", "do.yaml:3:10: a parameter must be a mapping with the fields name, type"},
		{"a param without a description", head + "params: [{name: A}]\ncommand: [do.sh]\n", "do.yaml:3:10: description is missing"},
		{"an unknown type", head + "params: [{name: A, type: int, description: x}]\ncommand: [do.sh]\n", `do.yaml:3:26: unknown type "int": use string, boolean, guid, email, domain, string list, object`},
		{"required as text", head + "params: [{name: A, required: 'yes', description: x}]\ncommand: [do.sh]\n", "do.yaml:3:30: expected true or false"},
		{
			"a param twice", head + "params:\n  - {name: A, description: x}\n  - {name: a, description: x}\ncommand: [do.sh]\n",
			"do.yaml:5:12: the parameter a is declared twice",
		},
		{"a param's name", head + "params: [{name: a-b, description: x}]\ncommand: [do.sh]\n", `do.yaml:3:17: invalid name "a-b"`},
		{"a field twice in the result", head + "result: [{name: A, description: x}, {name: a, description: x}]\ncommand: [do.sh]\n", "do.yaml:3:44: the field a is declared twice"},
		{"a result of types", head + "result: [{name: A, type: string, description: x}]\ncommand: [do.sh]\n", `do.yaml:3:20: a field of the result has no field "type"`},
		{"permissions that are no texts", head + "permissions: [[x]]\ncommand: [do.sh]\n", "do.yaml:3:15: expected text"},

		{"a time limit without a unit", head + "timeout: '30'\ncommand: [do.sh]\n", `do.yaml:3:10: invalid timeout "30": use a duration such as 90s or 5m`},
		{"a number for a time limit", head + "timeout: 30\ncommand: [do.sh]\n", "do.yaml:3:10: expected text"},
		{"no time", head + "timeout: 0s\ncommand: [do.sh]\n", `do.yaml:3:10: invalid timeout "0s"`},
		{"more time than a job has", head + "timeout: 61m\ncommand: [do.sh]\n", "do.yaml:3:10: timeout is 1h1m0s; a job has at most 1h0m0s"},

		{"an unknown value for a rehearsal", head + "rehearse: maybe\ncommand: [do.sh]\n", `do.yaml:3:11: unknown value "maybe": use succeed, run or fail`},

		{"a secret of the worker", head + "environment: [HR_URL, app_secret]\ncommand: [do.sh]\n", "do.yaml:3:23: app_secret is reserved for the worker"},
		{"the worker's identity", head + "environment: [IDENTITY_HEADER]\ncommand: [do.sh]\n", "do.yaml:3:15: IDENTITY_HEADER is reserved for the worker"},
		{"a sign-in at Azure", head + "environment: [AZURE_CLIENT_SECRET]\ncommand: [do.sh]\n", "do.yaml:3:15: AZURE_CLIENT_SECRET is reserved for the worker"},
		{"a variable that is not set", head + "environment: [HR_TOKEN]\ncommand: [do.sh]\n", "do.yaml:3:15: HR_TOKEN is not set in the worker's environment"},
		{"a variable with a value", head + "environment: [HR_URL=x]\ncommand: [do.sh]\n", `do.yaml:3:15: "HR_URL=x" is not the name of a variable`},
		{"a variable twice", head + "environment: [HR_URL, HR_URL]\ncommand: [do.sh]\n", "do.yaml:3:23: HR_URL is given twice"},
		{"a variable that is there anyway", head + "environment: [PATH]\ncommand: [do.sh]\n", "do.yaml:3:15: every function has PATH"},

		{"nothing to run", head, "do.yaml:1:1: give command or script"},
		{"two things to run", head + "command: [do.sh]\nscript: do.ps1\n", "do.yaml:4:9: give command or script, not both"},
		{"an empty command", head + "command: []\n", "do.yaml:3:10: the command is empty"},
		{"a command in one text", head + "command: do.sh --x\n", "do.yaml:3:10: expected a list"},
		{"a command that is not there", head + "command: [none.sh]\n", "do.yaml:3:11: none.sh: no such file or directory"},
		{"a command elsewhere", head + "command: [/bin/sh]\n", "do.yaml:3:11: /bin/sh: the path must be inside"},
		{"a command above", head + "command: [../do.sh]\n", "do.yaml:3:11: ../do.sh: the path must be inside"},
		{"a folder", head + "command: [lib]\n", "do.yaml:3:11: lib: not a regular file"},
		{"a file that cannot be executed", head + "command: [data.txt]\n", "do.yaml:3:11: data.txt: the file is not executable (mode 0644)"},
		{"a link that leads out", head + "command: [out]\n", "do.yaml:3:11: out: a symbolic link leads out"},
		{"a folder that leads out", head + "command: [outdir/sh]\n", "do.yaml:3:11: outdir/sh: a symbolic link leads out"},
		{"a file that everybody may write", head + "command: [open.sh]\n", "do.yaml:3:11: open.sh: every user can write open.sh (mode 0777)"},
		{"a folder that everybody may write", head + "command: [open/do.sh]\n", "do.yaml:3:11: open/do.sh: every user can write open (mode 0777)"},
		{"a link to such a file", head + "command: [link]\n", "do.yaml:3:11: link: every user can write open.sh"},
		{"a PowerShell script as a command", head + "command: [do.ps1]\n", "do.yaml:3:11: do.ps1: use script, not command"},
		{"a script that is none of PowerShell", head + "script: do.sh\n", "do.yaml:3:9: do.sh: a script must be a .ps1 file"},
		{"a script without PowerShell", head + "script: do.ps1\n", "do.yaml:3:9: cannot find pwsh in the worker's PATH"},
	} {
		t.Run(tc.note, func(t *testing.T) {
			t.Parallel()
			d := newDirectory(t)
			d.write(t, "do.sh", "755", "#!/bin/sh\n")
			d.write(t, "do.ps1", "755", "exit\n")
			d.write(t, "open.sh", "777", "#!/bin/sh\n")
			d.write(t, "data.txt", "644", "x\n")
			d.write(t, "lib/more.sh", "755", "#!/bin/sh\n")
			d.write(t, "open/do.sh", "755", "#!/bin/sh\n")
			if err := os.Chmod(filepath.Join(d.path, "open"), 0o777); err != nil {
				t.Fatal(err)
			}
			for link, target := range map[string]string{"out": "/bin/sh", "outdir": "/bin", "link": "open.sh"} {
				if err := os.Symlink(target, filepath.Join(d.path, link)); err != nil {
					t.Fatal(err)
				}
			}
			d.write(t, "do.yaml", "644", tc.manifest)
			set, err := custom.Load(custom.Config{
				Dir: d.path, Getenv: func(name string) string { return map[string]string{"HR_URL": "x", "PATH": "/nowhere"}[name] },
				Own: []string{"APP_SECRET"}, MaxTimeout: time.Hour,
			})
			if err == nil {
				t.Fatalf("accepted: %+v", set.Functions())
			}
			if !strings.HasPrefix(err.Error(), tc.want) {
				t.Fatalf("got  %v\nwant %s", err, tc.want)
			}
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("more is told than is wrong:\n%v", err)
			}
		})
	}
}

func TestAllProblemsAreReported(t *testing.T) {
	t.Parallel()
	d := newDirectory(t)
	d.write(t, "a.yaml", "644", "name: Do\nparams: [{name: A, type: int}]\ncommand: [none]\n")
	d.write(t, "b.yml", "644", "description: x\n")
	_, err := custom.Load(custom.Config{Dir: d.path})
	want := `a.yaml:1:1: description is missing
a.yaml:2:10: description is missing
a.yaml:2:26: unknown type "int": use string, boolean, guid, email, domain, string list, object
a.yaml:3:11: none: no such file or directory
b.yml:1:1: name is missing
b.yml:1:1: give command or script`
	if err == nil || err.Error() != want {
		t.Fatalf("got\n%v\nwant\n%s", err, want)
	}
}

func TestNamesAreTakenOnce(t *testing.T) {
	t.Parallel()
	d := newDirectory(t)
	d.script(t, "", "")
	d.write(t, "again.yaml", "644", "name: DO\ndescription: Does.\ncommand: [do.sh]\n")
	if _, err := custom.Load(custom.Config{Dir: d.path}); err == nil ||
		err.Error() != "do.yaml:1:7: the function Do is already declared in again.yaml" {
		t.Fatalf("got %v", err)
	}
}

func TestDirectories(t *testing.T) {
	t.Parallel()
	for note, tc := range map[string]struct {
		make func(t *testing.T, d directory) string
		want string
	}{
		"that is not there": {func(_ *testing.T, d directory) string { return filepath.Join(d.path, "none") }, "no such file or directory"},
		"that is a file":    {func(t *testing.T, d directory) string { return d.write(t, "f", "644", "") }, "not a directory"},
		"without manifests": {func(t *testing.T, d directory) string {
			d.write(t, ".hidden.yaml", "644", "x")
			d.write(t, "sub/do.yaml", "644", "x")
			return d.path
		}, "no manifest (*.yaml) in "},
		"that everybody may write": {func(t *testing.T, d directory) string {
			d.script(t, "", "")
			if err := os.Chmod(d.path, 0o777); err != nil {
				t.Fatal(err)
			}
			return d.path
		}, "do.yaml: every user can write the functions' directory (mode 0777)"},
		"whose manifest everybody may write": {func(t *testing.T, d directory) string {
			d.script(t, "", "")
			if err := os.Chmod(filepath.Join(d.path, "do.yaml"), 0o646); err != nil {
				t.Fatal(err)
			}
			return d.path
		}, "do.yaml: every user can write do.yaml (mode 0646)"},
		"whose manifest is too large": {func(t *testing.T, d directory) string {
			d.write(t, "do.yaml", "644", "# "+strings.Repeat("x", 64<<10))
			return d.path
		}, "do.yaml: the manifest has more than 65536 bytes"},
	} {
		t.Run(note, func(t *testing.T) {
			t.Parallel()
			if _, err := custom.Load(custom.Config{Dir: tc.make(t, newDirectory(t))}); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Fatalf("got %v, want %s", err, tc.want)
			}
		})
	}
}

// A volume of Kubernetes is a directory of links to a hidden one beside them.
func TestLinksInsideOfTheDirectoryAreFollowed(t *testing.T) {
	t.Parallel()
	d := newDirectory(t)
	d.write(t, "..data/do.sh", "755", "#!/bin/sh\necho '{\"success\":true}'")
	d.write(t, "..data/do.yaml", "644", head+"command: [do.sh]\n")
	for _, name := range []string{"do.sh", "do.yaml"} {
		if err := os.Symlink(filepath.Join("..data", name), filepath.Join(d.path, name)); err != nil {
			t.Fatal(err)
		}
	}
	link := filepath.Join(t.TempDir(), "functions")
	if err := os.Symlink(d.path, link); err != nil {
		t.Fatal(err)
	}
	_, c := directory{link}.load(t, environment())
	if got, failure := call(t, c, `{}`); failure != nil || got != "true" {
		t.Fatalf("got %s, %v", got, failure)
	}
}

// The default time limit does not exceed a job's.
func TestTimeLimitThatIsNotGivenFitsTheJobs(t *testing.T) {
	t.Parallel()
	d := newDirectory(t)
	d.script(t, "", "sleep 600")
	set := testenv.Must(custom.Load(custom.Config{Dir: d.path, Getenv: environment(), MaxTimeout: 50 * time.Millisecond}))(t)
	c := testenv.Must(catalog.New(set.Functions()...))(t)
	if _, failure := call(t, c, `{}`); failure == nil || failure.Type != catalog.FailureTimeout {
		t.Fatalf("got %+v", failure)
	}
}

// Listing declarations needs no environment and no PowerShell.
func TestDeclarationsAreReadWhereTheyCannotRun(t *testing.T) {
	t.Parallel()
	d := newDirectory(t)
	d.write(t, "do.ps1", "644", "exit\n")
	d.write(t, "do.yaml", "644", head+"script: do.ps1\nenvironment: [HR_TOKEN]\n")
	set := testenv.Must(custom.Load(custom.Config{Dir: d.path}))(t)
	f := set.Functions()[0]
	if f.Name != "Do" {
		t.Fatalf("got %+v", f)
	}
	if _, err := f.Run(t.Context(), nil); err == nil {
		t.Error("it runs")
	}
}

// What stands in for pwsh warns, as modules do, and says how it was called.
func TestScriptsRunThroughPowerShell(t *testing.T) {
	t.Parallel()
	d, image := newDirectory(t), newDirectory(t)
	image.write(t, "pwsh", "755", "#!/bin/sh\necho 'WARNING: the key s3cret-key is old'; echo; echo more\nprintf '{\"success\":true,\"result\":{\"Args\":\"%s\",\"Parameters\":%s}}' \"$*\" \"$(/bin/cat)\"\n")
	d.write(t, "do.ps1", "644", "exit\n")
	d.write(t, "do.yaml", "644", head+"script: do.ps1\nparams: [{name: A, description: x}]\nenvironment: [KEY]\n")
	_, c := d.load(t, environment("PATH", ":relative:/nowhere:"+image.path, "KEY", "s3cret-key"))
	log := &testenv.Buffer{}
	got, failure := callWith(t, withLog(t.Context(), log), c, `{"a":"b"}`)
	for _, line := range []string{"WARNING: the key [blanked] is old", "more"} {
		if want := `"msg":"standard output","JobId":"step-7-attempt-1","Line":"` + line + `"`; !strings.Contains(log.String(), want) {
			t.Errorf("the log lacks %s:\n%s", want, log)
		}
	}
	path := testenv.Must(filepath.EvalSymlinks(d.path))(t)
	want := `{"Args":"-NoProfile -NonInteractive -File ` + filepath.Join(path, "do.ps1") + `","Parameters":{"function":"Do","parameters":{"A":"b"},`
	if failure != nil || !strings.HasPrefix(got, want) || strings.Count(log.String(), "Line") != 2 {
		t.Fatalf("got  %s, %v\nwant %s", got, failure, want)
	}
}

func TestWhatBecomesOfACallInARehearsal(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		manifest, want string
		rehearse       catalog.Rehearsal
	}{
		{"command: [do.sh]\n", "", ""},
		{"rehearse: succeed\ncommand: [do.sh]\n", "", catalog.RehearseSucceed},
		{"rehearse: run\ncommand: [do.sh]\n", "", catalog.RehearseRun},
		{"rehearse: fail\ntokens: [graph]\ncommand: [do.sh]\n", "", catalog.RehearseFail},
		{"tokens: [graph]\nrehearse: run\ncommand: [do.sh]\n", "do.yaml:4:11: a function with tokens cannot run in a rehearsal", ""},
	} {
		d := newDirectory(t)
		d.write(t, "do.sh", "755", "#!/bin/sh\n")
		d.write(t, "do.yaml", "644", head+tc.manifest)
		set, err := custom.Load(custom.Config{Dir: d.path})
		if tc.want != "" {
			if err == nil || !strings.HasPrefix(err.Error(), tc.want) {
				t.Errorf("%q: got %v, want %s", tc.manifest, err, tc.want)
			}
			continue
		}
		if err != nil || set.Functions()[0].Rehearse != tc.rehearse {
			t.Errorf("%q: got %v, %v", tc.manifest, set, err)
		}
	}
}
