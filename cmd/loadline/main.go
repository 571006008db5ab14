// Command loadline is what a platform engineer installs. Its verbs are in internal/cli.
package main

import "github.com/loadline/loadline/internal/cli"

func main() { cli.Main() }
