package atomicfile

import "fmt"

// lockName is the lock file of a folder.
const lockName = "lock"

// BusyError means that another process has locked the folder.
type BusyError struct {
	Dir     string
	Process string // its id, if known
}

func (e *BusyError) Error() string {
	who := "another process"
	if e.Process != "" {
		who = "process " + e.Process
	}
	return fmt.Sprintf("folder %s is in use by %s: give another, or stop that one", e.Dir, who)
}
