// Command loadline is what a platform engineer installs. Its commands are in internal/cli.
package main

import (
	"os"

	"github.com/loadline/loadline/internal/cli"
)

// version of a release, which the linker sets.
var version string

func main() { cli.Main(cli.RootOf(os.Args[0]), version) }
