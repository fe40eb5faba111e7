// Command bundle makes the console's files from its TypeScript: it writes them to console/dist, from where
// the handler embeds them. It needs neither Node.js nor a network: the few packages of other authors are in
// console/vendor.
//
// With -vendor it copies anew what the console uses of the packages that npm installed in console/npm.
package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	folder := flag.String("console", "console", "the `folder` of the console")
	vendor := flag.Bool("vendor", false, "copy the used files of console/npm/node_modules to console/vendor")
	flag.Parse()
	if err := run(*folder, *vendor); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(folder string, vendor bool) error {
	if vendor {
		return copyPackages(folder)
	}
	if err := checkPackages(folder); err != nil {
		return err
	}
	b, err := build(folder, "vendor")
	if err != nil {
		return err
	}
	return b.write(folder)
}
