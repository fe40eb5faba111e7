// Package browser tests in a real browser, Chromium, what only a browser shows. Its tests have the build
// tag browser and are part of "make test-browser", not of "make test": they need Chromium and packages
// of npm.
package browser
