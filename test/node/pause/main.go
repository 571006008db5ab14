// Command pause holds the namespaces of a pod: it does nothing until it is told to end.
package main

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// version of the image, which the linker sets.
var version = "development"

func main() {
	if len(os.Args) == 2 && os.Args[1] == "version" {
		fmt.Println("pause", version)
		return
	}
	end := make(chan os.Signal, 1)
	signal.Notify(end, syscall.SIGTERM, syscall.SIGINT)
	<-end
}
