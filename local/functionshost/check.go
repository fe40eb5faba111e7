package functionshost

import "fmt"

// App summarizes a staged folder.
type App struct {
	Executable string   // the handler, as host.json names it: a path below the folder
	Functions  []string // the names, in the order of the alphabet
}

// Check reads the staged folder dir as Start does, and refuses what Start refuses,
// without starting anything. Settings are the values for %SETTING% in the files.
func Check(dir string, settings map[string]string) (App, error) {
	loaded, err := load(dir, settings)
	if err != nil {
		return App{}, fmt.Errorf("%s: %w", dir, err)
	}
	app := App{Executable: loaded.host.CustomHandler.Description.DefaultExecutablePath}
	for _, f := range loaded.functions {
		app.Functions = append(app.Functions, f.name)
	}
	return app, nil
}
