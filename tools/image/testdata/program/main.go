// A program as small as can be, for the test of its image.
package main

import "os"

var version = "unset"

func main() {
	if len(os.Args) == 2 && os.Args[1] == "version" {
		os.Stdout.WriteString("program " + version + "\n")
		return
	}
	os.Exit(2)
}
